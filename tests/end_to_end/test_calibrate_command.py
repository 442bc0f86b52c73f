"""`judge-gym calibrate`, from the file to the page, on a simulated judge."""

import json
from pathlib import Path

from support.command_line import CommandLine

EXAMPLES = Path(__file__).parents[2] / "deployments" / "calibrations"
FILE = """
name: small
judges: [good.yaml]
items: items.jsonl
repeats: 1
perturbations: [vague_ify, injection_line]
severities: [1.0]
"""


def test_a_calibration_is_planned_and_run(command: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text((EXAMPLES / "good.yaml").read_text())
    lines = (EXAMPLES / "notes.jsonl").read_text().splitlines()[:4]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    file = tmp_path / "small.yaml"
    file.write_text(FILE)

    planned = " ".join(command("calibrate", str(file), "--plan").fine().output.split())
    changeable = sum(any(c.isdigit() for c in json.loads(line)["text"]) for line in lines)
    assert f"{4 + changeable + 4} texts, 1 times each" in planned

    ended = command("calibrate", str(file)).fine()
    said = " ".join(ended.output.split())
    assert "good, sim/good-1 (SIMULATED)" in said
    assert "SIMULATED: these figures show judge-gym at work" in said
    page = command.data / "reports" / "calibration-small.html"
    assert str(page) in ended.output.replace("\n", "")
    assert "SIMULATED" in page.read_text()
    assert "SIMULATED" in (page.parent / "LOGBOOK.md").read_text()


def test_a_file_that_does_not_fit_is_named_before_anything_starts(
    command: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(FILE.replace("vague_ify", "vagueify"))
    ended = command("calibrate", str(file))
    assert ended.code == 1
    assert "Did you mean vague_ify?" in " ".join(ended.errors.split())


def test_a_judge_that_clusters_may_not_replace_one_that_does_not(
    command: CommandLine, tmp_path: Path
) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text((EXAMPLES / "notes.jsonl").read_text())
    files = (EXAMPLES / "good.yaml", EXAMPLES / "clustering.yaml")
    ended = command("judge", "compare", *files, "--items", items, "--shown", "2").fine()
    said = " ".join(ended.output.split())
    assert "clustering, sim/clustering-1, in place of good, sim/good-1" in said
    assert "The new judge may not replace the old one under these margins." in said
    assert "SIMULATED: these figures" in said
    refused = command("judge", "compare", files[0], files[0], "--items", items)
    assert refused.code == 1
    assert "are the same judge" in " ".join(refused.errors.split())
