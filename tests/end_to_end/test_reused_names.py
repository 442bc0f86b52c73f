"""A file with the name of a stored sweep and other experiments: what leaves is shown before."""

import logging

import pytest
import sqlalchemy as sa

from support.command_line import REPOSITORY, CommandLine, small_sweep

OTHER = ("concept: democratic backsliding", "concept: fascism")
LEAVES = "Sweep one exists with other experiments: 1 experiment with"
MAPPING = f"""\
name: mine
concept: better answer
country: general
source: made up
rubric: {REPOSITORY}/deployments/recorded/pairwise.yaml
judge_column: judge
item: {{key: item}}
verdicts: [{{column: verdict}}]
decisions: {{A: 1, B: 3}}
"""


def experiments_of(command: CommandLine, sweep: str) -> list[str]:
    engine = sa.create_engine(command.environment["JUDGE_GYM_DATABASE_URL"])
    with engine.connect() as connection:
        query = "SELECT experiment FROM analysis.sweeps WHERE sweep = :sweep"
        return list(connection.scalars(sa.text(query), {"sweep": sweep}))


@pytest.mark.slow
def test_a_run_that_takes_calls_out_of_a_sweep_needs_a_confirmation(
    command: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    file = command.folder / "one.yaml"
    file.write_text(small_sweep("one", "sim/calm-1"))
    command("sweep", "run", file).fine()
    before = experiments_of(command, "one")
    assert LEAVES not in command("sweep", "plan", file).fine().output

    file.write_text(small_sweep("one", "sim/calm-1", OTHER))
    plan = command("sweep", "plan", file).fine().output
    assert LEAVES in plan
    assert "4 judgements leave" in " ".join(plan.split())
    for verb in ("run", "create"):
        refused = command("sweep", verb, file)
        assert refused.code == 2
        assert LEAVES in refused.output
        assert "--yes" in refused.errors
        assert experiments_of(command, "one") == before

    report = command.data / "reports" / "report-one.html"
    page = report.read_text()
    created = command("sweep", "create", file, "--yes").fine().output
    assert experiments_of(command, "one") != before
    (kept,) = report.parent.glob("report-one-until-*.html")
    assert str(kept) in created
    assert kept.read_text() == page
    assert not report.exists()
    # Nothing was judged in the new experiments, so nothing is lost with them.
    file.write_text(small_sweep("one", "sim/calm-1"))
    assert LEAVES in command("sweep", "create", file).fine().output
    assert experiments_of(command, "one") == before
    # A run says once what leaves: it does not log what it has printed.
    file.write_text(small_sweep("one", "sim/calm-1", OTHER))
    logging.getLogger("judge_gym").addHandler(caplog.handler)
    assert command("sweep", "run", file, "--yes").fine().output.count(LEAVES) == 1
    logging.getLogger("judge_gym").removeHandler(caplog.handler)
    assert not any(LEAVES in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("yes", [False, True])
def test_an_import_of_other_judgements_needs_a_confirmation(
    command: CommandLine, yes: bool
) -> None:
    rows, mapping = command.folder / "rows.csv", command.folder / "mapping.yaml"
    mapping.write_text(MAPPING)
    rows.write_text("item,judge,verdict\np1,x,A\np2,x,B\n")
    words = ("data", "import-verdicts", rows, "--mapping", mapping)
    command(*words).fine()
    before = experiments_of(command, "mine")
    command(*words).fine()  # the same file again
    rows.write_text("item,judge,verdict\np1,x,A\np2,x,A\n")
    ended = command(*words, *(["--yes"] if yes else []))
    assert "2 judgements leave" in " ".join(ended.output.split())
    assert ended.code == (0 if yes else 2)
    assert (experiments_of(command, "mine") == before) is not yes
