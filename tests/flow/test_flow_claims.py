"""Two runs of the same work at once: the second finds what the first has done."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from flows.w1_evidence import w1_evidence
from flows.w2_rubric import w2_rubric
from flows.w3_scoring import w3_scoring
from judge_gym.store import tables as t
from support.flow_runs import prepared, run_flow
from support.simulation import Simulator
from support.sweeps import scoring_sweep

pytestmark = pytest.mark.slow

JUDGEMENTS = 4 * 2


@pytest.mark.usefixtures("place")
def test_what_two_runs_want_at_once_is_asked_once(
    database: str, simulator: Simulator, tmp_path: Path
) -> None:
    file = tmp_path / "one-judge.yaml"
    file.write_text(scoring_sweep("one-judge", "sim/calm-1"))
    run = prepared(file)
    run_flow(w1_evidence, run.windows, run.views, run.utility_model)
    run_flow(w2_rubric, run.tags, run.utility_model)
    asked = simulator.answered()

    async def both() -> list[Any]:
        flows = (w3_scoring(run.tags, return_state=True) for _ in range(2))
        return list(await asyncio.gather(*flows))

    states = asyncio.run(both())
    assert all(state.is_completed() for state in states), states
    assert simulator.answered() - asked == JUDGEMENTS
    assert "nothing was missing" in {state.message for state in states}
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        attempts = connection.scalars(sa.select(t.Call.attempts)).all()
    assert attempts == [1] * JUDGEMENTS
