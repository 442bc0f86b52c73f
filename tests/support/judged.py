"""A sweep of two experiments, judged and probed, whose rows a test makes fail."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.simulator.server import serving
from judge_gym.store import tables as t
from judge_gym.store.experiments import register_sweep
from support.rig import run, runtime_at
from support.study import Study, corpus, window


def judged(database: str, tmp_path: Path, work: Any) -> None:
    """Run `work(study, tags)` on a sweep of two experiments: 2 items, 2 replicates, all probed."""

    async def whole() -> None:
        async with serving() as url, runtime_at(database, url) as runtime:
            study = Study(runtime, window(corpus(tmp_path, 2)))
            both = [study.experiment("sim/calm-1"), study.experiment("sim/high-1")]
            tags = await study.up_to_scores(*both)
            await study.probe(tags)
            study.change(lambda session: register_sweep(session, "both", "", None, both))
            await work(study, tags)

    run(whole())


def fail(study: Study, table: Any, row_ids: Sequence[int], kind: str) -> None:
    """Make rows what they would be, had their call failed."""
    failure = f"{kind}: as the test says"
    verdict = {"stages": None} if table is t.Sample else {"probability": None}

    def change(session: Session) -> None:
        rows = sa.update(table).where(table.id.in_(row_ids))
        given = {"status": "failed", "failure": failure, **verdict}
        calls = session.scalars(rows.values(given).returning(table.call_id)).all()
        session.execute(
            sa.update(t.Call)
            .where(t.Call.id.in_(calls))
            .values(status="failed", answer=None, errors=[{"kind": kind, "message": failure}])
        )

    study.change(change)


def sample_ids(study: Study, tag: str) -> list[int]:
    return study.all(
        sa.select(t.Sample.id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .where(t.Experiment.tag == tag)
        .order_by(t.Sample.id)
    )


def unprobed(study: Study) -> None:
    """Take the probes away, so that samples can be made to fail."""
    study.change(lambda session: session.execute(sa.delete(t.Probe)))
