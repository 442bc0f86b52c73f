"""A rubric provided in a file: YAML or JSON with `stages` (label, criteria) and `reasoning`."""

from pathlib import Path

from judge_gym.design.config_model import read_model
from judge_gym.design.config_tree import read_tree
from judge_gym.design.rubric import Rubric


def load_rubric(path: Path) -> Rubric:
    """Read a rubric file; raises `ConfigError` naming file, line and key.

    `rubric_faults` checks whether it fits a scale.
    """
    return read_model(Rubric, read_tree(path))
