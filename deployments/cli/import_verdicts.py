"""`judge-gym import-verdicts`: judgements that others recorded, for every metric there is."""

from pathlib import Path
from typing import Annotated

import typer


def import_verdicts(
    file: Annotated[
        Path, typer.Argument(help="The recorded file (JSONL or CSV).", show_default=False)
    ],
    mapping: Annotated[
        Path,
        typer.Option(
            help="What its columns mean (YAML; see deployments/recorded).", show_default=False
        ),
    ],
    allow_unreadable: Annotated[
        bool,
        typer.Option(
            "--allow-unreadable", help="Import a judge with fewer than half its answers readable."
        ),
    ] = False,
) -> None:
    """Bring recorded decisions or raw answers into the tables, marked as imported."""
    from deployments.cli.database import database
    from deployments.cli.output import command, console
    from judge_gym.counting import counted
    from judge_gym.lab import importing
    from judge_gym.recorded.mapping import load_recorded

    recorded, rubric = load_recorded(mapping)
    with database() as session:
        done = importing.import_verdicts(
            session, file, recorded, rubric, allow_unreadable=allow_unreadable
        )
    ends = ", ".join(f"{count} {status}" for status, count in sorted(done.statuses.items()))
    console.print(
        f"Sweep {recorded.name}: {counted(done.judgements, 'judgement')} by "
        f"{counted(done.judges, 'judge')} of {counted(done.items, 'item')} ({ends}); "
        f"new: {done.new}.",
        markup=False,
    )
    if done.unread:
        console.print(
            f"Warning: {done.unread} A judge without any readable answer has no accuracy. For the "
            "others, unreadable answers are left out of the share correct, and count 0 on pairs.",
            markup=False,
        )
    console.print(f"Next: {command()} analyse {recorded.name}", markup=False)
