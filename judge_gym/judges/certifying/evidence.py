"""The evidence of a certificate: texts by key, a judge's verdicts and people's labels, as files.

Three CSV files in a folder, without any text: `texts.csv` (text, question, system, slice, answers),
`verdicts.csv` (text, repeat, verdict) and `labels.csv` (text, annotator, label, decides). `answers`
is how many labelled answers have the text there. A verdict and a label is 1 for a pass and 0 for a
fail; an empty verdict is an answer that has none, and `0|1` a label of someone who takes both.
`decides` is 1 for an adjudicator's label. Names that a spreadsheet would compute stand after an
apostrophe.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from judge_gym.errors import ConfigError, DataFileError
from judge_gym.evidence.row import DataRow
from judge_gym.evidence.rows import read_rows
from judge_gym.formats import cell, text_of_cell
from judge_gym.judges.certifying.certificate import LONGEST_NAME
from judge_gym.judges.people import alpha_among
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.people import known_answers
from judge_gym.metrics.points import HIGHEST
from judge_gym.seeds import digest, sha256

TEXTS, VERDICTS, LABELS = "texts.csv", "verdicts.csv", "labels.csv"
_COLUMNS = {
    TEXTS: ("text", "question", "system", "slice", "answers"),
    VERDICTS: ("text", "repeat", "verdict"),
    LABELS: ("text", "annotator", "label", "decides"),
}
MOST_ROWS = 1_000_000
"""Most rows of a file of evidence."""
_MOST_BYTES = 200_000_000
R = TypeVar("R", bound=tuple[Any, ...])
_KEY_DIGITS = 16
_LONGEST_NUMBER = 9


class PlacedText(NamedTuple):
    """A text in a slice and of a system; `question` and `text` are 16-digit keys."""

    text: str
    question: str
    system: str
    slice: str
    answers: int = 1
    """How many answers with this text people labelled here: an answer that is given often counts as
    often."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the figures of a certificate are computed of."""

    units: tuple[PlacedText, ...]
    """Each once, in order."""
    verdicts: Mapping[str, tuple[int | None, ...]]
    """Text → the judge's verdicts by repeat."""
    labels: Mapping[str, Mapping[str, tuple[int, ...]]]
    """Annotator → text → labels."""
    decided: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Text → the label of an adjudicator: the known answer, and nobody's own."""

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts, each once, in order."""
        return tuple(dict.fromkeys(unit.text for unit in self.units))

    @cached_property
    def annotators(self) -> tuple[str, ...]:
        """Who labelled, by name."""
        return tuple(sorted(self.labels))

    @cached_property
    def known(self) -> dict[str, float]:
        """Text → what an adjudicator or the majority says, 1 or 0; none without a majority."""
        given = [
            [self.decided[text]]
            if text in self.decided
            else [self.labels[name].get(text, ()) for name in self.annotators]
            for text in self.texts
        ]
        made = known_answers(given, by_vote=True).tolist()
        return {text: one for text, one in zip(self.texts, made, strict=True) if one == one}

    @property
    def undecided(self) -> int:
        """How many texts have labels and no majority."""
        labelled = {text for of in (*self.labels.values(), self.decided) for text in of}
        return len(labelled) - len(self.known)

    def judged(self) -> FloatArray:
        """Return the judge's share of passes by unit; NaN without a verdict."""
        means = {}
        for text, verdicts in self.verdicts.items():
            given = [verdict for verdict in verdicts if verdict is not None]
            means[text] = float(np.mean(given)) if given else np.nan
        return np.array([means.get(unit.text, np.nan) for unit in self.units], dtype=np.float64)

    def people(self) -> FloatArray:
        """Return what people say by unit, 1 or 0; NaN without a known answer."""
        return np.array([self.known.get(unit.text, np.nan) for unit in self.units])

    def agreement(self) -> Estimate:
        """Return Krippendorff's α among people."""
        table = [
            [np.mean(of[text]) * HIGHEST if text in of else np.nan for text in self.texts]
            for of in (self.labels[name] for name in self.annotators)
        ]
        return alpha_among(np.array(table, dtype=np.float64).reshape(-1, len(self.texts)).T)

    @property
    def texts_digest(self) -> str:
        """SHA-256 of the units."""
        return sha256("certified texts", sorted(self.units))

    @property
    def verdicts_digest(self) -> str:
        """SHA-256 of the verdicts."""
        return sha256("certified verdicts", sorted(self.verdicts.items()))

    @property
    def labels_digest(self) -> str:
        """SHA-256 of the labels."""
        of = [(name, sorted(labels.items())) for name, labels in sorted(self.labels.items())]
        return sha256("certified labels", [of, sorted(self.decided.items())])


def question_key(name: str) -> str:
    """Return the key of a question, which may be a text that is not to be shown."""
    return digest("certified question", name)


