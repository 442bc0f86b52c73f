"""`judge-gym judge align`: the shipped example, its exit codes, and what it leaves behind."""

import json
import re
import shutil
from pathlib import Path

import pytest

from judge_gym.judges import Judge
from support.command_line import REPOSITORY, CommandLine
from support.simulation import Simulator

pytestmark = pytest.mark.slow

PAGE = REPOSITORY / "docs" / "how-to" / "align.md"
EXAMPLE = REPOSITORY / "deployments" / "alignments"


@pytest.fixture
def folder(command: CommandLine) -> Path:
    shutil.copytree(EXAMPLE, command.folder / "alignments")
    return command.folder / "alignments"


def test_an_alignment_is_planned_run_and_repeated_for_nothing(
    command: CommandLine, folder: Path, simulator: Simulator
) -> None:
    file = folder / "tickets.yaml"
    asked = simulator.answered()
    planned = command("judge", "align", file, "--plan").fine().output
    assert simulator.answered() == asked
    assert "rubric 4" in planned
    first = command("judge", "align", file).fine()
    assert len(first.output.splitlines()) <= 40
    shown = PAGE.read_text().partition("```text\n")[2].partition("```")[0]
    for part in shown.split("\n\n"):
        assert " ".join(part.split()) in " ".join(first.output.split())
    asked = simulator.answered()
    assert command("judge", "align", file).fine().output == first.output
    [told] = [json.loads(command("judge", "align", file, "--json").fine().output)]
    assert simulator.answered() == asked
    assert (told["result"], told["look"]["looks"]) == ("passes", 1)
    assert told["test"]["gain"]["lower"] > 0
    again = command("judge", "align", file, "--plan").fine().output
    assert re.search(r"^all +\d+ +0 +0 ", again, re.MULTILINE)
    judge = Judge.from_file(told["written"])
    assert judge.provenance is not None
    assert judge.provenance.simulated
    other = folder / "other.yaml"
    command("judge", "align", file, "--out", other).fine()
    assert Judge.from_file(other).provenance == judge.provenance
    other.write_text((folder / "judge.yaml").read_text())
    assert command("judge", "align", file, "--out", other).code == 2
    command("judge", "align", file, "--out", other, "--replace").fine()
    assert Judge.from_file(other).key == judge.key
    page = Path(told["page"]).read_text()
    assert page.index("The gain survives") < page.index('<h2 id="split">')
    assert "SIMULATED DATA" in page


def test_what_is_not_shown_exits_with_5_and_writes_nothing(
    command: CommandLine, folder: Path
) -> None:
    file = folder / "tickets.yaml"
    # At temperature 0, examples change nothing for the simulated judge.
    file.write_text(
        file.read_text()
        .replace("examples: 4, rubrics: 8", "examples: 4, rubrics: 0")
        .replace("proposer: {model: sim/good-2}\n", "")
    )
    ended = command("judge", "align", file)
    assert ended.code == 3
    assert "The test set stays sealed." in ended.output
    assert not (folder / "judge-aligned.yaml").exists()
    lines = (folder / "tickets-labels.csv").read_text().splitlines()
    (folder / "tickets-labels.csv").write_text("\n".join(lines[:25]))
    ended = command("judge", "align", file)
    assert ended.code == 3
    assert "Too few labels" in ended.output


def test_bad_files_name_file_key_and_value(command: CommandLine, folder: Path) -> None:
    file = folder / "tickets.yaml"
    text = file.read_text()
    for old, new, told in (
        ("rubrics: 8", "rubric: 4", "rubric"),
        ("judge: judge.yaml", "judge: jugde.yaml", "which does not exist"),
        ("test: 0.4", "test: 0.8", "leave nothing for training"),
        ("proposer: {model: sim/good-2}\n", "", "there is no proposer"),
        ("sim/good-2", "sim/god-2", "sim/good-2"),
    ):
        file.write_text(text.replace(old, new))
        ended = command("judge", "align", file)
        assert ended.code == 2, new
        assert "tickets.yaml" in ended.errors
        assert told in ended.errors.replace("\n", " ")
    (folder / "judge-aligned.yaml").write_text((folder / "judge.yaml").read_text())
    file.write_text(text)
    ended = command("judge", "align", file)
    assert ended.code == 2
    assert "--replace" in ended.errors
