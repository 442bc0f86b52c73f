"""Plan files: what they fix, what they refuse, and when they make a result confirmatory."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from judge_gym.design.frozen import changes
from judge_gym.design.plans import (
    IN_STAGES,
    KEYS,
    OF_SETS,
    AnalysisPlan,
    ContrastFigureName,
    DesignChange,
    PlanState,
    StoredPlan,
    load_plan,
    standing,
)
from judge_gym.errors import ConfigError
from judge_gym.metrics.hypotheses import (
    CONTRAST_FIGURES,
    HYPOTHESES,
    VALIDITY_CHECKS,
    contrast_figure,
)
from judge_gym.metrics.shape import ADJACENT_SHARE, COMPARED

EXAMPLE = Path(__file__).resolve().parents[3] / "deployments" / "sweeps" / "plans" / "demo.yaml"
PLAN = """\
name: small
sweep: demo
description: simulated judges
margins:
  - {hypothesis: H1, margin: 0.05, why: less does not matter}
primary:
  - {hypothesis: H1, scope: {concept: fascism}}
confirmatory: [H1]
"""
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "plan.yaml"
        path.write_text(text)
        return path

    return written


def test_the_example_is_a_plan_for_its_sweep():
    plan = load_plan(EXAMPLE)
    assert (plan.name, plan.sweep) == ("demo", "demo")
    assert "imulated" in plan.description
    assert plan.margin_of["H3"] == -0.05
    assert (EXAMPLE.parent.parent / f"{plan.sweep}.yaml").exists()


def test_hypotheses_are_those_of_the_metrics():
    assert tuple(one.key for one in (*HYPOTHESES, *VALIDITY_CHECKS)) == KEYS


CONTRASTS = """\
name: small
sweep: demo
description: simulated judges
contrasts:
  - {axis: abstain, levels: [false, true], figure: abstain_share, direction: above, margin: 0.1,
     why: fewer would not matter, scope: {judge: sim/calm-1}}
  - {axis: scale_size, levels: [5, 7], figure: set_size, direction: within, margin: 2, why: no more}
