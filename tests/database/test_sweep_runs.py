"""Runs of sweeps as they are recorded: why each ended, in words."""

import pytest
import sqlalchemy as sa
from prefect.exceptions import Pause, TerminationSignal
from sqlalchemy.orm import Session

from judge_gym.errors import ConfigError
from judge_gym.store.sweep_runs import last_run, recorded_run
from support.lab import SWEEP, Lab, labels, rubric


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyboardInterrupt(), "It was stopped by Ctrl-C."),
        (TerminationSignal(signal=15), "SIGTERM"),
        (Pause(), "a person's approval"),
        (ConfigError("The file is gone.", "Write it."), "The file is gone."),
        (ValueError("no number"), "ValueError: no number"),
    ],
)
def test_a_run_that_ended_says_why(database: str, error: BaseException, said: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own("acme/alpha-1", [[1]], rubric={"provided": rubric(*labels(4))})
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with pytest.raises(type(error)), recorded_run(engine, SWEEP):
        raise error
    with Session(engine) as session:
        run = last_run(session, SWEEP)
    assert run is not None
    assert run.message is not None
    assert said in run.message
    assert run.ended_at is not None
