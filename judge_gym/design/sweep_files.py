"""The files of a sweep as another can use them: its own, and the small ones that it names.

Paths in them are rewritten to where the copies are, so that no folder of this machine is in them.
"""

import io
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from judge_gym.design.config import read_text
from judge_gym.design.frozen import frozen_file

EVIDENCE = "evidence"
_FOLDERS = {"provided": "rubrics", "swapped": "actors"}
"""Key that names a small file → the folder of its copy."""


def portable_files(path: Path, definition: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return name → text of a sweep's file, frozen plan, plan, rubrics and mappings of actors.

    The sweep's own comes first; one that was given as JSON becomes `<name>.yaml`. Evidence is not
    among them: its paths become `evidence/<the file's name>`. Comments stay.
    """
    yaml = YAML(typ="rt", pure=True)
    yaml.width = 4096
    own = path.name if path.is_file() else f"{name}.yaml"
    content = yaml.load(read_text(path)) if path.is_file() else deepcopy(dict(definition))
    copies: dict[str, str] = {}
    for holder, key, folder in _places(content):
        source = path.parent / holder[key]
        copy = _free_name(f"{folder}/{source.name}", read_text(source), copies)
        copies[copy] = read_text(source)
        holder[key] = copy
    for window in _mappings(content.get("windows")):
        source_of = window.get("source")
        if isinstance(source_of, dict) and isinstance(source_of.get("path"), str):
            source_of["path"] = f"{EVIDENCE}/{evidence_name(source_of['path'])}"
    written = io.StringIO()
    yaml.dump(content, written)
    if frozen_file(path).is_file():
        copies[frozen_file(path).name] = read_text(frozen_file(path))
    return {own: written.getvalue(), **copies}


def evidence_name(path: str | Path) -> str:
    """Return the name of the copy of a corpus, which is a file or a folder."""
    return Path(path).name or "corpus"


def _places(content: Any) -> Iterator[tuple[Any, str, str]]:
    """Yield each mapping and key of it that names a small file, with the folder of its copy."""
    if isinstance(content.get("plan"), str):
        yield content, "plan", "plans"
    for block in _mappings([content.get("defaults"), *(content.get("blocks") or ())]):
        for entry in _within(block):
            for key, folder in _FOLDERS.items():
                if isinstance(entry.get(key), str):
                    yield entry, key, folder


def _within(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for value in block.values():
        yield from _mappings(value if isinstance(value, list) else [value])


def _mappings(values: Any) -> Iterator[dict[str, Any]]:
    for value in values.values() if isinstance(values, dict) else values or ():
        if isinstance(value, dict):
            yield value


def _free_name(name: str, text: str, taken: Mapping[str, str]) -> str:
    """Return the name, numbered if another file has it."""
    stem, dot, suffix = name.rpartition(".")
    candidate, number = name, 2
    while taken.get(candidate, text) != text:
        candidate, number = f"{stem}-{number}{dot}{suffix}", number + 1
    return candidate
