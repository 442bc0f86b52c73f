"""Takes out of notebooks what running them put in: python notebooks/strip.py [FILE ...]."""

import sys
from pathlib import Path

import nbformat

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def strip(file: Path) -> None:
    """Rewrite a notebook without outputs, counts and metadata of the machine it ran on."""
    notebook = nbformat.read(file, as_version=4)
    notebook.metadata = METADATA
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, file)


if __name__ == "__main__":
    for given in map(Path, sys.argv[1:]) if sys.argv[1:] else Path(__file__).parent.glob("*.ipynb"):
        strip(given)
