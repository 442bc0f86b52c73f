"""A run in which a judge has fewer than half its answers readable is no success, on any driver."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import Result
from sqlalchemy.orm import Session
from typer.testing import CliRunner

from deployments.cli.app import app
from flows.endings import PartialFailure
from flows.sweep import sweep
from judge_gym.errors import JudgeGymError
from judge_gym.judges.judging import UnreadableError
from judge_gym.llm.breaker import ENOUGH_ALIKE
from judge_gym.report.facts import read_facts
from judge_gym.settings import settings
from support.command_line import REPOSITORY, sweep_text
from support.flow_runs import error_of, run_beside, run_flow, sample_counts
from support.misbehaving import answers
from support.simulation import Simulator
from support.sweeps import scoring_sweep

pytestmark = pytest.mark.slow

# 4 articles as they are, a rubric given: W3 asks first, 4 x 10 times a judge.
EACH = 40
AT_ONCE = 4
PROVIDERS = f"""
[sim]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
[thinker]
litellm = "openai"
base_url_env = "LOCAL_BASE_URL"
concurrency = {AT_ONCE}
task_slots = 1
"""
DEPLOYED = REPOSITORY / "deployments"
THINKS_TO_THE_LIMIT = answers("", finish_reason="length")


@pytest.fixture(autouse=True)
def _providers(tmp_path: Path, place: pytest.MonkeyPatch) -> None:
    (tmp_path / "providers.toml").write_text(PROVIDERS)
    place.setenv("JUDGE_GYM_PROVIDERS_FILE", str(tmp_path / "providers.toml"))


def test_a_reasoning_model_whose_answers_are_all_empty_is_stopped_and_the_sweep_is_no_success(
    database: str, tmp_path: Path
) -> None:
    file = tmp_path / "thinking.yaml"
    file.write_text(scoring_sweep("thinking", "sim/calm-1", "thinker/thinks", replicates=10))
    state, requests = run_beside([THINKS_TO_THE_LIMIT], sweep, file)
    assert state.is_failed()
    error = error_of(state)
    assert isinstance(error, PartialFailure)
    asked = sample_counts(database)["thinker/thinks"]["failed"]
    assert ENOUGH_ALIKE <= asked == requests < ENOUGH_ALIKE + AT_ONCE
    first = f"thinker/thinks: 0 of {asked} answers readable ({asked} output_limit: "
    assert error.message.startswith(f"Fewer than half the answers are readable. {first}")
    assert "No more calls to thinker/thinks were made" in error.message
    assert "thinking_tokens" in error.remedy
    # The other judge lost nothing, and what was not asked is missing, not an answer.
    counts = sample_counts(database)
    assert sum(counts["sim/calm-1"].values()) == EACH
    assert sum(counts["thinker/thinks"].values()) == asked

    # Another run asks what is missing; most answers are readable then.
    state, requests = run_beside([answers("VERDICT: A\nPROBABILITY: 0.5")], sweep, file)
    assert state.is_completed(), state.message
    assert requests >= EACH - asked
    assert sample_counts(database)["thinker/thinks"]["scored"] == EACH - asked


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ({"role": "neutralizer"}, "sim/utility-1 (neutralized views): 0 of 5 answers readable"),
        ({"role": "rubricer", "model": "calm-1"}, "sim/calm-1 (rubrics): 0 of 1 answers readable"),
        ({"role": "prober", "model": "high-1"}, "sim/high-1: 0 of "),
    ],
    ids=["W1", "W2", "W5"],
)
def test_the_first_cause_leads_and_what_follows_from_it_comes_after(
    simulator: Simulator, tmp_path: Path, fault: dict[str, Any], named: str
) -> None:
    """W1 with every view empty was green; W4 named a rival's rubric that W2 could not have."""
    file = tmp_path / "quick.yaml"
    file.write_text(sweep_text("quick.yaml"))
    simulator.use_faults({"kind": "empty", **fault})
    try:
        state = run_flow(sweep, file)
    finally:
        simulator.use_faults()
    assert state.is_failed()
    message = str(error_of(state))
    assert message.startswith(f"Fewer than half the answers are readable. {named}"), message
    assert "nothing was missing" not in message
    remedy = error_of(state).remedy
    assert "max_tokens" not in remedy
    assert remedy.count("--retry-failed") == 1


