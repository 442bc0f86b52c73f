"""The documentation site: built as `make docs` does, it has everything of the code, and no script
or font of another host."""

import html
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from deployments.cli.app import app
from judge_gym.analysis import describe, registry
from judge_gym.design.axes import axes
from judge_gym.settings import Settings
from support.command_line import REPOSITORY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning, such as a broken link or anchor, fails."""
    folder = tmp_path_factory.mktemp("site")
    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder],
        cwd=REPOSITORY,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return folder


def text(site: Path, page: str) -> str:
    """What a page of the reference says, without its markup."""
    body = (site / "reference" / f"{page}.html").read_text()
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    for name, part in getattr(command, "commands", {}).items():
        yield from () if part.hidden else commands(part, (*path, name))
    if not hasattr(command, "commands"):
        yield " ".join(path)


def test_the_reference_has_every_command_axis_setting_and_figure(site: Path) -> None:
    expected = {
        "commands": list(commands(typer.main.get_command(app))),
        "axes": [axis.name for axis in axes()],
        "settings": list(Settings.model_fields),
        "figures": list(registry.figures()),
        "events": ["judge-gym.run.failed", "judge-gym.budget.stopped", "judge-gym.window.empty"],
    }
    for page, names in expected.items():
        shown = text(site, page)
        assert [name for name in names if name not in shown] == [], page


def test_the_reference_has_the_views_of_the_database(site: Path, database: str) -> None:
    shown = text(site, "views")
    views = describe(url=database)
    for view, holds in views.itertuples(index=False):
        assert " ".join(holds.split()) in shown, view
        for column, meaning in describe(view, url=database).itertuples(index=False):
            assert f"{column} {' '.join(meaning.split())}" in shown, f"{view}.{column}"


def test_pages_ask_no_other_host(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?:[^\"\s>]+)", page.read_text()
        )
        assert loaded == [], page
