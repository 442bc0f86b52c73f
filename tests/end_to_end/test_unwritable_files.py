"""Commands refuse a file that cannot be written before they read, judge or start anything."""

import pytest

from support.command_line import REPOSITORY, CommandLine

DEPLOYMENTS = REPOSITORY / "deployments"
GOOD = DEPLOYMENTS / "calibrations" / "good.yaml"
NOTES = DEPLOYMENTS / "calibrations" / "notes.jsonl"


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
