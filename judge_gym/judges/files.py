"""Judges in YAML files."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from judge_gym.design.config import (
    CORPUS_SUFFIXES,
    DEFINITION,
    Node,
    corpus_suffix,
    fault_reason,
    given_tree,
    read_model,
    read_tree,
    shown,
)
from judge_gym.design.fields import Frozen
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.judges.binary_judge import BinaryJudge
from judge_gym.judges.certify_rule import CertifyRule
from judge_gym.judges.composite import EnsembleFile, EnsembleJudge, RoutedFile, RoutedJudge
from judge_gym.judges.delegated import DelegatedJudge, PanelJudgeFile
from judge_gym.judges.gate_rule import GateRule
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.own_judges import CallableJudge, HttpJudge
from judge_gym.judges.pairwise_judge import PairwiseJudge
from judge_gym.judges.rubric_judge import RubricJudge
from judge_gym.judges.sampling import check_applied
from judge_gym.model_names import is_simulated_model

SingleJudge = RubricJudge | BinaryJudge | PairwiseJudge | CallableJudge | HttpJudge
AnyJudge = SingleJudge | EnsembleJudge | RoutedJudge | DelegatedJudge
JudgeFile = SingleJudge | EnsembleFile | RoutedFile | PanelJudgeFile
"""What a judge file may hold."""
_DEEPEST = 5
"""How many files one below the other are read; more are taken for a circle."""


class _File(Frozen):
    judge: JudgeFile


JudgeSource = Path | dict[str, Any]
"""A judge file, or the judge as JSON, with the keys of a judge file."""


def load_judge(source: str | JudgeSource) -> AnyJudge:
    """Read a judge; `kind` says which. Raises `ConfigError` naming file, line, key and value.

    Relative paths in a judge as JSON start from the working folder.
    """
    if isinstance(source, dict):
        return judge_in(given_tree(source))
    path = Path(source)
    if corpus_suffix(path) in CORPUS_SUFFIXES:
        raise ConfigError(f"{path} is a file of items.", "Name a judge file (YAML).")
    return _read(path, 0)


def is_judge_file(path: Path) -> bool:
    """Whether a YAML file has `kind`, which files of judges have and no review; raises as
    `read_tree`."""
    return "kind" in read_tree(path).items


def judge_files(*sources: JudgeSource) -> list[Path]:
    """Return the files among sources of judges."""
    return [source for source in sources if isinstance(source, Path)]


def named(source: JudgeSource) -> str:
    """Return the path of a judge file, or what a judge as JSON is called in errors."""
    return str(DEFINITION if isinstance(source, dict) else source)


def check_given(sources: Sequence[JudgeSource], called: str) -> None:
    """Raise `ConfigError` for a study without a judge."""
    if not sources:
        raise ConfigError(f"{called} has no judge.", "Name a judge file, or give a judge as JSON.")


def check_single(source: JudgeSource, judge: AnyJudge, study: str) -> None:
    """Raise `ConfigError` for a judge of pairs in a study of single texts."""
    if judge.judges_pairs:
        raise ConfigError(
            f"{named(source)} is a judge of pairs, and {study} has single texts judged.",
            "Use a judge of kind rubric, binary, callable or http.",
        )


def load_apart(sources: Sequence[JudgeSource], called: str) -> list[AnyJudge]:
    """Read the judges of a study; raises `ConfigError` for none, and for two of one name."""
    check_given(sources, called)
    judges: list[AnyJudge] = []
    for source in sources:
        judge = load_judge(source)
        for other in judges:
            if judge.key == other.key or judge.name == other.name:
                raise ConfigError(
                    f"{named(source)} is judge {judge.name!r}, and there is {other.name!r} "
                    "already.",
                    "Name each judge once, and give different ones different names.",
                )
        judges.append(judge)
    return judges


def _read(path: Path, depth: int) -> AnyJudge:
    return judge_in(read_tree(path), depth)


def judge_in(node: Node, depth: int = 0) -> AnyJudge:
    """Read a judge out of the tree of a file; raises as `load_judge`.

    `depth` is how many files above it name it as a member.
    """
    if node.items.get("kind", node).value in ("callable", "http") and "verdicts" in node.items:
        raise node.items["verdicts"].place.problem(
            "is of judges that are asked with a prompt",
            "A function or endpoint names its verdicts on a scale, and returns one of the names: "
            "scale: {lowest: 0, highest: 1, anchors: [fail, pass]}.",
        )
    read = read_model(_File, Node({"judge": node}, node.place)).judge
    judge: AnyJudge
    if isinstance(read, EnsembleFile | RoutedFile):
        judge = _composite(read, node, depth)
    elif isinstance(read, PanelJudgeFile):
        judge = _panel(read, node, depth)
    else:
        judge = read
    if isinstance(judge, ModelJudge):
        if judge.is_simulated:
            _check_simulated(judge.model, node.items["model"])
        check_applied(judge, node)
    if judge.reason_critic is not None:
        critic = judge.reason_critic.model
        if judge.judges_pairs:
            raise node.items["reason_critic"].place.problem(
                "is of a judge of pairs, whose reasons are of two orders",
                "Leave it out, or use a judge of single texts.",
            )
        if is_simulated_model(critic):
            _check_simulated(critic, node.items["reason_critic"].items["model"])
    folder = node.place.file.parent
    rules = {name: _beside(getattr(judge, name), folder) for name in ("gate", "certify")}
    if any(rules.values()):
        judge = judge.model_copy(update=rules)
    return judge.read_from(node.place.file) if isinstance(judge, CallableJudge) else judge


def _beside(rule: GateRule | CertifyRule | None, folder: Path) -> GateRule | CertifyRule | None:
    """Return a rule with its paths from the folder of the judge's file."""
    if rule is None:
        return None
    paths = {name: folder / path for name, path in paths_of(rule).items()}
    return rule.model_copy(update=paths)


