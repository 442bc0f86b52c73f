"""Answers without text: listed with failures, made again on request, and kept in the ledger."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.lab import probing
from judge_gym.lab.status import sweep_status
from judge_gym.store import tables as t
from judge_gym.store.cleaning import (
    EmptyAnswers,
    StoredFailures,
    empty_answers,
    forget_failures,
    kept_failures,
)
from judge_gym.store.experiments import register_sweep
from judge_gym.store.progress import judgements_by_kind
from judge_gym.store.selecting import Selection
from support.judged import judged, sample_ids, unprobed
from support.rig import run, runtime_at
from support.simulation import Simulator
from support.study import Study, corpus, missing_by, window

pytestmark = pytest.mark.slow


@pytest.fixture
def faulty(simulator: Simulator) -> Iterator[Simulator]:
    """The simulator, without faults at the end."""
    yield simulator
    simulator.use_faults()


@pytest.mark.parametrize("reuse", [False, True])
def test_empty_judgements_and_probes_are_made_again_and_stay_in_the_ledger(
    database: str, tmp_path: Path, faulty: Simulator, reuse: bool
) -> None:
    async def whole() -> None:
        async with runtime_at(database, faulty.url, reuse_answers=reuse) as runtime:
            study = Study(runtime, window(corpus(tmp_path, 2)))
            both = [study.experiment("sim/calm-1"), study.experiment("sim/high-1")]
            tags = study.register(*both)
            study.change(lambda session: register_sweep(session, "both", "", None, both))
            await study.collect()
            await study.write_rubrics(both)
            selection = Selection(study.ids(tags), sweep="both")
            replicates = {one.key: one.replicates for one in both}

            def kept() -> list[StoredFailures]:
                return study.change(lambda session: kept_failures(session, selection))

            def retry(failure: str = "") -> None:
                chosen = Selection(study.ids(tags), "", failure, sweep="both")
                study.change(lambda session: forget_failures(session, chosen))

            faulty.use_faults({"kind": "empty", "model": "calm-1", "role": "scorer"})
            assert (await study.score(tags))["unparseable"] == 4
            faulty.use_faults()
            assert kept() == [StoredFailures("w3-scoring", "empty", 4)]
            status = study.change(lambda session: sweep_status(session, "both"))
            assert status.empty == [EmptyAnswers("sim/calm-1", 4, 0.0, 0)]
            (failed,) = study.change(
                lambda session: judgements_by_kind(session, replicates, failed=True)
            ).items()
            assert (failed[0][:2], failed[1]) == (("w3-scoring", "sim/calm-1"), 4)

            retry("timeout")
            assert kept() == [StoredFailures("w3-scoring", "empty", 4)]
            retry("empty")
            assert kept() == []
            again = await study.score(tags)
            assert again["unparseable"] == 0
            assert again.total() == 4

            faulty.use_faults({"kind": "empty", "model": "calm-1", "role": "prober"})
            await study.probe(tags)
            faulty.use_faults()
            (probes,) = kept()
            assert (probes.workflow, probes.failure) == ("w5-probe", "empty")
            retry()
            units = missing_by(runtime, probing.plan_probing, tags)
            assert {model: len(of) for model, of in units.items()} == {"sim/calm-1": probes.count}
            await study.probe(tags)
            assert kept() == []

            # Every empty answer is still there, with the new one beside it.
            empty = study.all(
                sa.select(t.Call.agent).where(t.Call.answer == "", t.Call.status == "succeeded")
            )
            assert sorted(empty) == ["prober"] * probes.count + ["scorer"] * 4

    run(whole())


def test_an_answer_with_text_and_an_imported_one_are_not_made_again(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        unprobed(study)
        mine = sample_ids(study, tags[0])
        plant(study, mine[:1], "truncated: the answer is empty", "")  # of an earlier version
        plant(study, mine[1:2], "truncated: there is no VERDICT line", "It seems")
        plant(study, mine[2:3], "no_verdict: there is no VERDICT line", "Hard to say.")
        plant(study, mine[3:], "empty: no judgement is recorded", "", imported=True)
        selection = Selection(study.ids(tags))
        assert study.change(lambda session: kept_failures(session, selection)) == [
            StoredFailures("w3-scoring", "empty", 1)
        ]
        study.change(lambda session: forget_failures(session, selection))
        assert sample_ids(study, tags[0]) == mine[1:]

    judged(database, tmp_path, work)


def test_empty_answers_are_counted_with_what_their_calls_cost(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        unprobed(study)
        mine, theirs = sample_ids(study, tags[0]), sample_ids(study, tags[1])
        for ids in (mine[:3], theirs[:1]):
            plant(study, ids, "empty: the answer is empty", "")
        cost(study, mine[:2], "0.25")
        cost(study, [*mine[2:3], *theirs[:1]], None)
        found = study.change(lambda session: empty_answers(session, Selection(study.ids(tags))))
        assert found == [
            EmptyAnswers("sim/calm-1", 3, 0.5, 1),
            EmptyAnswers("sim/high-1", 1, 0.0, 1),
        ]

    judged(database, tmp_path, work)


def plant(
    study: Study, row_ids: Sequence[int], failure: str, answer: str, *, imported: bool = False
) -> None:
    """Make samples what they would be, had they been answered with this."""

    def change(session: Session) -> None:
        given = {"status": "unparseable", "stages": None, "imported": imported, "failure": failure}
        calls = session.scalars(
            sa.update(t.Sample)
            .where(t.Sample.id.in_(row_ids))
            .values(**given)
            .returning(t.Sample.call_id)
        ).all()
        session.execute(sa.update(t.Call).where(t.Call.id.in_(calls)).values(answer=answer))

    study.change(change)


def cost(study: Study, row_ids: Sequence[int], usd: str | None) -> None:
    """Set what the calls of samples cost."""
    calls = sa.select(t.Sample.call_id).where(t.Sample.id.in_(row_ids))
    values = {"cost_usd": usd, "cost_source": None if usd is None else "file"}
    study.change(
        lambda session: session.execute(
            sa.update(t.Call).where(t.Call.id.in_(calls)).values(**values)
        )
    )
