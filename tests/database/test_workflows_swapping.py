"""W4: who is judged under whose rubric, on which items; and what a sweep is expected to ask."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.design.plans import SwapPlan
from judge_gym.design.sweep import load_sweep
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.lab.planning import PlanLine, plan_sweep
from judge_gym.lab.swapping import plan_swaps
from judge_gym.lab.sweeps import prepare
from judge_gym.simulator.server import serving
from judge_gym.store import tables as t
from judge_gym.store.cleaning import clean
from judge_gym.store.decisions import save_reading
from judge_gym.store.progress import WorkflowProgress, experiment_progress, refused_rubrics
from judge_gym.store.rubrics import SHAM
from judge_gym.store.selecting import Selection
from support.rig import run, runtime_at
from support.study import Study, corpus, missing_by, window

CALM, HIGH, LOW = "sim/calm-1", "sim/high-1", "sim/low-1"


def simulated(database: str, tmp_path: Path, documents: int, work: Any) -> None:
    """Run `work(study)` against the simulator, on a corpus of so many documents."""

    async def whole() -> None:
        async with serving() as base_url, runtime_at(database, base_url) as runtime:
            await work(Study(runtime, window(corpus(tmp_path, documents))))

    run(whole())


def arms(study: Study) -> set[tuple[str, str, str, int]]:
    """(judge, arm, owner of the rubric, its variant) of every arm that is not the judge's own."""
    rows = study.all(
        sa.select(t.Experiment.model, t.Arm.arm, t.Rubric.owner_model, t.Rubric.variant)
        .join(t.Arm, t.Arm.experiment_id == t.Experiment.id)
        .join(t.Rubric, t.Rubric.id == t.Arm.rubric_id)
        .where(t.Arm.arm != "own")
    )
    return {tuple(row) for row in rows}


def pairs(*named: tuple[str, str], **more: Any) -> SwapPlan:
    return SwapPlan.model_validate({"pairs": named, **more})


