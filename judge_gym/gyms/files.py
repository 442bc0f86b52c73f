"""Gyms in YAML files."""

from pathlib import Path
from typing import Any

from judge_gym.design.config import Node, read_model, read_tree
from judge_gym.design.fields import Frozen
from judge_gym.gyms.abstract import AbstractGym
from judge_gym.gyms.apply import ApplyGym
from judge_gym.gyms.cleanup import CleanupGym
from judge_gym.gyms.extract import ExtractGym
from judge_gym.gyms.writing import Writer
from judge_gym.judges.sampling import check_applied

AnyGym = ApplyGym | CleanupGym | AbstractGym | ExtractGym


class _GymFile(Frozen):
    gym: AnyGym


def load_gym(path: str | Path) -> AnyGym:
    """Read a gym, its paths found from where its file is; `kind` says which.

    Raises `ConfigError` naming file, line, key and value.
    """
    path = Path(path)
    node = read_tree(path)
    gym: AnyGym = _beside(path.parent, read_model(_GymFile, Node({"gym": node}, node.place)).gym)
    for candidate, entry in zip(gym.candidates, node.items["candidates"].entries, strict=True):
        if isinstance(candidate, Writer) and candidate.model:
            check_applied(candidate, entry)
    return gym


def _beside(folder: Path, given: Any) -> Any:
    """Return a value with every path in it below `folder`, unless it is absolute."""
    if isinstance(given, Path):
        return folder / given
    if isinstance(given, tuple):
        return tuple(_beside(folder, value) for value in given)
    if isinstance(given, Frozen):
        paths = {name: _beside(folder, value) for name, value in given}
        return given.model_copy(update=paths)
    return given
