"""judge-gym installed from a wheel and from an sdist: a clean environment, an empty folder.

Both are built from a copy of the checkout, and installed with the versions of the lock file. What
runs has no checkout: its folder starts empty, and its Python has no path to this one.
"""

import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployments.cli.output import BAD_INPUT
from judge_gym.store import embedded
from support import wheels
from support.command_line import SWEEPS, CommandLine
from support.installation import Installation

pytestmark = pytest.mark.slow
TOP_LEVEL = {"judge_gym", "flows", "tasks", "deployments"}
VERSIONS = ("3.11", "3.12", "3.13")
OWN = """
name: mine
windows:
  valmora:
    query: government and courts in Valmora
    country: Valmora
    start: 2026-01-05
    end: 2026-01-18
    max_documents: 2
    source: {kind: corpus, path: articles.jsonl}
blocks:
  - concept: democratic backsliding
    window: valmora
    model: sim/calm-1
    rubric: {provided: rubric.yaml}
    evidence_view: raw
    replicates: 2
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the sdist, and of the wheel that was built from it."""
    copy = wheels.copied(tmp_path_factory.mktemp("copy"))
    return wheels.built(copy, tmp_path_factory.mktemp("built"))


def python(version: str) -> Path | None:
    """The interpreter of a version on this machine, if it starts."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    found = [shutil.which(f"python{version}"), *pyenv]
    for candidate in filter(None, found):
        command = [candidate, "-c", "import venv, ensurepip"]
        if subprocess.run(command, capture_output=True).returncode == 0:
            return Path(candidate)
    return None


FOUND = {version: path for version in VERSIONS if (path := python(version))}


def installed(distribution: Path, version: str, folder: Path) -> CommandLine:
    """A command line in an empty folder, with judge-gym in an environment of its own."""
    programs = wheels.environment(distribution, FOUND[version], folder / "environment")
    empty = folder / "empty"
    empty.mkdir()
    return CommandLine(empty, program=programs / "judge-gym")


def with_own_sweep(command: CommandLine) -> CommandLine:
    """The same folder with a sweep, its articles and its rubric."""
    (command.folder / "mine.yaml").write_text(OWN)
    shutil.copy(SWEEPS / "corpora" / "valmora.jsonl", command.folder / "articles.jsonl")
    shutil.copy(SWEEPS / "rubrics" / "backsliding.yaml", command.folder / "rubric.yaml")
    return command


@pytest.fixture(scope="module")
def wheel(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """The wheel under the newest Python of this machine."""
    [file] = built.glob("*.whl")
    command = installed(file, max(FOUND), tmp_path_factory.mktemp("wheel"))
    yield command
    embedded.remove(command.data / "postgres")


def test_a_wheel_has_every_file_of_its_packages_and_no_other_name(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in names} == TOP_LEVEL
    tracked = [Path(name) for name in wheels.tracked()]
    expected = {path.as_posix() for path in tracked if path.parts[0] in TOP_LEVEL}
    expected -= {"judge_gym/sql", "deployments/notebooks", "deployments/prefect.yaml"}
    expected |= {f"judge_gym/{path}" for path in tracked if path.parts[0] == "sql"}
    expected |= {f"deployments/{path}" for path in tracked if path.parts[0] == "notebooks"}
    assert names == expected | {"deployments/prefect.yaml"}


def test_the_demo_of_a_wheel(wheel: CommandLine) -> None:
    wheel("demo").fine()
    assert (wheel.data / "reports" / "report-demo.html").stat().st_size > 100_000
    assert [path.name for path in wheel.folder.iterdir()] == ["data"]


def test_a_command_whose_extra_is_missing_names_it(wheel: CommandLine) -> None:
    for arguments in (("mcp",), ("panel", "serve")):
        ended = wheel(*arguments)
        assert ended.code == BAD_INPUT
        assert "pip install 'judge-gym[serve]'" in ended.errors


def test_up_refuses_a_folder_whose_modules_would_replace_its_own(wheel: CommandLine) -> None:
    module = wheel.folder / "tasks.py"
    module.write_text("")
    ended = wheel("up")
    module.unlink()
    assert ended.code == 1
    assert str(module) in ended.errors


def test_up_runs_an_own_sweep_and_shipped_examples(wheel: CommandLine) -> None:
    up = Installation(with_own_sweep(wheel))
    try:
        up.start()
        before = up.judgements()
        own = up.run("sweep/default", file="mine.yaml")
        panel = up.run("panel/demo")
        up.reaches(own, "COMPLETED", 240)
        up.reaches(panel, "COMPLETED", 240)
        # 2 articles, 2 replicates.
        assert up.judgements() - before == 4
    finally:
        up.remove()


def test_an_own_sweep_from_an_sdist(built: Path, tmp_path: Path) -> None:
    [file] = built.glob("*.tar.gz")
    command = with_own_sweep(installed(file, min(FOUND), tmp_path))
    try:
        command("sweep", "run", "mine.yaml").fine()
        assert (command.data / "reports" / "report-mine.html").exists()
    finally:
        embedded.remove(command.data / "postgres")


@pytest.mark.parametrize("version", sorted(FOUND)[1:-1])
def test_examples_are_planned_on_other_pythons(built: Path, tmp_path: Path, version: str) -> None:
    [file] = built.glob("*.whl")
    command = installed(file, version, tmp_path)
    try:
        command("data", "examples", ".").fine()
        command("sweep", "plan", "deployments/sweeps/quick.yaml").fine()
    finally:
        embedded.remove(command.data / "postgres")
