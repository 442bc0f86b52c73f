"""What the project's documents name: commands, files and links."""

import re
import shlex
from collections.abc import Iterator

from support.command_line import REPOSITORY

_FENCE = re.compile(r"```(\w*)[^\n]*\n(.*?)```", re.DOTALL)
_STEP = re.compile(r'```(?:sh|\w+ title="([^",]+)(, at its end)?")\n(.*?)```', re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_PROGRAM = re.compile(r"(?:^|\s)(?:\.venv/bin/)?judge-gym ")


def text_of(document: str) -> str:
    return (REPOSITORY / document).read_text()


def blocks(document: str, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return [body for kind, body in _FENCE.findall(text_of(document)) if kind == language]


def script(document: str) -> str:
    """A tutorial as a script: its files are written and its commands run, in order."""
    steps = []
    for name, at_its_end, body in _STEP.findall(text_of(document)):
        into = ">>" if at_its_end else ">"
        steps.append(f"cat {into} {name} <<'END'\n{body}END\n" if name else body)
    return "".join(steps)


def typed(document: str) -> list[list[str]]:
    """The arguments of each judge-gym command in a document's shell blocks, in order."""
    lines = [line for block in blocks(document, "sh") for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    assert all(one[0] == "judge-gym" for one in words if one), "another program is to be run"
    return [one[1:] for one in words if one]


def shell_commands(document: str) -> list[list[str]]:
    """The arguments of every judge-gym command in shell blocks, also between other programs."""
    lines = [
        line for block in blocks(document, "sh") for line in block.replace("\\\n", " ").splitlines()
    ]
    ends = [line[match.end() :] for line in lines if (match := _PROGRAM.search(line))]
    return [shlex.split(re.split(r"[;&|]", end)[0], comments=True) for end in ends]


def spans(document: str) -> Iterator[str]:
    """Every piece of code in the running text, on one line."""
    for span in re.findall(r"`([^`]+)`", _FENCE.sub("", text_of(document))):
        yield " ".join(span.replace("\\|", "|").split())


def links(document: str) -> list[str]:
    """The targets of links within the project."""
    targets = _LINK.findall(_FENCE.sub("", text_of(document)))
    return [target for target in targets if "://" not in target]


def anchors(document: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = _HEADING.findall(_FENCE.sub("", text_of(document)))
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}
