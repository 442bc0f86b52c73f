"""The page of claims about judges: its table and its picture, written by `make atlas-page`.

A part of the page between `<!-- atlas: STUDY -->` and `<!-- end of atlas -->` is made from the
data of a study. tests/unit/test_atlas.py compares the page with what the data gives.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from deployments.cli.atlas import BESIDE, shipped_studies, shown_studies
from judge_gym.report.atlas import StudyShown, opening, save_picture, whole_table
from judge_gym.report.table import markdown_table

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "atlas.md"
PICTURE = REPOSITORY / "docs" / "pictures" / "atlas.svg"
OPENING = "opening"
_PART = re.compile(
    r"^<!-- atlas: ([\w-]+) -->\n(.*?)^<!-- end of atlas -->$", re.MULTILINE | re.DOTALL
)


def parts_of(page: str) -> dict[str, str]:
    """Return the text of each made part of a page, by its name."""
    return {match[1]: match[2].strip() for match in _PART.finditer(page)}


def made_parts(studies: Mapping[str, StudyShown]) -> dict[str, str]:
    """Return the parts that these studies make, by the names of their folders."""
    parts = {name: markdown_of(study) for name, study in studies.items()}
    return {OPENING: opening([*studies.values()]), **parts}


def markdown_of(study: StudyShown) -> str:
    """Return a study's heading, licence and table."""
    given = study.claims
    about = f"{given.about}. Licence of the data: {given.licence}."
    table = markdown_table(whole_table([study], links=False))
    return f"## {given.study}\n\n{about}\n\n{table}"


def written(page: str, parts: Mapping[str, str]) -> str:
    """Return a page with these parts in place of its own; others stay."""

    def made(part: re.Match[str]) -> str:
        text = parts.get(part[1], part[2].strip())
        return f"<!-- atlas: {part[1]} -->\n\n{text}\n\n<!-- end of atlas -->"

    return _PART.sub(made, page)


def main(typed: Sequence[str]) -> None:
    """Write the page and the picture; all data must be there, also what is not shipped."""
    beside = Path(typed[0]) if typed else BESIDE
    folders = shipped_studies()
    studies = dict(
        zip([folder.name for folder in folders], shown_studies(folders, beside), strict=True)
    )
    if missing := [name for name, one in studies.items() if not any(f.values for f in one.found)]:
        sys.exit(f"No data of {', '.join(missing)} in {beside}: the page has every study.")
    PAGE.write_text(written(PAGE.read_text("utf-8"), made_parts(studies)), "utf-8")
    save_picture([*studies.values()], PICTURE)


if __name__ == "__main__":
    main(sys.argv[1:])
