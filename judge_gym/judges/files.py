"""Judges in YAML files."""

from pathlib import Path

from judge_gym.design.config import (
    CORPUS_SUFFIXES,
    Node,
    corpus_suffix,
    read_model,
    read_tree,
    shown,
)
from judge_gym.design.fields import Frozen
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.judges.binary_judge import BinaryJudge
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.own_judges import CallableJudge, HttpJudge
from judge_gym.judges.pairwise_judge import PairwiseJudge
from judge_gym.judges.rubric_judge import RubricJudge
from judge_gym.judges.sampling import check_applied

AnyJudge = RubricJudge | BinaryJudge | PairwiseJudge | CallableJudge | HttpJudge


class _File(Frozen):
    judge: AnyJudge


def load_judge(path: str | Path) -> AnyJudge:
    """Read a judge; `kind` says which. Raises `ConfigError` naming file, line, key and value."""
    path = Path(path)
    if corpus_suffix(path) in CORPUS_SUFFIXES:
        raise ConfigError(f"{path} is a file of items.", "Name a judge file (YAML).")
    return judge_in(read_tree(path))


def judge_in(node: Node) -> AnyJudge:
    """Read a judge out of the tree of a file; raises as `load_judge`."""
    judge = read_model(_File, Node({"judge": node}, node.place)).judge
    if isinstance(judge, ModelJudge):
        if judge.is_simulated:
            _check_simulated(judge.model, node.items["model"])
        check_applied(judge, node)
    if judge.gate is not None:
        folder, gate = node.place.file.parent, judge.gate
        labels = folder / gate.labels if gate.labels else None
        gate = gate.model_copy(update={"items": folder / gate.items, "labels": labels})
        judge = judge.model_copy(update={"gate": gate})
    return judge.read_from(node.place.file) if isinstance(judge, CallableJudge) else judge


def _check_simulated(model: str, node: Node) -> None:
    # A name that the simulator does not know is taken for a real model's, and answered all the
    # same: a slip would be judged by somebody else.
    from judge_gym.planted.families import served_models

    served = served_models()
    if model not in served:
        remedy = f"{did_you_mean(model, served)}Use {', '.join(served)}."
        raise node.place.problem(f"is {shown(model)}, which the simulator does not have", remedy)
