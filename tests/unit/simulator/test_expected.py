"""Expected figures against hand-derived ones, and against what the judges really answer."""

import math
from collections import Counter

import pytest

from judge_gym.planted import expected
from judge_gym.planted.families import Family, planted
from judge_gym.planted.judging import PlantedCase, ShownOrder, case_of
from judge_gym.planted.reading import DocumentReading

VOICE = planted()["calm"].voice
MILD = (
    "The election board postponed the count in two districts. The opposition complained of "
    "irregularities. A court ruled that the lists be published, and the ministry agreed."
)


def _family(**parameters: float) -> Family:
    return Family(about="test", models=("test-1",), voice=VOICE, **parameters)


def _case(
    theta: float = 0.5, tau: float = 0.0, contested: float = 0.0, stages: int = 4
) -> PlantedCase:
    return PlantedCase(DocumentReading(theta, tau, 1.0), contested, stages)


def test_graded_response_by_hand() -> None:
    """θ = 0.5, σ = 0.25, thresholds 0.25, 0.5, 0.75: P(>1) = 1/(1+e^-1), P(>2) = 1/2."""
    above = 1 / (1 + math.exp(-1))
    found = expected.stage_distribution(_family(noise=0.25), _case())
    assert found == pytest.approx([1 - above, above - 0.5, above - 0.5, 1 - above])


def test_leaning_and_tone_shift_the_reading() -> None:
    plain = expected.stage_distribution(_family(noise=0.1, tone_bias=0), _case(0.7))
    leaning = _family(noise=0.1, leaning=0.2, tone_bias=0)
    assert expected.stage_distribution(leaning, _case(0.6, contested=0.5)) == pytest.approx(plain)
    tonal = _family(noise=0.1, tone_bias=0.5)
    assert expected.stage_distribution(tonal, _case(0.5, tau=0.4)) == pytest.approx(plain)


def test_biases_by_hand() -> None:
    """Without noise at θ = 0.9 the stage is 4: π = 0.2 and λ = 0.1 spread 0.3 evenly over four."""
    family = _family(noise=0.0, first_bias=0.2, label_a_bias=0.1)
    case = _case(0.9)
    assert expected.stage_distribution(family, case) == pytest.approx([0.075] * 3 + [0.775])
    in_order = expected.stage_distribution(family, case, ShownOrder(first=0, lettered_a=0))
    assert in_order == pytest.approx([0.3, 0, 0, 0.7])
    only_first = expected.stage_distribution(family, case, ShownOrder(first=1))
    assert only_first == pytest.approx([0.025, 0.225, 0.025, 0.725])
    assert expected.display_excess(family.first_bias, 4) == pytest.approx(0.15)
    assert expected.display_excess(family.label_a_bias, 4) == pytest.approx(0.075)


def test_polarization_by_hand() -> None:
    """Noiseless judges on different stages share nothing: 1 bit; on the same stage: 0."""
    low, high = _family(noise=0.0, leaning=-0.3), _family(noise=0.0, leaning=0.3)
    assert expected.polarization(low, high, [_case(contested=1.0)]) == pytest.approx(1.0)
    assert expected.polarization(low, high, [_case(0.6, contested=0.1)]) == pytest.approx(0.0)


def test_probe_figures_by_hand() -> None:
    """Noiseless: margin 1, so κ0 + κ1 = 0.8 for the own rubric. With κ0 = 0.9, 1.3 and 1.3 - ρ
    are both cut to 1, so the ceiling hides the whole loss.
    """
    family = _family(noise=0.0, probe_noise=0.0, own_rubric_loyalty=0.3)
    cases = [_case(0.9)]
    assert expected.stated_probability(family, cases[0], own_rubric=True) == pytest.approx(0.8)
    assert expected.stated_probability(family, cases[0], own_rubric=False) == pytest.approx(0.5)
    capped = family.model_copy(update={"probe_level": 0.9})
    for own in (True, False):
        stated = expected.stated_probability(capped, cases[0], own_rubric=own)
        assert stated == pytest.approx(1.0)
    rival = _family(noise=0.0, leaning=-1.0)
    contested = [_case(0.9, contested=1.0)]
    assert expected.overconfidence(family, [family, rival], contested) == pytest.approx(0.3)


