"""A sweep that has used what its file allows: where it stops, what it says, how it goes on.

And the settings of one run, told by the size of the chunk after which a sweep stops.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect.client.schemas.objects import State
from prefect.variables import Variable

from flows.sweep import sweep
from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.errors import ConfigError
from judge_gym.report.table import escaped
from judge_gym.store import tables as t
from support.flow_runs import artifacts, error_of, run_beside
from support.misbehaving import Step, answers, refuses
from support.sweeps import scoring_sweep

# One judge, 4 articles as they are, a rubric given: W3 asks first, 4 x 6 judgements.
ALL = 24
CHUNK = 4
READABLE = answers("VERDICT: A\nPROBABILITY: 0.5")
"""Of judgements and probes alike."""
# The scripted provider counts 7 and 3 tokens: 1 USD an answer.
PROVIDERS = """
[sim]
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
[local]
litellm = "openai"
base_url_env = "LOCAL_BASE_URL"
prices."judge-1" = {prompt = 1e5, completion = 1e5}
"""


@pytest.fixture
def sweep_file(tmp_path: Path, place: pytest.MonkeyPatch) -> Path:
    (tmp_path / "providers.toml").write_text(PROVIDERS)
    place.setenv("JUDGE_GYM_PROVIDERS_FILE", str(tmp_path / "providers.toml"))
    place.setenv("JUDGE_GYM_CHUNK_SIZE", str(CHUNK))
    place.setenv("JUDGE_GYM_WORKERS", "1")
    return tmp_path / "bounded.yaml"


def run_sweep(file: Path, budget: str, *script: Step, **more: Any) -> tuple[State[Any], int]:
    """Run the sweep with this budget; its state, and the requests that arrived."""
    bound = f"budget: {budget}"
    file.write_text(scoring_sweep("bounded", "local/judge-1", replicates=6, more=bound))

    return run_beside(script, sweep, file, **more)


def judged(url: str) -> int:
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(t.Sample)).scalar_one()


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("{max_cost_usd: 7}", "max_cost_usd is 7, and 8 calls cost 8 USD"),
        ("{max_calls: 8}", "max_calls is 8, and 8 calls cost 8 USD"),
    ],
)
def test_a_sweep_stops_at_its_budget_and_goes_on_when_it_is_raised(
    sweep_file: Path, database: str, budget: str, words: str
) -> None:
    """Chunks of 4 at 1 USD a call: after the second, 8 USD are spent."""
    state, requests = run_sweep(sweep_file, budget, READABLE)
    assert state.is_failed()
    error = error_of(state)
    assert isinstance(error, BudgetExceededError)
    assert words in error.message
    assert f"in {sweep_file} and rerun the command" in error.remedy
    assert requests == judged(database) == 8
    # What a person reads in Prefect's page: where it stopped, and what to do.
    progress, why = artifacts(state)
    assert why.data == f"**{escaped(error.message)}**\n\n{escaped(error.remedy)}"
    assert "w3-scoring 8 of 24, " in str(progress.description)
    assert progress.data == 46.6  # of five workflows two and a third
    assert state.message is not None
    assert error.remedy in state.message

    # The same command with the same limit asks nothing and says the same.
    state, requests = run_sweep(sweep_file, budget, READABLE)
    assert isinstance(error_of(state), BudgetExceededError)
    assert requests == 0

    more = budget.replace("7", "100").replace("8", "100")
    state, requests = run_sweep(sweep_file, more, READABLE)
    assert state.is_completed(), state.message
    assert judged(database) == ALL
    # The judgements that were left, and a probe of each, of some a second.
    assert requests >= ALL - 8 + ALL


def test_a_sweep_that_keeps_failing_stops_and_goes_on_when_the_cause_is_mended(
    sweep_file: Path, database: str
) -> None:
    """20 calls must have ended: five chunks of 4. The first succeeds: else the model is stopped."""
    script = (READABLE, refuses(400, "no"))
    state, requests = run_sweep(sweep_file, "{max_failures_share: 0.5}", *script)
    error = error_of(state)
    assert isinstance(error, BudgetExceededError)
    assert "19 of 20 that ended have failed" in error.message
    assert "retry_failed" in error.remedy
    assert requests == 20

    state, _ = run_sweep(sweep_file, "{max_failures_share: 0.5}", READABLE, retry_failed=True)
    assert state.is_completed(), state.message
    assert judged(database) == ALL


def test_a_cost_that_cannot_be_known_cannot_be_bounded(sweep_file: Path, database: str) -> None:
    unpriced = sweep_file.parent / "providers.toml"
    unpriced.write_text(PROVIDERS.replace("judge-1", "judge-2"))
    state, requests = run_sweep(sweep_file, "{max_cost_usd: 7}", answers())
    error = error_of(state)
    assert isinstance(error, ConfigError)
    assert "local/judge-1" in error.message
    assert f"table [local] of {unpriced}" in error.remedy
    assert requests == judged(database) == 0


def test_a_run_has_its_parameters_and_over_them_the_prefect_variable(sweep_file: Path) -> None:
    """One chunk is asked before the budget of one call is passed."""
    budget, given = "{max_calls: 1}", {"chunk_size": 3}
    _, requests = run_sweep(sweep_file, budget, answers(), settings=given)
    assert requests == 3
    asyncio.run(Variable.aset("judge_gym_settings", {"chunk_size": 5}, overwrite=True))
    try:
        _, requests = run_sweep(sweep_file, "{max_calls: 4}", answers(), settings=given)
        assert requests == 5
        asyncio.run(Variable.aset("judge_gym_settings", "five", overwrite=True))
        state, requests = run_sweep(sweep_file, budget, answers())
        assert "judge_gym_settings is not a JSON object" in str(error_of(state))
        assert requests == 0
    finally:
        asyncio.run(Variable.aunset("judge_gym_settings"))
