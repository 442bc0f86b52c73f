"""A run killed in the middle of W3 and typed again, twice, and then amended: one story.

The database is the embedded one, the simulator and Prefect's server are the command's own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from judge_gym.store import embedded
from support.command_line import CommandLine, Ended, sweep_text
from support.prefect_server import PrefectServer
from support.waiting import until

pytestmark = pytest.mark.stress
REPLICATES = 3
OWN, SWAPPED = 3 * 5 * REPLICATES, (1 + 3) * 5 * REPLICATES
"""Judgements: 3 judges x 5 articles; 1 swapped pair and 3 shams."""
IN_PIECES = {"JUDGE_GYM_CHUNK_SIZE": "3", "JUDGE_GYM_WORKERS": "1"}
"""W3 in many small commits, so that there is a middle to be killed in."""

Rows = list[tuple[Any, ...]]


@dataclass
class Seen:
    """What stood in the database at one moment, by natural key."""

    samples: dict[tuple[Any, ...], tuple[int, int]]
    """(judge, arm, rubric, item, replicate) → (sample id, call id)"""
    attempts: int
    repeated: int
    """Calls that were sent more than once."""
    figures: Rows


@dataclass
class Story:
    """What happened, in order."""

    when_killed: Seen
    left_running: list[str]
    postgres: embedded.EmbeddedServer
    finished: Ended
    then: Seen
    starts: int
    stopped: bool
    again: Ended
    later: Seen
    amended: Ended
    at_last: Seen


@pytest.fixture(scope="module")
def story(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: PrefectServer
) -> Iterator[Story]:
    command = CommandLine(tmp_path_factory.mktemp("interrupted"))
    try:
        yield tell(command, prefect_server)
    finally:
        embedded.remove(command.data / "postgres")


def tell(command: CommandLine, prefect_server: PrefectServer) -> Story:
    file = command.folder / "quick.yaml"
    file.write_text(sweep_text("quick.yaml", ("replicates: 2", f"replicates: {REPLICATES}")))
    folder = command.data / "postgres"

    process = command.start("sweep", "run", file, **IN_PIECES)
    children = kill_in_the_middle(process, folder)
    postgres = embedded.status(folder)
    assert postgres is not None, "PostgreSQL does not end with a killed command"
    killed = look(postgres.url)
    _, alive = psutil.wait_procs(children, timeout=300)
    left = [" ".join(one.cmdline()) for one in alive if one.pid != postgres.pid]

    # From here on a standing Prefect server, for speed; the first run had its own.
    finished = command("sweep", "run", file, **prefect_server.environment)
    stopped = embedded.status(folder) is None
    starts = postgres.log_file.read_text().count("ready to accept connections")
    then = look_again(folder)
    again = command("sweep", "run", file, **prefect_server.environment)
    later = look_again(folder)
    file.write_text(
        sweep_text(
            "quick.yaml",
            ("replicates: 2", f"replicates: {REPLICATES + 1}"),
            (
                "model: [sim/calm-1, sim/high-1, sim/low-1]",
                "model: [sim/calm-1, sim/high-1, sim/low-1, sim/sure-1]",
            ),
        )
    )
    # As on a terminal, where there are progress bars.
    amended = command("sweep", "run", file, FORCE_COLOR="1", **prefect_server.environment)
    at_last = look_again(folder)
    return Story(
        killed, left, postgres, finished, then, starts, stopped, again, later, amended, at_last
    )


def kill_in_the_middle(process: Any, folder: Path) -> list[psutil.Process]:
    """Kill -9 a run when some but not all of W3's samples are there; its children."""

    def some() -> int:
        assert process.poll() is None, process.communicate()
        server = embedded.status(folder) if folder.exists() else None
        return count_samples(server.url) if server else 0

    until(some, "the first samples", 120, every=0.1)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    return children


def count_samples(url: str) -> int:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    try:
        with engine.connect() as connection:
            return connection.scalar(sa.text("SELECT count(*) FROM samples")) or 0
    except (sa.exc.OperationalError, sa.exc.ProgrammingError):
        return 0  # starting up, or not migrated yet


def look_again(folder: Path) -> Seen:
    server = embedded.start(folder)
    try:
        return look(server.url)
    finally:
        embedded.release(folder)


