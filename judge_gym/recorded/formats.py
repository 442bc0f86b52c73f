"""Which tool wrote a file, told by its content, and its judgements as rows."""

import json
import os
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from judge_gym.design.config import CORPUS_SUFFIXES, WORKBOOK, corpus_suffix
from judge_gym.errors import ConfigError, DataFileError, EvidenceError
from judge_gym.evidence.row import PLAIN, DataRow, Layout
from judge_gym.evidence.rows import opened, read_rows, unopened
from judge_gym.recorded.content import Content, Left, LeftRecord
from judge_gym.recorded.files import TABLES, RecordedFiles, table_files
from judge_gym.recorded.inspect_logs import FINISHED, HEADER, STARTED, read_inspect
from judge_gym.recorded.other_tools import read_alpaca_eval, read_promptfoo
from judge_gym.recorded.qrels import are_qrels, read_qrels
from judge_gym.seeds import sha256

Format = Literal["inspect", "promptfoo", "alpaca_eval", "qrels", "rows"]
FORMATS: tuple[Format, ...] = get_args(Format)
SUFFIXES = (*CORPUS_SUFFIXES, ".eval", *TABLES)
READ = (
    "Formats read: logs of Inspect (.eval or JSON), results of promptfoo (JSON or JSONL), "
    "annotations of AlpacaEval (JSON), qrels of TREC, and CSV, TSV, .txt, Excel (.xlsx), JSONL or "
    "JSON with a row for each judgement."
)
_READERS: Mapping[Format, Callable[[Path], Content]] = {
    "inspect": read_inspect,
    "promptfoo": read_promptfoo,
    "alpaca_eval": read_alpaca_eval,
    "qrels": read_qrels,
}
_HEAD = 1 << 16
MAX_CELLS = 20_000_000
MAX_CHARACTERS = 500_000_000
"""Most cells, and characters, of a file of rows whose columns are told by what they hold."""
Rows = list[dict[str, Any]]


def format_of(file: Path, layout: Layout = PLAIN) -> Format:
    """Return the format of a file; raises `DataFileError` for one that is not read.

    A file of which something is said by `layout` is one of rows.
    """
    if layout != PLAIN:
        return "rows"
    try:
        with opened(file) as handle:
            head = handle.read(_HEAD)
    except (OSError, EOFError) as error:
        raise unopened(file, OSError(0, str(error))) from error
    suffix = corpus_suffix(file)
    if suffix == WORKBOOK:
        return "rows"
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
        if HEADER in names or STARTED in names:
            return "inspect"
        raise _unknown(file, "a zip file without header.json, so no log of Inspect")
    if suffix == ".eval":
        raise _unknown(file, "neither text nor a complete zip file")
    if (place := head.find(b"\0")) >= 0:
        line = head.count(b"\n", 0, place) + 1
        raise DataFileError(
            f"{file} line {line}: a NUL byte, which no text has: the file is damaged, or of a "
            "program's own format.",
            f"Export it anew. {READ}",
        )
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    if not text:
        raise _unknown(file, "an empty file")
    if suffix in (".csv", ".tsv"):
        return "rows"
    if text[0] not in "{[" and are_qrels(text):
        return "qrels"
    if suffix in TABLES:
        return "rows"
    if text[0] not in "{[":
        raise _unknown(file, "neither JSON nor, by its name, CSV")
    if text[0] == "{":
        keys = _first_keys(text)
        if {"eval", "status"} <= keys:
            return "inspect"
        if (
            "evalId" in keys
            or keys & {"testIdx", "gradingResult"}
            or keys == {"version", "results"}
            or ("results" in keys and _has_results_of_promptfoo(text))
        ):
            return "promptfoo"
    return _of_rows(file)


def _of_rows(file: Path) -> Format:
    first = next(iter(read_rows(file)), None)
    if first is not None and {"preference", "output_1", "output_2"} <= set(first.values):
        return "alpaca_eval"
    return "rows"


def _has_results_of_promptfoo(text: str) -> bool:
    """Whether the key `results` holds an object with a version, as promptfoo writes it."""
    inside = re.search(r'"results"\s*:\s*(?=\{)', text)
    return inside is not None and "version" in _first_keys(text[inside.end() :])


