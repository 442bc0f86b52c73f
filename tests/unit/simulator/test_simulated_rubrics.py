"""Rubrics that families write, how critics rate them, and that families know their own."""

import json
from itertools import pairwise

import pytest

from judge_gym.answers.json_object import read_json_object
from judge_gym.design.rubric import Rubric, rubric_faults
from judge_gym.planted.families import is_own_rubric, planted
from judge_gym.planted.reading import concept_named
from judge_gym.questions.critic import critic_prompt
from judge_gym.questions.rubricer import Faults, RubricRequest, rubric_again_prompt, rubric_prompt
from judge_gym.simulator.verdicts import order_stages

BROKEN = (
    "The president dissolved parliament, banned two parties and jailed forty journalists without "
    "charge. Judges who objected were dismissed and political prisoners were tortured."
)


def _written(bench, family, size=4, concept="fascism", seed=0):
    """Return the rubric and how many times it was asked for."""
    model = planted()[family].models[0]
    request = RubricRequest(model, family, concept, "Valmora", size, 0, 1.0)
    prompt, faults = rubric_prompt(request), [""]
    for attempt in (1, 2):
        text = bench.send(model, prompt, seed, 1.0)
        stages = read_json_object(text)["stages"]
        count_fits = len(stages) >= 2
        rubric = Rubric.model_validate({"stages": stages}) if count_fits else None
        faults = rubric_faults(rubric, size) if rubric else ["there must be exactly 2 stages"]
        if not faults:
            return rubric, attempt
        prompt = rubric_again_prompt(prompt.messages, text, Faults(tuple(faults)))
    raise AssertionError(faults)


def _listed(rubric):
    return tuple((stage.label, stage.criteria) for stage in rubric.stages)


@pytest.mark.parametrize("family", sorted(planted()))
@pytest.mark.parametrize("concept", ["fascism", "democracy quality", "press freedom"])
def test_rubrics_of_every_size_fit_and_keep_their_order(bench, family, concept):
    valence = concept_named(concept).valence
    for size in range(2, 11):
        rubric, _ = _written(bench, family, size, concept)
        backwards = tuple(reversed(_listed(rubric)))
        assert order_stages(backwards, valence) == tuple(reversed(range(size)))


@pytest.mark.parametrize("family", sorted(planted()))
def test_family_knows_its_own_rubric_and_its_sham_and_no_others(bench, family):
    draws = [_written(bench, family, seed=seed)[0] for seed in range(4)]
    assert len({rubric.key for rubric in draws}) > 1
    for rubric in draws:
        texts = [text for label, criteria in _listed(rubric) for text in (label, *criteria)]
        assert [name for name in planted() if is_own_rubric(name, texts)] == [family]


def test_provided_rubric_is_nobodys_own(bench):
    texts = [t for label, crit in _listed(bench.plain_rubric()) for t in (label, *crit)]
    assert not [name for name in planted() if is_own_rubric(name, texts)]


def test_planted_share_of_first_rubrics_breaks_a_rule(bench):
    attempts = [_written(bench, "first", size=5, seed=seed)[1] for seed in range(60)]
    # Planted 0.3, of which a third is only prose around the JSON: 0.2 expected, error 0.05.
    assert 0.03 < attempts.count(2) / 60 < 0.4
    assert {_written(bench, "calm", size=5, seed=seed)[1] for seed in range(10)} == {1}


def test_critic_finds_the_vague_family(bench):
    def marks(family):
        prompt = critic_prompt(_written(bench, family)[0], "fascism", "Valmora", "call")
        return json.loads(bench.send("sim/calm-1", prompt))

    precise, vague = marks("calm"), marks("tonal")
    assert all(precise[mark] > 0.5 > vague[mark] for mark in ("observability", "discriminability"))


def test_foreign_rubric_lowers_the_probe_by_the_planted_loyalty(bench):
    foreign = _written(bench, "low")[0]
    for family in ("sure", "calm"):
        model = f"sim/{family}-1"
        mine = _written(bench, family)[0]
        drop = bench.confidence(bench.ask(BROKEN, model=model, rubric=mine), 4)
        drop -= bench.confidence(bench.ask(BROKEN, model=model, rubric=foreign), 4)
        # Styles round to 1/20 at the coarsest, on each side.
        assert drop == pytest.approx(planted()[family].own_rubric_loyalty, abs=0.05)


def test_neighbouring_stages_are_graded_in_words(bench):
    rubric, _ = _written(bench, "high", size=10)
    assert all(a.label != b.label and a.criteria != b.criteria for a, b in pairwise(rubric.stages))