def look(url: str) -> Seen:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        rows = connection.execute(
            sa.text(
                "SELECT e.model, a.arm, r.key, i.key, s.replicate, s.id, s.call_id FROM samples s "
                "JOIN arms a ON a.id = s.arm_id JOIN experiments e ON e.id = a.experiment_id "
                "JOIN rubrics r ON r.id = a.rubric_id JOIN items i ON i.id = s.item_id"
            )
        ).all()
        samples = {tuple(row[:5]): (row[5], row[6]) for row in rows}
        assert len(samples) == len(rows), "a judgement is there twice"
        attempts, repeated = connection.execute(
            sa.text("SELECT sum(attempts), count(*) FILTER (WHERE attempts > 1) FROM llm_calls")
        ).one()
        figures = connection.execute(
            sa.text(
                "SELECT metric, scope_key, estimate, lower, upper, n, floor, p, because "
                "FROM analysis_results WHERE run_id = (SELECT max(id) FROM analysis_runs) "
                # The one figure that is about when calls were answered.
                "AND metric NOT LIKE 'replicate_time_correlation%' "
                "ORDER BY metric, scope_key"
            )
        ).all()
    return Seen(samples, attempts, repeated, [tuple(row) for row in figures])


def test_it_was_killed_in_the_middle_of_w3(story: Story) -> None:
    assert 0 < len(story.when_killed.samples) < OWN
    assert {arm for _, arm, *_ in story.when_killed.samples} == {"own"}


def test_nothing_but_postgresql_outlives_the_killed_command(story: Story) -> None:
    assert story.left_running == []


def test_the_postgresql_left_behind_is_used_again_and_then_stopped(story: Story) -> None:
    story.finished.fine()
    # Once for the killed command; the next one joined it, and stopped it when it ended.
    assert story.starts == 1
    assert story.stopped


def test_no_sample_is_lost_and_none_is_judged_again(story: Story) -> None:
    before, after = story.when_killed.samples, story.then.samples
    assert {key: after.get(key) for key in before} == before


def test_every_expected_judgement_is_there(story: Story) -> None:
    after = story.then.samples
    assert len(after) == OWN + SWAPPED
    by_cell: dict[tuple[Any, ...], set[int]] = {}
    for *cell, replicate in after:
        by_cell.setdefault(tuple(cell), set()).add(replicate)
    assert len(by_cell) == (OWN + SWAPPED) // REPLICATES
    assert all(replicates == set(range(REPLICATES)) for replicates in by_cell.values())


def test_only_what_was_on_its_way_when_killed_was_sent_twice(story: Story) -> None:
    assert story.then.repeated <= int(IN_PIECES["JUDGE_GYM_CHUNK_SIZE"])


def test_the_same_command_again_asks_nothing_and_shows_the_same_figures(story: Story) -> None:
    story.again.fine()
    assert story.later.attempts == story.then.attempts
    assert story.later.samples == story.then.samples
    assert story.later.figures == story.then.figures != []
    assert tables_of(story.again) == tables_of(story.finished)


def test_an_amended_sweep_asks_only_what_is_new(story: Story) -> None:
    story.amended.fine()
    before, after = story.later.samples, story.at_last.samples
    assert {key: after.get(key) for key in before} == before
    new = [key for key in after if key not in before]
    # One more replicate of everything that was, and all of the new judge: own and sham.
    again = (OWN + SWAPPED) // REPLICATES
    assert len(new) == again + 2 * 5 * (REPLICATES + 1)
    others = [key for key in new if key[0] != "sim/sure-1"]
    assert {replicate for *_, replicate in others} == {REPLICATES}


def test_on_a_terminal_one_view_of_progress_reaches_its_end(story: Story) -> None:
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", story.amended.output)
    total = len([key for key in story.at_last.samples if key[1] == "own"])
    assert re.search(rf"w3-scoring +{total} +{total} +0\b", plain), plain
    assert re.search(r"calls, \d+ per minute. Cost so far: .*Time left: ", plain), plain


def tables_of(ended: Ended) -> str:
    """What was printed from the first table to the lines that name where things are."""
    tables, _, _ = ended.output.partition("\n\n")[2].partition("psql")
    return tables
