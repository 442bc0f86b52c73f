"""Documents name commands, options, files and links that exist."""

import importlib
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from deployments.cli.app import app
from support.command_line import REPOSITORY
from support.documents import (
    anchors,
    links,
    shell_commands,
    shell_lines,
    snippets,
    spans,
    text_of,
    typed,
)

ROOT = typer.main.get_command(app)
DOCUMENTS = tuple(
    path.relative_to(REPOSITORY).as_posix()
    for path in (*sorted(REPOSITORY.glob("*.md")), *sorted(REPOSITORY.glob("docs/**/*.md")))
)
PATH = re.compile(
    r"(judge_gym|simulator|flows|tasks|deployments|docs|tests|sql|bench|notebooks)/[\w./-]*\w/?"
)
TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
MODULE = re.compile(r"judge_gym(\.\w+)+")


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every command that is not hidden."""
    if not hasattr(command, "commands"):
        yield path
        return
    for name, part in command.commands.items():
        if not part.hidden:
            yield from leaves(part, (*path, name))


COMMANDS = dict.fromkeys(leaves(ROOT))


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command or group that these words begin with, and the remaining words."""
    command, rest = ROOT, words
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"there is no judge-gym {shlex.join(words)}"
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def check(words: list[str]) -> None:
    """Fail unless the command and its options exist."""
    command, rest = command_of(words)
    options = {"--help"} | {
        name for option in command.params for name in (*option.opts, *option.secondary_opts)
    }
    for word in rest:
        if word.startswith("-"):
            assert word.partition("=")[0] in options, f"{shlex.join(words)} has no {word}"


def named(document: str) -> list[list[str]]:
    """Return commands in the running text: after the program's name, or by their own name."""
    commands = []
    for span in spans(document):
        words = span.split()
        if words[0] == "judge-gym" and len(words) > 1:
            commands += alternatives(words[1:])
        elif any(tuple(words[: len(path)]) == path for path in COMMANDS):
            commands.append(words)
    return commands


def alternatives(words: list[str]) -> list[list[str]]:
    """Return the commands that words such as `batches list|cancel` stand for."""
    for index, word in enumerate(words):
        if "|" in word:
            return [[*words[:index], name, *words[index + 1 :]] for name in word.split("|")]
    return [words]


def test_there_are_documents() -> None:
    assert {"README.md", "AGENTS.md", "CHANGELOG.md", "CONTRIBUTING.md"} < set(DOCUMENTS)
    assert len(DOCUMENTS) > 30


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_that_a_document_names_exists(document: str) -> None:
    for words in (*named(document), *shell_commands(document)):
        check([word for word in words if word != "COMMAND"])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_shell_blocks_are_shell(document: str) -> None:
    for snippet in snippets(document, "sh"):
        done = subprocess.run(["bash", "-n"], input=snippet.body, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), snippet.body


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_block_that_cannot_run_here_says_what_it_needs(document: str) -> None:
    """Its title does, which readers see; others have only programs that tests run or prepare."""
    for snippet in snippets(document, "sh"):
        assert not snippet.title or not snippet.is_run, f"{document}: {snippet.title}"
    if "tutorials" not in document:  # these run as scripts
        assert set(map(program_of, shell_lines(document, run=True))) <= RUN_OR_PREPARED
    for snippet in snippets(document, ""):
        for line in snippet.body.splitlines():
            assert line.split()[:1] not in MARKED_AS_SHELL, line


MARKED_AS_SHELL = [["judge-gym"], ["prefect"], ["pip"], ["docker"], ["export"], ["python"]]
RUN_OR_PREPARED = {"judge-gym", "make", "export", "cp", "python", "until", "openssl", ""}
"""`make` and `export` are checked by name, `cp` is prepared; the rest runs in tests/slow."""


