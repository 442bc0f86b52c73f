"""What a judge is asked: its task, and its criteria or verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge_gym.formats import plain
from judge_gym.report.table import Row, Table


@dataclass(frozen=True)
class Criteria:
    """What a page shows of a judge's configuration; `table` is None where the task is all."""

    judge: str
    task: str
    says: str
    table: Table | None


def criteria_of(name: str, config: Mapping[str, Any]) -> Criteria:
    """Return what a judge of this configuration, as it is stored, is asked."""
    kind, task = config["kind"], str(config.get("task", ""))
    title = f"Criteria of {name}"
    if "members" in config:
        inner = [criteria_of(member["name"], member) for member in config["members"]]
        first, last = inner[0].judge, inner[-1].judge
        others = ", ".join(one.judge for one in inner[:-1])
        says = (
            f"It takes the {config['rule']} of {others} and {last}."
            if kind == "ensemble"
            else f"It asks {first}. Where that is in doubt, {last} decides."
        )
        says += f" Shown is what {first} is asked."
        return Criteria(name, inner[0].task, says, inner[0].table)
    scale = config.get("scale")
    on_scale = (
        f"from {plain(scale['lowest'])} to {plain(scale['highest'])}" if scale is not None else ""
    )
    if kind == "rubric":
        weights = sum(criterion["weight"] for criterion in config["criteria"])
        about = f"Each is marked {on_scale}. The score is the mean of the marks by these weights."
        rows = [
            (criterion["name"], criterion["description"], f"{criterion['weight'] / weights:.0%}")
            for criterion in config["criteria"]
        ]
        return Criteria(name, task, "", _table(title, about, ("criterion", "weight"), rows))
    if kind == "binary":
        about = "The judge chooses one. The first named has the score 1, the other 0."
        scores = zip(config["verdicts"], ("1", "0"), strict=True)
        rows = [(verdict["name"], verdict["description"], score) for verdict, score in scores]
        return Criteria(name, task, "", _table(title, about, ("verdict", "score"), rows))
    if kind == "pairwise":
        ties = "may call them equal" if config["ties"] else "may not call them equal"
        says = f"It reads both texts in both orders, and {ties}. It has no other criteria."
        return Criteria(name, task, says, None)
    if kind in ("callable", "http"):
        says = f"A function or an endpoint of your own, which scores {on_scale}. It has no rubric."
    elif kind == "panel":
        says = "A panel: its raters follow its own rubric, and its score is the arbiter's."
    else:
        says = ""
    return Criteria(name, task, says, None)


def _table(
    title: str, about: str, ends: tuple[str, str], rows: list[tuple[str, str, str]]
) -> Table:
    first, last = ends
    lines = tuple(Row(cells) for cells in rows)
    return Table(title, about, (first, "what the judge reads", last), lines, words=2)
