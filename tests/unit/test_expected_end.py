"""When a sweep is expected to end, from what is left and the recent rate."""

from datetime import UTC, datetime, timedelta

import pytest

from judge_gym.lab.status import expected
from judge_gym.store.progress import Activity, Progress

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DONE = Progress(10, 10)


def progress(**changes: Progress) -> dict[str, Progress]:
    whole = {"w1-evidence": DONE, "w2-rubric": DONE, "w3-scoring": DONE, "w4-swap": Progress(0, 0)}
    named = {name.replace("_", "-"): part for name, part in changes.items()}
    return whole | {"w5-probe": DONE} | named


def lately(*rates: float, ended: int = 100) -> list[Activity]:
    return [Activity(f"p{number}", ended, rate, 0) for number, rate in enumerate(rates)]


def test_what_is_left_at_the_rate_of_all_providers() -> None:
    """90 probes at 20 and 10 a minute take 3 minutes."""
    found = expected(progress(w5_probe=Progress(10, 100)), lately(20, 10), 0, NOW)
    assert found.at == NOW + timedelta(minutes=3)
    assert (found.left, found.at_least) == (90, False)


def test_more_may_follow_while_an_earlier_workflow_is_unfinished() -> None:
    found = expected(
        progress(w3_scoring=Progress(10, 40), w5_probe=Progress(0, 10)), lately(10), 0, NOW
    )
    assert (found.left, found.at_least) == (40, True)
    assert found.at == NOW + timedelta(minutes=4)
    assert expected(progress(w5_probe=Progress(0, None)), lately(10), 0, NOW).at_least


@pytest.mark.parametrize(
    ("recent", "in_batches", "why"),
    [
        ([], 0, "too few calls"),
        (lately(100, ended=9), 0, "too few calls"),
        (lately(100), 3, "in batches: 3 calls"),
    ],
)
def test_an_end_that_nobody_can_know_is_not_named(
    recent: list[Activity], in_batches: int, why: str
) -> None:
    found = expected(progress(w5_probe=Progress(1, 2)), recent, in_batches, NOW)
    assert found.at is None
    assert why in found.why


def test_a_finished_sweep_has_nothing_left() -> None:
    found = expected(progress(w5_probe=Progress(5, 5, failed=2)), lately(50), 0, NOW)
    assert (found.at, found.left, found.at_least) == (None, 0, False)
