"""Reads the JSON Lines files that the simulator is started with."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judge_gym.errors import EvidenceError


def json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """Yield each line's number (from 1) and its JSON object, None for a line without one.

    Blank lines are skipped. Raises `EvidenceError` when the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read: {error.strerror}.") from error
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError):
                row = None
            yield number, row if isinstance(row, dict) else None
