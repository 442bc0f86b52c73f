"""Wordings and rubric draws through real flows: what is planted is found, and draws are crossed."""

import math
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.recoveries import PlantedJudge, read_planted
from judge_gym.design.experiment import WORDINGS
from judge_gym.design.sweep import load_sweep
from judge_gym.planted.expected import mean_score, score_variance, stage_distribution
from judge_gym.planted.wordings import worded
from judge_gym.questions.scorer import instructions
from judge_gym.store import tables as t
from judge_gym.store.rubrics import applied_key, variant_of
from support.command_line import SWEEPS
from support.rig import run
from support.whole_sweep import whole_sweep

REPLICATES = 3
JUDGES = ("sim/high-1", "sim/tonal-1")
SWEEP = f"""
name: words
windows:
  valmora:
    country: Valmora
    max_documents: 8
    source: {{kind: corpus, path: {SWEEPS}/corpora/valmora.jsonl}}
defaults: {{window: valmora, concept: democratic backsliding, evidence_view: raw}}
blocks:
  - model: [{", ".join(JUDGES)}]
    rubric: {{provided: {SWEEPS}/rubrics/backsliding.yaml}}
    wording: [{", ".join(WORDINGS)}]
    abstain: false
    replicates: {REPLICATES}
"""
MEANS = sa.text(
    "SELECT model, wording, avg(score) FROM analysis.samples WHERE status = 'scored' "
    "GROUP BY model, wording"
)


@pytest.mark.slow
def test_each_wording_moves_a_judge_as_planted_and_the_standard_one_does_not(
    database: str, tmp_path: Path
) -> None:
    file = tmp_path / "words.yaml"
    file.write_text(SWEEP)
    run(whole_sweep(database, file))
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with Session(engine) as session:
        means = {(model, wording): float(mean) for model, wording, mean in session.execute(MEANS)}
        judges = read_planted(session, "words", load_sweep_data(session, "words")).judges

    assert len(means) == len(judges) == len(JUDGES) * len(WORDINGS)
    of_model: dict[str, dict[str, PlantedJudge]] = defaultdict(dict)
    for judge in judges:
        of_model[judge.experiment.model][judge.experiment.wording] = judge
    for model, by_wording in of_model.items():
        cases = list(by_wording["standard"].cases.values())
        family = by_wording["standard"].family_name
        expected = {}
        for name in WORDINGS:
            read_as = worded(family, instructions(by_wording[name].experiment))
            expected[name] = fmean(mean_score(stage_distribution(read_as, case)) for case in cases)
        assert by_wording["standard"].family.wording_shift == 0
        assert max(expected.values()) - min(expected.values()) > 0.03
        for name, judge in by_wording.items():
            variance = sum(score_variance(stage_distribution(judge.family, case)) for case in cases)
            se = math.sqrt(variance / REPLICATES) / len(cases)
            assert means[model, name] == pytest.approx(expected[name], abs=4 * se), (model, name)


DRAWS = f"""
name: draws
windows:
  valmora:
    country: Valmora
    max_documents: 2
    source: {{kind: corpus, path: {SWEEPS}/corpora/valmora.jsonl}}
rubric_draws: 3
blocks:
  - {{model: [sim/calm-1, sim/high-1], concept: fascism, window: valmora, replicates: 1,
      evidence_view: raw}}
swap: {{pairs: [[sim/calm-1, sim/high-1]]}}
"""


def test_every_draw_of_a_rubric_is_written_and_crossed_with_items_and_rivals(
    database: str, tmp_path: Path
) -> None:
    file = tmp_path / "draws.yaml"
    file.write_text(DRAWS)
    run(whole_sweep(database, file))
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with Session(engine) as session:
        rubrics = session.scalars(sa.select(t.Rubric).where(t.Rubric.status == "ready")).all()
        cells = session.execute(
            sa.select(t.Arm.arm, t.Rubric.owner_model, t.Rubric.variant, sa.func.count())
            .join(t.Rubric, t.Rubric.id == t.Arm.rubric_id)
            .join(t.Sample, t.Sample.arm_id == t.Arm.id)
            .group_by(t.Arm.arm, t.Rubric.owner_model, t.Rubric.variant)
        ).all()

    variants = [variant_of(draw) for draw in range(3)]
    assert variants == [0, 3, 4]
    for owner in ("sim/calm-1", "sim/high-1"):
        drawn = [rubric for rubric in rubrics if rubric.owner_model == owner]
        assert sorted(rubric.variant for rubric in drawn) == variants
        # The simulator has 12 rubrics a family, so two draws may be alike.
        assert len({str(rubric.stages) for rubric in drawn}) > 1
    # A rival's rubric of draw d is applied beside the own one of draw d.
    assert sorted(tuple(cell) for cell in cells) == sorted(
        (arm, owner, variant, 2)
        for arm, owner in (("own", "sim/calm-1"), ("own", "sim/high-1"), ("swap", "sim/high-1"))
        for variant in variants
    )
    # The first draw is the rubric that the sweep had before it had draws.
    file.write_text(DRAWS.replace("rubric_draws: 3\n", ""))
    before = {applied_key(experiment) for experiment in load_sweep(file).experiments()}
    assert before == {rubric.key for rubric in rubrics if rubric.variant == 0}
