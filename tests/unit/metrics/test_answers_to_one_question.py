"""Several answers to one question are one piece of evidence: intervals are over questions."""

from dataclasses import replace

import numpy as np
import pytest

from judge_gym.metrics.accuracy import cohens_kappa, share_correct, stage_error
from judge_gym.metrics.agreement import Level, gwet_ac, krippendorff_alpha
from judge_gym.metrics.cells import CellMeans, Verdicts
from judge_gym.metrics.consistency import clustered_share, mean_score
from judge_gym.metrics.error_correlation import effective_votes, votes_between_families
from judge_gym.metrics.estimate import t_interval
from judge_gym.metrics.inference import paired_contrast

QUESTIONS, COPIES, STAGES = 25, 4, 5


def of_two_judges(copies: int) -> tuple[Verdicts, np.ndarray]:
    """Two judges on so many answers alike to each question, and the true stages."""
    rng = np.random.default_rng(7)
    true = rng.integers(1, STAGES + 1, QUESTIONS)
    given = np.clip(true + rng.integers(-1, 2, (2, QUESTIONS)), 1, STAGES)
    n = QUESTIONS * copies
    question = np.repeat(np.arange(QUESTIONS), copies)
    verdicts = Verdicts(
        judge=np.repeat([0, 1], n),
        item=np.tile(np.arange(n), 2),
        stages=np.concatenate([1 << (one[question] - 1) for one in given]),
        n_judges=2,
        n_items=n,
        n_stages=STAGES,
        question=question if copies > 1 else None,
    )
    return verdicts, true[question]


def figures(copies: int):
    verdicts, true = of_two_judges(copies)
    one = verdicts.of_judges([0])
    rng = np.random.default_rng
    of_judges = [verdicts.of_judges([judge]) for judge in (0, 1)]
    right = [
        CellMeans((of.stages == 1 << (true - 1))[None] * 1.0, np.ones((1, len(true)), int))
        for of in of_judges
    ]
    stage = np.bitwise_count(verdicts.stages - 1).reshape(2, -1).T.astype(float)
    cluster = verdicts.cluster(np.arange(len(true)))
    return [
        mean_score(one),
        cohens_kappa(one, true, rng(1)),
        cohens_kappa(one, true, rng(1), quadratic=True),
        stage_error(one, true),
        krippendorff_alpha(verdicts, rng(2), Level.ORDINAL),
        gwet_ac(verdicts, rng(2), Level.NOMINAL),
        paired_contrast("difference", *right, None, "share", verdicts.question),
        *effective_votes(stage - true[:, None], np.zeros(len(true)), cluster),
        *votes_between_families(np.column_stack([stage, true, 6 - stage.max(axis=1)]),
                                np.array([0, 0, 1, 1]), cluster),
    ]  # fmt: skip


def test_answers_alike_to_one_question_narrow_no_interval():
    once, copied = figures(1), figures(COPIES)
    for one, more in zip(once, copied, strict=True):
        assert (more.n_items, one.n_items) == (COPIES * QUESTIONS, QUESTIONS), one.metric
        # α corrects for the number of judgements.
        near = 0.01 if "krippendorff" in one.metric else 1e-9
        assert more.estimate == pytest.approx(one.estimate, abs=near), one.metric
        ends = pytest.approx((one.lower, one.upper), abs=near)
        assert (more.lower, more.upper) == ends, one.metric
        assert more.p == (None if one.p is None else pytest.approx(one.p))


def test_a_share_counts_each_question_once_where_its_answers_are_alike():
    verdicts, true = of_two_judges(COPIES)
    by_question = share_correct(verdicts.of_judges([0]), true)
    by_item = share_correct(replace(verdicts, question=None).of_judges([0]), true)
    assert by_question.estimate == by_item.estimate
    assert by_question.upper - by_question.lower > 1.8 * (by_item.upper - by_item.lower)
    # Without a miss nothing says how alike the answers to a question are: each counts once.
    ones = np.ones(100, dtype=np.int64)
    assert clustered_share("share", ones, ones, np.repeat(np.arange(10), 10)).lower == (
        clustered_share("share", ones[:10], ones[:10]).lower
    )


def test_the_interval_of_unequal_questions_is_that_of_a_ratio_of_their_totals():
    values, cluster = np.array([0.0, 1.0, 1.0, 0.5, 0.0, 1.0]), np.array([0, 0, 0, 1, 2, 2])
    mean, sums, sizes = 3.5 / 6, np.array([2.0, 0.5, 1.0]), np.array([3, 1, 2])
    error = (3 / 2 * ((sums - mean * sizes) ** 2).sum()) ** 0.5 / 6
    half = 4.302652729696144 * error  # t of 95% with 2 degrees of freedom
    assert t_interval(values, cluster=cluster) == pytest.approx((mean - half, mean + half))


def test_judges_that_do_not_differ_seldom_differ_by_p_whatever_they_share_in_a_question():
    rng, sets = np.random.default_rng(11), 400
    question = np.repeat(np.arange(15), 8)
    n = np.ones((1, len(question)), dtype=np.int64)
    found = {True: 0, False: 0}
    for _ in range(sets):
        chance = 1 / (1 + np.exp(-rng.normal(0.5, 1.5, (2, 15))))
        right = [CellMeans((rng.random(120) < c[question])[None] * 1.0, n) for c in chance]
        for by_question in found:
            contrast = paired_contrast(
                "d", *right, None, "share", question if by_question else None
            )
            found[by_question] += contrast.p < 0.05
    assert found[True] <= 0.05 * sets + 2.6 * (0.05 * 0.95 * sets) ** 0.5
    assert found[False] > 2 * found[True]
