"""`judge-gym sweep rubrics`: read the rubrics of a sweep, and approve or refuse them by name."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.environment import database
from deployments.cli.json_output import print_json
from deployments.cli.options import AsJson, SweepName, name_of
from deployments.cli.output import console, show_table
from judge_gym.counting import counted
from judge_gym.errors import ConfigError

if TYPE_CHECKING:
    from judge_gym.lab.reading import RubricToRead

ALL = "all"


def rubrics(
    sweep: SweepName,
    approve: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS",
            help="Approve these, such as 1,3; `all` for all that wait.",
            show_default=False,
        ),
    ] = "",
    refuse: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS",
            help="Refuse these: their experiments are not scored.",
            show_default=False,
        ),
    ] = "",
    by: Annotated[
        str, typer.Option(metavar="NAME", help="Who decides. It is stored.", show_default=False)
    ] = "",
    reason: Annotated[str, typer.Option(help="Why. It is stored.", show_default=False)] = "",
    as_json: AsJson = False,
) -> None:
    """Print the rubrics of a sweep, or approve and refuse them."""
    from judge_gym.lab.reading import decide, rubrics_of_sweep

    name = name_of(sweep)
    if (approve or refuse) and not by.strip():
        raise ConfigError("A decision needs a name.", "Pass --by NAME.")
    with database() as session:
        found = rubrics_of_sweep(session, name)
        if approve or refuse:
            waiting = {one.number for one in found if one.decided is None}
            refused = _numbers("--refuse", refuse, waiting)
            approved = _numbers("--approve", approve, waiting - refused)
            decide(session, found, approved, refused, by.strip(), reason, sweep=name)
            session.flush()
            found = rubrics_of_sweep(session, name)
    if as_json:
        print_json(sweep=name, rubrics=[_plain(one) for one in found])
        return
    for one in found if not (approve or refuse) else ():
        stages = enumerate(one.rubric.stages, start=1)
        rows = [(number, stage.label, "; ".join(stage.criteria)) for number, stage in stages]
        show_table(f"Rubric {one.name}", ("stage", "label", "criteria"), rows)
    columns = ("number", "owner", "concept", "experiments", "decision", "by", "why")
    show_table(f"Rubrics of sweep {name}", columns, map(_row, found))
    left = sum(one.decided is None for one in found)
    console.print(f"{counted(left, 'rubric')} not decided about.")


def _numbers(option: str, given: str, all_of: set[int]) -> set[int]:
    """Return the numbers of an option; raises `ConfigError` for what is no number."""
    if given == ALL:
        return set(all_of)
    try:
        return {int(part) for part in given.split(",")} if given else set()
    except ValueError:
        raise ConfigError(
            f"{option} is {given!r}.", "Use numbers with commas, such as 1,3, or all."
        ) from None


def _row(one: "RubricToRead") -> tuple[object, ...]:
    decided = one.decided
    said = (decided.decision, decided.person, decided.reason) if decided else ("", "", "")
    return one.number, one.owner, one.concept, one.experiments, *said


def _plain(one: "RubricToRead") -> dict[str, Any]:
    decided = one.decided
    return {
        "number": one.number,
        "owner": one.owner,
        "concept": one.concept,
        "draw": one.draw,
        "experiments": one.experiments,
        "stages": [stage.model_dump(mode="json") for stage in one.rubric.stages],
        "decision": decided.decision if decided else None,
        "by": decided.person if decided else None,
        "reason": decided.reason if decided else None,
        "at": decided.at.isoformat() if decided else None,
    }
