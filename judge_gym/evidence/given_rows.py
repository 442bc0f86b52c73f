"""Rows given as JSON, in place of a file: written as one, so that one reader serves both."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judge_gym.errors import ConfigError
from judge_gym.seeds import digest


def rows_file(kind: str, rows: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    """Write rows to a file of the folder, an object a line; equal rows are the same file.

    Raises `ConfigError` for no row.
    """
    if not rows:
        raise ConfigError(f"{kind} has no row.", "Give a path, or a list of objects.")
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    file = folder / f"{kind}-{digest(*lines)[:8]}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def file_or_rows(
    kind: str, file: Path | None, rows: Sequence[Mapping[str, Any]] | None, folder: Path
) -> Path:
    """Return a file, or the one that rows are written to; raises unless one of both is given."""
    if (file is None) == (rows is None):
        given = "neither is given" if file is None else "both are given"
        raise ConfigError(f"{kind} is a file, or rows as JSON: {given}.", "Give one of them.")
    return file if file is not None else rows_file(kind, rows or (), folder)
