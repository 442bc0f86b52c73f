"""Text of others in Markdown, which Prefect's page and files of ours are written in."""

import re

_READ_AS_MARKUP = re.compile(r"([\\`*_\[\]<>&~|#$!])")
_BEGINS_A_LIST = re.compile(r"^(\d*)([-+=.)])")


def escaped(text: str) -> str:
    """Return text of others as Markdown that shows it as it is, in one line and without markup."""
    return _BEGINS_A_LIST.sub(r"\1\\\2", escaped_inside(text))


def escaped_inside(text: str) -> str:
    """Return the same for a place where no line begins, such as a cell of a table."""
    return _READ_AS_MARKUP.sub(r"\\\1", " ".join(text.split()))
