"""What is derived of files whose format says what their columns mean, and what is not read."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from judge_gym.errors import ConfigError
from judge_gym.evidence.columns import ColumnError, ColumnSource, text_at
from judge_gym.evidence.row import PLAIN, Layout
from judge_gym.recorded.derived_stages import Stages
from judge_gym.recorded.files import RecordedFiles, name_of
from judge_gym.recorded.mapping import Recorded

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Options:
    """What a user says of a file whose format says the rest."""

    judges: str = ""
    """Of an Inspect log: who judges, `models` or `scorers`; by its content if not given."""
    judge_columns: Sequence[str] = ()
    """Of a table with a column for each judge: these columns; `rest` alone is all that are of
    nobody else."""
    people: Sequence[str] = ()
    """Columns of such a table that are labels of people."""
    criteria: Collection[str] = ()
    """Scorers or criteria to read; all, if not given."""
    truth: str = ""
    """A column with the known answer, such as `metadata.human` or `vars.label`."""
    cuts: Sequence[float] = ()
    """Scores at which a new stage begins."""
    layout: Layout = PLAIN
    """What files of rows do not say of themselves."""

    @property
    def of_the_format(self) -> "Options":
        """What is said of more than where rows stand, and of what columns of a table are."""
        return replace(self, layout=PLAIN, judge_columns=(), people=(), truth="")

    @property
    def as_keys(self) -> dict[str, str]:
        """Each option that is given → the keys of a mapping that say the same."""
        given: dict[str, tuple[object, str]] = {
            "--judges": (self.judges or self.judge_columns, "judges"),
            "--people": (self.people, "item.people"),
            "--scorer": (self.criteria, "only"),
            "--truth": (self.truth, f"item: {{truth: {self.truth}}}"),
            "--cut": (self.cuts, "stages and decisions"),
            **{f"--{name}": (value, name) for name, value in self.layout.keys.items()},
        }
        return {option: key for option, (value, key) in given.items() if value}

    def check_no_columns(self, read: Collection[str] = ()) -> None:
        """Raise `ConfigError` where columns of judges or people are named in a file that has none.

        A column of such a file names the judge, or its format says who judges. `read` are columns
        of people that are read.
        """
        people = [one for one in self.people if one not in read]
        for option, names in (("--judges", self.judge_columns), ("--people", people)):
            if names:
                raise ConfigError(
                    f"{option} is {', '.join(names)}, and a column of this file names the judge, "
                    "or its format does.",
                    "Leave it out; of an Inspect log, --judges is models or scorers. Columns of "
                    "judges and people are of a table with a column for each.",
                )


def options_of(
    judges: str,
    criteria: Sequence[str] | None,
    truth: str,
    cuts: Sequence[float] | None,
    rows: str = "",
    columns: str = "",
    header: int = 0,
    people: str = "",
) -> Options:
    """Return options as typed; raises `ConfigError` for names of columns that cannot be used."""
    kind = judges if judges in ("models", "scorers") else ""
    return Options(
        kind,
        () if kind else _names_in("--judges", judges, "gpt-4,claude"),
        _names_in("--people", people, "ann,bo"),
        tuple(criteria or ()),
        truth,
        tuple(cuts or ()),
        Layout(rows, _names_in("--columns", columns, "item,judge,score"), header),
    )


def _names_in(option: str, typed: str, example: str) -> tuple[str, ...]:
    """Return the names in an option, separated by commas."""
    names = tuple(name.strip() for name in typed.split(",")) if typed else ()
    if len(set(names)) < len(names) or not all(names):
        raise ConfigError(f"{option} is {typed!r}.", f"Name each column once, such as {example}.")
    return names


class NoMappingError(ConfigError):
    """The names of a file's columns do not say what they mean."""


class NoOrderError(NoMappingError):
    """Rows can be read, but for the order of their verdicts."""


@dataclass
class Derived:
    """The mappings of some files."""

    readings: list[Recorded] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    """Scores that have no mapping → why."""
    weighted: int = 0
    """Preferences between 1 and 2, which are read as the side that they are on."""
    notes: list[str] = field(default_factory=list)
    """What was read as what, where the format does not say it, and how to say otherwise."""


def add_mapping(
    found: Derived,
    rows: Rows,
    options: Options,
    stages: Stages,
    *,
    item: dict[str, Any],
    default_truth: str = "",
    layout: Layout = PLAIN,
    **mapping: Any,
) -> None:
    """Add a mapping; a column of known answers counts where each of them is a stage."""
    column = options.truth or item.get("truth") or default_truth
    truths: dict[str, int] = {}
    if column:
        written = {text_of(row, column, strict=bool(options.truth)) for row in rows} - {""}
        stage_of = {
            value: stages.label(value) if options.truth else stages.same(value) for value in written
        }
        unknown = sorted(value for value, stage in stage_of.items() if stage is None)
        if unknown and options.truth:
            legal = ", ".join(map(repr, (*stages.decisions, *stages.names)))
            raise ConfigError(
                f"{column} is {unknown[0]!r}, which is no verdict: {legal}.",
                "Say what it stands for in a mapping file: see --show-mapping.",
            )
        if default_truth and not options.truth and written:
            found.notes.append(_truth_note(column, unknown))
        if unknown or not written:
            column = ""
        else:
            truths = {value: stage for value, stage in sorted(stage_of.items()) if stage}
    written = {text_of(row, one) for row in rows for one in item.get("people", ())} - {""}
    truths |= {value: stage for value in sorted(written) if (stage := stages.label(value))}
    decisions = mapping.pop("decisions", stages.decisions)
    given = {
        **mapping,
        **layout.keys,
        "repeats": mapping.get("format", "rows") != "rows",
        "scale": stages.scale,
        "stages": () if stages.scale else stages.names,
        "item": {**item, "truth": column},
        "truths": {} if stages.scale else truths,
        "decisions": dict(sorted(decisions.items())),
    }
    found.readings.append(Recorded.model_validate(given))


def _truth_note(column: str, unknown: Sequence[str]) -> str:
    """Return whether a column was read as the known answers, and how to say otherwise."""
    if unknown:
        shown = ", ".join(map(repr, unknown[:3]))
        return (
            f"The column {column} is not read as the known answers: {shown} is no verdict. If it "
            f"has them, use --truth {shlex.quote(column)}, or item.truth and truths in a mapping "
            "file."
        )
    return (
        f"The known answers are the column {column}, whose values are verdicts. If it is something "
        "else, leave item.truth out of a mapping file."
    )


def text_of(row: Mapping[str, Any], column: str, *, strict: bool = False) -> str:
    try:
        return text_at(column, ColumnSource(row, {"": ""}))
    except ColumnError as error:
        if not strict:
            return ""
        raise ConfigError(f"--truth is {column!r}: {error.what}.", error.remedy) from error


def names_of(files: RecordedFiles) -> str:
    more = len(files.paths) - 1
    return f"{files.paths[0]}{f' and {more} more' if more else ''}"


def named_by(files: RecordedFiles) -> str:
    return slug(name_of(files.paths[0]))


def rows_by(rows: Rows, column: str) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row.get(column, ""), []).append(row)
    return found


def check_chosen(options: Options, names: Collection[str]) -> None:
    for name in options.criteria:
        if name not in names:
            raise ConfigError(
                f"--scorer is {name!r}, and no judgement is of it.",
                f"Use one of {', '.join(map(repr, sorted(filter(None, names))))}.",
            )


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:80] or "recorded"