def test_a_judge_with_some_empty_answers_is_named_and_they_are_made_again_on_request(
    simulator: Simulator, database: str, tmp_path: Path
) -> None:
    """Eight of twenty answers were empty, paid for, and a success that nothing could repeat."""
    file = tmp_path / "partly.yaml"
    file.write_text(scoring_sweep("partly", "sim/calm-1", replicates=10))
    some = {"kind": "empty", "role": "scorer", "share": 0.2, "sticky": True}

    def command(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["sweep", *arguments])

    simulator.use_faults(some)
    try:
        first = run_flow(sweep, file)
    finally:
        simulator.use_faults()
    counts = sample_counts(database)["sim/calm-1"]
    empty, scored = counts["unparseable"], counts["scored"]
    assert EACH * 0.05 <= empty < EACH / 2
    assert f"Finished with failures: w3-scoring {empty} (empty)" in (first.message or "")
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        facts = read_facts(Session(connection), first.result())
    assert (
        f"sim/calm-1: {empty} of {EACH} answers could not be read (empty); its figures rest on "
        f"{scored} scores."
    ) in facts.warnings
    said = " ".join(command("status", "partly").output.split())
    assert re.search(rf"{empty} empty answers of sim/calm-1: \S.* sweep retry partly", said)
    assert isinstance(command("status", "partly", "--watch").exception, JudgeGymError)

    told = " ".join(command("retry", "partly", "--yes").output.split())
    assert f"{empty} empty answers of sim/calm-1 cost 0 USD." in told
    second = run_flow(sweep, file)
    assert "failures" not in (second.message or "")
    counts = sample_counts(database)["sim/calm-1"]
    assert "unparseable" not in counts
    assert sum(counts.values()) == EACH
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        scorers = sa.text("SELECT count(*) FROM analysis.calls WHERE workflow = 'w3-scoring'")
        assert connection.scalar(scorers) == EACH + empty
        assert not read_facts(Session(connection), second.result()).warnings


def test_a_copy_that_marks_what_is_not_applied_is_run_with_its_failed_calls_made_again(
    simulator: Simulator, database: str, tmp_path: Path
) -> None:
    """As the failure of a frozen sweep advises; without the option the copy failed alike."""
    text = scoring_sweep("plain", "sim/like-gpt-5.2", documents=2)
    file, copy = tmp_path / "plain.yaml", tmp_path / "copy.yaml"
    file.write_text(text)
    failed = run_flow(sweep, file)
    assert failed.is_failed()
    assert "sim/like-gpt-5.2 does not apply" in str(error_of(failed))
    copy.write_text(text.replace("name: plain", "name: copy\non_unsupported: mark"))
    assert run_flow(sweep, copy).is_failed()
    again = run_flow(sweep, copy, retry_failed=True)
    assert again.is_completed(), again.message
    assert sample_counts(database)["sim/like-gpt-5.2"] == {"scored": 4}


NOTES = DEPLOYED / "calibrations" / "notes.jsonl"
SMALL = """
name: small
judges: [good.yaml]
items: items.jsonl
repeats: 1
perturbations: [vague_ify]
severities: [1.0]
"""


def small_calibration(folder: Path) -> Path:
    """A calibration of one judge on four notes."""
    (folder / "good.yaml").write_text((DEPLOYED / "calibrations" / "good.yaml").read_text())
    (folder / "items.jsonl").write_text("\n".join(NOTES.read_text().splitlines()[:4]))
    (folder / "small.yaml").write_text(SMALL)
    return folder / "small.yaml"


