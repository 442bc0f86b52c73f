"""Options that many commands have, in the same words."""

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
