"""When a sweep is expected to end, from what is left and the recent rate."""

from datetime import UTC, datetime, timedelta

import pytest

from judge_gym.lab.status import Expected, expected
from judge_gym.store.progress import Activity, WorkflowProgress

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DONE = WorkflowProgress(10, 10)


def progress(**changes: WorkflowProgress) -> dict[str, WorkflowProgress]:
    whole = {
        "w1-evidence": DONE,
        "w2-rubric": DONE,
        "w3-scoring": DONE,
        "w4-swap": WorkflowProgress(0, 0),
    }
    named = {name.replace("_", "-"): part for name, part in changes.items()}
    return whole | {"w5-probe": DONE} | named


def lately(*rates: float, ended: int = 100) -> list[Activity]:
    return [Activity(f"p{number}", ended, rate, 0) for number, rate in enumerate(rates)]


def end(
    parts: dict[str, WorkflowProgress],
    left: dict[str, dict[str, int]],
    recent: list[Activity],
    in_batches: int = 0,
) -> Expected:
    paces = {part.provider: part.per_minute for part in recent}
    return expected(parts, left, paces, recent, in_batches, NOW)


def test_the_slowest_provider_decides() -> None:
    """80 probes at 20 a minute take 4 minutes, 10 at one a minute take 10."""
    left = {"w5-probe": {"p0": 80, "p1": 10}}
    found = end(progress(w5_probe=WorkflowProgress(10, 100)), left, lately(20, 1))
    assert found.at == NOW + timedelta(minutes=10)
    assert (found.left, found.at_least) == (90, False)


def test_a_provider_that_is_done_does_not_hold_up_the_rest() -> None:
    left = {"w5-probe": {"p0": 0, "p1": 5}}
    found = end(progress(w5_probe=WorkflowProgress(10, 15)), left, lately(0.1, 1))
    assert found.at == NOW + timedelta(minutes=5)


def test_workflows_follow_each_other() -> None:
    """30 judgements at 10 a minute, then 10 probes at 2 a minute by another provider."""
    left = {"w3-scoring": {"p0": 30, "p1": 0}, "w5-probe": {"p0": 0, "p1": 10}}
    parts = progress(w3_scoring=WorkflowProgress(10, 40), w5_probe=WorkflowProgress(0, 10))
    found = end(parts, left, lately(10, 2))
    assert (found.left, found.at_least) == (40, True)
    assert found.at == NOW + timedelta(minutes=3 + 5)
    assert end(progress(w5_probe=WorkflowProgress(0, None)), {}, lately(10)).at_least


def test_evidence_counts_at_the_rate_of_all_providers() -> None:
    """It is made by the utility model, whichever provider that has."""
    found = end(progress(w1_evidence=WorkflowProgress(10, 40)), {}, lately(20, 10))
    assert found.at == NOW + timedelta(minutes=1)


def test_a_provider_that_has_not_answered_yet_leaves_the_end_open() -> None:
    left = {"w5-probe": {"p0": 8, "fresh": 2}}
    found = end(progress(w5_probe=WorkflowProgress(10, 20)), left, lately(20))
    assert found.at is None
    assert "too few calls to fresh ended" in found.why


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
    left = {"w5-probe": {"p0": 1}}
    found = end(progress(w5_probe=WorkflowProgress(1, 2)), left, recent, in_batches)
    assert found.at is None
    assert why in found.why


def test_a_finished_sweep_has_nothing_left() -> None:
    found = end(progress(w5_probe=WorkflowProgress(5, 5, failed=2)), {}, lately(50))
    assert (found.at, found.left, found.at_least) == (None, 0, False)
