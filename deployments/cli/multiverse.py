"""`judge-gym sweep multiverse`: does a claim hold in every defensible cell of a sweep?"""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.environment import database, database_engine
from deployments.cli.options import SweepName, name_of
from deployments.cli.output import command, console
from judge_gym.model_names import members_of

if TYPE_CHECKING:
    from judge_gym.report.multiverse import SpecificationCurve

_MOST_CLAIMS = 15
_MOST_CELLS = 10


class CurveClaim(StrEnum):
    """A claim that a specification curve can be about."""

    POLARIZATION = "polarization"
    ACCURACY = "accuracy"
    SCORE = "score"


def multiverse(
    sweep: SweepName,
    claim: Annotated[CurveClaim | None, typer.Option(help="Only this claim. Default: all.")] = None,
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judges", help="Only claims about this judge; may be repeated.", show_default=False
        ),
    ] = None,
) -> None:
    """Show whether claims hold in every defensible cell of a sweep.

    Makes no calls. The cells of the first claim listed are printed, all others are in the report.
    """
    from judge_gym.analysis.running import analyse, run_in_force
    from judge_gym.report.multiverse import cells_table, claims_table, curves_of, least_settled
    from judge_gym.report.table import TerminalTable
    from judge_gym.store.results import load_results

    name = name_of(sweep)
    with database() as session:
        run = run_in_force(session, name)
    if run is None:
        with database_engine() as engine:
            run = analyse(engine, name)
    with database() as session:
        curves = _chosen(curves_of(load_results(session, run)), claim, judges or [])
    table = claims_table(curves, _MOST_CLAIMS)
    console.print(TerminalTable(table, table.marks))
    console.print(TerminalTable(cells_table(least_settled(curves)[0], _MOST_CELLS)))
    console.print(f"Picture: {command()} analyse figures {name}", markup=False)


def _chosen(
    curves: Sequence["SpecificationCurve"], claim: CurveClaim | None, judges: Sequence[str]
) -> list["SpecificationCurve"]:
    """Return the curves about this claim and these judges; raises `StoreError` without any."""
    from judge_gym.errors import StoreError

    if not curves:
        raise StoreError(
            "No claim has two cells in which the same judges applied a common rubric.",
            "Give the sweep a rubric `shared` or `provided`, and an axis with two values.",
        )
    known = sorted({judge for curve in curves for judge in _judges(curve)})
    chosen = {_judge(name, known) for name in judges}
    found = [
        curve
        for curve in curves
        if claim in (None, curve.scope["claim"]) and chosen <= _judges(curve)
    ]
    if not found:
        about = "; ".join(sorted({curve.label for curve in curves}))
        raise StoreError("No claim is about that.", f"There are: {about}.")
    return found


def _judges(curve: "SpecificationCurve") -> set[str]:
    """Return the judges that a claim compares; none where it is about all."""
    pair = curve.scope.get("pair", "")
    return set(members_of(pair)) if pair else set()


def _judge(name: str, known: Sequence[str]) -> str:
    """Return the judge of a name, which may lack its provider; raises `StoreError` if unclear."""
    from judge_gym.errors import StoreError, did_you_mean

    found = [judge for judge in known if name in (judge, judge.partition("/")[2])]
    if name in known or len(found) == 1:
        return name if name in known else found[0]
    raise StoreError(
        f"{'Several judges' if found else 'No judge'} of the claims have the name {name!r}.",
        f"{did_you_mean(name, known)}They are {', '.join(known)}.",
    )
