"""The panel flow: a bar that moves, the result as a text, and a state that says how it ended."""

import asyncio
from pathlib import Path

import pytest
from prefect.client.schemas.objects import State

from flows.panel import panel
from judge_gym.panel import PanelState
from judge_gym.panel.state import NoConsensusError
from support.flow_runs import artifacts, error_of, run_flow
from support.simulation import Simulator

SAMPLES = Path(__file__).parents[2] / "deployments" / "panels"
FILES = (SAMPLES / "library.yaml", SAMPLES / "proposal.yaml")
OF_RATERS = {"kind": "empty", "role": "rater"}


def shown(state: State[PanelState]) -> dict[str, object]:
    """What the run has shown in Prefect's page, by how the names begin."""
    return {str(one.key).partition("-")[0]: one.data for one in artifacts(state)}


@pytest.mark.slow
def test_a_panel_that_failed_goes_on_and_is_shown(
    place: pytest.MonkeyPatch, simulator: Simulator
) -> None:
    simulator.use_faults(OF_RATERS | {"model": "severe-1"}, OF_RATERS | {"model": "lenient-1"})
    try:
        failed = run_flow(panel, *FILES)
    finally:
        simulator.use_faults()
    assert failed.is_failed()
    error = error_of(failed)
    assert isinstance(error, NoConsensusError)
    assert "1 of 3 raters gave a review, and a consensus needs 2" in str(failed.message)
    assert "**No consensus**: 1 of 3 raters" in str(shown(failed)["panel"])

    before = simulator.answered()
    state = run_flow(panel, *FILES)
    assert state.is_completed()
    assert simulator.answered() - before == 3  # two raters and the arbiter
    last = asyncio.run(state.aresult())
    assert [rater.kept for rater in last.raters] == [True, False, False]
    assert {step.tier for step in (*last.raters, last.consensus)} == {"schema"}
    assert shown(state)["progress"] == 100
    text = str(shown(state)["panel"])
    assert "**SIMULATED**" in text
    assert f"## Consensus: {last.consensus.verdict.final_score}, from 1 to 5" in text
    assert "| trial |" in text

    run_flow(panel, *FILES)
    assert simulator.answered() - before == 3