def paths_of(rule: GateRule | CertifyRule) -> dict[str, Path]:
    """Return key → path of the files that a rule names."""
    return {name: value for name, value in rule if isinstance(value, Path)}


def _composite(file: EnsembleFile | RoutedFile, node: Node, depth: int) -> AnyJudge:
    """Return the judge of a file that names the files of its members."""
    _check_depth(node, depth)
    if isinstance(file, EnsembleFile):
        named = node.items["members"].entries
    else:
        named = (node.items["first"], node.items["then"])
    members = tuple(_member(one, depth) for one in named)
    kind = EnsembleJudge if isinstance(file, EnsembleFile) else RoutedJudge
    given = file.model_dump(exclude={"kind", "members", "first", "then", "gate", "certify"})
    try:
        return kind(members=members, gate=file.gate, certify=file.certify, **given)
    except ValidationError as error:
        reason = fault_reason(error.errors()[0])
        raise ConfigError(f"{node.place.file} does not fit: {reason}.") from None


def _check_depth(node: Node, depth: int) -> None:
    if depth == _DEEPEST:
        raise node.place.problem(
            f"is the {depth + 1}th judge of judges, one below the other",
            "Name no judge that names this one, and at most five below each other.",
        )


def _panel(file: PanelJudgeFile, node: Node, depth: int) -> DelegatedJudge:
    """Return the judge of a file that names a panel's file."""
    _check_depth(node, depth)
    _path_of(node.items["panel"], "Name a panel's file (YAML).")
    # Panels are a room above this one: it is loaded where a file asks for it.
    maker = import_module("judge_gym.panel.judge")
    judge: DelegatedJudge = maker.panel_judge(file, node.place.file, depth)
    return judge


def _member(node: Node, depth: int) -> AnyJudge:
    return _read(_path_of(node, "Name a judge file (YAML)."), depth + 1)


def _path_of(node: Node, remedy: str) -> Path:
    path = node.place.file.parent / str(node.value)
    if not path.is_file():
        raise node.place.problem(f"is {shown(node.value)}, and {path} is no file", remedy)
    return path


def _check_simulated(model: str, node: Node) -> None:
    # A name that the simulator does not know is taken for a real model's, and answered all the
    # same: a slip would be judged by somebody else.
    from judge_gym.planted.families import served_models

    served = served_models()
    if model not in served:
        remedy = f"{did_you_mean(model, served)}Use {', '.join(served)}."
        raise node.place.problem(f"is {shown(model)}, which the simulator does not have", remedy)
