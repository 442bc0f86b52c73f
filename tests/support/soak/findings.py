"""What a soak found: what was lost, paid twice, missed by the doctor, or grew."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from support.soak.clock import Clock
from support.soak.faults import Seen
from support.soak.samples import Sample, Samples

GROWTH = {"memory, MB": (1.15, 20.0), "open files": (1.1, 10.0), "connections": (1.5, 10.0)}
"""Measure → how many times, and how much more, the last third may be of the second: a restarted
process begins small, and grows for some minutes."""
ROWS_OF_A_RUN = 400.0
"""Most rows of Prefect's database for each flow run, events and logs included: 262 were measured in
11 minutes with 14 faults. They go when they are as old as Prefect's settings say
(docs/how-to/prefect.md), so their number is bounded where that of a run is."""
ENOUGH_RUNS = 10
"""Runs from which on their rows are judged: few have those of every retry in a fault."""
ENOUGH_S = 600.0
"""How long a process was watched from which on a trend is read: while a database is away, a worker
has twice its open files for a minute."""


@dataclass(frozen=True)
class Story:
    """What happened."""

    seed: int
    clock: Clock
    seen: Sequence[Seen]
    samples: Samples
    runs: Sequence[dict[str, Any]]
    items: int
    judged: int
    ledger: int
    """Answers in the ledger."""
    answered: Counter[str]
    """Request → answers that the provider billed for."""
    at_risk: int
    problems_left: Sequence[str]
    """What the doctor still found after the end."""
    began: datetime
    stopped: datetime


def minute(text: str) -> datetime:
    """The moment of a run that was planned."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def missed(story: Story) -> list[datetime]:
    """Minutes without a run for which the schedule should have made one."""
    planned = {minute(run["expected_start_time"]) for run in story.runs}
    first = min(planned)
    minutes = int((story.stopped - first) / timedelta(minutes=1))
    due = (first + timedelta(minutes=number) for number in range(minutes))
    return [at for at in due if at not in planned and not story.clock.skips(at)]


def doubled(story: Story) -> int:
    """Runs beyond one for a minute: Prefect makes some where the clock changes."""
    return len(story.runs) - len({minute(run["expected_start_time"]) for run in story.runs})


def unexplained(story: Story) -> list[str]:
    """Runs that ended otherwise than well, but for those that met a fault which fails a run.

    A key that is refused and a provider that is away for longer than `outage_patience_s` fail a
    run; the next one does its work.
    """
    left = []
    for run in story.runs:
        if run["state_type"] == "COMPLETED":
            continue
        began = minute(run["start_time"] or run["expected_start_time"])
        ended = minute(run["end_time"]) if run["end_time"] else story.stopped
        met = any(began <= one.ended and ended >= one.began for one in story.seen)
        if run["state_type"] != "FAILED" or not met:
            left.append(f"{run['name']} {run['state_name']}: {run['state']['message']}")
    return left


def paid_twice(story: Story) -> int:
    """Answers that the provider billed for beyond one for each request."""
    return sum(count - 1 for count in story.answered.values())


def growth(story: Story) -> Iterator[tuple[str, str, float, float, bool]]:
    """Measure, part, medians of the second and the last third, and whether that is flat."""
    for measure, (times, more) in GROWTH.items():
        for part in sorted({one.part for one in story.samples.of(measure)}):
            of_part = [one for one in story.samples.of(measure) if one.part == part]
            watched = _longest_life(of_part)
            if watched[-1].at_s - watched[0].at_s < ENOUGH_S:
                continue
            values = [one.value for one in watched]
            third = len(values) // 3
            before, after = median(values[third : 2 * third]), median(values[2 * third :])
            yield measure, part, before, after, after <= max(before * times, before + more)


def _longest_life(samples: Sequence[Sample]) -> list[Sample]:
    [(life, _)] = Counter(one.life for one in samples).most_common(1)
    return [one for one in samples if one.life == life]


def rows_of_a_run(story: Story) -> float:
    """How many rows Prefect's database gets for each flow run."""
    return _rows_and_runs(story)[0]


def _rows_and_runs(story: Story) -> tuple[float, int]:
    """Rows for each run, and the runs that they are of."""
    rows = [one for one in story.samples.of("rows") if one.part == "Prefect"]
    # The first plans runs for more than an hour ahead.
    first, last = rows[len(rows) // 3], rows[-1]
    ends = (
        (minute(run["end_time"]) - story.samples.began).total_seconds()
        for run in story.runs
        if run["end_time"]
    )
    ended = sum(first.at_s < end <= last.at_s for end in ends)
    return (last.value - first.value) / max(1, ended), ended


def failures(story: Story) -> list[str]:
    """Everything that is not as it should be, a sentence each."""
    left = [f"No run was made for {at:%H:%M} UTC." for at in missed(story)]
    left += [f"Ended otherwise than well: {one}." for one in unexplained(story)]
    if story.judged != story.items:
        left.append(f"{story.judged} of {story.items} items are judged.")
    if story.ledger != story.judged:
        left.append(f"{story.ledger} answers in the ledger for {story.judged} judgements.")
    if (twice := paid_twice(story)) > story.at_risk:
        left.append(f"{twice} answers were paid twice; {story.at_risk} were in flight at faults.")
    left += [f"The doctor did not name: {one.name}." for one in story.seen if not one.is_named]
    left += [f"The doctor still finds: {one}." for one in story.problems_left]
    left += [
        f"{measure} of {part} grew from {before:.0f} to {after:.0f}."
        for measure, part, before, after, flat in growth(story)
        if not flat
    ]
    rows, ended = _rows_and_runs(story)
    if rows > ROWS_OF_A_RUN and ended >= ENOUGH_RUNS:
        left.append(f"Prefect's database got {rows:.0f} rows for each run.")
    return left
