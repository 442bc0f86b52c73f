"""The index of a folder of pages: what there is of each kind, the newest first."""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from judge_gym.report.files import ENVIRONMENT

_KINDS = (
    ("report", "Sweeps"),
    ("audit", "Recorded judgements"),
    ("atlas", "Atlas"),
    ("certificate", "Certificates"),
    ("gate", "Gates"),
    ("scores", "Scores"),
    ("comparison", "Comparisons of judges"),
    ("estimate", "Estimates of people's means"),
    ("calibration", "Calibrations"),
    ("alignment", "Alignments"),
    ("benchmark", "Benchmarks"),
    ("judge_review", "Reviews of judges in use"),
    ("drift", "Studies over time"),
    ("panel", "Panels"),
    ("gym", "Gyms"),
)
"""How the names of pages begin, and what they are called together, in order."""
_OTHERS = "Other pages"
_TITLE = re.compile(r"<title>([^<]*)</title>")
_HEAD_BYTES = 4096


@dataclass(frozen=True)
class ShelfPage:
    """A page of the folder."""

    file: str
    title: str
    """Its own; the name of the file without one."""
    written: datetime


def shelf(folder: Path) -> dict[str, list[ShelfPage]]:
    """Return the pages of a folder by kind, the newest first; a missing folder has none."""
    found: dict[str, list[ShelfPage]] = {}
    for page in sorted(_pages(folder), key=lambda page: page.written, reverse=True):
        found.setdefault(_kind(page.file), []).append(page)
    order = [name for _, name in _KINDS] + [_OTHERS]
    return {kind: found[kind] for kind in order if kind in found}


def shelf_page(folder: Path, labellings: Mapping[str, str] | None = None) -> str:
    """Return the index of a folder, whose links lead to its pages.

    `labellings` is title → address of those that run.
    """
    template = ENVIRONMENT.get_template("shelf.html.j2")
    return template.render(kinds=shelf(folder), labellings=labellings or {})


def _pages(folder: Path) -> Iterator[ShelfPage]:
    for file in folder.glob("*.html"):
        try:
            with file.open("rb") as page:
                head = page.read(_HEAD_BYTES).decode("utf-8", errors="replace")
            written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        except OSError:  # replaced or removed meanwhile
            continue
        title = _TITLE.search(head)
        named = " ".join(html.unescape(title[1]).split()) if title else ""
        yield ShelfPage(file.name, named or file.stem, written)


def _kind(file: str) -> str:
    stem = file.removesuffix(".html")
    for begin, name in _KINDS:
        if stem == begin or stem.startswith((f"{begin}-", f"{begin}_")):
            return name
    return _OTHERS
