"""What goes wrong when, drawn by a seed, and what `judge-gym doctor` says of it while it lasts."""

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from flows.resume import ABANDONED
from support.soak.place import Place
from support.waiting import until_or_not

SHORTEST_S, LONGEST_S = 15, 25
GONE_S = 65
"""Prefect's server marks a worker as gone after three heartbeats of 10 s, and looks each 15 s. The
doctor looks 15 s before the end."""
PAUSES_S = (15, 30)
"""Between the end of a fault and the next one."""


@dataclass(frozen=True)
class Fault:
    """A part that is hit: how it begins and ends, and what names it."""

    begin: Callable[[Place], object]
    end: Callable[[Place], object]
    named: tuple[str, ...]
    """Parts of the line of `judge-gym doctor` that names it; empty where nothing is wrong."""
    lasts_s: tuple[int, int] = (SHORTEST_S, LONGEST_S)


@dataclass(frozen=True)
class Moment:
    """A fault of the timeline."""

    name: str
    pause_s: int
    """Since the end of the one before."""
    lasts_s: int


@dataclass(frozen=True)
class Seen:
    """A fault that has been, and what the doctor said."""

    name: str
    began: datetime
    ended: datetime
    line: str
    """The finding that names it; empty if none did."""
    remedy: str
    others: tuple[str, ...] = ()
    """Other findings that are problems."""

    @property
    def is_named(self) -> bool:
        """Whether the doctor named it with a remedy, where there was something to name."""
        return not FAULTS[self.name].named or bool(self.line and self.remedy)


def _away(place: Place) -> None:
    place.note_risk()
    place.provider.is_away = True


def _back(place: Place) -> None:
    place.provider.is_away = False


def _limit(place: Place) -> None:
    place.provider.limits = True


def _limit_no_more(place: Place) -> None:
    place.provider.limits = False


def _expire(place: Place) -> None:
    place.keys += 1
    place.provider.key = f"sk-soak-{place.keys}-{place.chance.getrandbits(64):016x}"


def _kill_worker(place: Place) -> None:
    place.note_risk()
    place.chance.choice(place.workers).kill()


def _start_worker(place: Place) -> None:
    for worker in place.workers:
        if worker.process is not None and worker.process.poll() is not None:
            worker.start()


def _kill_run(place: Place) -> None:
    until_or_not(lambda: place.kill_a_run(), 90, every=0.5)


def _kill_postgres(place: Place) -> None:
    place.note_risk()
    place.postgres.kill()


def _fill(place: Place) -> None:
    assert place.disk is not None
    place.note_risk()
    place.disk.fill()
    place.postgres.meet_full_disk()


def _free(place: Place) -> None:
    assert place.disk is not None
    place.note_risk()
    place.disk.free()
    place.postgres.start()


def _nothing(_: Place) -> None:
    pass


FAULTS: Mapping[str, Fault] = {
    "provider away": Fault(_away, _back, ("provider soak", "does not answer")),
    "429 storm": Fault(_limit, _limit_no_more, ("provider soak", "429")),
    "expired key": Fault(_expire, Place.renew_key, ("provider soak", "key")),
    "worker killed": Fault(_kill_worker, _start_worker, ("worker ",), (GONE_S, GONE_S + 10)),
    "run killed": Fault(_kill_run, _nothing, (), (1, 2)),
    "Prefect's server killed": Fault(
        lambda place: place.prefect.kill(),
        lambda place: place.prefect.start(),
        ("prefect", "does not answer"),
    ),
    "PostgreSQL killed": Fault(
        _kill_postgres, lambda place: place.postgres.start(), ("database", "cannot be used")
    ),
    "full disk": Fault(_fill, _free, ("disk", "is full")),
}
"""By name. The clock of the schedule changes beside them."""


def timeline(seed: int, seconds: float, *, with_disk: bool) -> list[Moment]:
    """The faults of so many seconds: every one in turn, in orders that are drawn."""
    chance = random.Random(f"{seed} faults")
    names = sorted(FAULTS.keys() - ({"full disk"} if not with_disk else set()))
    drawn: list[Moment] = []
    while True:
        for name in chance.sample(names, len(names)):
            moment = Moment(name, chance.randint(*PAUSES_S), chance.randint(*FAULTS[name].lasts_s))
            if drawn and sum(one.pause_s + one.lasts_s for one in [*drawn, moment]) > seconds:
                return drawn
            drawn.append(moment)


def go_through(place: Place, moment: Moment) -> Seen:
    """Begin a fault, have the doctor look while it lasts, and end it."""
    fault, pause = FAULTS[moment.name], threading.Event()
    pause.wait(moment.pause_s)
    began = datetime.now(UTC)
    fault.begin(place)
    since = time.monotonic()
    # What the doctor needs time to see comes before, what it sees at once may come meanwhile.
    pause.wait(max(0, moment.lasts_s - SHORTEST_S))
    line, remedy, others = examined(place, fault.named)
    pause.wait(max(0, moment.lasts_s - (time.monotonic() - since)))
    fault.end(place)
    return Seen(moment.name, began, datetime.now(UTC), line, remedy, others)


def examined(place: Place, named: tuple[str, ...] = ()) -> tuple[str, str, tuple[str, ...]]:
    """The doctor's finding with these parts, its remedy, and the other problems that it found."""
    said = place.command("doctor", "--json")
    findings = json.loads(said.output)["findings"]
    problems = [one for one in findings if one["state"] in ("broken", "missing")]
    lines = {f"{one['subject']}: {one['detail']}": one["remedy"] for one in problems}
    found = [line for line in lines if named and all(part in line for part in named)]
    others = tuple(line for line in lines if line not in found)
    return (found[0], lines[found[0]], others) if found else ("", "", others)


def until_all_judged(place: Place, seconds: float) -> bool:
    """Wait for the schedule to judge all items; whether it did."""
    return bool(until_or_not(lambda: place.judged() >= len(place.items), seconds, every=2))


def until_no_run_is_left(place: Place, seconds: float) -> None:
    """Wait until every due run has ended; a crashed one is resumed."""

    def ended() -> bool:
        return all(
            run["state_type"] in ("COMPLETED", "FAILED", "CANCELLED")
            or run["state_name"] == ABANDONED
            for run in place.runs()
        )

    until_or_not(ended, seconds, every=3)


def problems_left(place: Place, seconds: float) -> tuple[str, ...]:
    """What the doctor still finds after so many seconds; some findings last for minutes."""
    left: tuple[str, ...] = ()

    def settled() -> bool:
        nonlocal left
        *_, left = examined(place)
        return not left

    until_or_not(settled, seconds, every=10)
    return left
