"""Cleaning experiments, a workflow or a class of failure of them."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.errors import StoreError
from judge_gym.store import batches as batch_rows
from judge_gym.store import tables as t
from judge_gym.store.cleaning import cancel_calls, clean, removed_calls
from judge_gym.store.ledger import Ledger
from judge_gym.store.selecting import Selection
from judge_gym.store.spending import spending_scope, spent
from support.judged import fail, judged, sample_ids, unprobed
from support.rig import a_call
from support.study import Study

pytestmark = pytest.mark.slow

WHOLE = {"samples", "probes", "scorer", "prober"}


@pytest.mark.parametrize(
    ("workflow", "keep", "gone"),
    [
        ("w5-probe", False, {"probes", "prober"}),
        ("w3-scoring", False, WHOLE),
        ("w3-scoring", True, {"scorer"}),
        ("w4-swap", False, set()),
        ("", False, WHOLE),
    ],
)
def test_a_workflow_is_cleaned_with_what_follows_from_it(
    database: str, tmp_path: Path, workflow: str, keep: bool, gone: set[str]
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        one, other = study.ids(tags)
        mine, theirs = found(study, one), found(study, other)
        assert all(mine.values())
        selection = Selection([one], workflow)

        def do(session: Session) -> int:
            lines = removed_calls(session, selection, keep_derived=keep)
            clean(session, selection, keep_derived=keep)
            return sum(line.calls for line in lines)

        whole = len(study.all(sa.select(t.Call.id)))
        said = study.change(do)
        assert found(study, one) == {name: 0 if name in gone else n for name, n in mine.items()}
        assert found(study, other) == theirs
        assert whole - len(study.all(sa.select(t.Call.id))) == said
        await study.score(tags)
        await study.probe(tags)
        if not keep:
            assert found(study, one) == mine

    judged(database, tmp_path, work)


def found(study: Study, experiment: int) -> dict[str, int]:
    """What is there of an experiment: samples, probes, and calls by agent."""
    samples = (
        sa.select(t.Sample.id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .where(t.Arm.experiment_id == experiment)
    )
    probes = sa.select(t.Probe.id).where(t.Probe.sample_id.in_(samples))
    agents = study.all(sa.select(t.Call.agent).where(t.Call.experiment_id == experiment))
    return {
        "samples": len(study.all(samples)),
        "probes": len(study.all(probes)),
        "prober": agents.count("prober"),
        "scorer": agents.count("scorer"),
    }


def test_only_failures_of_a_class_are_cleaned(database: str, tmp_path: Path) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        one, other = study.ids(tags)
        unprobed(study)
        mine = sample_ids(study, tags[0])
        fail(study, t.Sample, mine[:1], "timeout")
        fail(study, t.Sample, mine[1:2], "server")
        selection = Selection([one, other], "", "timeout")
        study.change(lambda session: clean(session, selection, keep_derived=False))
        assert sample_ids(study, tags[0]) == mine[1:]
        assert len(sample_ids(study, tags[1])) == 4
        kinds = study.all(sa.select(t.Call.errors[-1]["kind"].astext).where(t.Call.errors != []))
        assert kinds == ["server"]

    judged(database, tmp_path, work)


def test_evidence_and_rubrics_are_not_cleaned_of_some_experiments(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        selection = Selection(study.ids(tags), "w2-rubric")
        with pytest.raises(StoreError, match="shared"):
            study.change(lambda session: clean(session, selection, keep_derived=False))

    judged(database, tmp_path, work)


def test_calls_in_a_batch_are_neither_cleaned_nor_cancelled_as_calls(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        (one, _) = study.ids(tags)
        selection, engine = Selection([one]), study.runtime.engine
        asked = [a_call(f"x/{number}", experiment_id=one) for number in range(3)]
        opened = await Ledger(engine).open(asked, "sim")
        batch = batch_rows.plan(engine, "sim", "sim/calm-1", [row.id for row in opened[:2]])
        assert batch is not None
        before = found(study, one)
        with pytest.raises(StoreError, match="2 wait in batches") as refused:
            study.change(lambda session: clean(session, selection, keep_derived=False))
        assert "judge-gym sweep cancel" in refused.value.remedy
        assert found(study, one) == before
        assert study.change(lambda session: cancel_calls(session, selection)) == 1
        batch_rows.ended(engine, batch, "cancelled", {}, "cancelled by the test")
        study.change(lambda session: clean(session, selection, keep_derived=False))
        assert set(found(study, one).values()) == {0}

    judged(database, tmp_path, work)


def test_a_sweep_is_cancelled_until_a_call_is_sent_again(database: str, tmp_path: Path) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        (one, _) = study.ids(tags)
        name = study.all(sa.select(t.Sweep.name))[0]

        def is_cancelled(session: Session) -> bool:
            return spent(session, spending_scope(session, name)).cancelled

        asked = [a_call(f"x/{number}", experiment_id=one) for number in range(2)]
        opened = await Ledger(study.runtime.engine).open(asked, "sim")
        assert not study.change(is_cancelled)
        study.change(lambda session: cancel_calls(session, Selection([one])))
        assert study.change(is_cancelled)
        # A new run sends the first again, and is lost before the second.
        again = sa.update(t.Call).where(t.Call.id == opened[0].id)
        study.change(
            lambda session: session.execute(again.values(status="sent", sent_at=sa.func.now()))
        )
        assert not study.change(is_cancelled)

    judged(database, tmp_path, work)
