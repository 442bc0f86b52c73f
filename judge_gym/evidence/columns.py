"""Where a value of a row stands: a column, a path into nested JSON, or a text made of several."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge_gym.design.config import shown
from judge_gym.errors import ConfigError, did_you_mean

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]")
_UNFOLDS = re.compile(r"\[[*:]?\]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_FILE = re.compile(r"file(?:\.(\w+))?")
_SUFFIX = re.compile(r"\.(?:jsonl|ndjson|json|csv|tsv|xlsx|txt)(?:\.gz)?$", re.IGNORECASE)
_DEEPEST = 4
"""How deep a path is that is offered for a name that is not there."""
_MOST_NAMED = 15


class ColumnError(Exception):
    """A value that is not where a mapping says; `remedy` names what is there."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what, self.remedy = what, remedy


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """A record of a file, and the parts of the file's name."""

    values: Mapping[str, Any]
    file: Mapping[str, str]
    """"" is the name, or the part of it that the mapping's pattern selects; then named groups."""


def source_of(file: Path, values: Mapping[str, Any]) -> ColumnSource:
    """Return a record of a file by itself, whose `{file}` is its name without suffixes."""
    return ColumnSource(values, {"": _SUFFIX.sub("", file.name)})


def value_at(column: str, source: ColumnSource) -> Any:
    """Return the value at a column, of any kind; otherwise as `text_at`."""
    if column in source.values or "{" not in column:
        return _at(column, source.values)
    return text_at(column, source)


def text_at(column: str, source: ColumnSource) -> str:
    """Return the text at a column; "" for a column that is not named, and for an empty value.

    `column` is a name, a path such as `judgments[0].decision`, or a text with `{...}` around names
    and paths, where `{file}` is the file's name. An entry beyond the end of a list is an empty
    value. Raises `ColumnError` if there is no such value, or if it is neither text nor a number nor
    true or false.
    """
    if "{" not in column:
        return _plain(column, source.values) if column else ""
    return _BRACES.sub(lambda braces: _filled(braces[1], source), column).strip()


def _filled(name: str, source: ColumnSource) -> str:
    if file := _FILE.fullmatch(name):
        part = file[1] or ""
        if part not in source.file:
            known = ", ".join(f"{{file.{known}}}" for known in source.file if known)
            raise ColumnError(
                f"file_pattern has no group {part!r}", f"It gives {{file}}{known and ', ' + known}."
            )
        return source.file[part]
    try:
        return _plain(name, source.values)
    except ColumnError as error:
        raise ColumnError(error.what, f"{error.remedy} {{file}} is the file's name.") from error


def _plain(column: str, values: Mapping[str, Any]) -> str:
    value = _at(column, values)
    if value is not None and not isinstance(value, str | int | float):
        raise ColumnError(
            f"{column} is {shown(value)}, not text or a number",
            f"Name a value in it: {_below(column, value)}." if value else "",
        )
    return as_text(value)


def as_text(value: Any) -> str:
    """Return a value as text; "" for one that is missing."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _below(column: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{column}.{name}" for name in list(value)[:_MOST_NAMED])
    inside = value[0] if value else None
    if isinstance(inside, Mapping):
        return _below(f"{column}[0]", inside)
    return f"{column}[0]"


def _at(column: str, values: Mapping[str, Any]) -> Any:
    """Follow a path; a column of exactly this name comes first, as CSV names may hold dots."""
    if column in values:
        return values[column]
    value: Any = values
    at = 0
    while step := _STEP.match(column, at):
        walked, name, index = column[:at], step[1], step[2]
        if value is None:
            return None
        end = step.end()
        if index:
            value = _entry(value, int(index), walked)
        else:
            if isinstance(value, Mapping) and column.startswith(".", end):
                name = _with_dots(value, column[step.start(1) :]) or name
                end = step.start(1) + len(name)
            value = _member(value, name, walked, column[end:])
        at = end
    if at < len(column):
        raise ColumnError(f"there is no {column!r}", _there(values, "the row"))
    return value


def _with_dots(values: Mapping[str, Any], path: str) -> str:
    """Return the longest name with which a path goes on, such as gpt-4.1; "" without one."""
    names = (name for name in values if isinstance(name, str) and "." in name)
    fitting = (
        name
        for name in names
        if path.startswith(name) and path[len(name) : len(name) + 1] in ("", ".", "[")
    )
    return max(fitting, key=len, default="")


def entered(column: str, values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the objects in lists that a path leads through, such as the annotation of a label."""
    found: list[Mapping[str, Any]] = []
    for name in names_in(column) if "[" in column else ():
        for step in _STEP.finditer(name):
            if step[2]:
                entry = _at(name[: step.end()], values)
                found += [entry] if isinstance(entry, Mapping) else []
    return found


