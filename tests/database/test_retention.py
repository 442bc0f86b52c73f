"""Pruning: what of finished work goes, what stays, and that nothing is paid for again."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis.running import analyse
from judge_gym.judges import Criterion, RubricJudge
from judge_gym.judges.judging import judge_items
from judge_gym.lab import probing, retention, scoring
from judge_gym.lab.retention import IN_PROGRESS, OF_JUDGES, Pruning, prune
from judge_gym.lab.status import sweep_status
from judge_gym.records.attempts import UNKNOWN_OUTCOME
from judge_gym.report.facts import read_facts
from judge_gym.report.page import read_report, render_page
from judge_gym.simulator.server import serving
from judge_gym.store import tables as t
from judge_gym.store.experiments import register_sweep
from judge_gym.store.ledger import Ledger
from judge_gym.store.locks import exclusive, in_progress, is_in_progress
from judge_gym.store.retention import OldRecords
from support.judge_runs import ITEMS
from support.judged import fail, judged
from support.rig import a_call, run, runtime_at
from support.study import UTILITY, Study, missing_by
from support.waiting import until

LATER = datetime.now(UTC) + timedelta(days=1)


def rows(study: Study, table: Any, *without: str) -> list[dict[str, Any]]:
    query = sa.select(table.__table__).order_by(table.id)
    found = study.change(lambda session: session.execute(query).mappings().all())
    return [{key: row[key] for key in row if key not in without} for row in found]


def figures(study: Study, run: int) -> list[Any]:
    return study.all(
        sa.select(sa.func.concat_ws("|", t.AnalysisResult.metric, t.AnalysisResult.scope_key,
                                    t.AnalysisResult.estimate, t.AnalysisResult.lower))
        .where(t.AnalysisResult.run_id == run)
        .order_by(t.AnalysisResult.metric, t.AnalysisResult.scope_key)
    )  # fmt: skip


async def pruned(study: Study, before: datetime = LATER, *, dry_run: bool = False) -> Pruning:
    return await asyncio.to_thread(prune, study.runtime.engine, before, dry_run=dry_run)


async def analysed(study: Study) -> int:
    return await asyncio.to_thread(analyse, study.runtime.engine, "both")


def whole(study: Study) -> set[int]:
    """The calls of W3 to W5 that have their prompt."""
    return {row["id"] for row in rows(study, t.Call) if row["messages"] and row["experiment_id"]}


def test_prompts_of_finished_work_go_and_all_that_was_paid_for_stays(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        unfinished = await pruned(study)
        assert (unfinished.prompts, unfinished.whole) == ({}, {"both": "analysis pending"})
        before = await analysed(study)
        status = study.change(lambda session: sweep_status(session, "both"))
        assert status.state == "finished"
        kept = [rows(study, table) for table in (t.Sample, t.Probe, t.Rubric, t.Document)]
        ledger = rows(study, t.Call, "messages")
        young = await pruned(study, datetime.now(UTC) - timedelta(days=1))
        assert young.is_empty
        counted = await pruned(study, dry_run=True)
        # 2 experiments of 2 items and 2 replicates, each with its probes.
        assert set(counted.prompts["both"].call_ids) == whole(study)
        assert len(whole(study)) >= 16
        assert counted.prompts["both"].bytes > 1000
        assert all(row["messages"] for row in rows(study, t.Call))  # a dry run
        assert await pruned(study) == counted
        assert whole(study) == set()
        shared = [row for row in rows(study, t.Call) if row["experiment_id"] is None]
        assert shared
        assert all(row["messages"] for row in shared)
        again = [rows(study, table) for table in (t.Sample, t.Probe, t.Rubric, t.Document)]
        assert again == kept
        assert rows(study, t.Call, "messages") == ledger
        assert study.change(lambda session: sweep_status(session, "both")).spent == status.spent
        missing, _ = missing_by(study.runtime, scoring.plan_scoring, tags)
        assert not missing.by_model
        assert not any(missing_by(study.runtime, probing.plan_probing, tags).values())
        after = await analysed(study)
        assert figures(study, after) == figures(study, before)
        with study.runtime.session() as session:
            assert read_facts(session, after).run.sweep == "both"
            assert "both" in render_page(read_report(session, after))
        assert (await pruned(study, dry_run=True)).is_empty

    judged(database, tmp_path, work)


def test_a_critic_marks_answers_whose_prompts_were_pruned(database: str, tmp_path: Path) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        await analysed(study)
        await pruned(study)
        await study.mark(tags, UTILITY)
        marks = study.all(sa.select(t.ScoreMark.failure))
        scored = study.all(sa.select(t.Sample.id).where(t.Sample.status == "scored"))
        assert len(marks) == len(scored) > 0
        assert set(marks) == {None}

    judged(database, tmp_path, work)


def test_the_conversation_that_a_failed_probe_continues_stays(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        probe = study.all(sa.select(t.Probe.id).order_by(t.Probe.id))[0]
        fail(study, t.Probe, [probe], "timeout")
        [of_sample] = study.all(
            sa.select(t.Sample.call_id)
            .join(t.Probe, t.Probe.sample_id == t.Sample.id)
            .where(t.Probe.id == probe)
        )
        [failed] = study.all(sa.select(t.Probe.call_id).where(t.Probe.id == probe))
        await analysed(study)
        await pruned(study)
        assert whole(study) == {of_sample, failed}  # a failed call is sent again

    judged(database, tmp_path, work)


def test_what_lost_requests_may_have_cost_is_the_same_before_and_after(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        lost = min(whole(study))
        error = {"kind": UNKNOWN_OUTCOME, "message": "lost", "at_most_usd": None}
        await asyncio.to_thread(
            study.change,
            lambda session: session.execute(
                sa.update(t.Call).where(t.Call.id == lost).values(errors=[error])
            ),
        )
        await analysed(study)
        before = study.change(lambda session: sweep_status(session, "both")).unknown
        assert before.calls == 1
        await pruned(study)
        assert study.change(lambda session: sweep_status(session, "both")).unknown == before
        assert whole(study) == {lost}

    judged(database, tmp_path, work)


def test_experiments_that_another_sweep_still_works_on_stay_whole(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        await analysed(study)
        shared = study.experiment("sim/calm-1")
        another = study.experiment("sim/low-1")
        study.change(lambda session: register_sweep(session, "more", "", None, [shared, another]))
        counted = await pruned(study, dry_run=True)
        [own, other] = study.ids(tags)
        mine = study.all(sa.select(t.Call.id).where(t.Call.experiment_id == other))
        assert set(counted.prompts["both"].call_ids) == set(mine)
        assert set(counted.whole) == {"more"}
        assert counted.shared == {"both": ["more"]}
        assert own != other

    judged(database, tmp_path, work)


def test_an_experiment_of_two_finished_sweeps_is_counted_once(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        await analysed(study)
        one = study.experiment("sim/calm-1")
        study.change(lambda session: register_sweep(session, "again", "", None, [one]))
        await asyncio.to_thread(analyse, study.runtime.engine, "again")
        calls = whole(study)
        done = await pruned(study)
        taken = [call for prompts in done.prompts.values() for call in prompts.call_ids]
        assert sorted(taken) == sorted(calls)
        assert set(done.prompts) == {"again", "both"}

    judged(database, tmp_path, work)


def test_a_sweep_in_progress_is_left_alone(database: str, tmp_path: Path) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        engine = study.runtime.engine
        await analysed(study)
        calls = whole(study)
        with in_progress(engine, "both"):
            await asyncio.to_thread(
                until,
                lambda: study.change(lambda session: is_in_progress(session, "both")),
                "the run to be seen",
            )
            found = [await pruned(study, dry_run=dry_run) for dry_run in (True, False)]
        # A run of a single workflow, as a deployment starts it.
        with exclusive(engine, {"experiments": tags[:1]}):
            found.append(await pruned(study))
        assert [one.whole for one in found] == [{"both": IN_PROGRESS}] * 3
        assert whole(study) == calls
        await pruned(study)
        assert not whole(study)

    judged(database, tmp_path, work)


def test_a_prune_that_was_stopped_is_resumed(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "AT_ONCE", 5)
    stopping = (
        "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE 'stopped'; END $$",
        "CREATE TRIGGER stop BEFORE UPDATE ON llm_calls FOR EACH ROW WHEN (NEW.id = {}) "
        "EXECUTE FUNCTION stop()",
    )

    async def work(study: Study, tags: list[str]) -> None:
        await analysed(study)
        calls = sorted(whole(study))

        def change(*statements: str) -> None:
            study.change(lambda session: [session.execute(sa.text(one)) for one in statements])

        change(*(one.format(calls[6]) for one in stopping))
        with pytest.raises(sa.exc.DBAPIError, match="stopped"):
            await pruned(study)
        assert whole(study) == set(calls[5:])  # five at once, or none
        change("DROP TRIGGER stop ON llm_calls")
        done = await pruned(study)
        assert list(done.prompts["both"].call_ids) == calls[5:]
        assert not whole(study)

    judged(database, tmp_path, work)


def a_judge(name: str, model: str) -> RubricJudge:
    criterion = Criterion(name="evidence", description="It has evidence.")
    return RubricJudge(name=name, model=model, task="Mark the note.", criteria=(criterion,))


def ruled_on(session: Session, kind: str, judge: int) -> None:
    """Let something that people rely on name a judge."""
    if kind == "certificate":
        session.add(
            t.AlignmentLook(alignment="one", before_id=judge, chosen_id=judge, test_digest="a",
                            items_digest="b", item_keys=["k"], simulated=True)
        )  # fmt: skip
    elif kind == "review":
        session.add(
            t.JudgeReview(review="one", reviewed_on=date(2026, 1, 1), judge_id=judge, corpus="c",
                          decision="keep", figures={}, recommendation="keep", reason="",
                          simulated=True)
        )  # fmt: skip
    else:
        session.add(
            t.Decision(kind=t.REVIEW, subject="one", judge_id=judge, decision="keep",
                       person="Ana", reason="", details={})
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["certificate", "review", "decision"])
def test_prompts_of_judges_that_people_have_ruled_on_stay(database: str, kind: str) -> None:
    async def work() -> None:
        async with serving() as url, runtime_at(database, url) as runtime:
            study = Study(runtime, None)
            free, ruled, young = (
                a_judge(name, model)
                for name, model in (("a", "sim/good-1"), ("b", "sim/calm-1"), ("c", "sim/low-1"))
            )
            for judge in (free, ruled, young):
                await judge_items(runtime, judge, ITEMS[:2])
            of = dict(
                study.all(
                    sa.select(t.Judge.name, sa.func.array_agg(t.JudgeResult.call_ids[1]))
                    .join(t.JudgeResult, t.JudgeResult.judge_id == t.Judge.id)
                    .group_by(t.Judge.name)
                )
            )
            ids = dict(study.all(sa.select(t.Judge.name, t.Judge.id)))
            results = rows(study, t.JudgeResult)

            def change(session: Session) -> None:
                ruled_on(session, kind, ids["b"])
                session.execute(
                    sa.update(t.JudgeResult)
                    .where(t.JudgeResult.judge_id == ids["c"])
                    .values(created_at=LATER)
                )
                # One call of `a` is behind a judgement of `b` too, as in an ensemble.
                session.execute(
                    sa.update(t.JudgeResult)
                    .where(t.JudgeResult.id == max(r["id"] for r in results
                                                   if r["judge_id"] == ids["b"]))
                    .values(call_ids=[max(of["b"]), max(of["a"])])
                )  # fmt: skip

            study.change(change)
            done = await pruned(study)
            assert set(done.prompts) == {OF_JUDGES}
            assert list(done.prompts[OF_JUDGES].call_ids) == [min(of["a"])]
            emptied = [row["id"] for row in rows(study, t.Call) if not row["messages"]]
            assert emptied == [min(of["a"])]
            assert all(row["answer"] for row in rows(study, t.Call))
            # Nothing is judged again.
            calls = len(rows(study, t.Call))
            for judge in (free, ruled, young):
                await judge_items(runtime, judge, ITEMS[:2])
            assert len(rows(study, t.Call)) == calls

    run(work())


def test_an_answer_whose_prompt_was_pruned_is_reused(database: str, tmp_path: Path) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        await analysed(study)
        first = min(whole(study))
        same = a_call("another", "question", replicate="0")
        await asyncio.to_thread(
            study.change,
            lambda session: session.execute(
                sa.update(t.Call)
                .where(t.Call.id == first)
                .values(request_digest=same.request_digest)
            ),
        )
        await pruned(study)
        [opened] = await Ledger(study.runtime.engine, reuse_answers=True).open([same], "real")
        assert opened.answer is not None
        [source] = study.all(sa.select(t.Call.cached_from).where(t.Call.id == opened.id))
        assert source == first

    judged(database, tmp_path, work)


def test_old_records_of_runs_and_limits_go_but_the_newest_run_of_a_sweep(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        now, old = datetime.now(UTC), datetime.now(UTC) - timedelta(days=200)

        def add(session: Any) -> None:
            sweep = session.scalars(sa.select(t.Sweep.id)).one()
            session.add_all(
                t.SweepRun(sweep_id=sweep, began_at=old, ended_at=old + timedelta(days=day))
                for day in range(4)
            )
            session.flush()
            first = sa.select(sa.func.min(t.SweepRun.id)).scalar_subquery()
            # One that has not ended: it may be at work.
            session.execute(
                sa.update(t.SweepRun).where(t.SweepRun.id == first).values(ended_at=None)
            )
            limit = {"provider": "acme", "process": "1", "in_flight": 2, "reason": "429"}
            session.add_all([t.GateChange(at=old, **limit), t.GateChange(at=now, **limit)])

        study.change(add)
        done = await pruned(study, now - timedelta(days=180))
        assert (done.prompts, done.records) == ({}, OldRecords(gate_changes=1, runs=2))
        ends = study.all(sa.select(t.SweepRun.ended_at).order_by(t.SweepRun.id))
        assert ends == [None, old + timedelta(days=3)]
        assert study.all(sa.select(t.GateChange.at)) == [now]

    judged(database, tmp_path, work)
