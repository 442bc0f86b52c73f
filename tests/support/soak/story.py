"""A soak from its beginning to its end."""

import random
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deployments.cli.doctor_providers import LATELY
from support.soak.clock import Clock
from support.soak.faults import (
    Seen,
    go_through,
    problems_left,
    timeline,
    until_all_judged,
    until_no_run_is_left,
)
from support.soak.findings import Story, minute
from support.soak.place import place, schedule, unschedule
from support.soak.samples import sampled

START = timedelta(minutes=2)
"""Until everything is started, about."""
MEGABYTES, MEGABYTES_AN_HOUR = 400, 100
DRAIN_S = 420.0
RESUMED_S = 900.0
"""`resume-crashed` looks every five minutes, for runs that have not begun after three."""
SETTLED_S = (LATELY + timedelta(minutes=1)).total_seconds()
"""The doctor names a limit that was lowered by refusals for so long after the last one."""


def soak(folder: Path, seed: int, seconds: float) -> Story:
    """Run a soak whose faults take so long; starting and ending take some minutes beside."""
    chance = random.Random(f"{seed} soak")
    clock = clock_of(chance, seconds)
    megabytes = int(MEGABYTES + MEGABYTES_AN_HOUR * seconds / 3600)
    with place(folder, chance, clock, megabytes) as there:
        feeding = threading.Thread(target=there.feed, daemon=True)
        feeding.start()
        made = schedule(there)
        began = datetime.now(UTC)
        seen: list[Seen] = []
        with sampled(there) as samples:
            for moment in timeline(seed, seconds, with_disk=there.disk is not None):
                one = go_through(there, moment)
                seen.append(one)
                print(f"{one.began:%H:%M:%S} {one.name}: {one.line or '-'}", flush=True)
            there.fed()
            feeding.join()
            until_all_judged(there, DRAIN_S)
            stopped = datetime.now(UTC)
            unschedule(there, made)
            until_no_run_is_left(there, RESUMED_S)
            runs = [run for run in there.runs() if minute(run["expected_start_time"]) <= stopped]
        answers = "SELECT count(*) FROM llm_calls WHERE status = 'succeeded'"
        return Story(
            seed=seed,
            clock=clock,
            seen=seen,
            samples=samples,
            runs=runs,
            items=len(there.items),
            judged=there.judged(),
            ledger=there.postgres.count(answers),
            answered=there.provider.answered.copy(),
            at_risk=there.at_risk,
            problems_left=problems_left(there, SETTLED_S),
            began=began,
            stopped=stopped,
        )


def clock_of(chance: random.Random, seconds: float) -> Clock:
    """Changes of the clock in a soak that begins now: forward in its first half, and back."""
    begins = datetime.now(UTC) + START
    forward, back = (
        (begins + timedelta(seconds=seconds * chance.uniform(*part))).replace(
            second=0, microsecond=0
        )
        for part in ((0.2, 0.4), (0.6, 0.75))
    )
    return Clock(forward, back)
