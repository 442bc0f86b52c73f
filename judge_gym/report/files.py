"""Files of a report: how pages are rendered and put in place, and figures as CSV."""

import base64
import csv
import errno
import gzip
import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from judge_gym.errors import JudgeGymError
from judge_gym.formats import cell, visible
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.hypotheses import HYPOTHESES, VALIDITY_CHECKS, contrast_figure
from judge_gym.report.remarks import remark_text
from judge_gym.seeds import canonical_json
from judge_gym.store.results import EXPLORATORY, FindingRow, ResultRow, RunInfo


def _visible(value: object) -> object:
    """Return what a template writes, without characters that turn the text around them."""
    if isinstance(value, Markup):
        return Markup(visible(value))
    return visible(value) if isinstance(value, str) else value


ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("judge_gym", "report"),
    undefined=jinja2.StrictUndefined,
    autoescape=True,  # names, titles and answers come from outside
    finalize=_visible,
    trim_blocks=True,
    lstrip_blocks=True,
)


MOST_ROWS = 12
"""Rows of a table that a page shows before the reader asks for all."""
ENVIRONMENT.globals["MOST_ROWS"] = MOST_ROWS
_SCRIPT = Markup(ENVIRONMENT.get_template("page.js.j2").render())
ENVIRONMENT.globals["script"] = _SCRIPT
ENVIRONMENT.globals["script_digest"] = (
    f"sha256-{base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()}"
)
"""The only script that a page runs, by the digest that its policy names."""


LONGEST_SHOWN = 6000
"""Characters of a text that are shown of a case."""


def excerpt(text: str) -> str:
    """Return a text, or the part of it that a page shows."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]} …"


@dataclass
class Prompts:
    """The prompts of a page, each once, in the order of their first place."""

    _places: dict[str, int] = field(default_factory=dict)

    def place(self, prompt: str) -> int:
        """Return the number of a prompt in the list that `packed` gives, from 0."""
        return self._places.setdefault(prompt, len(self._places))

    def packed(self) -> str:
        """Return the JSON list of all prompts as Base64 of gzip; equal lists give equal text."""
        text = json.dumps(list(self._places)).encode()
        return base64.b64encode(gzip.compress(text, mtime=0)).decode()


class ReportError(JudgeGymError):
    """The report cannot be written."""


def unwritable(what: str, folder: Path, error: OSError, *, stored: bool = True) -> ReportError:
    """Return the error of a file that cannot be written into `folder`, with its remedy.

    `stored` says whether the database has what the file shows.
    """
    remedy = f"Let your user write to {folder}, and rerun the command."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = f"Free space on the disk of {folder} and rerun the command."
    return ReportError(
        f"{what} cannot be written: {error.strerror or error}.",
        f"{remedy} The results are stored: no call is made again." if stored else remedy,
    )


def replace_file(path: Path, text: str) -> None:
    """Put the text in place in one step, so that no reader ever sees half a page."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(draft).chmod(0o644)
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def put_in_place(files: Mapping[Path, str]) -> None:
    """Put files in place, each in one step and the last one last, making their folders.

    Raises `ReportError` when one cannot be written.
    """
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text)
        except OSError as error:
            raise unwritable(f"The report in {path.parent}", path.parent, error) from error


@dataclass(frozen=True)
class WrittenReport:
    """What a study wrote, and what it says of that where Markdown is shown."""

    path: Path
    """Its page, or what the study made, such as a certificate."""
    title: str
    markdown: str
    page: Path | None = None
    """The page, where `path` is another file."""


def write_page(
    path: Path, page: str, tables: Mapping[str, Iterable[Mapping[str, Any]]] | None = None
) -> Path:
    """Write a page, and before it its tables as CSV, each with its name after that of the page.

    Returns `path`. Raises `ReportError` when its folder cannot be written to.
    """
    files = {
        path.with_name(f"{path.stem}-{name}.csv"): csv_of(rows)
        for name, rows in (tables or {}).items()
    }
    put_in_place({**files, path: page})
    return path


