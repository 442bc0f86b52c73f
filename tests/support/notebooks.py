"""Runs a notebook from beginning to end, in a kernel of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
LONGEST_CELL_S = 120


@dataclass(frozen=True)
class Shown:
    """What a notebook showed: the plain text of its last cell, and its charts as SVG."""

    last: str
    charts: list[str]


def shown_by(name: str, environment: Mapping[str, str]) -> Shown:
    """Run a notebook where people open it; raises `CellExecutionError` for one that fails."""
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    # The notebook's folder is where Jupyter starts a kernel.
    client = NotebookClient(
        notebook, timeout=LONGEST_CELL_S, resources={"metadata": {"path": str(FOLDER)}}
    )
    client.execute(env=dict(environment))
    outputs = [
        output.data
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    return Shown(
        outputs[-1]["text/plain"],
        [data["image/svg+xml"] for data in outputs if "image/svg+xml" in data],
    )
