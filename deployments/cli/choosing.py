"""What `retry`, `cancel` and `clean` have in common: naming the work, showing it, asking."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.output import show_table
from judge_gym.design.workflow_names import Workflow

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy.orm import Session

    from judge_gym.store.selecting import Chosen, LedgerLine

Name = Annotated[
    str,
    typer.Argument(help="A sweep's name or file, or an experiment's tag.", show_default=False),
]
OfWorkflow = Annotated[Workflow | None, typer.Option("--workflow", help="Only this workflow.")]
OfFailure = Annotated[
    str | None,
    typer.Option(
        "--failure", metavar="CLASS", help="Only this class of failure, as `status` shows it."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@contextmanager
def engine_of_settings() -> "Iterator[sa.Engine]":
    """Open the configured database."""
    from judge_gym.settings import settings
    from judge_gym.store.engine import connect

    engine = connect(settings())
    try:
        yield engine
    finally:
        engine.dispose()


def choose(session: "Session", name: str) -> "Chosen":
    """Return what a name, a tag or a sweep's file stands for; raises `StoreError` for nothing."""
    from deployments.cli.status import name_of
    from judge_gym.store.selecting import chosen

    return chosen(session, name_of(name))


def show_calls(title: str, lines: "Iterable[LedgerLine]") -> None:
    """Print ledger rows by workflow, status and class of failure, with what they cost."""
    columns = ("workflow", "status", "failure", "calls", "cost (USD)", "of unknown price")
    rows = (
        (one.workflow, one.status, one.failure, one.calls, f"{one.cost_usd:.4g}", one.unpriced)
        for one in lines
    )
    show_table(title, columns, rows)
