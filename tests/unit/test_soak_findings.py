"""What a soak (`make soak`) must notice, on made-up stories: a soak that held, and each fault."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from support.soak import page
from support.soak.clock import SHIFT, Clock
from support.soak.faults import FAULTS, Seen, timeline
from support.soak.findings import Story, failures
from support.soak.place import Place
from support.soak.samples import Sample, Samples

BEGAN = datetime(2027, 3, 1, 12, tzinfo=UTC)
MINUTES = 20
BACK = BEGAN + timedelta(minutes=15)


def at(minutes: float) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def a_run(minute: int, **changes: Any) -> dict[str, Any]:
    made = {
        "name": f"run {minute}",
        "expected_start_time": at(minute).isoformat(),
        "start_time": at(minute).isoformat(),
        "end_time": at(minute + 0.5).isoformat(),
        "state_type": "COMPLETED",
        "state_name": "Completed",
        "state": {"message": "done"},
    }
    return made | changes


def samples(memory: Callable[[int], float] = lambda _: 200.0, rows: float = 40.0) -> Samples:
    taken = []
    for number in range(MINUTES):
        taken.append(Sample(number * 60.0, "memory, MB", "worker wheel", memory(number), 7))
        taken.append(Sample(number * 60.0, "rows", "Prefect", rows * number, 0))
    # Only a place that is at work is measured.
    return Samples(cast(Place, None), taken, {}, BEGAN)


def held(**changes: Any) -> Story:
    """A soak of 20 minutes with a run each minute, but where the clock comes to a time again."""
    clock = Clock(forward=at(5), back=BACK)
    story = Story(
        seed=1,
        clock=clock,
        seen=[Seen("provider away", at(3), at(3.4), "provider soak: away", "Wait.")],
        samples=samples(),
        runs=[a_run(one) for one in range(MINUTES) if not clock.skips(at(one))],
        items=2,
        judged=2,
        ledger=2,
        answered=Counter(a=1, b=2),
        at_risk=1,
        problems_left=[],
        began=BEGAN,
        stopped=at(MINUTES),
    )
    return dataclasses.replace(story, **changes)


def test_a_soak_that_held_has_no_failure() -> None:
    assert failures(held()) == []
    assert len(held().runs) == MINUTES - SHIFT // timedelta(minutes=1)


def test_a_run_that_failed_during_a_fault_is_explained() -> None:
    runs = [*held().runs]
    runs[3] = a_run(3, state_type="FAILED", state_name="Failed")
    assert failures(held(runs=runs)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"runs": [one for one in held().runs if one["name"] != "run 8"]}, "made for 12:08"),
        (
            {"runs": [a_run(8, state_type="FAILED"), *held().runs]},
            "Ended otherwise than well: run 8",
        ),
        (
            {"runs": [a_run(3, state_type="CRASHED", state_name="Abandoned"), *held().runs]},
            "Ended otherwise than well: run 3 Abandoned",
        ),
        ({"judged": 1, "ledger": 1}, "1 of 2 items are judged"),
        ({"ledger": 3}, "3 answers in the ledger for 2"),
        ({"answered": Counter(a=1, b=3)}, "2 answers were paid twice; 1 were in flight"),
        ({"seen": [Seen("full disk", at(3), at(4), "", "")]}, "did not name: full disk"),
        ({"seen": [Seen("full disk", at(3), at(4), "disk: full", "")]}, "did not name: full disk"),
        ({"problems_left": ["worker wheel: is gone"]}, "still finds: worker wheel"),
        # 200 + 6 a minute: the medians of minutes 6 to 11 and 12 to 19 differ by 42, or 17%.
        ({"samples": samples(lambda at: 200 + 6 * at)}, "wheel grew from 251 to 293"),
        # From minute 6 to 19, for the 11 runs that ended since.
        ({"samples": samples(rows=600)}, f"{13 * 600 / 11:.0f} rows for each run"),
    ],
)
def test_what_is_not_as_it_should_be_is_a_failure(changes: dict[str, Any], said: str) -> None:
    [one] = failures(held(**changes))
    assert said in one


def test_a_restarted_process_is_not_compared_with_the_one_before() -> None:
    before = [one for one in samples().taken if one.measure == "rows" or one.at_s < 960]
    after = [Sample(960.0 + number, "memory, MB", "worker wheel", 900.0, 8) for number in range(4)]
    assert failures(held(samples=Samples(cast(Place, None), before + after, {}, BEGAN))) == []


def test_no_trend_is_read_of_a_process_that_was_watched_for_minutes() -> None:
    """Sixteen samples in 150 s, in which a worker waited for its databases."""
    rows = [one for one in samples().taken if one.measure == "rows"]
    files = [
        Sample(10.0 * number, "open files", "worker wheel", value, 7)
        for number, value in enumerate([14] * 11 + [28] * 5)
    ]
    story = held(samples=Samples(cast(Place, None), rows + files, {}, BEGAN))
    assert failures(story) == []
    assert any("no trend" in line for line in page.facts(story))


def test_a_seed_repeats_its_faults_and_each_comes_once_before_any_comes_twice() -> None:
    drawn = timeline(7, 3600, with_disk=True)
    assert drawn == timeline(7, 3600, with_disk=True)
    assert {one.name for one in drawn[: len(FAULTS)]} == FAULTS.keys()
    assert all(one.name != "full disk" for one in timeline(7, 3600, with_disk=False))
    assert sum(one.pause_s + one.lasts_s for one in drawn) <= 3600
