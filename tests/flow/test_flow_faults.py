"""When a part of the work cannot be done: what is kept, what the flow says, and how it goes on."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from flows.endings import PartialFailure
from flows.sweep import sweep
from flows.w1_evidence import w1_evidence
from flows.w2_rubric import w2_rubric
from flows.w3_scoring import w3_scoring
from flows.w4_swap import w4_swap
from judge_gym.errors import StoreError
from judge_gym.lab.sweeps import RegisteredSweep
from judge_gym.llm.breaker import ENOUGH_ALIKE
from judge_gym.llm.gateway import ProviderRefusedError
from support.flow_runs import error_of, prepared, run_beside, run_flow, sample_counts, task_runs
from support.misbehaving import Step, answers, refuses
from support.simulation import Simulator
from support.sweeps import scoring_sweep

QUICK = Path(__file__).parents[2] / "deployments" / "sweeps" / "quick.yaml"
# Two judges of two providers, 4 articles as they are, a rubric given: W1 and W2 ask nothing.
EACH = 8
"""Judgements of one judge: 4 articles, 2 replicates."""

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("place")]


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    file = tmp_path / "two-providers.yaml"
    file.write_text(scoring_sweep("two-providers", "sim/calm-1", "local/judge-1"))
    return file


def ready_to_score(sweep_file: Path) -> RegisteredSweep:
    """The sweep after W1 and W2."""
    run = prepared(sweep_file)
    for state in (
        run_flow(w1_evidence, run.windows, run.views, run.utility_model),
        run_flow(w2_rubric, run.tags, run.utility_model),
    ):
        assert state.is_completed(), state.message
    return run


def execute(url: str, *statements: str) -> None:
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def test_a_provider_that_is_down_costs_the_others_nothing(
    sweep_file: Path, database: str, simulator: Simulator, place: pytest.MonkeyPatch
) -> None:
    place.setenv("JUDGE_GYM_CALL_ATTEMPTS", "1")
    state, _ = run_beside([refuses(503, "overloaded")], w3_scoring, ready_to_score(sweep_file).tags)
    counts = sample_counts(database)
    assert sum(counts["sim/calm-1"].values()) == EACH
    assert "failed" not in counts["sim/calm-1"]
    failed = counts["local/judge-1"]["failed"]
    assert ENOUGH_ALIKE <= failed <= EACH  # the others were not asked: they are missing
    assert counts["local/judge-1"] == {"failed": failed}
    assert state.is_failed()
    said = state.message or ""
    assert said.startswith("Finished with failures: Fewer than half the answers are readable.")
    assert f"local/judge-1: 0 of {failed} answers readable ({failed} server: overloaded" in said
    assert "sim/calm-1" not in said
    assert "retry_failed" in said  # as the run form names it

    # The provider is back: what is kept as failed is asked again, and only that.
    place.setenv("LOCAL_BASE_URL", simulator.url)
    asked = simulator.answered()
    kept = run_flow(w3_scoring, prepared(sweep_file).tags)
    assert kept.is_failed()
    assert f"{EACH - failed} of {EACH} answers readable" in (kept.message or "")
    assert simulator.answered() - asked == EACH - failed
    assert run_flow(sweep, sweep_file, retry_failed=True).is_completed()
    after = sample_counts(database)
    assert after["sim/calm-1"] == counts["sim/calm-1"]
    assert sum(after["local/judge-1"].values()) == EACH
    assert "failed" not in after["local/judge-1"]


def test_a_failed_chunk_loses_no_other(
    sweep_file: Path, database: str, simulator: Simulator, place: pytest.MonkeyPatch
) -> None:
    """The database refuses the samples of one judge: its chunk fails, is retried, fails."""
    place.setenv("LOCAL_BASE_URL", simulator.url)
    run = ready_to_score(sweep_file)
    execute(
        database,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
        "IF (SELECT e.model FROM arms a JOIN experiments e ON e.id = a.experiment_id "
        "WHERE a.id = NEW.arm_id) = 'local/judge-1' THEN RAISE EXCEPTION 'disk of this judge is "
        "full'; END IF; RETURN NEW; END$$",
        "CREATE TRIGGER refuse BEFORE INSERT ON samples FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    state = run_flow(w3_scoring, run.tags)
    assert state.is_failed()
    assert isinstance(error_of(state), PartialFailure)
    assert f"failures: judgements 1-{EACH}: " in (state.message or "")
    assert "disk of this judge is full" in (state.message or "")
    assert "run the flow again" in (state.message or "")
    counts = sample_counts(database)
    assert counts.keys() == {"sim/calm-1"}
    assert sum(counts["sim/calm-1"].values()) == EACH
    # The failure might have passed by itself, so the chunk was tried three times.
    tries = {run.tags[0]: run.run_count for run in task_runs(state, 2)}
    assert tries == {"provider:local": 3, "provider:sim": 1}

    execute(database, "DROP TRIGGER refuse ON samples")
    again = run_flow(w3_scoring, run.tags)
    assert again.is_completed()
    assert sum(sample_counts(database)["local/judge-1"].values()) == EACH
    assert sample_counts(database)["sim/calm-1"] == counts["sim/calm-1"]


@pytest.mark.parametrize(
    ("refusal", "remedy"),
    [
        (refuses(401, "Incorrect API key provided", "invalid_api_key"), "Check the key in"),
        (refuses(429, "You exceeded your current quota", "insufficient_quota"), "Add credit"),
        (refuses(404, "The model `judge-1` does not exist", "model_not_found"), "model's name"),
    ],
    ids=["wrong key", "no credit", "no such model"],
)
def test_a_refused_model_stops_the_flow_with_one_clear_message(
    sweep_file: Path, database: str, place: pytest.MonkeyPatch, refusal: Step, remedy: str
) -> None:
    place.setenv("JUDGE_GYM_CHUNK_SIZE", "2")
    place.setenv("JUDGE_GYM_WORKERS", "1")
    run = ready_to_score(sweep_file)
    state, requests = run_beside([refusal], w3_scoring, run.tags)
    assert state.is_failed()
    error = error_of(state)
    assert isinstance(error, ProviderRefusedError)
    assert "local refuses local/judge-1" in error.message
    assert remedy in error.remedy
    # A call that every other would follow leaves no sample: it is missing, not failed.
    assert "local/judge-1" not in sample_counts(database)
    # Stopped early: of its chunks the first alone, tried once.
    assert requests <= 2

    mended, _ = run_beside([answers("VERDICT: A")], w3_scoring, run.tags)
    assert mended.is_completed(), mended.message
    assert sample_counts(database)["local/judge-1"] == {"scored": EACH}


def test_an_error_that_the_user_has_to_mend_is_not_retried(sweep_file: Path) -> None:
    run = ready_to_score(sweep_file)
    state, requests = run_beside([refuses(401, "Incorrect API key")], w3_scoring, run.tags)
    chunks = {run.tags[0]: run.run_count for run in task_runs(state, 2)}
    assert chunks["provider:local"] == 1
    assert requests <= EACH


def test_scoring_before_the_evidence_is_there_names_the_flow_to_run(
    sweep_file: Path, place: pytest.MonkeyPatch
) -> None:
    place.setenv("LOCAL_BASE_URL", "http://127.0.0.1:9/v1")
    run = prepared(sweep_file)
    unwritten = run_flow(w3_scoring, run.tags)
    assert "w2-rubric first" in str(error_of(unwritten))
    run_flow(w2_rubric, run.tags, run.utility_model)
    uncollected = error_of(run_flow(w3_scoring, run.tags))
    assert isinstance(uncollected, StoreError)
    assert "valmora" in uncollected.message
    assert "Run w1-evidence first" in uncollected.remedy
    unknown = error_of(run_flow(w3_scoring, ["no-such-experiment"]))
    assert isinstance(unknown, StoreError)
    assert "no-such-experiment" in unknown.message


def test_judgements_that_wait_for_a_failed_view_are_no_success(database: str) -> None:
    run = prepared(QUICK)
    for state in (
        run_flow(w1_evidence, run.windows, run.views, run.utility_model),
        run_flow(w2_rubric, run.tags, run.utility_model),
        run_flow(w2_rubric, run.tags, run.utility_model, sham=True),
    ):
        assert state.is_completed(), state.message
    fail_one = (
        "UPDATE views SET status = 'failed', text = NULL, failure = 'boom' WHERE view = "
        "'neutralized' AND document_id = (SELECT min(document_id) FROM views)"
    )
    execute(database, fail_one)
    scored = run_flow(w3_scoring, run.tags)
    swapped = run_flow(w4_swap, run.tags, run.swap)
    for state, what, blocked in (
        (scored, "judgements", 3 * 2),
        (swapped, "swapped judgements", 4 * 2),  # one swap and three shams
    ):
        assert state.is_failed()
        assert f"{blocked} {what} wait for views that failed (boom)" in (state.message or "")