def paragraphs(parts: Iterable[str], *, simulated: bool) -> str:
    """Return the Markdown of a report, of those of its parts that are not empty."""
    marked = ("**SIMULATED.**" if simulated else "", *parts)
    return "\n\n".join(filter(None, marked))


def csv_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows of the same columns as CSV, their names first, as `formats.cell` writes texts."""
    written = list(rows)
    file = io.StringIO()
    writer = csv.DictWriter(file, list(written[0]) if written else [])
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in written)
    return file.getvalue()


def figures_of(estimate: Estimate) -> dict[str, Any]:
    """Return the columns that a table has for a figure."""
    return {
        "metric": estimate.metric, "estimate": estimate.estimate, "lower": estimate.lower,
        "upper": estimate.upper, "unit": estimate.unit, "n": estimate.n,
        "n_items": estimate.n_items, "p": estimate.p, "method": estimate.method,
    }  # fmt: skip


SCOPE = (
    *("concept", "country", "window", "rubric", "judge", "rival", "pair", "arm"),
    *("axis", "from", "to"),
)
"""Entries of a scope that have a column of their own; `scope` holds all of them."""
_NUMBERS = ("estimate", "lower", "upper", "n", "n_items", "floor", "p", "p_adjusted")
_WORDS = ("unit", "method", "reason")
_MARKS = ("simulated", "imported")
COLUMNS = ("sweep", "run", "metric", *SCOPE, "scope", *_NUMBERS, *_WORDS, *_MARKS, "plan")

_LONGEST_PLAIN = 500_000
"""Characters of a CSV file that a page holds as it is."""


def plan_kinds(findings: Iterable[FindingRow]) -> dict[tuple[str, str], str]:
    """Return (metric, scope key) → `planned` or `confirmatory` of the figures that a plan names."""
    metrics = {one.key: one.metric for one in (*HYPOTHESES, *VALIDITY_CHECKS)}

    def metric(key: str) -> str:
        contrast = contrast_figure(key)
        return contrast.metric if contrast else metrics[key]

    return {
        (metric(finding.hypothesis), canonical_json(finding.scope)): finding.kind
        for finding in findings
        if finding.kind != EXPLORATORY
    }


def results_csv(
    run: RunInfo, rows: Iterable[ResultRow], findings: Iterable[FindingRow] = ()
) -> str:
    """Return a line per figure, in full precision; an empty cell is a missing number.

    `plan` says whether the findings name it as planned or confirmatory; all else is exploratory.

    Text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    kinds = plan_kinds(findings)
    for row in rows:
        words = [run.sweep, str(run.id), row.metric]
        words += [str(row.scope.get(name, "")) for name in SCOPE]
        words.append(row.scope_key)
        numbers = [
            "" if (value := getattr(row, name)) is None else repr(value) for name in _NUMBERS
        ]
        method = "; ".join(filter(None, (row.method, *map(remark_text, row.remarks))))
        descriptions = [row.unit, method, row.reason]
        marks = [str(getattr(row, name)).lower() for name in _MARKS]
        kind = kinds.get((row.metric, row.scope_key), EXPLORATORY)
        writer.writerow([*map(cell, words), *numbers, *map(cell, descriptions), *marks, kind])
    return out.getvalue()


@dataclass(frozen=True)
class Download:
    """A file that a page holds; `address` downloads it without a server."""

    name: str
    address: str


def csv_download(name: str, text: str) -> Download:
    """Return a CSV file as a download; a long one is zipped, which takes a twentieth of the room.

    Equal texts give equal downloads.
    """
    if len(text) <= _LONGEST_PLAIN:
        return Download(name, f"data:text/csv;charset=utf-8,{quote(text, safe=',:;()[]=!*')}")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)  # dated 1980
    encoded = base64.b64encode(packed.getvalue()).decode()
    return Download(f"{name}.zip", f"data:application/zip;base64,{encoded}")
