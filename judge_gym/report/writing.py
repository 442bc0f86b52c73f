"""Pages and files of a report: how they are rendered, and put in place at once."""

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jinja2

from judge_gym.errors import JudgeGymError
from judge_gym.metrics.estimate import Estimate

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("judge_gym", "report"),
    undefined=jinja2.StrictUndefined,
    autoescape=True,  # names, titles and answers come from outside
    trim_blocks=True,
    lstrip_blocks=True,
)


class ReportError(JudgeGymError):
    """The report cannot be written."""


def replace_file(path: Path, text: str) -> None:
    """Put the text in place in one step, so that no reader ever sees half a page."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as draft:
        draft.write(text)
    try:
        Path(draft.name).chmod(0o644)
        os.replace(draft.name, path)
    except BaseException:
        Path(draft.name).unlink(missing_ok=True)
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
            raise ReportError(
                f"The report in {path.parent} cannot be written: {error.strerror or error}.",
                "Choose a folder you can write to with JUDGE_GYM_DATA_DIR.",
            ) from error


def csv_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows of the same columns as CSV, their names first."""
    written = list(rows)
    file = io.StringIO()
    writer = csv.DictWriter(file, list(written[0]) if written else [])
    writer.writeheader()
    writer.writerows(written)
    return file.getvalue()


def figures_of(estimate: Estimate) -> dict[str, Any]:
    """Return the columns that a table has for a figure."""
    return {
        "metric": estimate.metric, "estimate": estimate.estimate, "lower": estimate.lower,
        "upper": estimate.upper, "unit": estimate.unit, "n": estimate.n,
        "items": estimate.n_items, "p": estimate.p, "method": estimate.method,
    }  # fmt: skip