def test_a_named_pair_is_judged_under_the_rivals_rubric(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        tags = await study.up_to_scores(study.experiment(CALM), study.experiment(LOW))
        plan = pairs((CALM, LOW))
        ends = await study.swap(tags, plan)
        assert sum(ends.values()) == 3 * 2  # as many replicates as in W3
        assert arms(study) == {(CALM, "swap", LOW, 0)}
        assert await study.swap(tags, plan) == {}
        labels = study.all(
            sa.select(t.Rubric.stages[0]["label"].astext).where(t.Rubric.owner_model == LOW)
        )
        prompts = study.all(sa.select(t.Call.messages).where(t.Call.workflow == "w4-swap"))
        assert len(prompts) == 6
        assert all(labels[0] in messages[-1]["content"] for messages in prompts)
        # A swap draws its own letters and orders: its samples are not copies of W3's.
        seeds = study.all(sa.select(t.Sample.seed))
        assert len(set(seeds)) == len(seeds)
        # W5 probes them as well.
        await study.probe(tags)
        probed = study.all(sa.select(t.Arm.arm).join(t.Sample).join(t.Probe).distinct())
        assert set(probed) == {"own", "swap"}

    simulated(database, tmp_path, 3, work)


def test_families_stand_for_their_judges(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        calm = (study.experiment(CALM), study.experiment("sim/calm-2"))
        tags = await study.up_to_scores(*calm, study.experiment(LOW))
        missing_by(study.runtime, plan_swaps, tags, pairs(("calm", "low")))
        assert arms(study) == {(CALM, "swap", LOW, 0), ("sim/calm-2", "swap", LOW, 0)}
        with pytest.raises(ConfigError) as ambiguous:
            missing_by(study.runtime, plan_swaps, tags, pairs((LOW, "calm")))
        assert "'calm' is ambiguous" in ambiguous.value.message
        assert f"{CALM} (family calm), sim/calm-2 (family calm)" in ambiguous.value.remedy
        # Planned or not at all.
        assert len(arms(study)) == 2

    simulated(database, tmp_path, 1, work)


def test_a_judge_is_never_its_own_rival(database: str, tmp_path: Path) -> None:
    """The family of the judge holds the rival: the rival itself is left out."""

    async def work(study: Study) -> None:
        calm = (study.experiment(CALM), study.experiment("sim/calm-2"))
        tags = await study.up_to_scores(*calm)
        missing_by(study.runtime, plan_swaps, tags, pairs(("calm", "sim/calm-2")))
        assert arms(study) == {(CALM, "swap", "sim/calm-2", 0)}
        # One of the family is a rival to the other, without ambiguity.
        missing_by(study.runtime, plan_swaps, tags, pairs(("sim/calm-2", "calm")))
        assert arms(study) == {
            (CALM, "swap", "sim/calm-2", 0),
            ("sim/calm-2", "swap", CALM, 0),
        }

    simulated(database, tmp_path, 1, work)


def test_what_is_missing_is_named_with_the_candidates(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        shared = study.experiment(HIGH, rubric={"shared": CALM})
        tags = await study.up_to_scores(study.experiment(CALM), study.experiment(LOW), shared)
        cases = (
            (pairs((CALM, HIGH)), f"rival '{HIGH}' has no usable rubric", LOW),
            (pairs(("sim/other-1", LOW)), "has judge 'sim/other-1'", f"{CALM}, {LOW}"),
            # Under a common rubric there is nothing to swap.
            (pairs((HIGH, LOW)), f"has judge '{HIGH}'", f"{CALM}, {LOW}"),
        )
        for plan, message, candidates in cases:
            with pytest.raises(ConfigError) as error:
                missing_by(study.runtime, plan_swaps, tags, plan)
            assert message in error.value.message
            assert candidates in error.value.remedy
        with pytest.raises(JudgeGymError, match="second rubric is not written yet"):
            missing_by(study.runtime, plan_swaps, tags, pairs((CALM, LOW), sham=True))
        assert arms(study) == set()

    simulated(database, tmp_path, 1, work)


def test_all_pairs_are_those_that_differ_in_the_judge_alone(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        tags = await study.up_to_scores(
            *(study.experiment(model) for model in (CALM, HIGH, LOW)),
            study.experiment(CALM, scale_size=5),
            study.experiment(LOW, rubric={"shared": HIGH}),
        )
        missing = missing_by(study.runtime, plan_swaps, tags, SwapPlan())
        judges = (CALM, HIGH, LOW)
        assert arms(study) == {
            (judge, "swap", rival, 0) for judge in judges for rival in judges if rival != judge
        }
        assert {model: len(units) for model, units in missing.by_model.items()} == dict.fromkeys(
            judges, 2 * 2
        )

    simulated(database, tmp_path, 1, work)


def test_a_sham_is_the_judges_own_second_rubric(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        experiments = (study.experiment(CALM), study.experiment(LOW))
        tags = await study.up_to_scores(*experiments, sham=True)
        ends = await study.swap(tags, pairs(sham=True))
        assert arms(study) == {(CALM, "sham", CALM, SHAM), (LOW, "sham", LOW, SHAM)}
        assert sum(ends.values()) == 2 * 2 * 2
        # A second rubric is nobody's candidate for a swap.
        await study.swap(tags, pairs((CALM, LOW)))
        assert (CALM, "swap", LOW, 0) in arms(study)

    simulated(database, tmp_path, 2, work)


@pytest.mark.slow
def test_the_most_divergent_pair_is_chosen_on_items_that_are_not_swapped(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study) -> None:
        experiments = [study.experiment(model, replicates=8) for model in (CALM, HIGH, LOW)]
        tags = await study.up_to_scores(*experiments)
        plan = SwapPlan.model_validate({"pairs": {"most_divergent": 1, "held_out": 0.5}})
        missing = missing_by(study.runtime, plan_swaps, tags, plan)
        # `high` and `low` lean to opposite sides; `calm` stands between them.
        assert arms(study) == {(HIGH, "swap", LOW, 0), (LOW, "swap", HIGH, 0)}
        held = study.all(sa.select(t.Arm.held_out_items).where(t.Arm.arm == "swap"))
        assert held[0] == held[1]
        assert len(held[0]) == 3
        units = [unit for units in missing.by_model.values() for unit in units]
        assert len(units) == 2 * 3 * 8
        assert not {unit.item_id for unit in units} & set(held[0])
        await study.swap(tags, plan)
        assert missing_by(study.runtime, plan_swaps, tags, plan).by_model == {}
        ids = study.ids(tags)
        by_id = study.change(lambda session: experiment_progress(session, ids))
        assert by_id[ids[1]]["w4-swap"] == WorkflowProgress(24, 24, 0)
        assert by_id[ids[0]]["w4-swap"] == WorkflowProgress(0, 0, 0)

    simulated(database, tmp_path, 6, work)


def test_the_most_divergent_pair_needs_scores_and_two_items(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        plan = SwapPlan.model_validate({"pairs": {"most_divergent": 1}})
        experiments = [study.experiment(model) for model in (CALM, LOW)]
        tags = study.register(*experiments)
        await study.collect()
        await study.write_rubrics(experiments)
        with pytest.raises(JudgeGymError, match="has 1"):
            missing_by(study.runtime, plan_swaps, tags, plan)
        more = window(corpus(tmp_path, 4, "more.jsonl"), "more")
        study.window = more
        unscored = [study.experiment(model) for model in (CALM, LOW)]
        tags = study.register(*unscored)
        await study.collect()
        with pytest.raises(JudgeGymError, match="w3-scoring"):
            missing_by(study.runtime, plan_swaps, tags, plan)

    simulated(database, tmp_path, 1, work)


SWEEP = """\
name: trial
utility_model: sim/calm-1
windows:
  week: {country: Valmora, query: courts, max_documents: 9, source: {kind: corpus, path: c.jsonl}}
blocks:
  - concept: democratic backsliding
    window: week
    model: [sim/calm-1, sim/low-1]
    evidence_view: neutralized
    replicates: 2
swap:
  pairs: [[sim/calm-1, sim/low-1]]
  sham: true
"""


def test_the_plan_counts_what_is_to_be_asked(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus(tmp_path, 3, "c.jsonl")
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    sweep = load_sweep(tmp_path / "sweep.yaml")

    async def work(study: Study) -> None:
        def plan() -> dict[str, PlanLine]:
            providers = study.runtime.providers
            lines = study.change(lambda session: plan_sweep(session, sweep, providers)).lines
            assert {line.provider for line in lines} == {"sim"}
            return {f"{line.workflow} {line.what}": line for line in lines}

        def counts() -> dict[str, tuple[int, int]]:
            return {name: (line.calls, line.done) for name, line in plan().items()}

        # The file has three documents, one view by a model; 2 judges x 3 x 2, 1 swap and 2 shams.
        assert counts() == {
            "w1-evidence views": (3, 0),
            "w2-rubric rubrics": (4, 0),
            "w2-rubric marks": (4, 0),
            "w3-scoring judgements": (12, 0),
            "w4-swap swaps and shams": (18, 0),
            "w5-probe probes": (33, 0),
        }
        run = prepare(study.runtime, sweep)
        (study.window,) = sweep.windows.values()
        await study.collect()
        experiments = list(sweep.experiments())
        await study.write_rubrics(experiments)
        assert counts() == {
            "w1-evidence views": (3, 0),
            "w2-rubric rubrics": (4, 2),
            "w2-rubric marks": (4, 2),
            "w3-scoring judgements": (12, 0),
            "w4-swap swaps and shams": (18, 0),
            "w5-probe probes": (33, 0),
        }
        for view in run.views:
            await study.make(view)
        await study.score(run.tags)
        await study.write_rubrics(experiments, sham=True)
        assert run.swap is not None
        await study.swap(run.tags, run.swap)
        await study.probe(run.tags)
        done = plan()
        probed = done.pop("w5-probe probes").done
        assert {line.to_do for line in done.values()} == {0}
        assert probed == study.all(sa.select(sa.func.count()).select_from(t.Probe))[0]
        expected = plan()["w3-scoring judgements"].whole
        sent = study.all(sa.select(t.Call.messages).where(t.Call.workflow == "w3-scoring"))
        characters = [sum(len(message["content"]) for message in one) for one in sent]
        # An upper bound: the 12 answers as long as max_tokens allows, each requested twice.
        assert expected.prompt_tokens > 2 * sum(-(-count // 4) for count in characters)
        assert expected.answer_tokens == 2 * 12 * 1024
        assert expected.cost_usd == 0
        # What was cleaned of its calls is not asked again, and the plan says so.
        for experiment_id in study.ids(run.tags):
            study.change(
                lambda session, one=experiment_id: clean(
                    session, Selection([one]), keep_derived=True
                )
            )
        assert plan()["w3-scoring judgements"].to_do == 0
        assert prepare(study.runtime, sweep).tags == run.tags

    simulated(database, tmp_path, 1, work)


def test_a_rubric_that_a_person_refused_is_neither_swapped_nor_counted(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study) -> None:
        experiments = [study.experiment(model) for model in (CALM, HIGH, LOW)]
        tags = study.register(*experiments)
        await study.collect()
        await study.write_rubrics(experiments)
        [key] = study.all(sa.select(t.Rubric.key).where(t.Rubric.owner_model == LOW))
        with study.runtime.session() as session:
            save_reading(session, key, "refuse", "Ada", "vague", {})
        await study.score(tags)
        named = pairs((CALM, LOW), (LOW, HIGH), (CALM, HIGH))
        assert sum((await study.swap(tags, named)).values()) == 3 * 2
        assert arms(study) == {(CALM, "swap", HIGH, 0)}
        with study.runtime.session() as session:
            [low] = session.scalars(sa.select(t.Experiment.id).where(t.Experiment.model == LOW))
            progress = experiment_progress(session, [low])[low]
            [refused] = refused_rubrics(session, [low])
        assert {part.total for part in progress.values()} == {0}
        assert (refused.owner, refused.person, refused.experiments) == (LOW, "Ada", (low,))

    simulated(database, tmp_path, 3, work)
