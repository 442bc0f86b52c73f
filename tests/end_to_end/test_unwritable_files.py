"""Commands refuse a file that cannot be written before they read, judge or start anything."""

from xml.etree import ElementTree

import pytest

from support.command_line import REPOSITORY, CommandLine
from support.simulation import Simulator

DEPLOYMENTS = REPOSITORY / "deployments"
GOOD = DEPLOYMENTS / "calibrations" / "good.yaml"
NOTES = DEPLOYMENTS / "calibrations" / "notes.jsonl"
PANELS = DEPLOYMENTS / "panels"


@pytest.mark.parametrize(
    ("option", "file", "typed"),
    [
        ("--export", "x.csv", ("judge", "score", GOOD, "--items", NOTES)),
        ("--export", "x.csv", ("judge", "agreement", GOOD, "--items", NOTES)),
        ("--next", "x.csv", ("judge", "estimate", GOOD, "--items", NOTES)),
        ("--picture", "x.svg", ("audit", NOTES)),
        ("--picture", "x.svg", ("analyse", "atlas")),
        ("--page", "x.html", ("database", "status")),
    ],
    ids=lambda value: " ".join(map(str, value[:2])) if isinstance(value, tuple) else "",
)
def test_it_is_a_usage_error_of_option_path_and_reason(
    command: CommandLine, option: str, file: str, typed: tuple[str, ...]
) -> None:
    ended = command(*typed, option, f"/proc/{file}")
    assert ended.code == 2, ended.errors
    assert f"{option} is /proc/{file}: it cannot be written" in " ".join(ended.errors.split())
    assert not (command.data / "postgres").exists()


@pytest.mark.parametrize(
    "typed",
    [
        ("judge", "gate", GOOD),
        ("judge", "score", GOOD, "--items", NOTES),
        ("judge", "calibrate", DEPLOYMENTS / "calibrations" / "notes.yaml"),
        ("panel", "evaluate", PANELS / "two-families.yaml", "--corpus", PANELS / "labelled.jsonl"),
    ],
    ids=lambda typed: " ".join(typed[:2]),
)
def test_reports_that_cannot_be_written_cost_nothing(
    command: CommandLine, simulator: Simulator, typed: tuple[str, ...]
) -> None:
    command.data.mkdir(exist_ok=True)
    (command.data / "reports").write_text("a file")
    before = simulator.answered()
    ended = command(*typed)
    assert ended.code == 2, ended.output + ended.errors
    assert f"{command.data / 'reports'}: it cannot be written to" in " ".join(ended.errors.split())
    assert "stored" not in ended.errors
    assert simulator.answered() == before


def test_a_gate_in_such_a_place_is_stopped_in_its_files(command: CommandLine) -> None:
    junit = command.folder / "gate.xml"
    place = {"JUDGE_GYM_DATA_DIR": "/proc/none"}
    ended = command("judge", "gate", GOOD, "--junit", junit, **place)
    assert ended.code == 2, ended.errors
    [error] = ElementTree.parse(junit).getroot().iter("error")
    assert "/proc/none/reports: it cannot be written to" in str(error.get("message"))
