"""The files of recorded judgements, and those that stand beside them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from judge_gym.design.config import (
    COMPRESSED,
    CORPUS_SUFFIXES,
    corpus_files,
    corpus_suffix,
    file_digest,
)
from judge_gym.errors import ConfigError
from judge_gym.evidence.row import PLAIN, DataRow, Layout
from judge_gym.evidence.rows import read_rows
from judge_gym.recorded.content import Content
from judge_gym.recorded.mapping import Recorded

_MOST_NAMED = 3


@dataclass(frozen=True)
class RecordedFiles:
    """Files of recorded judgements; `folder` is where their names, and files beside them, begin."""

    paths: tuple[Path, ...]
    folder: Path
    contents: Mapping[Path, Content] = field(default_factory=dict)
    """The records of files of other tools, read already."""
    layout: Layout = PLAIN
    """What the files do not say of themselves."""
    joined: tuple[Path, ...] = ()
    """Files whose rows are joined to those of `paths`."""

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """The SHA-256 of each file's contents, in hex digits; several readings share them."""
        return tuple(file_digest(file).hex() for file in (*self.paths, *self.joined))

    def rows(self, file: Path) -> Iterable[DataRow]:
        """Return the records of one of the files."""
        if file in self.contents:
            return self.contents[file].rows
        return read_rows(file, self.layout)


TABLES = (".txt", ".qrels")
"""Further suffixes of tables in text."""


def table_files(
    path: Path, layout: Layout = PLAIN, suffixes: tuple[str, ...] = CORPUS_SUFFIXES
) -> list[Path]:
    """Return the files of a path as `corpus_files` does, and of a folder those with `suffixes`.

    A file that is named may be a table in text, and of any suffix where its columns are named.
    """
    if path.is_file() and (layout.columns or corpus_suffix(path) in TABLES):
        return [path]
    return corpus_files(path, suffixes)


def name_of(file: Path) -> str:
    """Return a file's name up to its first dot, or all of a name that begins with one."""
    return file.name.partition(".")[0] or file.stem


def recorded_files(paths: Sequence[Path], recorded: Recorded) -> RecordedFiles:
    """Return the files of judgements: those given, and of a folder those that fit `files`.

    Raises `ConfigError` without any.
    """
    chosen: dict[Path, None] = {}
    for path in paths:
        found = table_files(path, recorded.layout)
        if path.is_dir():
            found = [file for file in found if file.name not in _beside(recorded)] or found
        if path.is_dir() and (pattern := recorded.files):
            fitting = [file for file in found if file.match(pattern)]
            if not fitting:
                names = ", ".join(file.relative_to(path).as_posix() for file in found[:_MOST_NAMED])
                raise ConfigError(f"files is {pattern!r}, which fits no file of {path}: {names}.")
            found = fitting
        chosen |= dict.fromkeys(found)
    first = paths[0]
    folder = first if first.is_dir() else first.parent
    if len(paths) > 1:
        folder = Path(os.path.commonpath([file.parent.absolute() for file in chosen]))
        chosen = dict.fromkeys(file.absolute() for file in chosen)
    return RecordedFiles(tuple(chosen), folder, layout=recorded.layout)


def _beside(recorded: Recorded) -> set[str]:
    """Return the names of the files beside the judgements, with and without compression."""
    named = {one.file for one in (recorded.item, recorded.labels, recorded.published) if one}
    return {f"{Path(name).name}{packed}" for name in named - {""} for packed in ("", COMPRESSED)}


def labels_file(files: RecordedFiles, recorded: Recorded) -> Path | None:
    """Return the file of people's labels; raises `ConfigError` if it is missing."""
    labels = recorded.labels
    return beside(files, labels.file, labels.layout) if labels else None


def items_file(files: RecordedFiles, recorded: Recorded) -> Path | None:
    """Return the file that describes the items; raises `ConfigError` if it is missing."""
    return beside(files, recorded.item.file) if recorded.item.file else None


def beside(files: RecordedFiles, name: str, layout: Layout = PLAIN) -> Path:
    """Return a file beside the judgements, which may be compressed."""
    path, packed = files.folder / name, files.folder / f"{name}{COMPRESSED}"
    [file] = table_files(packed if packed.is_file() and not path.exists() else path, layout)
    return file
