"""Shares of marks and sensitivity of figures to them, against numbers derived by hand."""

import numpy as np
import pytest

from judge_gym.metrics.reasoning import (
    CONSISTENT,
    NO_REASONING,
    NOT_ASKED,
    OBSERVABLE,
    PASSES,
    UNMARKED,
    USES_EVIDENCE,
    mark_shares,
    polarization_shift,
    score_shift,
)


def test_shares_of_marks_are_of_what_was_marked() -> None:
    marks = [PASSES, PASSES, OBSERVABLE | CONSISTENT, USES_EVIDENCE, NO_REASONING, UNMARKED]
    item = np.array([0, 1, 0, 1, 0, 1, 1])
    found = {one.metric: one for one in mark_shares(item, np.array([*marks, NOT_ASKED]), 2)}
    assert {name: (one.estimate, one.n) for name, one in found.items()} == {
        "reasoning_passes": (2 / 4, 4),
        "reasoning_observable": (3 / 4, 4),
        "reasoning_consistent": (3 / 4, 4),
        "reasoning_uses_evidence": (3 / 4, 4),
        "reasoning_absent": (1 / 6, 6),
        "reasoning_unmarked": (1 / 6, 6),
    }


@pytest.mark.parametrize(
    ("mark", "because"),
    [(NOT_ASKED, "no critic was asked"), (UNMARKED, "no reasoning was marked")],
)
def test_without_marks_there_is_a_reason_and_no_share(mark: int, because: str) -> None:
    found = {one.metric: one for one in mark_shares(np.array([0]), np.array([mark]), 1)}
    assert found["reasoning_passes"].estimate is None
    assert because in found["reasoning_passes"].because


def test_scores_are_compared_on_the_items_with_a_passing_verdict(build_verdicts) -> None:
    # Item 0: 0, 1/3, 1 of which the first and the last pass; item 1: 1/3, 1 of which the last
    # does; item 2: none passes.
    verdicts = build_verdicts([[[1, 2, 4], [2, 4], [4]]])
    passes = np.array([True, False, True, False, True, False])
    mean, shift = score_shift(verdicts, passes)
    assert mean.estimate == pytest.approx((1 / 2 + 1) / 2)
    assert shift.estimate == pytest.approx(((1 / 2 - 4 / 9) + (1 - 2 / 3)) / 2)
    assert (shift.n, shift.n_items) == (3, 2)


def test_no_passing_verdict_is_a_reason(build_verdicts) -> None:
    verdicts = build_verdicts([[[1, 2]]])
    assert [one.estimate for one in score_shift(verdicts, np.zeros(2, dtype=bool))] == [None, None]


def _drawn(build_verdicts, rng: np.random.Generator, high: float):
    """Two judges, 20 items × 12: both choose 1 or 4 evenly; `high` is judge 1's share of 4."""
    table = [
        [[4 if rng.random() < share else 1 for _ in range(12)] for _ in range(20)]
        for share in (0.5, high)
    ]
    return build_verdicts(table)


def test_a_random_half_shifts_no_polarization(build_verdicts) -> None:
    """Half of the replicates alone would lower P - P0; the random subsets take that out."""
    rng = np.random.default_rng(1)
    verdicts = _drawn(build_verdicts, rng, high=0.9)
    passes = rng.random(len(verdicts)) < 0.5
    _, shift = polarization_shift(verdicts, passes, rng)
    assert shift.lower is not None
    assert shift.upper is not None
    assert shift.lower < 0 < shift.upper


def test_marks_that_follow_the_verdict_shift_polarization(build_verdicts) -> None:
    """Of judge 0 only the low verdicts pass, of judge 1 only the high ones."""
    rng = np.random.default_rng(2)
    verdicts = _drawn(build_verdicts, rng, high=0.5)
    passes = verdicts.stages == np.where(verdicts.judge == 0, 1, 8)
    passing, shift = polarization_shift(verdicts, passes, rng)
    assert passing.estimate == pytest.approx(0.9, abs=0.1)
    assert shift.lower is not None
    assert shift.lower > 0.7
