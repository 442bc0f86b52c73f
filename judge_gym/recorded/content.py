"""What a file of another tool holds: its judgements as rows, and what is none."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from judge_gym.errors import DataFileError
from judge_gym.evidence.row import MAX_ARRAY_BYTES, DataRow, json_fault
from judge_gym.evidence.rows import opened


class Left(StrEnum):
    """Why a record of a file is no judgement."""

    ERROR = "error"
    """Its sample or test ended with an error."""
    NOT_RUN = "not_run"
    """The run ended before it: cancelled, failed or still going on."""
    INVALID = "invalid"
    """Somebody marked its sample as invalid."""
    NO_SAMPLES = "no_samples"
    """A log that says what came of a run, without its samples."""
    NO_SCORE = "no_score"
    """A scorer of the file did not score it."""
    NOT_READ = "not_read"
    """A score that is neither text nor a number."""
    OTHER_FILE = "other_file"
    """A file of the folder in another format."""
    COPY = "copy"
    """A judgement that another file has, too: a copied log, or another export of the same run."""
    NO_PARTNER = "no_partner"
    """A row that another of the files that are joined does not have."""
    SUPERSEDED = "superseded"
    """A judgement of an unfinished run, of a sample that a finished or a later run has."""


class LeftRecord(NamedTuple):
    """A record that is no judgement."""

    what: str
    """Which it is: a sample, a line or a file."""
    file: str = ""
    """The name of its file, where `what` does not name it."""

    def __str__(self) -> str:
        return f"{self.file}: {self.what}" if self.file else self.what


@dataclass
class Content:
    """The records of a file."""

    task: str = ""
    """What a log of Inspect is of; "" for files of other tools."""
    rows: list[DataRow] = field(default_factory=list)
    left: dict[Left, list[LeftRecord]] = field(default_factory=dict)
    """Why they are no judgements → the records."""
    reported: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """Scorer or metric → its mean as the file itself reports it, in each way that its tool may have
    averaged."""
    notes: list[str] = field(default_factory=list)
    """What the file does not say of its judgements, as sentences."""

    def note(self, sentence: str) -> None:
        """Add a note, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def leave(self, why: Left, what: str, file: str = "") -> None:
        """Note a record that is no judgement."""
        self.left.setdefault(why, []).append(LeftRecord(what, file))

    def add(self, place: str, values: dict[str, Any]) -> None:
        """Add a judgement."""
        self.rows.append(DataRow(len(self.rows) + 1, values, place=place))

    def keep(self, wanted: Callable[[DataRow], bool]) -> list[DataRow]:
        """Keep the judgements that are wanted; returns the others."""
        kept: list[DataRow] = []
        others: list[DataRow] = []
        for row in self.rows:
            (kept if wanted(row) else others).append(row)
        self.rows = kept
        return others


def read_whole(file: Path) -> bytes:
    """Return what a file holds; raises `DataFileError` for more than `MAX_ARRAY_BYTES`."""
    with opened(file) as handle:
        content = handle.read(MAX_ARRAY_BYTES + 1)
    if len(content) > MAX_ARRAY_BYTES:
        raise DataFileError(f"{file} is longer than {MAX_ARRAY_BYTES:,} bytes.", "Split it.")
    return content


def read_json(file: Path) -> Any:
    """Return the value of a JSON file; raises `DataFileError` naming file, line and fault."""
    return parsed(str(file), read_whole(file))


def parsed(where: str, content: bytes) -> Any:
    """Return the value of JSON; raises `DataFileError` that begins with `where`."""
    try:
        return json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise DataFileError(f"{where} line {line}: not UTF-8.", DAMAGED) from error
    except RecursionError as error:
        raise DataFileError(f"{where}: {json_fault(error)}.", DAMAGED) from error
    except ValueError as error:
        raise DataFileError(f"{where}: not JSON: {json_fault(error)}.", DAMAGED) from error


DAMAGED = "The file is damaged or incomplete: export or download it again."


def written(value: object) -> str | None:
    """Return a score as text: "" for one that is missing or NaN, None for a list or an object."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip() if isinstance(value, str | int | float) else None
