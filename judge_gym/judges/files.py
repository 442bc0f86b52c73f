"""Judges in YAML files."""

from pathlib import Path

from judge_gym.design.config_model import read_model
from judge_gym.design.config_tree import Node, read_tree
from judge_gym.design.frozen import Frozen
from judge_gym.judges.binary_judge import BinaryJudge
from judge_gym.judges.own_judges import CallableJudge, HttpJudge
from judge_gym.judges.pairwise_judge import PairwiseJudge
from judge_gym.judges.rubric_judge import RubricJudge

AnyJudge = RubricJudge | BinaryJudge | PairwiseJudge | CallableJudge | HttpJudge


class _File(Frozen):
    judge: AnyJudge


def load_judge(path: Path) -> AnyJudge:
    """Read a judge; `kind` says which. Raises `ConfigError` naming file, line, key and value."""
    node = read_tree(path)
    return read_model(_File, Node({"judge": node}, node.place)).judge
