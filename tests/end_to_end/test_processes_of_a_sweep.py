"""`sweep run --processes 2`: the rows of one process, one budget, and an end that ends all."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from support.command_line import CommandLine, small_sweep
from support.figures import value_of
from support.postgres import temporary_database
from support.simulation import Simulator
from support.waiting import until

pytestmark = pytest.mark.slow
PARTS = ("--only", "w1-evidence", "--only", "w2-rubric", "--only", "w3-scoring")
JUDGEMENTS = 2 * 16
SWEEP = small_sweep("shared", "sim/calm-1", ("replicates: 2", "replicates: 16"))
IN_PIECES = {"JUDGE_GYM_CHUNK_SIZE": "4", "JUDGE_GYM_WORKERS": "2"}
CALLS = "SELECT count(*) FROM llm_calls WHERE status = 'succeeded'"
ROWS = """
SELECT i.key, s.replicate, s.seed, s.letters, s.display_order, s.stages
FROM samples AS s JOIN items AS i ON i.id = s.item_id ORDER BY i.key, s.replicate
"""


@pytest.fixture
def silent_simulator(simulator: Simulator) -> Iterator[Simulator]:
    yield simulator
    simulator.use_faults()


def rows(url: str) -> list[Any]:
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        return list(connection.execute(sa.text(ROWS)))


def test_two_processes_work_stop_resume_and_leave_what_one_leaves(
    command: CommandLine,
    database: str,
    silent_simulator: Simulator,
    postgres_server: str,
    migrated_template: str,
) -> None:
    file = command.folder / "shared.yaml"
    file.write_text(SWEEP)
    # What is asked later is not answered, so that the run cannot end before it is stopped.
    silent = {"kind": "slow_first_byte", "role": "scorer", "seconds": 600}
    silent_simulator.use_faults(silent | {"from_call": JUDGEMENTS // 2})
    before = silent_simulator.answered()
    run = command.start("sweep", "run", file, *PARTS, "--processes", "2", **IN_PIECES)
    root = psutil.Process(run.pid)

    def two_workers() -> list[psutil.Process]:
        assert run.poll() is None, run.communicate()
        found = [one for one in root.children() if "tasks.processes" in one.cmdline()]
        return found if len(found) == 2 and value_of(database, CALLS) else []

    workers = until(two_workers, "two processes at work and an answer")
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=300)
    assert run.returncode == 130
    psutil.wait_procs(workers, timeout=300)
    assert not any(one.is_running() for one in workers)
    assert 0 < value_of(database, CALLS) < JUDGEMENTS
    in_doubt = value_of(database, "SELECT count(*) FROM llm_calls WHERE status <> 'succeeded'")
    said = " ".join(errors.split())
    assert f"{value_of(database, CALLS)} call" in said

    silent_simulator.use_faults()
    command("sweep", "run", file, *PARTS, "--processes", "2", **IN_PIECES).fine()
    assert value_of(database, CALLS) == JUDGEMENTS
    assert JUDGEMENTS <= silent_simulator.answered() - before <= JUDGEMENTS + in_doubt
    with temporary_database(postgres_server, migrated_template) as alone:
        command("sweep", "run", file, *PARTS, JUDGE_GYM_DATABASE_URL=alone).fine()
        assert rows(database) == rows(alone)


def test_two_processes_keep_one_budget(
    command: CommandLine, database: str, simulator: Simulator
) -> None:
    file = Path(command.folder) / "shared.yaml"
    file.write_text(SWEEP + "budget:\n  max_calls: 10\n")
    before = simulator.answered()
    ended = command("sweep", "run", file, *PARTS, "--processes", "2", **IN_PIECES)
    said = ended.output + ended.errors
    assert ended.code == 4, said
    assert value_of(database, CALLS) == simulator.answered() - before <= 10, said


def test_a_sweep_that_is_terminated_says_so_and_leaves_no_process(
    command: CommandLine, database: str, silent_simulator: Simulator
) -> None:
    file = command.folder / "shared.yaml"
    file.write_text(SWEEP)
    silent = {"kind": "slow_first_byte", "role": "scorer", "seconds": 600}
    silent_simulator.use_faults(silent | {"from_call": 2})
    run = command.start("sweep", "run", file, *PARTS, **IN_PIECES)

    def answered() -> int:
        assert run.poll() is None, run.communicate()
        return int(value_of(database, CALLS))

    until(answered, "an answer")
    started = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate(timeout=300)
    assert run.returncode == 143
    said = " ".join(errors.split())
    assert f"Progress is saved: {value_of(database, CALLS)} call" in said
    sent = value_of(database, "SELECT count(*) FROM llm_calls WHERE status = 'sent'")
    assert sent > 0
    assert f"{sent} call{'s' * (sent > 1)} had no answer yet: rerunning" in said
    assert "may bill both" in said
    assert not psutil.wait_procs(started, timeout=300)[1]
