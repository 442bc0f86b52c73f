"""What the project's documents name: commands, files and links."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from support.command_line import REPOSITORY

_FENCE = re.compile(r"```(\w*)([^\n]*)\n(.*?)```", re.DOTALL)
_TITLE = re.compile(r' title="([^"]+)"')
_STEP = re.compile(r'```(?:sh|\w+ title="([^",]+)(, at its end)?")\n(.*?)```', re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_PROGRAM = re.compile(r"(?:^|\s)(?:\.venv/bin/)?judge-gym ")


def text_of(document: str) -> str:
    return (REPOSITORY / document).read_text()


@dataclass(frozen=True)
class Snippet:
    """A fenced block. Its title names a file (`judge.yaml`, or `judge.yaml, in part`), or what
    commands need that tests do not have (`needs Docker`); readers of the site see it."""

    language: str
    title: str
    body: str

    @property
    def file(self) -> str:
        """The file that the block is, or is a part of."""
        return self.title.partition(",")[0]

    @property
    def in_part(self) -> bool:
        return self.title.endswith(", in part")

    @property
    def is_run(self) -> bool:
        """Whether its commands can run here."""
        return not self.title.startswith("needs ")


def snippets(document: str, *languages: str) -> list[Snippet]:
    """The fenced blocks of some languages, in order."""
    found = []
    for language, information, body in _FENCE.findall(text_of(document)):
        title = _TITLE.fullmatch(information)
        assert title or not information, f"{document}: {information!r} is no title"
        if language in languages:
            found.append(Snippet(language, title[1] if title else "", body))
    return found


def blocks(document: str, language: str) -> list[str]:
    """The texts of the fenced blocks of a language, in order."""
    return [snippet.body for snippet in snippets(document, language)]


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


def shell_lines(document: str, *, run: bool | None = None) -> list[str]:
    """The lines of shell blocks, continued ones as one; with `run` those that can, or cannot."""
    return [
        line
        for snippet in snippets(document, "sh")
        if run is None or snippet.is_run is run
        for line in snippet.body.replace("\\\n", " ").splitlines()
    ]


def shell_commands(document: str, *, run: bool | None = None) -> list[list[str]]:
    """The arguments of every judge-gym command in shell blocks, also between other programs."""
    lines = shell_lines(document, run=run)
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
