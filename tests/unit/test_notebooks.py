"""The notebooks as they stand in git: valid, short, and without traces of a run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_CELLS = 12
MACHINE_PATH = re.compile(r"(?<![\w.])/(home|root|Users|tmp|work|var|mnt)/|[A-Z]:\\\\")


def test_there_are_four() -> None:
    names = ["01_polarization", "02_entrenchment", "03_swap", "04_regression"]
    assert [file.stem for file in NOTEBOOKS] == names


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_valid_short_and_names_no_place_of_a_machine(file: Path) -> None:
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    assert len(notebook.cells) <= MOST_CELLS
    assert not MACHINE_PATH.search(file.read_text())


def test_the_notebooks_are_stripped_of_outputs(tmp_path: Path) -> None:
    """Stripping changes none of ours, and takes outputs, counts and versions from one that ran."""
    copies = [Path(shutil.copy(file, tmp_path)) for file in NOTEBOOKS]
    run = nbformat.read(copies[0], as_version=4)
    code = next(cell for cell in run.cells if cell.cell_type == "code")
    code.execution_count = 1
    code.outputs = [nbformat.v4.new_output("stream", text="/home/somebody")]
    code.metadata = {"execution": {"shell.execute_reply": "2026-01-01T00:00:00Z"}}
    run.metadata.language_info |= {"version": "3.11.4", "mimetype": "text/x-python"}
    nbformat.write(run, copies[0])
    make = ["make", "-s", "-o", ".venv/.ready", f"BIN={Path(sys.executable).parent}", "notebooks"]
    subprocess.run(
        [*make, f"NOTEBOOKS={' '.join(map(str, copies))}"], cwd=FOLDER.parent, check=True
    )
    assert [copy.read_text() for copy in copies] == [file.read_text() for file in NOTEBOOKS], (
        "make notebooks strips them"
    )
