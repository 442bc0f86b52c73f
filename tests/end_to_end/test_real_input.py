"""Real text and the way to real models; the simulator answers in place of the provider."""

import csv
import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from support.command_line import REPOSITORY, CommandLine, sweep_text
from support.figures import figure, figures_of, value_of
from support.flow_runs import rows_of
from support.simulation import Simulator

KEY = "sk-a-key-that-must-not-be-kept-anywhere"
DATA = REPOSITORY.parent / "shared" / "data"
WIKINEWS = DATA / "wikinews_2019_2020.csv"
STATE = DATA / "state_hr2022_vdem.jsonl"
COUNTRIES = 40

REAL_MODELS = """
name: two-models
utility_model: openai/gpt-4.1-nano
families: {openai/gpt-4.1-mini: gpt-4.1, openai/gpt-4o-mini: gpt-4o}
windows:
  valmora:
    country: Valmora
    max_documents: 4
    source: {kind: corpus, path: CORPUS}
blocks:
  - concept: democratic backsliding
    window: valmora
    model: [openai/gpt-4.1-mini, openai/gpt-4o-mini]
    replicates: 2
"""


@pytest.mark.slow
def test_real_models_take_a_key_and_a_sweep_file(
    command: CommandLine, database: str, simulator: Simulator
) -> None:
    corpus = REPOSITORY / "deployments" / "sweeps" / "corpora" / "valmora.jsonl"
    file = command.folder / "mine.yaml"
    file.write_text(REAL_MODELS.replace("CORPUS", str(corpus)))
    key = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": simulator.url}
    ended = command("sweep", "run", file, **key).fine()
    assert "SIMULATED" in ended.output

    # 2 rubrics and 2 marks of them, 4 summaries, 2 judges x 4 articles x 2 replicates.
    judged = "SELECT count(*) FROM llm_calls WHERE workflow <> 'w5-probe'"
    assert value_of(database, judged) == 2 + 2 + 4 + 16
    assert value_of(database, "SELECT string_agg(DISTINCT provider, ',') FROM llm_calls") == (
        "openai"
    )
    assert value_of(database, "SELECT bool_and(simulated) FROM llm_calls") is True
    assert all(row.simulated for row in figures_of(database, "two-models"))
    failed = "SELECT count(*) FROM samples WHERE status IN ('failed', 'unparseable')"
    assert value_of(database, failed) == 0

    assert_nowhere(KEY, database, command, ended.output + ended.errors)


def assert_nowhere(key: str, database: str, command: CommandLine, printed: str) -> None:
    assert key not in printed
    for table, rows in rows_of(database).items():
        assert not any(key in row for row in rows), table
    kept = [command.data, Path(command.environment["PREFECT_HOME"])]
    files = [file for folder in kept for file in folder.rglob("*") if file.is_file()]
    assert files
    for file in files:
        assert key.encode() not in file.read_bytes(), file


def test_without_its_key_nothing_of_a_real_sweep_is_asked(
    command: CommandLine, database: str
) -> None:
    corpus = REPOSITORY / "deployments" / "sweeps" / "corpora" / "valmora.jsonl"
    file = command.folder / "mine.yaml"
    file.write_text(REAL_MODELS.replace("CORPUS", str(corpus)))
    planned = command("sweep", "plan", file).fine()
    assert "OPENAI_API_KEY" in planned.output
    assert "OPENAI_API_KEY" not in command("sweep", "plan", file, OPENAI_API_KEY="none").output
    ended = command("sweep", "run", file)
    assert ended.code == 2
    assert "OPENAI_API_KEY" in ended.errors
    assert "Traceback" not in ended.output + ended.errors
    assert value_of(database, "SELECT count(*) FROM llm_calls") == 0


WINDOW_OF_NEWS = """
  september-2019:
    country: the country reported on
    start: 2019-09-06
    end: 2019-09-30
    max_documents: 100
    source: {kind: corpus, path: WIKINEWS}

blocks:
  - concept: democratic backsliding
    window: september-2019
    model: sim/calm-1
    rubric: {shared: sim/calm-1}
    evidence_view: raw
    replicates: 1
"""


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here")
def test_two_sweeps_of_real_text_as_one(command: CommandLine, database: str) -> None:
    """Forty State Department summaries against V-Dem, and a month of Wikinews by its dates."""
    text = sweep_text(
        "state-department.yaml",
        ("max_documents: 170", f"max_documents: {COUNTRIES}"),
        ("replicates: 3", "replicates: 2"),
        ("\nblocks:\n", WINDOW_OF_NEWS.replace("WIKINEWS", str(WIKINEWS))),
    )
    file = command.folder / "real.yaml"
    file.write_text(text)
    command("sweep", "run", file).fine()

    # The control: simulated judges read the real summaries, and read them in the right direction:
    # the index is higher the more democratic, and so is the stage of "democracy quality".
    figures = figures_of(database, "state-department")
    for judge in ("calm-1", "high-1", "low-1"):
        found = figure(figures, "control_rank_correlation", judge=f"sim/{judge}")
        assert found.lower > 0, f"{judge}: {found}"
    count = "SELECT count(*) FROM samples s JOIN items i ON i.id = s.item_id JOIN windows w ON "
    count += "w.id = i.window_id WHERE w.name = '{}'"
    assert value_of(database, count.format("country-reports-2022")) == 3 * COUNTRIES * 2
    truths = [json.loads(line)["v2x_libdem"] for line in STATE.open()][:COUNTRIES]
    stored = stored_truths(database)
    assert stored == pytest.approx(truths)

    # The window by date: everything of these days is kept, or kept out with a reason.
    with WIKINEWS.open(newline="") as lines:
        dates = [row["date"] for row in csv.DictReader(lines)]
    inside = sum("2019-09-06" <= date <= "2019-09-30" for date in dates)
    kept = "SELECT count(*) FROM documents d JOIN windows w ON w.id = d.window_id WHERE "
    kept += "w.name = 'september-2019'"
    out = "SELECT count(*) FROM dropped_documents d JOIN windows w ON w.id = d.window_id WHERE "
    out += "w.name = 'september-2019'"
    outside = f"{out} AND reason = 'outside_dates'"
    assert inside == 27
    assert value_of(database, kept) + value_of(database, out) == len(dates)
    assert value_of(database, outside) == len(dates) - inside
    assert (
        value_of(database, f"{kept} AND published NOT BETWEEN '2019-09-06' AND '2019-09-30'") == 0
    )
    assert value_of(database, count.format("september-2019")) == value_of(database, kept)
    recorded = "SELECT count(*) FROM samples WHERE status IN ('scored', 'abstained')"
    assert value_of(database, recorded) > 0.9 * value_of(database, "SELECT count(*) FROM samples")


def stored_truths(database: str) -> list[float]:
    query = "SELECT truth_value FROM documents WHERE truth_value IS NOT NULL ORDER BY position"
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        return list(connection.scalars(sa.text(query)))
