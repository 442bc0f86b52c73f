"""What a person reads when hardly an answer could be read: exit code, first line, remedy."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from support.command_line import CommandLine, sweep_text

RECORDED = Path(__file__).parents[2] / "deployments" / "recorded"
MAPPING = f"""\
name: ratings
concept: better answer
country: general
source: made up
rubric: {RECORDED}/pairwise.yaml
judge_column: judge
item: {{key: pair}}
verdicts: [{{column: said}}]
decisions: {{A: 1, tie: 2, B: 3}}
"""
UNPROBED = """
DELETE FROM probes USING samples AS s, arms AS a, experiments AS x
WHERE s.id = probes.sample_id AND a.id = s.arm_id AND x.id = a.experiment_id
AND x.model = 'sim/low-1'
"""
UNREADABLE = """
UPDATE samples SET status = 'unparseable', failure = 'no_verdict: none', stages = NULL,
verdict_text = NULL, span_start = NULL, span_end = NULL
FROM arms AS a JOIN experiments AS x ON x.id = a.experiment_id
WHERE a.id = samples.arm_id AND x.model = 'sim/low-1'
"""
CALIBRATION = """
name: away
judges: [judge.yaml]
items: items.jsonl
repeats: 1
perturbations: [tone]
severities: [1.0]
"""


@pytest.mark.slow
def test_a_judge_that_always_fails_ends_a_calibration_with_its_name_verdict_and_page(
    command: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "judge.yaml").write_text("kind: http\nname: away\nurl: http://127.0.0.1:9/judge\n")
    texts = (f'{{"id": "{n}", "text": "There were {n} ships. It rained."}}' for n in range(4))
    (tmp_path / "items.jsonl").write_text("\n".join(texts))
    (tmp_path / "away.yaml").write_text(CALIBRATION)
    ended = command("judge", "calibrate", tmp_path / "away.yaml")
    assert ended.code == 1
    first, remedy = ended.errors.strip().splitlines()[-2:]
    assert first.startswith("Error: Fewer than half the answers are readable. away (http")
    assert "answers readable (" in first
    assert remedy.startswith("Mend the function or the endpoint")
    assert "--retry-failed" in remedy
    said = " ".join(ended.output.split())
    assert "do not use" in said
    assert "Do not use away: " in said
    assert "0 of 8 answers readable" in said
    page = command.data / "reports" / "calibration-away.html"
    assert str(page) in ended.output.replace("\n", "")
    assert "Do not use away" in page.read_text()


@pytest.mark.slow
def test_the_report_comes_though_one_judge_of_three_is_unreadable_at_every_rerun(
    command: CommandLine, database: str
) -> None:
    file = command.folder / "quick.yaml"
    file.write_text(sweep_text("quick.yaml"))
    command("sweep", "run", file).fine()
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text(UNPROBED))
        connection.execute(sa.text(UNREADABLE))
    report = command.data / "reports" / "report-quick.html"
    for attempt in range(2):
        if attempt:
            (command.folder / "quick.frozen.json").write_text("{}")
        report.unlink()
        ended = command("sweep", "run", file)
        assert ended.code == 1
        assert report.exists()
        assert "sim/low-1" in report.read_text()
        assert str(report) in ended.output.replace("\n", "")
        said = " ".join(ended.errors.split())
        assert "Fewer than half the answers are readable. sim/low-1: " in said
        assert "The report of the rest is written." in said
        # A frozen file is not to be edited.
        assert ("copy the file under another name" in said) == bool(attempt)


def test_an_import_that_can_hardly_be_read_needs_an_option(
    command: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    (tmp_path / "said.csv").write_text("pair,judge,said\np1,x,A\np2,x,\np3,x,\n")
    asked = (
        "data",
        "import-verdicts",
        tmp_path / "said.csv",
        "--mapping",
        tmp_path / "mapping.yaml",
    )
    refused = command(*asked)
    assert refused.code == 1
    assert refused.errors.startswith("Error: Nothing was imported from ")
    assert "x: 1 of 3 answers readable (2 empty: " in refused.errors
    assert "--allow-unreadable" in refused.errors
    allowed = command(*asked, "--allow-unreadable").fine()
    assert "1 scored, 2 unparseable" in allowed.output