def program_of(line: str) -> str:
    """Return the program of a line, without its folder; empty for a comment."""
    words = shlex.split(line, comments=True) if line.strip() else []
    words = [word for word in words if not word.partition("=")[0].isupper()]
    return words[0].rpartition("/")[2] if words else ""


def test_every_target_of_make_exists() -> None:
    targets = set(re.findall(r"^([a-z -]+):", text_of("Makefile"), re.MULTILINE))
    targets = {name for line in targets for name in line.split()}
    typed_targets = {
        words[1]
        for document in DOCUMENTS
        for words in (line.split() for line in shell_lines(document))
        if words[:1] == ["make"]
    }
    assert typed_targets <= targets
    assert "demo" in typed_targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_of_a_document_leads_somewhere(document: str) -> None:
    folder = (REPOSITORY / document).parent
    for target in links(document):
        path, _, anchor = target.partition("#")
        file = (folder / path).resolve() if path else REPOSITORY / document
        assert file.exists(), f"{document}: {target}"
        assert REPOSITORY in (file, *file.parents), f"{document}: {target} is outside the project"
        if anchor:
            assert anchor in anchors(file.relative_to(REPOSITORY).as_posix()), target


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_names_exists(document: str) -> None:
    paths = [span for span in spans(document) if PATH.fullmatch(span)]
    paths += [word for words in shell_commands(document) for word in words if PATH.fullmatch(word)]
    for path in paths:
        assert (REPOSITORY / path).exists(), f"{document}: {path}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_module_that_a_document_names_exists(document: str) -> None:
    for span in spans(document):
        if MODULE.fullmatch(span):
            assert _exists(span), f"{document}: {span}"


def _exists(name: str) -> bool:
    """Whether this is a module of judge_gym, or an attribute of one."""
    module, _, attribute = name.rpartition(".")
    if REPOSITORY.joinpath(*name.split(".")).with_suffix(".py").exists():
        return True
    if Path(REPOSITORY, *name.split("."), "__init__.py").exists():
        return True
    return hasattr(importlib.import_module(module), attribute)


def test_the_readme_fits_on_a_page() -> None:
    assert len(text_of("README.md").splitlines()) <= 150


def test_commands_in_the_readme_and_in_its_pages_are_found() -> None:
    assert len(shell_commands("README.md")) >= 10
    assert len(shell_commands("docs/how-to/calibrate.md")) >= 4


def test_the_table_of_commands_is_complete() -> None:
    table = [line for line in text_of("AGENTS.md").splitlines() if line.startswith("| `")]
    rows = [tuple(span.strip("`").split()) for line in table for span in _cell(line)]
    paths = {row[1:] if row[0] == "judge-gym" else row for row in rows}
    assert paths == set(COMMANDS)


def _cell(line: str) -> list[str]:
    return line.split("|")[1].strip().split(", ")


def test_recipes_for_agents_are_whole_commands() -> None:
    recipes = typed("AGENTS.md")
    assert len(recipes) > 10
    for words in recipes:
        check(words)
        assert not hasattr(command_of(words)[0], "commands"), words


def test_the_contributor_guide_names_every_room_of_the_library() -> None:
    _, _, table = text_of("CONTRIBUTING.md").partition("| room | content |")
    rows = [line.split("|")[1] for line in table.split("\n\n")[0].splitlines()[2:]]
    named_rooms = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    rooms = {path.parent.name for path in REPOSITORY.glob("judge_gym/*/__init__.py")}
    assert named_rooms >= rooms
    assert named_rooms <= rooms | {path.stem for path in REPOSITORY.glob("judge_gym/*.py")}


@pytest.mark.parametrize("document", [one for one in DOCUMENTS if TEST.search(text_of(one))])
def test_a_test_that_a_document_names_is_there(document: str) -> None:
    for file, name in TEST.findall(text_of(document)):
        code = (REPOSITORY / file).read_text()
        assert re.search(rf"^(async )?def {name}\(", code, re.MULTILINE), f"{file} has no {name}"