def write_evidence(evidence: Evidence, folder: Path) -> None:
    """Write the files of a folder, in place of those that are there."""
    rows: dict[str, list[Sequence[object]]] = {
        TEXTS: list(evidence.units),
        VERDICTS: [
            (text, repeat, "" if verdict is None else verdict)
            for text, verdicts in sorted(evidence.verdicts.items())
            for repeat, verdict in enumerate(verdicts)
        ],
        LABELS: [
            (text, name, "|".join(map(str, labels)), decides)
            for decides, by in (("", evidence.labels), (1, {"": evidence.decided}))
            for name, of in sorted(by.items())
            for text, labels in sorted(of.items())
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in _COLUMNS.items():
        content = io.StringIO(newline="")
        writer = csv.writer(content, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(map(cell, row) for row in rows[name])
        partial = folder / f".{name}.partial"
        partial.write_text(content.getvalue(), encoding="utf-8")
        partial.replace(folder / name)


def read_evidence(folder: Path) -> Evidence:
    """Read a folder of evidence, as of someone who is not to be trusted.

    Raises `ConfigError` for a missing file, and `DataFileError` with file, line and value.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder.", f"It holds {', '.join(_COLUMNS)}.")
    units = list(dict.fromkeys(_read(folder / TEXTS, _unit)))
    if not units:
        raise DataFileError(f"{folder / TEXTS} has no row.")
    if (answers := sum(unit.answers for unit in units)) > MOST_ROWS:
        raise DataFileError(f"{folder / TEXTS} has {answers:,} answers, more than {MOST_ROWS:,}.")
    known = {unit.text for unit in units}
    verdicts: dict[str, dict[int, int | None]] = {}
    for text, repeat, verdict in _read(folder / VERDICTS, _verdict, known):
        if repeat in verdicts.setdefault(text, {}):
            raise DataFileError(f"{folder / VERDICTS}: text {text} has repeat {repeat} twice.")
        verdicts[text][repeat] = verdict
    labels: dict[str, dict[str, tuple[int, ...]]] = {}
    decided: dict[str, tuple[int, ...]] = {}
    for text, annotator, given, decides in _read(folder / LABELS, _label, known):
        of = decided if decides else labels.setdefault(annotator, {})
        if text in of:
            by = "an adjudicator" if decides else repr(annotator)
            raise DataFileError(f"{folder / LABELS}: text {text} has two labels by {by}.")
        of[text] = given
    by_repeat = {
        text: tuple(of[repeat] for repeat in sorted(of)) for text, of in sorted(verdicts.items())
    }
    return Evidence(tuple(sorted(units)), by_repeat, labels, decided)


def _read(file: Path, made: Callable[[Path, DataRow], R], texts: set[str] | None = None) -> list[R]:
    if not file.is_file():
        raise ConfigError(
            f"There is no {file}.", f"A folder of evidence has {', '.join(_COLUMNS)}."
        )
    if file.stat().st_size > _MOST_BYTES:
        raise DataFileError(f"{file} is longer than {_MOST_BYTES:,} bytes.")
    found: list[R] = []
    for row in read_rows(file):
        if row.fault:
            raise row.error(file, row.fault)
        if len(found) == MOST_ROWS:
            raise DataFileError(f"{file} has more than {MOST_ROWS:,} rows.")
        one = made(file, row)
        if texts is not None and one[0] not in texts:
            raise row.error(file, f"text is {one[0]!r}, and {TEXTS} does not have it")
        found.append(one)
    return found


def _unit(file: Path, row: DataRow) -> PlacedText:
    text, question, system, name, answers = (_text(file, row, one) for one in _COLUMNS[TEXTS])
    return PlacedText(text, question, system, name, _whole(file, row, "answers", answers))


def _verdict(file: Path, row: DataRow) -> tuple[str, int, int | None]:
    text, repeat, verdict = (_text(file, row, name) for name in _COLUMNS[VERDICTS])
    given = _answer(file, row, "verdict", verdict) if verdict else None
    return text, _whole(file, row, "repeat", repeat), given


def _label(file: Path, row: DataRow) -> tuple[str, str, tuple[int, ...], bool]:
    text, annotator, labels, decides = (_text(file, row, name) for name in _COLUMNS[LABELS])
    given = tuple(_answer(file, row, "label", one) for one in labels.split("|"))
    return text, annotator, given, bool(decides and _answer(file, row, "decides", decides))


def _whole(file: Path, row: DataRow, column: str, given: str) -> int:
    if not (given.isascii() and given.isdigit() and len(given) <= _LONGEST_NUMBER):
        raise row.error(file, f"{column} is {given!r}", "Use a whole number from 0.")
    return int(given)


def _answer(file: Path, row: DataRow, column: str, given: str) -> int:
    if given not in ("0", "1"):
        raise row.error(file, f"{column} is {given!r}", "Use 1 for a pass and 0 for a fail.")
    return int(given)


def _text(file: Path, row: DataRow, column: str) -> str:
    value = row.value(file, column)
    text = "" if value is None else text_of_cell(str(value))
    if len(text) > LONGEST_NAME:
        raise row.error(file, f"{column} has {len(text):,} characters")
    if column == "text" and len(text) != _KEY_DIGITS:
        raise row.error(file, f"text is {text!r}", "Use the 16-digit key of a text.")
    return text
