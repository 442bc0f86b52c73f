"""A file of published figures, each with the figure of this project that is the same quantity."""

from pathlib import Path
from typing import Any

from pydantic import Field

from judge_gym.design.config import read_model, read_tree
from judge_gym.design.fields import Frozen


class PublishedFigure(Frozen):
    """A figure as it was published, and which figure of a sweep is the same quantity."""

    finding: str = Field(min_length=1, max_length=80)
    """What it is about, in a few words."""
    figure: str = Field(min_length=1, max_length=80)
    """The figure's name (`judge-gym analyse figures --list`)."""
    of: dict[str, Any]
    """What its scope must have: judge, axis, from, to and so on."""
    published: float | str
    """The published value; of a regime, its name."""
    stages: int = Field(default=2, ge=2)
    """The length of the scale where the value is published in stages and the figure is a share."""


class PublishedStudy(Frozen):
    """A file of published figures."""

    source: str = Field(min_length=1, max_length=2000)
    """Where they were published, and what one has to know to compare them."""
    figures: tuple[PublishedFigure, ...] = Field(min_length=1)


def load_published(path: Path) -> PublishedStudy:
    """Read published figures; raises `ConfigError` at the first invalid key."""
    return read_model(PublishedStudy, read_tree(path))
