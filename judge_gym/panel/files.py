"""Panels in YAML files: one names the others, so that raters and rubrics are used in several."""

from pathlib import Path

from pydantic import Field, ValidationError

from judge_gym.design.config import Node, fault_reason, read_model, read_tree
from judge_gym.design.fields import Frozen, Slug
from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError
from judge_gym.judges.files import judge_in
from judge_gym.judges.sampling import check_applied
from judge_gym.panel.agreement import Escalation
from judge_gym.panel.panel import AnyRater, Arbiter, JudgeRater, Panel, Rater
from judge_gym.panel.rubric import PanelRubric


class PanelFile(Frozen):
    """A panel: the files of its raters and of its rubric, relative to this one."""

    name: Slug
    """What it is called: small letters, digits and hyphens."""
    rubric: Path
    """The file of the panel's rubric."""
    raters: tuple[Path, ...] = Field(min_length=1)
    """The files of the raters, in the order in which they are asked. A judge file of single texts
    with the rubric's scale may be one: it judges each item, and the document as one text."""
    arbiter: Arbiter
    """Who reconciles the reviews."""
    budget: Budget | None = None
    """Limits of the calls of the panel, in all its runs."""
    escalate: Escalation | None = None
    """When the remaining raters are asked; without it all are."""


def load_panel(path: str | Path, depth: int = 0) -> Panel:
    """Read a panel, with the rubric and rater files it names, relative to it.

    `depth` is how many files above it name it, as in `judges.files.judge_in`. Raises `ConfigError`
    naming file, line, key and what is allowed.
    """
    path = Path(path)
    tree = read_tree(path)
    file, folder = read_model(PanelFile, tree), path.parent
    nodes = [read_tree(folder / rater_file) for rater_file in file.raters]
    rubric = read_model(PanelRubric, read_tree(folder / file.rubric))
    raters = tuple(_rater(node, depth) for node in nodes)
    for sampled, node in zip((file.arbiter, *raters), (tree.items["arbiter"], *nodes), strict=True):
        if not isinstance(sampled, JudgeRater):
            check_applied(sampled, node)
    try:
        return Panel(
            rubric=rubric,
            raters=raters,
            name=file.name,
            arbiter=file.arbiter,
            budget=file.budget,
            escalate=file.escalate,
        )
    except ValidationError as error:
        reason = fault_reason(error.errors()[0])
        raise ConfigError(f"{path} does not fit: {reason}.") from None


def _rater(node: Node, depth: int) -> AnyRater:
    if "kind" not in node.items:
        return read_model(Rater, node)
    judge = judge_in(node, depth + 1)
    return JudgeRater(label=judge.name, judge=judge)
