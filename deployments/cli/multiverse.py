"""`judge-gym sweep multiverse`: does a claim hold in every defensible cell of a sweep?"""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.environment import database, database_engine
from deployments.cli.output import command, console
from deployments.cli.status import name_of

if TYPE_CHECKING:
    from judge_gym.report.multiverse import SpecificationCurve

_MOST_CLAIMS = 15
_MOST_CELLS = 10


class Claim(StrEnum):
    """A claim that a specification curve can be about."""

    POLARIZATION = "polarization"
    ACCURACY = "accuracy"
    SCORE = "score"


def multiverse(
    sweep: Annotated[str, typer.Argument(help="The sweep's name or file.", show_default=False)],
    claim: Annotated[Claim | None, typer.Option(help="Only this claim. Default: all.")] = None,
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
    curves: Sequence["SpecificationCurve"], claim: Claim | None, judges: Sequence[str]
) -> list["SpecificationCurve"]:
    """Return the curves about this claim and these judges; raises `StoreError` without any."""
    from judge_gym.errors import StoreError

    if not curves:
        raise StoreError(
            "No claim has two cells in which the same judges applied a common rubric.",
            "Give the sweep a rubric `shared` or `provided`, and an axis with two values.",
        )
    found = [
        curve
        for curve in curves
        if claim in (None, curve.scope["claim"])
        and all(judge in curve.scope.get("pair", "").split(" and ") for judge in judges)
    ]
    if not found:
        about = "; ".join(sorted({curve.label for curve in curves}))
        raise StoreError("No claim is about that.", f"There are: {about}.")
    return found
