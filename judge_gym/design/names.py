"""Names that sweep files, the command line and flows share; importing them imports no library."""

from typing import Literal, get_args

TaskType = Literal["ecc", "control", "benchmark", "pairs"]
Workflow = Literal["w1-evidence", "w2-rubric", "w3-scoring", "w4-swap", "w5-probe", "w6-critic"]
Part = Literal[Workflow, "analysis"]
"""A part of a sweep's run."""
PARTS: tuple[Part, ...] = (*get_args(Workflow), "analysis")
WORKFLOWS: tuple[Workflow, ...] = get_args(Workflow)
EVIDENCE, RUBRIC, SCORING, SWAP, PROBE, CRITIC = WORKFLOWS
