"""Options that many commands have, in the same words."""

from collections.abc import Sequence
from typing import Annotated

import typer

Everything = Annotated[
    bool, typer.Option("--all", help="Print every table, not the headlines alone.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
PlanOnly = Annotated[
    bool, typer.Option("--plan", help="Say what it would ask and cost; spends nothing.")
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Ask again for what is kept as failed.")
]
Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--fields",
        help="Read a field from another column, as truth=human_score; repeatable.",
        show_default=False,
    ),
]


def fields_of(given: Sequence[str] | None) -> dict[str, str]:
    """Return field → column of `--fields`; raises `ConfigError` for what is neither."""
    from judge_gym.errors import ConfigError
    from judge_gym.records.items import COLUMNS

    found: dict[str, str] = {}
    for one in given or ():
        field, equals, column = one.partition("=")
        if not equals or not column or field not in COLUMNS or field in found:
            raise ConfigError(
                f"--fields is {one!r}.",
                f"Use FIELD=COLUMN, each field once, with a field of {', '.join(COLUMNS)}.",
            )
        found[field] = column
    return found
