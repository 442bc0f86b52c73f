"""The JSON Schemas of YAML files: they are current, and they agree with what reads the files."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from deployments.cli.schemas import KINDS, schema_of
from judge_gym.design.config import read_tree
from judge_gym.shipped import examples
from support.command_line import CommandLine

SCHEMAS = {kind: schema_of(kind) for kind in KINDS}
OF_PREFECT = "automations"
FILES = [(source, path) for source, path in examples()
         if path.suffix == ".yaml" and OF_PREFECT not in path.parts]  # fmt: skip


@pytest.fixture
def command(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, in_process=True)


LINE = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")


def named(file: Path) -> Path:
    found = LINE.match(file.read_text())
    assert found, f"{file} names no schema on its first line"
    return file.parent / found[1]


@pytest.mark.parametrize("file", [path for _, path in FILES], ids=str)
def test_every_example_names_a_schema_that_accepts_it(file: Path) -> None:
    source = next(source for source, path in FILES if path == file)
    schema = named(source)
    checks = Draft202012Validator(SCHEMAS[schema.stem])
    assert [f"{list(one.path)}: {one.message}" for one in checks.iter_errors(plain(source))] == []


def plain(file: Path) -> Any:
    return json.loads(json.dumps(read_tree(file).plain()))


def test_schemas_resolve_in_a_folder_of_examples(tmp_path: Path, command: CommandLine) -> None:
    command("data", "examples", tmp_path).fine()
    for _, path in FILES:
        assert named(tmp_path / path).is_file()


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_schema_is_the_one_of_the_models(kind: str, command: CommandLine) -> None:
    """`make schemas` writes them."""
    [file] = [source for source, path in examples() if path.name == f"{kind}.json"]
    Draft202012Validator.check_schema(SCHEMAS[kind])
    assert command("data", "schema", kind).fine().output == file.read_text()


BROKEN = {
    "a misspelt key": ("blocks", 0, "modell"),
    "a misspelt axis": ("blocks", 0, "scoring_methd"),
    "a field that is filled in": ("windows", "valmora", "name"),
}


@pytest.mark.parametrize("path", BROKEN.values(), ids=BROKEN)
def test_a_sweep_schema_refuses(path: tuple[Any, ...]) -> None:
    sweep = plain(next(source for source, file in FILES if file.name == "quick.yaml"))
    part = sweep
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = "x"
    assert not Draft202012Validator(SCHEMAS["sweep"]).is_valid(sweep)


def test_values_of_axes_are_completed_and_checked() -> None:
    block = SCHEMAS["sweep"]["$defs"]["Block"]["properties"]
    method = json.dumps(block["scoring_method"])
    assert all(f'"{value}"' in method for value in ("single", "subset", "structured_json"))
    assert not Draft202012Validator(SCHEMAS["sweep"]).is_valid({"name": "Upper Case"})


def test_an_unknown_kind_is_answered_with_the_closest(command: CommandLine) -> None:
    ended = command("data", "schema", "sweeps")
    assert ended.code == 2
    assert "sweep" in ended.errors
