"""A provider on a bad day, fault by fault and all at once: how a whole sweep ends.

The simulator gives the faults and counts them; an undisturbed run says what the rows should be.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from flows.w1_evidence import w1_evidence
from flows.w2_rubric import w2_rubric
from flows.w3_scoring import w3_scoring
from flows.w4_swap import w4_swap
from flows.w5_probe import w5_probe
from judge_gym.lab.sweeps import RegisteredSweep
from judge_gym.simulator.launch import running
from judge_gym.store import tables as t
from support.flow_runs import configured, prepared, run_flow
from support.natural_rows import natural_rows
from support.postgres import temporary_database
from support.simulation import Fault, Simulator

pytestmark = pytest.mark.stress
REPOSITORY = Path(__file__).parents[2]
VALMORA = f"{REPOSITORY}/deployments/sweeps/corpora/valmora.jsonl"
# Articles as they are; two judges that write rubrics, and one of them under the other's.
SWEEP = f"""
name: bad-day
utility_model: sim/utility-1
windows:
  valmora:
    country: Valmora
    max_documents: 4
    source: {{kind: corpus, path: {VALMORA}}}
blocks:
  - concept: democratic backsliding
    window: valmora
    evidence_view: raw
    model: [sim/calm-1, sim/high-1]
    replicates: 3
swap: {{pairs: [[sim/calm-1, sim/high-1]], sham: false}}
"""
JUDGEMENTS = 2 * 4 * 3 + 4 * 3
"""Own and swapped."""
HANGING = ("slow_first_byte", "stall")
TIMEOUT_S, LONG_S = "5", "60"
"""The second where nothing hangs: a busy machine may take longer than 5 s over an answer."""
HANGS = {"seconds": 600, "role": "scorer", "max_count": 4}
"""For the first judgements, which are sent at once, so that all of them together take a timeout."""


@dataclass
class Outcome:
    """What a sweep left in the database, and what the simulator counted meanwhile."""

    url: str
    rows: dict[str, dict[Any, Any]]
    requests: int
    given: Counter[str]

    @property
    def samples(self) -> dict[Any, Any]:
        return self.rows["samples"]

    def ledger(self) -> list[Any]:
        with sa.create_engine(self.url, poolclass=sa.NullPool).connect() as connection:
            return list(connection.execute(sa.select(t.Call)))

    def errors(self) -> Counter[str]:
        """Attempts that failed or were discarded, by kind."""
        return Counter(error["kind"] for call in self.ledger() for error in call.errors)


@pytest.fixture(scope="module")
def provider() -> Iterator[Simulator]:
    """A simulator of this module's own, since it is told to fail."""
    with running() as url:
        yield Simulator(url)


@pytest.fixture(scope="module")
def undisturbed(
    postgres_server: str,
    migrated_template: str,
    provider: Simulator,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Outcome]:
    with temporary_database(postgres_server, migrated_template) as url:
        yield run_sweep(url, provider, tmp_path_factory.mktemp("undisturbed"))


def run_sweep(
    url: str, provider: Simulator, folder: Path, *faults: Fault, attempts: int = 10
) -> Outcome:
    """Run W1 to W5 under these faults."""
    file = folder / "bad-day.yaml"
    file.write_text(SWEEP)
    hangs = any(fault["kind"] in HANGING for fault in faults)
    before = provider.statistics()
    provider.use_faults(*faults)
    try:
        with configured(
            folder,
            JUDGE_GYM_DATABASE_URL=url,
            JUDGE_GYM_SIMULATOR_URL=provider.url,
            JUDGE_GYM_CALL_ATTEMPTS=str(attempts),
            JUDGE_GYM_CALL_TIMEOUT_S=TIMEOUT_S if hangs else LONG_S,
        ):
            run_workflows(prepared(file))
    finally:
        provider.use_faults()
    after = provider.statistics()
    return Outcome(
        url,
        natural_rows(url),
        sum(after[key] - before[key] for key in ("total", "refused")),
        Counter(after["faults"]) - Counter(before["faults"]),
    )


def run_workflows(run: RegisteredSweep) -> None:
    assert run.swap is not None
    for flow, arguments in (
        (w1_evidence, (run.windows, run.views, run.utility_model)),
        (w2_rubric, (run.tags, run.utility_model)),
        (w3_scoring, (run.tags,)),
        (w4_swap, (run.tags, run.swap)),
        (w5_probe, (run.tags,)),
    ):
        state = run_flow(flow, *arguments)
        assert state.is_completed(), state.message


