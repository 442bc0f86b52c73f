"""What a wording does to a planted judge: drawn once for each family and text."""

from statistics import fmean, stdev

import pytest

from judge_gym.planted.expected import mean_score, stage_distribution
from judge_gym.planted.families import planted
from judge_gym.planted.judging import PlantedCase, margin
from judge_gym.planted.reading import DocumentReading
from judge_gym.planted.wordings import worded

TEXTS = [f"Choose a stage, version {number}." for number in range(2000)]


def a_case(theta: float) -> PlantedCase:
    return PlantedCase(DocumentReading(theta=theta, tau=0.0, information=1.0, cues=()), 0.5, 4)


@pytest.mark.parametrize("family", ["calm", "tonal"])
def test_shifts_have_the_planted_spread_around_zero(family: str) -> None:
    shifts = [worded(family, text).wording_shift for text in TEXTS]
    sd = planted()[family].wording_sd

    # Standard errors of a mean and of a standard deviation of normal draws.
    assert abs(fmean(shifts)) < 4 * sd / len(TEXTS) ** 0.5
    assert abs(stdev(shifts) - sd) < 4 * sd / (2 * len(TEXTS)) ** 0.5
    assert shifts == [worded(family, f"  {text}\n").wording_shift for text in TEXTS]


def test_families_differ_in_what_a_wording_does_to_them() -> None:
    shifts = [worded(family, TEXTS[0]).wording_shift for family in ("calm", "high", "low")]

    assert len(set(shifts)) == 3
    assert worded("calm", "").wording_shift == 0


def test_the_expected_score_moves_with_the_reading_and_a_probe_does_not() -> None:
    case = a_case(0.5)
    family = worded("calm", TEXTS[0])
    shift = family.wording_shift
    moved = stage_distribution(planted()["calm"], a_case(0.5 + shift))

    score = mean_score(stage_distribution(family, case))
    assert score == pytest.approx(mean_score(moved))
    assert margin(family, case, (1,)) == margin(planted()["calm"], case, (1,))
