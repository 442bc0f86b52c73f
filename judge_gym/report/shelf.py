"""The index of a folder of pages: what there is of each kind, the newest first."""

import glob
import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from judge_gym.report.files import ENVIRONMENT

_DAY = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)(-again-(?P<again>\d+))?")
"""What the name of a gate's page of a day ends in."""
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
    """Return the pages of a folder by kind, the newest first; a missing folder has none.

    Pages of a gate by day are left out: its newest page links to them.
    """
    found: dict[str, list[ShelfPage]] = {}
    pages = {page.file: page for page in _pages(folder)}
    for page in sorted(pages.values(), key=lambda page: page.written, reverse=True):
        if gate_of_day(page.file) in pages:
            continue
        found.setdefault(_kind(page.file), []).append(page)
    order = [name for _, name in _KINDS] + [_OTHERS]
    return {kind: found[kind] for kind in order if kind in found}


def shelf_page(
    folder: Path, labellings: Mapping[str, str] | None = None, *, status: str = ""
) -> str:
    """Return the index of a folder, whose links lead to its pages.

    `labellings` is title → address of those that run, `status` the address of the page about the
    installation, if there is one.
    """
    template = ENVIRONMENT.get_template("shelf.html.j2")
    return template.render(kinds=shelf(folder), labellings=labellings or {}, status=status)


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


def gate_of_day(file: str) -> str:
    """Return the newest page of the gate whose page of a day this is; "" of any other page."""
    found = re.fullmatch(rf"(gate-.+)-{_DAY.pattern}\.html", file)
    return f"{found[1]}.html" if found else ""


def earlier_gates(folder: Path, stem: str) -> list[str]:
    """Return the pages of a gate by day, the newest first."""
    found = {}
    for file in folder.glob(f"{glob.escape(stem)}-*.html"):
        if of := _DAY.fullmatch(file.stem.removeprefix(f"{stem}-")):
            found[of["day"], int(of["again"] or 0)] = file.name
    return [name for _, name in sorted(found.items(), reverse=True)]