@pytest.mark.parametrize(
    ("faults", "kept_as"),
    [
        ([{"kind": "rate_limit", "share": 0.2, "retry_after": 0.2}], "rate_limit"),
        ([{"kind": "rate_limit", "form": "date", "max_count": 6}], "rate_limit"),
        (
            [{"kind": "server_error", "status": s, "share": 0.1} for s in (500, 502, 503)],
            "server",
        ),
        ([{"kind": "slow_first_byte", **HANGS}], "timeout"),
        ([{"kind": "stall", **HANGS}], "timeout"),
        ([{"kind": "cut", "share": 0.2}], "connection"),
        ([{"kind": "invalid_json", "share": 0.2}], "unreadable"),
        ([{"kind": "html", "share": 0.2}], "unreadable"),
    ],
    ids=["429", "429-date", "5xx", "slow", "stall", "cut", "truncated-json", "html"],
)
def test_what_passes_leaves_the_rows_of_an_undisturbed_run(
    undisturbed: Outcome,
    database: str,
    provider: Simulator,
    tmp_path: Path,
    faults: list[Fault],
    kept_as: str,
) -> None:
    outcome = run_sweep(database, provider, tmp_path, *faults)
    assert outcome.rows == undisturbed.rows
    # Each fault is one attempt more, with its error on record.
    given = outcome.given.total()
    assert given > 0
    assert outcome.errors() == {kept_as: given}
    assert outcome.requests == undisturbed.requests + given
    assert sum(call.attempts for call in outcome.ledger()) == outcome.requests


@pytest.mark.parametrize(
    ("kind", "status", "requests_each", "kept_as"),
    [
        ("malformed_verdict", "unparseable", 1, None),
        ("refusal", "refused", 1, None),
        ("empty", "unparseable", 2, "empty"),
        ("server_error", "failed", 2, "server"),
    ],
)
def test_what_stays_costs_only_the_judgements_it_strikes(
    undisturbed: Outcome,
    database: str,
    provider: Simulator,
    tmp_path: Path,
    kind: str,
    status: str,
    requests_each: int,
    kept_as: str | None,
) -> None:
    struck = {"kind": kind, "role": "scorer", "share": 0.2, "sticky": True}
    outcome = run_sweep(database, provider, tmp_path, struck, attempts=2)
    given = outcome.given.total()
    assert given > 0
    changed = {
        key: row["status"]
        for key, row in outcome.samples.items()
        if row != undisturbed.samples[key]
    }
    assert outcome.samples.keys() == undisturbed.samples.keys()
    assert Counter(changed.values()) == {status: given / requests_each}
    # What followed from the other judgements is as it was.
    lost = {key for key in undisturbed.rows["probes"] if key[:-1] in changed}
    assert outcome.rows["probes"] == {
        key: row for key, row in undisturbed.rows["probes"].items() if key not in lost
    }
    # An empty answer that was asked for twice is kept as the answer: only the first is an error.
    discarded = given / 2 if kept_as == "empty" else given
    assert outcome.errors() == ({kept_as: discarded} if kept_as else {})
    assert sum(call.attempts for call in outcome.ledger()) == outcome.requests


def test_everything_at_once(
    undisturbed: Outcome, database: str, provider: Simulator, tmp_path: Path
) -> None:
    often = {"share": 0.04}
    kept = {"rate_limit": "rate_limit", "server_error": "server", "cut": "connection"}
    kept |= {"slow_first_byte": "timeout", "stall": "timeout", "invalid_json": "unreadable"}
    kept |= {"html": "unreadable"}
    outcome = run_sweep(
        database,
        provider,
        tmp_path,
        {"kind": "rate_limit", "retry_after": 0.2, **often},
        {"kind": "rate_limit", "form": "date", "max_count": 2, **often},
        *({"kind": "server_error", "status": status, **often} for status in (500, 502, 503, 529)),
        {"kind": "slow_first_byte", **HANGS, "max_count": 2},
        {"kind": "stall", **HANGS, "max_count": 2},
        *({"kind": kind, **often} for kind in ("cut", "invalid_json", "html")),
        {"kind": "missing_usage", **often},
        {"kind": "wrong_model", **often},
        *(
            {"kind": kind, "role": role, "sticky": True, **often}
            for role in ("scorer", "prober")
            for kind in ("malformed_verdict", "refusal", "empty", "length")
            if (kind, role) != ("malformed_verdict", "prober")
        ),
    )
    assert len(outcome.given) > 8, outcome.given
    samples = outcome.samples
    assert samples.keys() == undisturbed.samples.keys()
    assert len(samples) == JUDGEMENTS
    assert {row["status"] for row in samples.values()} <= set(t.SAMPLE_STATUSES)
    assert {row["status"] for row in outcome.rows["probes"].values()} <= set(t.PROBE_STATUSES)
    # Never a guess: what could be read is what would have been read on a good day.
    read = {key: row for key, row in samples.items() if row["status"] in ("scored", "abstained")}
    assert read.items() <= undisturbed.samples.items()
    assert {call.status for call in outcome.ledger()} == {"succeeded"}
    expected: Counter[str] = Counter()
    for kind, count in outcome.given.items():
        if kind in kept:
            expected[kept[kind]] += count
    errors = outcome.errors()
    assert {kind: errors[kind] for kind in expected} == expected
    assert sum(call.attempts for call in outcome.ledger()) == outcome.requests

    with configured(
        tmp_path, JUDGE_GYM_DATABASE_URL=database, JUDGE_GYM_SIMULATOR_URL=provider.url
    ):
        before = provider.answered()
        run_workflows(prepared(tmp_path / "bad-day.yaml"))
    assert provider.answered() == before
    assert natural_rows(database) == outcome.rows
