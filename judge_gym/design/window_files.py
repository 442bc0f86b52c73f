"""Windows as files name them: those of a sweep, and those that follow the calendar."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, Field

from judge_gym.design.config import Node, corpus_digest, read_model, read_tree
from judge_gym.design.fields import Frozen, Legal
from judge_gym.design.window import BenchmarkSource, CorpusSource, PairsSource, Source, Window
from judge_gym.errors import ConfigError


def read_windows(node: Node) -> Mapping[str, Window]:
    """Read the `windows` of a sweep; two windows with the same evidence are an error."""
    windows: dict[str, Window] = {}
    names: dict[str, str] = {}
    for name, child in node.items.items():
        window = windows[name] = _read_window(name, child)
        if same := names.get(window.key):
            raise child.place.problem(f"is the same evidence as windows.{same}", "Keep one.")
        names[window.key] = name
    if not windows:
        raise node.place.problem("has no window", "Describe one.")
    return windows


def with_contents(source: Source, node: Node) -> Source:
    """Return a source with the absolute path and the digest of its corpus.

    `node` is its position in the file. Raises `ConfigError` there if it cannot be used.
    """
    if given := node.items.get("digest"):
        raise given.place.problem("is filled in when the file is read", "Leave it out.")
    if not isinstance(source, CorpusSource | BenchmarkSource | PairsSource):
        return source
    path = (node.place.file.parent / source.path).resolve()
    try:
        contents = corpus_digest(path)
    except ConfigError as error:
        where = node.items["path"].place
        raise where.problem(f"cannot be used: {error.message.rstrip('.')}", error.remedy) from error
    return source.model_copy(update={"path": path, "digest": contents})


def _read_window(name: str, node: Node) -> Window:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", name):
        raise node.place.problem(
            "is not a window's name",
            "Use at most 80 letters, digits, dots, underscores and hyphens.",
        )
    if given := node.items.get("name"):
        raise given.place.problem("is filled in when the file is read", "Leave it out.")
    window = read_model(Window, node)
    source = with_contents(window.source, node.items["source"])
    return window.model_copy(update={"name": name, "source": source})


Cadence = Literal["daily", "weekly"]
DAYS: dict[Cadence, int] = {"daily": 1, "weekly": 7}
_NAME = "1 to 40 small letters, digits and hyphens"
_LONGEST_NAME = 80


def _known_zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"{name!r} is no time zone of the IANA list, such as Europe/Berlin")
    return name


TimeZone = Annotated[str, AfterValidator(_known_zone)]
Text = Annotated[str, Field(min_length=1, max_length=200)]
Query = Annotated[str, Field(min_length=1, max_length=500)]


class RollingEntry(Frozen):
    """Queries and countries, which are multiplied out, and their source."""

    queries: tuple[Query, ...] = Field(min_length=1, max_length=100)
    """Search queries; each is used in every country."""
    countries: tuple[Text, ...] = Field(min_length=1, max_length=300)
    """The countries or settings that rubrics and prompts name."""
    max_documents: int = Field(default=15, ge=1, le=10_000)
    """Maximum number of documents per window."""
    source: Source
    """Where the documents come from: `corpus` or `firecrawl`."""


class RollingFile(Frozen):
    """A file of rolling windows."""

    name: Annotated[str, Legal(_NAME), Field(pattern=r"^[a-z0-9-]{1,40}$")]
    """Prefix of the names of its windows."""
    time_zone: TimeZone
    """Days end at midnight in this zone; the schedule should use the same zone."""
    entries: tuple[RollingEntry, ...] = Field(min_length=1)
    """The windows to collect."""


@dataclass(frozen=True)
class Period:
    """Whole days, both inclusive."""

    start: date
    end: date


def load_rolling(path: Path) -> RollingFile:
    """Read a file of rolling windows; raises `ConfigError` with file, line, key and what is legal.

    Paths of corpora are relative to the file, and corpora are digested, as in a sweep.
    """
    tree = read_tree(path)
    given = read_model(RollingFile, tree)
    nodes = tree.items["entries"].entries
    entries = (
        entry.model_copy(update={"source": with_contents(entry.source, node.items["source"])})
        for entry, node in zip(given.entries, nodes, strict=True)
    )
    return given.model_copy(update={"entries": tuple(entries)})


def day_of(meant_for: datetime, time_zone: str) -> date:
    """Return the day of an aware time in a time zone."""
    return meant_for.astimezone(ZoneInfo(time_zone)).date()


def periods(cadence: Cadence, meant_for: datetime, time_zone: str, catch_up: int) -> list[Period]:
    """Return the last whole day or week before a time, and `catch_up` before it, oldest first.

    A week is Monday to Sunday. `meant_for` is an aware time; `time_zone` determines its day. At
    midnight, the day that has just ended is whole.
    """
    today = day_of(meant_for, time_zone)
    days = DAYS[cadence]
    after = today - timedelta(days=today.weekday() if cadence == "weekly" else 0)
    ends = [after - timedelta(days=days * back) for back in range(catch_up, -1, -1)]
    return [Period(end - timedelta(days=days), end - timedelta(days=1)) for end in ends]


def windows_of(file: RollingFile, period: Period) -> Iterator[Window]:
    """Yield the windows of one period, in the order of the file."""
    for entry in file.entries:
        for query in entry.queries:
            for country in entry.countries:
                yield Window(
                    name=f"{file.name}: {query}"[:_LONGEST_NAME],
                    query=query,
                    country=country,
                    start=period.start,
                    end=period.end,
                    max_documents=entry.max_documents,
                    source=entry.source,
                )
