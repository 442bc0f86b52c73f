"""A new figure is one file, as CONTRIBUTING.md says: the analysis, tables and reference see it."""

import re
from pathlib import Path

import pytest

from docs.references import figures as reference
from judge_gym.analysis import figures, registry
from judge_gym.report.tables import result_tables
from support.lab import Lab, only

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """The module that CONTRIBUTING.md shows, in a folder beside the modules of the package."""
    _, _, section = CONTRIBUTING.read_text(encoding="utf-8").partition("## Adding a figure")
    [code] = re.findall(r"^```python\n(.*?)^```$", section.partition("\n## ")[0], re.M | re.S)
    (tmp_path / "lowest.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(figures, "__path__", [*figures.__path__, str(tmp_path)])
    caches = (registry.modules, registry.tables, registry.figures)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


@pytest.mark.usefixtures("recipe")
def test_a_figure_of_one_file_is_computed_shown_and_described(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 4)
    lab.own("acme/alpha-1", [[1, 1], [1, 4], [4, 4], [4, 4]])
    rows = lab.analyse()
    # Stage 1 is the lowest of four: both, one and none of an item's two verdicts.
    row = only(rows, "lowest_stage_share", judge="acme/alpha-1")
    assert (row.estimate, row.n_items, row.unit) == (pytest.approx(1.5 / 4), 4, "share")
    [table] = [table for table in result_tables(rows) if "lowest" in table.title.casefold()]
    assert any("0.38" in cell for line in table.rows for cell in line.cells)
    assert "`lowest_stage_share`" in reference()


def test_without_the_file_there_is_no_such_figure() -> None:
    assert "lowest_stage_share" not in registry.figures()