def _first_keys(text: str) -> set[str]:
    """Return the first keys of an object of which only the beginning is there."""
    decode, keys, start = json.JSONDecoder().raw_decode, set[str](), 1
    try:
        while True:
            start += len(text[start:]) - len(text[start:].lstrip(" \t\r\n,"))
            key, start = decode(text, start)
            keys.add(key)
            start = text.index(":", start) + 1
            start += len(text[start:]) - len(text[start:].lstrip())
            _, start = decode(text, start)
    except (ValueError, RecursionError, TypeError):
        return keys


def _unknown(file: Path, what: str) -> DataFileError:
    return DataFileError(f"{file} line 1: {what}.", READ)


def load_files(
    paths: Sequence[Path], chosen: str = "", layout: Layout = PLAIN
) -> tuple[Format, RecordedFiles]:
    """Return the format of files, and the files with their judgements.

    `chosen` is a format that is taken as given, and `layout` is of files of rows. Of a
    folder, files of another format are named in the content of the first. Raises `ConfigError` for
    files of several tools, `DataFileError` for a file that cannot be read.
    """
    files = {
        file.absolute(): path.is_dir()
        for path in paths
        for file in table_files(path, layout, SUFFIXES)
    }
    if chosen and chosen not in FORMATS:
        raise ConfigError(f"--format is {chosen!r}.", f"Use one of {', '.join(FORMATS)}.")
    formats: dict[Path, Format] = {}
    others: list[str] = []
    for file, of_folder in files.items():
        try:
            formats[file] = chosen or format_of(file, layout)
        except EvidenceError as error:
            if not of_folder or len(files) == 1:
                raise
            others.append(f"{file.name}: {error.message}")
    tools = sorted(set(formats.values()) - {"rows"})
    if len(tools) > 1:
        named = {tool: next(f.name for f, of in formats.items() if of == tool) for tool in tools}
        listed = ", ".join(f"{name} ({tool})" for tool, name in named.items())
        raise ConfigError(f"Files of several tools: {listed}.", "Read each by itself.")
    kind = tools[0] if tools else "rows"
    chosen_files = [file for file, of in formats.items() if of == kind]
    others += [
        f"{file.name}: not {kind}" for file, of in formats.items() if of != kind and files[file]
    ]
    if wrong := [file for file, of in formats.items() if of != kind and not files[file]]:
        raise ConfigError(f"{wrong[0]} is not a file of {kind}, as others are.", READ)
    if not chosen_files:
        raise DataFileError(f"{paths[0]}: no file that is read: {others[0]}", READ)
    return kind, _files(paths, chosen_files, kind, others, layout)


def _files(
    paths: Sequence[Path],
    files: Sequence[Path],
    kind: Format,
    others: Sequence[str],
    layout: Layout,
) -> RecordedFiles:
    folder = Path(os.path.commonpath([file.parent for file in files]))
    if len(paths) == 1 and paths[0].is_dir():
        folder = paths[0].absolute()
    contents = {file: _content(file, kind, layout) for file in files}
    if kind == "inspect":
        _leave_superseded(contents)
    if kind in _FINISH:
        _leave_copies(contents)
        _FINISH[kind]([row.values for content in contents.values() for row in content.rows])
    if others:
        contents[folder] = Content(left={Left.OTHER_FILE: list(map(LeftRecord, others))})
    return RecordedFiles(tuple(files), folder, contents, layout)


def _leave_superseded(contents: Mapping[Path, Content]) -> None:
    """Leave judgements of unfinished runs, where a finished or a later run has the sample.

    A run that was begun again would else count as repeats of its judges. Inspect begins the name of
    a log with its time, so that the last file is of the latest run.
    """

    def judged(row: DataRow) -> tuple[Any, ...]:
        named = ("task", "model", "scorer", "criterion", "grader", "sample")
        return tuple(row.values[column] for column in named)

    chosen: dict[tuple[Any, ...], Path | None] = {}
    for file, content in contents.items():
        for row in content.rows:
            finished = row.values["status"] == FINISHED or chosen.get(judged(row), file) is None
            chosen[judged(row)] = None if finished else file
    for file, content in contents.items():
        read = {key for key, of in chosen.items() if of == file}

        def is_read(row: DataRow, read: Collection[Any] = read) -> bool:
            return row.values["status"] == FINISHED or judged(row) in read

        for row in content.keep(is_read):
            content.leave(Left.SUPERSEDED, row.where, file.name)