def pairs(folder: Path) -> Path:
    """Three pairs of known answer."""
    rows = [{"id": n, "subset": "s", "prompt": "6 x 7?", "chosen": f"42, {n}"} for n in range(3)]
    file = folder / "pairs.jsonl"
    file.write_text("\n".join(json.dumps(row | {"rejected": "7"}) for row in rows))
    return file


@pytest.mark.parametrize(
    ("fault", "arguments", "named"),
    [
        pytest.param(
            {"model": "good-1"},
            lambda folder: ("judge", "calibrate", small_calibration(folder)),
            r"^No more calls to sim/good-1 were made after 5 failures alike",
            id="calibrate",
        ),
        pytest.param(
            {"model": "clustering-1"},
            lambda _: (
                *("judge", "compare", DEPLOYED / "calibrations" / "good.yaml"),
                *(DEPLOYED / "calibrations" / "clustering.yaml", "--items", NOTES),
            ),
            r"No more calls to sim/clustering-1 were made after 5 failures alike",
            id="compare",
        ),
        pytest.param(
            {"model": "firstpick-1"},
            lambda folder: (
                *(
                    "judge",
                    "benchmark",
                    DEPLOYED / "judges" / "answers.yaml",
                    "--items",
                    pairs(folder),
                ),
                *("--mapping", DEPLOYED / "benchmarks" / "chosen-rejected.yaml"),
            ),
            r"^No more calls to sim/firstpick-1 were made after 5 failures alike",
            id="benchmark",
        ),
        pytest.param(
            {"role": "generaliser"},
            lambda _: ("judge", "gym", DEPLOYED / "gyms" / "abstract.yaml"),
            r"candidate .* \(sim/.*\): 0 of 8 answers readable",
            id="gym",
        ),
        pytest.param(
            {"role": "rater", "model": "severe-1"},
            lambda _: ("panel", "run", DEPLOYED / "panels" / "library.yaml"),
            r"rater_. \(sim/severe-1\): 0 of 1 answers readable",
            id="panel",
        ),
    ],
)
def test_judges_for_products_end_as_no_success_and_name_who_could_not_be_read(
    simulator: Simulator,
    place: pytest.MonkeyPatch,
    tmp_path: Path,
    fault: dict[str, Any],
    arguments: Callable[[Path], tuple[str | Path, ...]],
    named: str,
) -> None:
    place.delenv("JUDGE_GYM_PROVIDERS_FILE")
    simulator.use_faults({"kind": "empty", **fault})
    try:
        ended = CliRunner().invoke(app, [str(one) for one in arguments(tmp_path)])
    finally:
        simulator.use_faults()
    assert isinstance(ended.exception, JudgeGymError), ended.output
    assert re.search(named, ended.exception.message), ended.exception.message
    assert ended.exception.remedy


def test_a_function_whose_first_answers_cannot_be_read_is_stopped_over_all_chunks(
    place: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Chunks of 5 texts: no chunk alone has 20 answers."""
    (tmp_path / "off.yaml").write_text(
        "kind: callable\nname: off\nfunction: off_in_chunks:six\nversion: '1'\n"
        "scale: {lowest: 1, highest: 5}\n"
    )
    (tmp_path / "off_in_chunks.py").write_text(
        "from pathlib import Path\n"
        "def six(item):\n"
        "    with Path(__file__).with_name('asked').open('a') as file:\n"
        "        file.write('.')\n"
        "    return 6\n"
    )
    rows = [{"text": f"A text with {n} words.", "truth": 1 + n % 5} for n in range(60)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    file = tmp_path / "off-calibration.yaml"
    file.write_text(
        "name: off\njudges: [off.yaml]\nitems: items.jsonl\nrepeats: 1\nperturbations: [tone]\n"
    )
    place.setenv("JUDGE_GYM_CHUNK_SIZE", "5")
    settings.cache_clear()
    ended = CliRunner().invoke(app, ["judge", "calibrate", str(file)])
    assert isinstance(ended.exception, UnreadableError), ended.output
    # Those in flight end: eight of each of four chunks.
    assert 20 <= len((tmp_path / "asked").read_text()) < 20 + 4 * 5
