"""Progress of a run whose output goes to a file or a log."""

import re

import pytest

from support.command_line import CommandLine, small_sweep


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
