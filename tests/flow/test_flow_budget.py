"""A sweep that has used what its file allows: where it stops, what it says, how it goes on.

And the settings of one run.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect.client.schemas.objects import State
from prefect.variables import Variable

from deployments.cli.output import exit_code_of
from flows.sweep import sweep
from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.counting import counted
from judge_gym.errors import ConfigError
from judge_gym.llm.hourly import HourlyBoundError
from judge_gym.report.table import escaped
from judge_gym.store import tables as t
from support.flow_runs import artifacts, error_of, flows_at, run_beside
from support.misbehaving import Step, answers, refuses
from support.prefect_server import ServerProcess
from support.sweeps import scoring_sweep

pytestmark = pytest.mark.slow

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
    ("budget", "calls", "percent"),
    # Percent: of five workflows two, and as many judgements of the third.
    [("{max_cost_usd: 7}", 7, 45.8), ("{max_calls: 8}", 8, 46.6)],
)
def test_a_sweep_stops_at_its_budget_and_goes_on_when_it_is_raised(
    sweep_file: Path, database: str, budget: str, calls: int, percent: float
) -> None:
    """A call costs 1 USD; chunks have 4, and the budget may end in the middle of one."""
    state, requests = run_sweep(sweep_file, budget, READABLE)
    assert state.is_failed()
    error = error_of(state)
    assert isinstance(error, BudgetExceededError)
    assert f" is {calls}, and {calls} calls cost {calls} USD" in error.message
    assert f"in {sweep_file} and rerun the command" in error.remedy
    assert requests == judged(database) == calls
    # What a person reads in Prefect's page: where it stopped, and what to do.
    shown = {str(one.key).partition("-")[0]: one for one in artifacts(state)}
    progress, end = shown.pop("progress"), shown.pop("end")
    [why] = shown.values()
    assert f"{counted(calls, 'call')}, cost" in str(end.data)
    assert why.data == f"**{escaped(error.message)}**\n\n{escaped(error.remedy)}"
    assert f"w3-scoring {calls} of 24, " in str(progress.description)
    assert progress.data == percent
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
    assert requests >= ALL - calls + ALL


def test_workers_at_once_pass_the_budget_by_less_than_a_call_each(
    sweep_file: Path, place: pytest.MonkeyPatch
) -> None:
    place.setenv("JUDGE_GYM_WORKERS", "3")
    state, requests = run_sweep(sweep_file, "{max_calls: 10}", READABLE)
    error = error_of(state)
    assert isinstance(error, BudgetExceededError)
    assert 10 <= requests < 10 + 3
    # Calls that were in flight when one worker stopped are counted.
    assert f"and {requests} calls cost" in error.message


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


def test_an_error_that_stops_a_run_names_the_models_that_were_stopped_before(
    sweep_file: Path,
) -> None:
    """Six calls fail alike and stop one judge; the other judge's calls use up the budget."""
    file = scoring_sweep(
        "bounded", "local/judge-1", "sim/calm-1", replicates=6, more="budget: {max_calls: 12}"
    )
    sweep_file.write_text(file)
    state, requests = run_beside([refuses(400, "no")], sweep, sweep_file)
    error = error_of(state)
    assert isinstance(error, BudgetExceededError)
    first, _, rest = error.message.partition("reached its budget")
    assert "No more calls to local/judge-1 were made" in first
    assert "max_calls is 12" in rest
    assert requests < ALL


def test_a_cost_that_cannot_be_known_cannot_be_bounded(sweep_file: Path, database: str) -> None:
    unpriced = sweep_file.parent / "providers.toml"
    unpriced.write_text(PROVIDERS.replace("judge-1", "judge-2"))
    state, requests = run_sweep(sweep_file, "{max_cost_usd: 7}", answers())
    error = error_of(state)
    assert isinstance(error, ConfigError)
    assert "local/judge-1" in error.message
    assert f"table [local] of {unpriced}" in error.remedy
    assert requests == judged(database) == 0


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[None]:
    """Flows are recorded by a server of their own, since a variable holds for every run of one."""
    (tmp_path / "server").mkdir()
    process = ServerProcess(tmp_path / "server")
    process.start()
    try:
        with flows_at(process.server, tmp_path):
            yield
    finally:
        process.stop()


@pytest.mark.usefixtures("own_server")
def test_a_run_has_its_parameters_and_over_them_the_prefect_variable(sweep_file: Path) -> None:
    """A call is attempted as often as the setting says before the budget of one call is used up."""
    budget, given, broken = "{max_calls: 1}", {"call_attempts": 1}, refuses(500, "broken")
    _, requests = run_sweep(sweep_file, budget, broken, settings=given)
    assert requests == 1
    asyncio.run(Variable.aset("judge_gym_settings", {"call_attempts": 2}, overwrite=True))
    _, requests = run_sweep(sweep_file, "{max_calls: 2}", broken, settings=given)
    assert requests == 2
    asyncio.run(Variable.aset("judge_gym_settings", "five", overwrite=True))
    state, requests = run_sweep(sweep_file, budget, answers())
    assert "judge_gym_settings is not a JSON object" in str(error_of(state))
    assert requests == 0


def test_a_bound_per_hour_fails_the_run_so_that_a_command_can_rerun_it_later(
    sweep_file: Path, database: str
) -> None:
    with (sweep_file.parent / "providers.toml").open("a") as providers:
        providers.write("[bounds]\ncalls_per_hour = 6\n")
    state, requests = run_sweep(sweep_file, "{max_calls: 100}", READABLE)
    assert state.is_failed()
    error = error_of(state)
    assert isinstance(error, HourlyBoundError)
    assert exit_code_of(error) == 75
    assert state.message is not None
    assert error.remedy in state.message
    assert requests == judged(database) == 6