"""


def test_a_plan_may_have_contrasts_alone(write):
    plan = load_plan(write(CONTRASTS))
    assert list(plan.keyed_contrasts) == ["C1.abstain_share", "C2.set_size"]
    first, second = plan.contrasts
    assert (first.levels, first.written_levels) == ((False, True), ("false", "true"))
    assert (second.levels, second.margin) == ((5, 7), 2)
    # as it is stored, and read again
    assert AnalysisPlan.model_validate(plan.content) == plan
    assert plan.sha256 != load_plan(write(CONTRASTS.replace("0.1", "0.2"))).sha256


def test_the_content_of_a_plan_without_contrasts_is_as_it_was(write):
    # what a plan that was frozen by an earlier version is compared with
    content = load_plan(write(PLAN)).content
    assert "contrasts" not in content
    assert content["contestation"] == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[false, true]", "[false]", ["line 5", "levels is a list of 1", "the level after"]),
        ("[false, true]", "[true, true]", ["contrasts[0]", "the same"]),
        ("abstain_share", "abstains", ["figure is 'abstains'", "abstain_share, middle_mass"]),
        ("margin: 0.1", "margin: 1.5", ["contrasts[0]", "between -1 and 1"]),
        ("margin: 2", "margin: 0", ["contrasts[1]", "above 0"]),
        ("above", "up", ["direction is 'up'", "above, below or within"]),
        ("why: no more", "item_sd: 1", ["line 7", "contrasts[1].why is missing"]),
        (CONTRASTS.partition("contrasts")[2], ": []", ["contrasts is an empty list"]),
        ("contrasts" + CONTRASTS.partition("contrasts")[2], "", ["nothing is planned"]),
    ],
)
def test_faults_of_contrasts_name_line_key_value_and_what_is_legal(write, old, new, told):
    assert old in CONTRASTS
    with pytest.raises(ConfigError) as caught:
        load_plan(write(CONTRASTS.replace(old, new, 1)))
    for part in told:
        assert part in str(caught.value)


def test_figures_of_contrasts_are_those_of_the_metrics():
    assert get_args(ContrastFigureName) == tuple(CONTRAST_FIGURES)
    shares = (*COMPARED, ADJACENT_SHARE)
    compared = {f"contrast_{share.name}" for share in shares}
    others = {"contrast", "contrast_confidence", "contrast_jitter"}
    assert {one.metric for one in CONTRAST_FIGURES.values()} == compared | others
    stages = {name for name, one in CONTRAST_FIGURES.items() if one.unit == "stages"}
    assert stages == IN_STAGES.keys()
    for name, other in IN_STAGES.items():
        assert CONTRAST_FIGURES[name].metric == CONTRAST_FIGURES[other].metric
    of_sets = {f"contrast_{share.name}" for share in shares if share.of_sets}
    assert {CONTRAST_FIGURES[name].metric for name in OF_SETS} == of_sets
    found = contrast_figure("C12.set_size")
    assert found == CONTRAST_FIGURES["set_size"]
    assert contrast_figure("H4.distance") is None


def test_the_digest_is_of_the_content_alone(write):
    digest = load_plan(write(PLAN)).sha256
    reordered = "# a remark\nsweep: demo\nname: small\n" + PLAN.split("\n", 2)[2]
    assert load_plan(write(reordered)).sha256 == digest
    assert load_plan(write(PLAN.replace("0.05", "0.06"))).sha256 != digest
    assert load_plan(write(PLAN.replace("fascism", "trust"))).sha256 != digest
    # fixed for good: a digest that was stored by an earlier version must still be found
    assert digest == "524cdb5a5ecb7b3d3fcedf2716bea958391f969a9995cf03438009d8ce7a4b02"


def test_primary_outcomes_are_told_by_their_scope(write):
    plan = load_plan(write(PLAN))
    assert plan.is_primary("H1", {"concept": "fascism", "country": "Valmora"})
    assert not plan.is_primary("H1", {"concept": "trust"})
    assert not plan.is_primary("H1", {})
    assert not plan.is_primary("H2", {"concept": "fascism"})


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("sweep: demo\n", "", ["line 1", "sweep is missing", "the name of a sweep"]),
        ("margin: 0.05", "margin: 5", ["line 5", "margins[0].margin is 5", "from -1"]),
        ("margin: 0.05", "margin: often", ["margins[0].margin is 'often'"]),
        ("hypothesis: H1, margin", "hypothesis: H9, margin", ["is 'H9'", "H1, H2, H3"]),
        ("confirmatory: [H1]", "confirmatory: [H1, H7]", ["line 8", "is 'H7'", "V5"]),
        ("confirmatory: [H1]", "confirmatory: [H1, H2]", ["lists H2, which margins does not"]),
        ("confirmatory: [H1]", "confirmatory: [H1, H1]", ["confirmatory lists H1 twice"]),
        ("confirmatory: [H1]", "confirmatory: []", ["confirmatory is an empty list"]),
        ("scope: {", "scop: {", ["scop is not a known key", "Did you mean scope?"]),
        ("name: small", "name: Small Plan", ["name is 'Small Plan'", "small letters"]),
    ],
)
def test_faults_name_line_key_value_and_what_is_legal(write, old, new, told):
    assert old in PLAN
    with pytest.raises(ConfigError) as caught:
        load_plan(write(PLAN.replace(old, new, 1)))
    assert "plan.yaml" in str(caught.value)
    for part in told:
        assert part in str(caught.value)


def test_a_plan_confirms_only_when_it_was_there_first(write):
    plan = load_plan(write(PLAN))
    stored = StoredPlan(plan.sha256, NOON)
    later, earlier = NOON + timedelta(minutes=1), NOON - timedelta(minutes=1)
    found = standing(plan, stored, later)
    assert found.confirmatory
    assert found.reason == (
        "confirmatory: the plan small was stored on 2026-01-05 12:00:00 UTC, "
        "before the first judgement"
    )
    assert standing(plan, stored, None).confirmatory
    changed = DesignChange(later + timedelta(days=1), 1)
    redesigned = standing(plan, stored, later, None, changed)
    assert redesigned.confirmatory
    assert redesigned.state == PlanState.REDESIGNED
    assert redesigned.reason == (
        f"{found.reason}; the design was changed on 2026-01-06 12:01:00 UTC, after 1 judgement"
    )
    assert not standing(plan, stored, earlier, None, changed).confirmatory
    cases = {
        "no analysis plan": standing(None, stored, later),
        "was never stored": standing(plan, None, later),
        "is not the one": standing(plan, StoredPlan("0" * 64, NOON), later),
        "when judging had begun": standing(plan, stored, earlier),
    }
    for told, one in cases.items():
        assert not one.confirmatory
        assert told in one.reason
    assert not standing(plan, stored, NOON).confirmatory


def test_changes_of_a_design_are_told_in_words_and_not_by_digests() -> None:
    before = {"replicates": [2], "experiments_sha256": "a" * 64}
    assert list(changes(before, before | {"experiments_sha256": "b" * 64})) == ["other experiments"]
    both = {"replicates": [3], "experiments_sha256": "b" * 64}
    assert list(changes(before, both)) == ["replicates: [2] became [3]"]


def test_what_changed_in_a_rubric_is_shown_by_criterion_with_its_words():
    same = "A long criterion that stays as it is, whatever happens to the others of its stage."
    old = "One court, broadcaster, party or authority is fined, overruled or denied resources."
    new = old.replace("fined, overruled", "fined, harassed")
    before, after = (
        {"rubrics": {"r.yaml": {"stages.2": {"criteria": [same, text]}}}, "experiments_sha256": key}
        for text, key in ((old, "a"), (new, "b"))
    )
    (said,) = changes(before, after)
    place, _, words = said.partition(": ")
    assert place == "rubrics.r.yaml.stages.2.criteria[2]"
    first, second = words.split(" became ")
    assert "overruled" in first
    assert "harassed" in second
    assert "A long criterion" not in said
    assert len(said) < 200


def test_long_texts_that_differ_at_their_end_are_not_shown_alike():
    start = "word " * 60
    (said,) = changes({"plan": {"why": start + "one"}}, {"plan": {"why": start + "two"}})
    first, second = said.partition(": ")[2].split(" became ")
    assert first != second
    assert ("one" in first, "two" in second) == (True, True)