def _leave_copies(contents: Mapping[Path, Content]) -> None:
    """Leave judgements that an earlier file has, too: the same sample, test or annotation.

    A file may hold equal annotations that are repeats, so that as many are read as the file has
    that holds the most.
    """
    seen = Counter[str]()
    for file, content in contents.items():
        copies, times = _taken_out(content, seen)
        seen |= times
        if copies and not content.rows:
            content.left.clear()  # what is no judgement is in the first file, too
        for row in copies:
            content.leave(Left.COPY, row.where, file.name)


def _taken_out(content: Content, seen: Counter[str]) -> tuple[list[DataRow], Counter[str]]:
    """Take out the judgements that were seen; returns them, and how often each is in the file."""
    times = Counter[str]()

    def is_new(row: DataRow) -> bool:
        same = sha256({k: v for k, v in row.values.items() if k not in ("file", "status")})
        times[same] += 1
        return times[same] > seen[same]

    return content.keep(is_new), times


def _content(file: Path, kind: Format, layout: Layout) -> Content:
    if kind in _READERS:
        try:
            return _READERS[kind](file)
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise DataFileError(
                f"{file}: not as {kind} writes it: {error}.", f"{READ} Force one with --format."
            ) from error
    content, cells, characters = Content(), 0, 0
    for row in read_rows(file, layout):
        if row.fault:
            raise row.error(file, row.fault, READ)
        cells += len(row.values)
        characters += sum(map(_size, row.values.values()))
        if cells > MAX_CELLS or characters > MAX_CHARACTERS:
            raise DataFileError(
                f"{file} {row.where}: more than {MAX_CELLS:,} cells or {MAX_CHARACTERS:,} "
                "characters, which are read at once to tell what columns are.",
                "Write a mapping (--mapping): files are then read a row at a time. "
                "To begin with one, audit the first 1,000 lines.",
            )
        content.rows.append(row)
    return content


def _size(value: Any) -> int:
    """Return about how many characters a value of a row holds."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list) else 1


def streamed(files: RecordedFiles) -> RecordedFiles:
    """Return files of rows to be read again a row at a time, without those in memory."""
    left = {file: content for file, content in files.contents.items() if not content.rows}
    return replace(files, contents=left)


def _finish_inspect(rows: Rows) -> None:
    """Add names: of the score, of its judge, and of what was judged.

    Runs whose grader is not named are judges of their own where they judged for one model.
    """
    runs: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in rows:
        runs[_graded(row)].add(row["run"])
    for row in rows:
        row["name"] = row["scorer"] + (row["criterion"] and f".{row['criterion']}")
        row["judge"] = row["scorer"] + (row["grader"] and f" by {row['grader']}")
        if len(runs[_graded(row)]) > 1:
            row["judge"] += f" ({row['file']})"
        row["judged"] = "\n\n".join(filter(None, (row["input"], row["output"])))
    _name_items(rows, ("task", "sample"), ("model", "output"), "sample")


def _graded(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[key] for key in ("task", "model", "scorer", "criterion", "grader"))


def _finish_promptfoo(rows: Rows) -> None:
    for row in rows:
        row["criterion"] = row["criterion"] or "checks"
        row["asked"] = repr(sorted(row["vars"].items()))
    _name_items(rows, ("asked",), ("prompt", "model", "output"), "test")


def _finish_alpaca_eval(rows: Rows) -> None:
    pairs: dict[tuple[str, ...], str] = {}
    for row in rows:
        pair = tuple(row[key] for key in ("instruction", "output_1", "output_2", "generators"))
        row["item"] = pairs.setdefault(pair, f"pair {len(pairs) + 1}")
        row["text"] = "\n\n".join(filter(None, pair[:3]))


def _name_items(rows: Rows, same: Sequence[str], differing: Sequence[str], name: str) -> None:
    """Name what was judged: records with one output are repeats, others are other items.

    An epoch in which a model answered anew is another text, so that its score is no repeat of a
    judge.
    """
    outputs: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
    for row in rows:
        known = outputs.setdefault(tuple(row[column] for column in same), {})
        known.setdefault(tuple(row[column] for column in differing), row[name])
    for row in rows:
        known = outputs[tuple(row[column] for column in same)]
        output = tuple(row[column] for column in differing)
        first = next(iter(known.values()))
        row["item"] = first if len(known) == 1 else f"{first} · {list(known).index(output) + 1}"


_FINISH: Mapping[Format, Callable[[Rows], None]] = {
    "inspect": _finish_inspect,
    "promptfoo": _finish_promptfoo,
    "alpaca_eval": _finish_alpaca_eval,
}
