"""The reference pages in the repository are what the code makes of them."""

import re

import pytest

from docs.references import REPOSITORY, pages, written

PAGES = [path.relative_to(REPOSITORY).as_posix() for path in pages()]


def test_every_reference_that_is_made_is_on_a_page() -> None:
    assert {"docs/reference/axes.md", "docs/reference/commands.md"} < set(PAGES)
    assert len(PAGES) >= 12


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_as_the_code_makes_it(page: str) -> None:
    stored = (REPOSITORY / page).read_text(encoding="utf-8")
    assert stored == written(stored), f"{page} is stale: run make references"


def test_a_stale_part_is_found_and_the_rest_of_a_page_is_left() -> None:
    page = (REPOSITORY / "docs/reference/axes.md").read_text(encoding="utf-8")
    stale = re.sub(r"\n[^\n]+\n\n<!-- end", "\n\n<!-- end", page)  # its last row
    assert stale != page
    assert written(stale) == page
    assert written("Nothing is made here.\n") == "Nothing is made here.\n"


def test_no_page_names_a_place_of_this_machine() -> None:
    for page in PAGES:
        assert str(REPOSITORY) not in (REPOSITORY / page).read_text(encoding="utf-8"), page
