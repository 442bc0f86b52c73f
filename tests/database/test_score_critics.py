"""W6: a sweep with a score critic, its marks and its figures, and what becomes of failures."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis.finished import finished_parts
from judge_gym.design.sweep import load_sweep
from judge_gym.lab import score_critics
from judge_gym.lab.planning import plan_sweep
from judge_gym.lab.status import sweep_status
from judge_gym.llm.providers import load_providers
from judge_gym.settings import Settings
from judge_gym.store import tables as t
from judge_gym.store.cleaning import clean, forget_failures, removal
from judge_gym.store.selecting import chosen
from judge_gym.store.views import ViewReader
from support.command_line import sweep_text
from support.misbehaving import answers, misbehaving
from support.rig import run, runtime_at
from support.study import Study, corpus, missing_by, window
from support.whole_sweep import analysed

pytestmark = pytest.mark.slow

CRITIC = "sim/utility-1"
FORGOTTEN = ("swap:", f"score_critic: {CRITIC}\n\nswap:")
MARKED = '{"observable": true, "consistent": true, "uses_evidence": true}'


@pytest.fixture(scope="module")
def done(
    postgres_server: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """A database with quick.yaml and a score critic, run and analysed, and its sweep file."""
    file = tmp_path_factory.mktemp("critics") / "quick.yaml"
    file.write_text(sweep_text("quick.yaml", FORGOTTEN, ("replicates: 2", "replicates: 5")))
    with analysed(postgres_server, migrated_template, file) as engine:
        yield engine, file


def test_every_scored_sample_is_marked_once(done: Any) -> None:
    engine, _ = done
    with Session(engine) as session:
        scored = session.scalars(sa.select(t.Sample.id).where(t.Sample.status == "scored")).all()
        marks = session.scalars(sa.select(t.ScoreMark)).all()
        assert sorted(mark.sample_id for mark in marks) == sorted(scored)
        assert {mark.status for mark in marks} == {"marked"}
        assert all(mark.simulated for mark in marks)
        # The judges' terse style cites nothing, the others quote the evidence.
        assert {mark.observable for mark in marks} == {True, False}
        calls = session.scalars(sa.select(t.Call).where(t.Call.workflow == "w6-critic")).all()
        assert {(call.agent, call.model) for call in calls} == {("score_critic", CRITIC)}
        assert len(calls) == len(marks)


def test_it_is_planned_shown_and_finished(done: Any) -> None:
    engine, file = done
    sweep = load_sweep(file)
    with Session(engine) as session:
        scored = session.scalar(
            sa.select(sa.func.count()).select_from(t.Sample).where(t.Sample.status == "scored")
        )
        plan = plan_sweep(session, sweep, load_providers(Settings().providers_file))
        [line] = [one for one in plan.lines if one.workflow == "w6-critic"]
        assert (line.what, line.done, line.to_do) == ("marks of reasoning", scored, 0)
        assert line.calls == scored
        parts = {part.workflow: part for part in sweep_status(session, "quick").workflows}
        assert (parts["w6-critic"].state, parts["w6-critic"].done) == ("complete", scored)
    assert finished_parts(engine, Settings(), sweep) is not None


def test_another_critic_is_missing_all_its_marks(done: Any, tmp_path: Path) -> None:
    engine, file = done
    other = tmp_path / "other.yaml"
    other.write_text(file.read_text().replace(CRITIC, "sim/calm-2"))
    sweep = load_sweep(other)
    with Session(engine) as session:
        plan = plan_sweep(session, sweep, load_providers(Settings().providers_file))
        [line] = [one for one in plan.lines if one.workflow == "w6-critic"]
        assert line.done == 0
        assert line.to_do == line.calls > 0
    assert finished_parts(engine, Settings(), sweep) is None


def test_its_figures_are_beside_those_of_all_samples(done: Any) -> None:
    engine, _ = done
    with Session(engine) as session:
        rows = session.scalars(sa.select(t.AnalysisResult)).all()
    found: dict[str, list[t.AnalysisResult]] = {}
    for row in rows:
        found.setdefault(row.metric, []).append(row)
    for metric in ("reasoning_passes", "score_mean_passing", "score_mean_shift"):
        assert [row.estimate is None for row in found[metric]] == [False] * 3
        assert all(row.simulated for row in found[metric])
    # With each judge's own rubric, as the figure of all samples has it.
    assert "polarization_excess_shift_mixed" in found
    assert found["abstention_rate"][0].n == 5 * 5


def test_marks_are_a_view_for_analysts(done: Any, tmp_path: Path) -> None:
    engine, _ = done
    with engine.connect() as connection:
        reader = ViewReader(connection)
        columns = reader.copy("score_marks", tmp_path / "marks.csv", sweep="quick")
        assert {"passes", "observable", "critic_model"} <= set(columns)
        passes = connection.execute(
            sa.text(
                "SELECT bool_and(passes = (observable AND consistent AND uses_evidence)), "
                "count(*) FILTER (WHERE passes) BETWEEN 1 AND count(*) - 1 "
                "FROM analysis.score_marks"
            )
        ).one()
        assert passes == (True, True)


REASONED = "The court was closed, which meets the first criterion.\n\nVERDICT: A"
STAGES = [
    {"label": "Some signs", "criteria": ["a court is closed", "a paper is closed", "a fine"]},
    {"label": "Many signs", "criteria": ["courts are packed", "papers are seized", "bans"]},
]


def test_what_cannot_be_marked_is_recorded_as_such(database: str, tmp_path: Path) -> None:
    """Of four verdicts one has no reasoning; of three answers one is no object and one is empty."""
    judged = [answers(REASONED)] * 3 + [answers("VERDICT: A")]
    # An empty answer is retried once by the gateway.
    marks = [answers(text) for text in (MARKED, "Yes, it does.", "", "", MARKED)]

    async def work() -> None:
        async with (
            misbehaving(*judged, *marks) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            study = Study(runtime, window(corpus(tmp_path, 1)))
            rubric = {"provided": {"stages": STAGES}}
            tags = study.register(
                study.experiment("sim/judge", replicates=4, rubric=rubric, scale_size=2)
            )
            await study.collect()
            await study.write_rubrics([study.experiment("sim/judge", rubric=rubric, scale_size=2)])
            await study.score(tags)
            asked = len(provider.requests)
            assert await study.mark(tags, CRITIC) == {
                "marked": 1,
                "no_reasoning": 1,
                "unparseable": 2,
            }
            assert len(provider.requests) == asked + 4
            # Nothing is left to do, and the judge's own outcome is as it was.
            assert missing_by(runtime, score_critics.plan_marking, tags, CRITIC) == {}
            assert study.all(sa.select(t.Sample.status).distinct()) == ["scored"]
            failures = study.all(
                sa.select(t.ScoreMark.failure).where(t.ScoreMark.failure.is_not(None))
            )
            assert sorted(failure.split(":")[0] for failure in failures) == ["empty", "no_json"]

            # An empty answer is asked again, an unreadable one is not.
            found = study.change(lambda session: chosen(session, tags[0]))
            selection = found.selection("w6-critic")
            study.change(lambda session: forget_failures(session, selection))
            assert await study.mark(tags, CRITIC) == {"marked": 1}

            # Marks go with their samples, and their calls with them.
            whole = found.selection("w3-scoring")
            going = study.change(lambda session: removal(session, whole))
            assert (going.samples, going.marks) == (4, 4)
            study.change(lambda session: clean(session, whole, keep_derived=False))
            assert study.all(sa.select(t.ScoreMark.id)) == []
            left = sa.select(t.Call.workflow).where(~t.Call.key.contains("/set-aside/"))
            assert study.all(left) == []

    run(work())


def test_an_answer_that_was_cleaned_away_cannot_be_marked(database: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            misbehaving(answers(REASONED)) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            study = Study(runtime, window(corpus(tmp_path, 1)))
            experiment = study.experiment(
                "sim/judge", rubric={"provided": {"stages": STAGES}}, scale_size=2
            )
            tags = study.register(experiment)
            await study.collect()
            await study.write_rubrics([experiment])
            await study.score(tags)
            selection = study.change(lambda session: chosen(session, tags[0])).selection()
            study.change(lambda session: clean(session, selection, keep_derived=True))
            asked = len(provider.requests)
            assert await study.mark(tags, CRITIC) == {"failed": 2}
            assert len(provider.requests) == asked

    run(work())
