"""Commands that the documents name are there, with the options they name."""

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from deployments.cli.app import app
from support.documents import spans, text_of, typed

ROOT = typer.main.get_command(app)
DOCUMENTS = ("AGENTS.md", "README.md", "docs/operating.md")


def known(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command by its path; what is hidden is another spelling of one that is not."""
    if not hasattr(command, "commands"):
        yield path
        return
    for name, part in command.commands.items():
        if not part.hidden:
            yield from known(part, (*path, name))


COMMANDS = dict.fromkeys(known(ROOT))


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that these words begin with, and the other words; fails when there is none."""
    command, rest = ROOT, words
    while hasattr(command, "commands"):
        assert rest, f"judge-gym {shlex.join(words)} is not a whole command"
        assert rest[0] in command.commands, f"there is no judge-gym {shlex.join(words)}"
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def check(words: list[str]) -> None:
    command, rest = command_of(words)
    options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    for word in rest:
        if word.startswith("-"):
            assert word.partition("=")[0] in options, f"{shlex.join(words)} has no {word}"


def named(document: str) -> list[list[str]]:
    """Commands in the running text: after the program's name, or by their own name alone."""
    found = []
    for span in spans(document):
        words = span.split()
        if words[0] == "judge-gym" and len(words) > 1:
            found += alternatives(words[1:])
        elif any(tuple(words[: len(path)]) == path for path in COMMANDS):
            found.append(words)
    return found


def alternatives(words: list[str]) -> list[list[str]]:
    """The commands that words such as `batches list|cancel` stand for."""
    for place, word in enumerate(words):
        if "|" in word:
            return [[*words[:place], one, *words[place + 1 :]] for one in word.split("|")]
    return [words]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_that_a_document_names_exists(document: str) -> None:
    written = [*named(document), *(typed(document) if document == "AGENTS.md" else [])]
    assert len(written) > 3
    for words in written:
        check(words)


def test_the_table_for_agents_has_every_command() -> None:
    table = [line for line in text_of("AGENTS.md").splitlines() if line.startswith("| `")]
    told = {tuple(span.strip("`").split()) for line in table for span in _cell(line)}
    assert told == set(COMMANDS)


def _cell(line: str) -> list[str]:
    return line.split("|")[1].strip().split(", ")