def test_accuracy_and_abstention_by_hand() -> None:
    """0.7·0.9 + 0.3/2 = 0.78; a judge that never looks is right half the time."""
    family = _family(accuracy=0.9, first_bias=0.2, label_a_bias=0.1)
    assert expected.accuracy(family) == pytest.approx(0.78)
    assert expected.accuracy(_family(noise=0.0, fixed_reading=0.9)) == pytest.approx(0.5)
    half_blank = PlantedCase(DocumentReading(0.5, 0.0, 0.5), 0.5, 4)
    assert expected.abstention(_family(abstention=0.8), [half_blank]) == pytest.approx(0.4)


def test_set_distribution_is_one_in_all_and_widens_near_thresholds() -> None:
    family = _family(noise=0.05)
    near, far = (expected.set_distribution(family, _case(theta)) for theta in (0.5, 0.375))
    assert sum(near.values()) == pytest.approx(1.0)
    assert near[(1, 2)] > far.get((1, 2), 0.0)


@pytest.mark.parametrize("family", ["calm", "first", "high"])
@pytest.mark.parametrize("method", ["single", "subset"])
def test_what_judges_answer_is_what_is_expected(bench, family, method) -> None:
    """Shares of 400 replicates under varied presentations; 0.1 is four standard errors."""
    orders = [(1, 2, 3, 4), (2, 3, 4, 1), (3, 4, 1, 2), (4, 1, 2, 3)]
    letters = ["ABCD", "BADC", "CDAB", "DCBA", "ACBD"]
    seen: Counter[tuple[int, ...]] = Counter()
    ask = bench.ask(
        MILD, model=f"sim/{family}-1", temperature=1.0, axes=(("scoring_method", method),)
    )
    for seed in range(400):
        shown = bench.but(ask, order=orders[seed % 4], letters=letters[seed % 5])
        seen[tuple(stage - 1 for stage in bench.stages_chosen(shown, seed))] += 1
    # The default view shows no headline, so the evidence is the text alone.
    case = case_of([MILD], ask.concept, 4)
    if method == "single":
        shares = enumerate(expected.stage_distribution(planted()[family], case))
        wanted = {(stage,): share for stage, share in shares}
    else:
        wanted = expected.set_distribution(planted()[family], case)
    for verdict in {*seen, *wanted}:
        assert seen[verdict] / 400 == pytest.approx(wanted.get(verdict, 0.0), abs=0.1)


def test_a_reserved_judge_withholds_the_lowest_stage_and_no_other() -> None:
    """Without noise θ = 0.1 is stage 1, withheld in 0.6; θ = 0.9 is stage 4, never withheld."""
    family = _family(noise=0.0, reserve=0.6)
    low, high = _case(0.1), _case(0.9)
    assert expected.abstention(family, [low, high]) == pytest.approx(0.3)
    assert expected.abstention(family, [low, high], subset=True) == pytest.approx(0.3)
    # π = 0.5 over four stages: 0.5 + 0.125 of stage 1, of which 0.4 stay: 0.25 of 0.625.
    biased = _family(noise=0.0, reserve=0.6, first_bias=0.5)
    assert expected.stage_distribution(biased, low) == pytest.approx([0.4, 0.2, 0.2, 0.2])
    assert expected.abstention(biased, [low]) == pytest.approx(0.375)


def test_gain_turns_a_slope_into_a_jump() -> None:
    """θ = 0.45 is the second of four stages; six times as far from the middle it is the first."""
    assert expected.stage_distribution(_family(noise=0.0), _case(0.45)) == pytest.approx(
        [0, 1, 0, 0]
    )
    steep = _family(noise=0.0, gain=6)
    assert expected.stage_distribution(steep, _case(0.45)) == pytest.approx([1, 0, 0, 0])
