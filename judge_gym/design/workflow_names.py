"""The five workflows by name, as the ledger, commands and flows write them."""

from typing import Literal, get_args

Workflow = Literal["w1-evidence", "w2-rubric", "w3-scoring", "w4-swap", "w5-probe"]
Part = Literal[Workflow, "analysis"]
"""What a sweep's run is made of."""
PARTS: tuple[Part, ...] = (*get_args(Workflow), "analysis")
WORKFLOWS: tuple[Workflow, ...] = get_args(Workflow)
EVIDENCE, RUBRIC, SCORING, SWAP, PROBE = WORKFLOWS
