"""Whole sweeps, W1 to W5, over every API on a bad day: the rows are those of a good day.

The faults are drawn by a seed for every request, so that a request may meet several in a row. What
becomes of single calls is in `test_conformance`, of batches in `test_batches`.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.design.plans import SwapPlan
from judge_gym.llm.providers import Providers
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.simulator.launch import running
from support.natural_rows import Rows, natural_rows
from support.rig import KEY_NAME, calls, empty, run
from support.simulation import Fault, Simulator
from support.study import Study, corpus, window
from support.tiers import rest_slow
from support.vendors import SHIPPED, WIRES, Wire, gateway_by

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("quick_retries"),
]
ATTEMPTS = 20
OFTEN = {"share": 0.06}
HUGE = 4_000_000
KINDS: dict[str, tuple[Fault, str | None]] = {
    "429": ({"kind": "rate_limit", "retry_after": 0.05, **OFTEN}, "rate_limit"),
    "500": ({"kind": "server_error", **OFTEN}, "server"),
    "overloaded": ({"kind": "overloaded", **OFTEN}, "server"),
    "page": ({"kind": "html", **OFTEN}, "unreadable"),
    "huge": ({"kind": "html", "characters": HUGE, "share": 0.03}, "unreadable"),
    "truncated": ({"kind": "invalid_json", **OFTEN}, "unreadable"),
    "cut": ({"kind": "cut", **OFTEN}, "connection"),
    "reset": ({"kind": "reset", **OFTEN}, "connection"),
    # No failures: the answers come late.
    "slow": ({"kind": "slow_first_byte", "seconds": 0.2, **OFTEN}, None),
    "halting": ({"kind": "stall", "seconds": 0.2, **OFTEN}, None),
}
"""A fault by what it is called here, and the kind of error that the ledger keeps of it."""


@pytest.fixture(scope="module")
def provider() -> Iterator[Simulator]:
    with running() as url:
        yield Simulator(url)


@pytest.fixture
def faulty(provider: Simulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    """The provider, to be given faults that end with the test."""
    monkeypatch.setenv(KEY_NAME, "sk-of-nobody-0123456789")
    yield provider
    provider.use_faults()


@asynccontextmanager
async def runtime_by(wire: Wire, url: str, database: str) -> AsyncIterator[Runtime]:
    """A runtime whose only provider is the stand-in of one API."""
    providers = Providers({wire.name: wire.at(url)}, SHIPPED.file)
    async with gateway_by(wire, url, database, attempts=ATTEMPTS, timeout_s=60) as (
        gateway,
        engine,
    ):
        yield Runtime(Settings(), engine, providers, gateway)


def sweep(wire: Wire, url: str, database: str, folder: Path) -> Rows:
    """Run a sweep of one model, judged under a sham rubric too; returns what it leaves."""

    async def work() -> None:
        async with runtime_by(wire, url, database) as runtime:
            study = Study(runtime, window(corpus(folder, 4)))
            experiment = study.experiment(wire.asked, evidence_view="neutralized", replicates=3)
            tags = study.register(experiment, utility_model=wire.asked)
            await study.collect()
            await study.make("cleaned")
            await study.make("neutralized", wire.asked)
            for sham in (False, True):
                await study.write_rubrics([experiment], sham=sham, critic=wire.asked)
            await study.score(tags)
            await study.swap(tags, SwapPlan(pairs=[], sham=True))
            await study.probe(tags)

    run(work())
    return natural_rows(database)


def ledger(database: str) -> list[Any]:
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    return list(calls(engine).values())


@pytest.mark.parametrize("name", rest_slow(list(WIRES), 4))
def test_a_bad_day_leaves_the_rows_of_a_good_one(
    database: str, faulty: Simulator, tmp_path: Path, name: str
) -> None:
    wire = WIRES[name]
    good = sweep(wire, faulty.url, database, tmp_path)
    needed = len(good["llm_calls"])
    assert {row["status"] for row in good["llm_calls"].values()} == {"succeeded"}
    assert {row["status"] for row in good["samples"].values()} <= {"scored", "abstained"}
    assert len(good["samples"]) == 2 * 4 * 3
    assert good["views"]
    assert good["probes"]

    empty(database)
    before = faulty.statistics()
    faulty.use_faults(*(fault for fault, _ in KINDS.values()))
    bad = sweep(wire, faulty.url, database, tmp_path)
    for table, rows in good.items():
        assert bad[table].keys() == rows.keys(), table
        differing = {
            (key, column)
            for key, row in rows.items()
            for column, value in row.items()
            if bad[table][key][column] != value
        }
        assert not differing, [(k, c, bad[table][k][c], rows[k][c]) for k, c in differing]
    after = faulty.statistics()
    given = Counter(after["faults"]) - Counter(before["faults"])
    # Each failure is one attempt more, with its error on record, and nothing else is.
    expected: Counter[str] = Counter()
    for fault, kind in {str(fault["kind"]): kind for fault, kind in KINDS.values()}.items():
        expected[kind or "late"] += given[fault]
    late = expected.pop("late")
    rows = ledger(database)
    errors = Counter(error["kind"] for call in rows for error in call.errors)
    assert errors == +expected
    assert late or errors
    requests = sum(after[key] - before[key] for key in ("total", "refused"))
    assert requests == needed + errors.total() == sum(call.attempts for call in rows)
    # What a failed request said is kept in a line, however long it was.
    assert max(len(str(call.errors)) for call in rows) < HUGE / 100
