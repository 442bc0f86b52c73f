"""The gallery: a picture for every page that a command writes, and none besides."""

import re

import pytest

from gallery import INDEX, PICTURES, SERVED, WRITTEN
from support.command_line import REPOSITORY


def test_every_page_has_its_picture_in_the_gallery_and_on_disk():
    text = (REPOSITORY / "docs" / "gallery.md").read_text()
    shown = set(re.findall(r"pictures/gallery-([\w-]+)\.webp", text))
    assert shown == {*WRITTEN, *SERVED, INDEX}
    assert {file.stem.removeprefix("gallery-") for file in PICTURES.glob("gallery-*")} == shown


@pytest.mark.parametrize("name", [*WRITTEN, *SERVED, INDEX])
def test_a_picture_is_an_image_of_a_screen_that_loads_fast(name):
    content = (PICTURES / f"gallery-{name}.webp").read_bytes()
    assert (content[:4], content[8:12]) == (b"RIFF", b"WEBP")
    assert 5_000 < len(content) < 150_000