def _member(value: Any, name: str, walked: str, rest: str) -> Any:
    where = walked or "the row"
    if not isinstance(value, Mapping):
        entry = isinstance(value, Sequence) and not isinstance(value, str) and bool(value)
        place = f"[{name}]" if name.isdecimal() else f"[0].{name}"
        raise ColumnError(
            f"{where} is {shown(value)}, so it has no {name!r}",
            f"Name an entry: {walked}{place}{rest}." if entry else "",
        )
    if name not in value:
        raise ColumnError(
            f"there is no {name!r}" + (f" in {walked}" if walked else ""),
            f"{did_you_mean(name, list(value))}{_there(value, where)}",
        )
    return value[name]


def _entry(value: Any, index: int, walked: str) -> Any:
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        raise ColumnError(f"{walked} is {shown(value)}, not a list, so it has no [{index}]")
    return value[index] if -len(value) <= index < len(value) else None


def column_meant(name: str, values: Mapping[str, Any]) -> str:
    """Return "Did you mean …? " of the columns of a row and the paths into its objects, or "".

    A name alone may be the last of a path: `text` for `output.text`.
    """
    paths = list(_paths(values))
    ends = [path for path in paths if path.rpartition(".")[2].casefold() == name.casefold()]
    close = did_you_mean(name, paths)
    return close or (f"Did you mean {ends[0]}? " if ends else "")


def _paths(values: Mapping[str, Any], before: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the names of a row, then those of its objects, as paths."""
    yield from (f"{before}{name}" for name in values)
    for name, value in values.items() if depth < _DEEPEST else ():
        if isinstance(value, Mapping):
            yield from _paths(value, f"{before}{name}.", depth + 1)


def _there(values: Mapping[str, Any], where: str) -> str:
    names = [repr(name) for name in list(values)[:_MOST_NAMED]]
    more = f" and {len(values) - len(names)} more" if len(values) > len(names) else ""
    return f"{where.capitalize() if where == 'the row' else where} has {', '.join(names)}{more}."


def names_in(column: str) -> list[str]:
    """Return the columns and paths that a column as written in a mapping reads."""
    return [name for name in _BRACES.findall(column) if not _FILE.fullmatch(name)] or (
        [column] if column and "{" not in column else []
    )


def root_of(name: str) -> str:
    """Return the column of a row that a path begins at."""
    step = _STEP.match(name)
    return step[1] if step and step[1] else name


def list_in(name: str) -> tuple[str, int] | None:
    """Return the first list that a path enters, and at which entry; None for another path."""
    found = re.match(r"(.+?)\[(\d+)\]", name)
    return (found[1], int(found[2])) if found else None


def entries_at(name: str, values: Mapping[str, Any]) -> int:
    """Return how many entries the list at a path has; 0 where there is none."""
    try:
        found = _at(name, values)
    except ColumnError:
        return 0
    return len(found) if isinstance(found, Sequence) and not isinstance(found, str) else 0


def fault_of(column: str) -> str:
    """Return what is wrong with a column as written in a mapping, or "".

    Whether a name that is no path, such as `Anna K.` and `Score [1-5]`, is a column is seen in the
    rows.
    """
    names = [column] if "{" not in column else _BRACES.findall(column)
    if "{" in column and (not names or re.search(r"[{}]", _BRACES.sub("", column))):
        return "has braces that do not close"
    for name in names:
        if "{" in column and not name.strip():
            return "has empty braces"
        if _UNFOLDS.search(name):
            return (
                f"has the path {name!r}, which is not like judgments[0].decision; a list is not "
                "unfolded: name its entries one by one, or write a row for each"
            )
    return ""


def file_parts(file: Path, folder: Path, pattern: str) -> dict[str, str]:
    """Return the parts of a file's name, as in `ColumnSource.file`.

    The name is that below `folder`, without its suffix. Raises `ConfigError` if the pattern is not
    in it.
    """
    name = _SUFFIX.sub("", file.relative_to(folder).as_posix())
    if not pattern:
        return {"": name}
    match = re.search(pattern, name)
    if match is None:
        raise ConfigError(
            f"file_pattern {pattern!r} is not in the name of {file}: {name!r}.",
            "Change the pattern, or import the files that it fits.",
        )
    groups = {part: text or "" for part, text in match.groupdict().items()}
    return {"": match[1] if match.re.groups else match[0], **groups}
