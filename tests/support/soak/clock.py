"""A time zone whose clock changes while a soak runs: Prefect reads its zones from a folder."""

import shutil
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytz

ZONE = "Antarctica/Troll"
"""A zone that Prefect knows by name; its file is replaced."""
SHIFT = timedelta(minutes=2)
"""In place of an hour, which would be most of a short soak."""


@dataclass(frozen=True)
class Clock:
    """When the clock of the zone goes forward by `SHIFT`, and back."""

    forward: datetime
    back: datetime

    def skips(self, moment: datetime) -> bool:
        """Whether a cron schedule of the zone makes no run at a moment (docs/how-to/schedules.md).

        The times after the clock goes back have been there before.
        """
        return self.back <= moment < self.back + SHIFT


def with_clock(clock: Clock, folder: Path) -> dict[str, str]:
    """Write a folder of zones with this clock; returns the variables of who is to use it."""
    # Python 3.13 reads them by zoneinfo, and versions before by pytz.
    zones = Path(shutil.copytree(Path(pytz.__file__).parent / "zoneinfo", folder / "zones"))
    (zones / ZONE).write_bytes(_zone([(clock.forward, SHIFT), (clock.back, timedelta())]))
    return {"PYTZ_TZDATADIR": str(zones), "PYTHONTZPATH": str(zones)}


def _zone(changes: Sequence[tuple[datetime, timedelta]]) -> bytes:
    """A file of RFC 8536, with the offset from UTC after each change."""
    offsets = [timedelta(), SHIFT]
    names = b"STD\0DST\0"
    first = (datetime.fromtimestamp(0, UTC), timedelta())

    def block(form: str) -> bytes:
        points = [first, *changes]
        counts = struct.pack(">6l", 0, 0, 0, len(points), len(offsets), len(names))
        times = b"".join(struct.pack(f">{form}", int(at.timestamp())) for at, _ in points)
        kinds = bytes(offsets.index(offset) for _, offset in points)
        rules = b"".join(
            struct.pack(">lbB", int(offset.total_seconds()), bool(offset), 4 * number)
            for number, offset in enumerate(offsets)
        )
        return b"TZif2" + bytes(15) + counts + times + kinds + rules + names

    return block("l") + block("q") + b"\nSTD0\n"
