"""Pages and files of a report: how they are rendered, and put in place at once."""

import os
import tempfile
from pathlib import Path

import jinja2

from judge_gym.errors import JudgeGymError

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
