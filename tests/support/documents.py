"""What the project's documents tell people to type."""

import re
import shlex
from collections.abc import Iterator

from support.command_line import REPOSITORY

_FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def text_of(document: str) -> str:
    return (REPOSITORY / document).read_text()


def blocks(document: str, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return [body for kind, body in _FENCE.findall(text_of(document)) if kind == language]


def typed(document: str) -> list[list[str]]:
    """The arguments of each judge-gym command in a document's shell blocks, in order."""
    lines = [line for block in blocks(document, "sh") for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    assert all(one[0] == "judge-gym" for one in words if one), "another program is to be run"
    return [one[1:] for one in words if one]


def spans(document: str) -> Iterator[str]:
    """Every piece of code in the running text, on one line."""
    for span in re.findall(r"`([^`]+)`", _FENCE.sub("", text_of(document))):
        yield " ".join(span.replace("\\|", "|").split())
