"""The names of the five workflows in the ledger, commands and flows."""

from typing import Literal, get_args

Workflow = Literal["w1-evidence", "w2-rubric", "w3-scoring", "w4-swap", "w5-probe"]
Part = Literal[Workflow, "analysis"]
"""A part of a sweep's run."""
PARTS: tuple[Part, ...] = (*get_args(Workflow), "analysis")
WORKFLOWS: tuple[Workflow, ...] = get_args(Workflow)
EVIDENCE, RUBRIC, SCORING, SWAP, PROBE = WORKFLOWS
