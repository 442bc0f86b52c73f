"""Progress of a run whose output goes to a file or a log."""

import re

import pytest

from support.command_line import CommandLine, small_sweep
from support.figures import value_of


@pytest.mark.slow
def test_progress_is_logged_in_lines_without_a_terminal(
    command: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deployments.cli.output.PROGRESS_S", 0)
    file = command.folder / "lines.yaml"
    file.write_text(small_sweep("lines", "sim/calm-1"))
    ended = command("sweep", "run", file).fine()
    lines = re.findall(r"^sweep lines: w1-evidence .*w3-scoring.*$", ended.errors, re.MULTILINE)
    assert lines, ended.errors
    # A line is written when something has changed.
    assert len(set(lines)) == len(lines)
    assert "lines: w1" not in ended.output


@pytest.mark.slow
def test_the_first_answer_of_a_run_is_shown(command: CommandLine, database: str) -> None:
    file = command.folder / "first.yaml"
    file.write_text(small_sweep("first", "sim/calm-1"))
    told = command("sweep", "run", file, "--only", "w1-evidence").fine()
    assert "First answer" not in told.errors
    told = command("sweep", "run", file).fine()
    [line] = re.findall(r"^First answer: .*$", told.errors, re.MULTILINE)
    first = "FROM analysis.samples ORDER BY sample_id LIMIT 1"
    title = value_of(database, f"SELECT left(titles[1], 50) {first}")
    stage = value_of(database, f"SELECT 'stage ' || stages[1] || ', ' {first}")
    assert re.match(f"First answer: sim/calm-1 on .*, '{re.escape(title)}", line), line
    assert stage in line
