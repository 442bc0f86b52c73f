"""Memory, connections, files and rows of an installation, every ten seconds."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import psutil
import sqlalchemy as sa

from support.soak.place import Place

EVERY_S = 10.0
_CONNECTIONS = "SELECT datname, count(*) FROM pg_stat_activity WHERE datname IS NOT NULL GROUP BY 1"
_TABLES = "SELECT relname FROM pg_stat_user_tables"


@dataclass(frozen=True)
class Sample:
    """A number at a moment: what of which part, in which of its lives."""

    at_s: float
    measure: str
    part: str
    value: float
    life: int
    """The id of the process, 0 for what outlives processes."""


@dataclass
class Samples:
    """All of them, in order."""

    place: Place
    taken: list[Sample] = field(default_factory=list)
    largest: dict[str, int] = field(default_factory=dict)
    """Table of Prefect's database → its rows, when they were counted last."""
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    def of(self, measure: str) -> list[Sample]:
        """Those of a measure."""
        return [one for one in self.taken if one.measure == measure]

    def take(self) -> None:
        """Measure all that is there."""
        at = (datetime.now(UTC) - self.began).total_seconds()
        for name, pid in self._pids().items():
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                rss = process.memory_info().rss / 2**20
                self.taken.append(Sample(at, "memory, MB", name, rss, pid))
                self.taken.append(Sample(at, "open files", name, process.num_fds(), pid))
        with suppress(sa.exc.DBAPIError):
            for measure, part, value in self._of_postgres():
                self.taken.append(Sample(at, measure, part, value, 0))

    def _pids(self) -> dict[str, int]:
        pids = {f"worker {one.name}": one.process.pid for one in self.place.workers if one.process}
        return pids | {"Prefect's server": self.place.prefect.pid}

    def _of_postgres(self) -> Iterator[tuple[str, str, float]]:
        ours = sa.make_url(self.place.postgres.url)
        for title, database in (
            ("judge-gym", ours.database),
            ("Prefect", f"{ours.database}_prefect"),
        ):
            engine = sa.create_engine(ours.set(database=database), poolclass=sa.NullPool)
            with engine.connect() as connection:
                open_ = dict(connection.exec_driver_sql(_CONNECTIONS).all())
                # Not the one that asks.
                yield "connections", title, open_.get(database, 1) - 1
                size = connection.exec_driver_sql("SELECT pg_database_size(current_database())")
                yield "size of the database, MB", title, size.scalar_one() / 2**20
                rows = 0
                self.largest = {}
                for table in connection.exec_driver_sql(_TABLES).scalars().all():
                    counted = connection.exec_driver_sql(f'SELECT count(*) FROM "{table}"')  # noqa: S608
                    number = counted.scalar_one()
                    self.largest[table] = number
                    rows += number
                yield "rows", title, rows


@contextmanager
def sampled(place: Place) -> Iterator[Samples]:
    """Take samples during the block."""
    samples, over = Samples(place), threading.Event()

    def go_on() -> None:
        while not over.wait(EVERY_S):
            samples.take()

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()
