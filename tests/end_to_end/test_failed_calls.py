"""A run in which some calls failed for good: exit code, remedy, and Prefect's records."""

import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from flows.endings import RETRY
from flows.sweep import sweep
from judge_gym.errors import ConfigError
from judge_gym.store.locks import in_progress, is_in_progress
from support.command_line import CommandLine, Ended, small_sweep
from support.flow_runs import error_of, flows_at, run_flow
from support.misbehaving import Step, answers, misbehaving, refuses
from support.prefect_server import PrefectServer
from support.waiting import until

READABLE = answers("VERDICT: A\nPROBABILITY: 0.5")
ONE_FAILS = [READABLE, refuses(500, "overloaded"), READABLE]
"""W3 asks first, 4 times."""


def run(command: CommandLine, file: Path, script: list[Step]) -> tuple[Ended, int]:
    """`judge-gym sweep run` against the script; the requests that arrived."""

    async def served() -> tuple[Ended, int]:
        async with misbehaving(*script) as provider:
            where = {"LOCAL_BASE_URL": provider.base_url, "JUDGE_GYM_CALL_ATTEMPTS": "1"}
            ended = await asyncio.to_thread(command, "sweep", "run", file, **where)
            return ended, len(provider.requests)

    return asyncio.run(served())


def flow_runs(server: PrefectServer, name: str) -> list[dict[str, Any]]:
    """Prefect's records of the runs whose name has this part, the oldest first."""
    request = urllib.request.Request(
        f"{server.url}/flow_runs/filter",
        json.dumps({"flow_runs": {"name": {"like_": name}}, "sort": "START_TIME_ASC"}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as reply:
        found: list[dict[str, Any]] = json.load(reply)
    return found


@pytest.mark.slow
def test_a_run_with_failures_exits_with_1_and_names_the_command_that_retries_them(
    command: CommandLine, prefect_server: PrefectServer
) -> None:
    file = command.folder / "flaky.yaml"
    file.write_text(small_sweep("flaky", "local/sturdy-1"))
    first, requests = run(command, file, ONE_FAILS)
    assert requests == 4 + 3  # a failed judgement has no probe
    again, none = run(command, file, [READABLE])
    assert none == 0
    for ended in (first, again):
        assert ended.code == 1
        assert "flaky finished with failures: w3-scoring 1 (server)." in ended.errors
        assert "judge-gym sweep retry flaky" in ended.errors
        assert "`judge-gym sweep retry flaky`" in " ".join(ended.output.split())
    assert command("sweep", "status", "flaky").code == 0
    watched = command("sweep", "status", "flaky", "--watch")
    assert watched.code == 1
    assert "sweep retry flaky" in watched.errors

    # Most judgements are there, so Prefect's state is a success, with a tag to filter by.
    whole, scoring = (
        flow_runs(prefect_server, name)[0]
        for name in ("sweep flaky.yaml", "score democratic-backsliding-local-sturdy-1")
    )
    for flow_run in (whole, scoring):
        assert flow_run["state"]["type"] == "COMPLETED"
        assert "partial-failure" in flow_run["tags"]
        assert RETRY in flow_run["state"]["message"]

    shown, done = (
        json.loads(command("sweep", "retry", "flaky", "--json", *given).fine().output)
        for given in ((), ("--yes",))
    )
    assert shown["failed"] == [{"workflow": "w3-scoring", "failure": "server", "count": 1}]
    assert (shown["calls"], shown["retried"], done["retried"]) == (1, False, True)
    mended, requests = run(command, file, [READABLE])
    assert mended.code == 0, mended
    assert requests == 1 + 1
    assert json.loads(command("sweep", "status", "flaky", "--json").output)["failures"] == []


@pytest.mark.slow
def test_a_second_run_says_that_it_waits_for_the_first(command: CommandLine, database: str) -> None:
    file = command.folder / "twice.yaml"
    file.write_text(small_sweep("twice", "sim/calm-1"))
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    command("sweep", "create", file).fine()
    with in_progress(engine, "twice"), Session(engine) as session:
        until(lambda: is_in_progress(session, "twice"), "the lock of a run")
        second = command("sweep", "run", file, "--only", "w1-evidence").fine()
    alone = command("sweep", "run", file, "--only", "w2-rubric").fine()
    assert "Another run of sweep twice is in progress" in second.output
    assert "sweep status twice --watch" in second.output
    assert "Another run" not in alone.output


def test_a_mistyped_path_is_the_state_of_the_flow_run_and_no_traceback(
    command: CommandLine, prefect_server: PrefectServer, tmp_path: Path
) -> None:
    file = tmp_path / "nope-9f2c.yaml"
    with flows_at(prefect_server, tmp_path / "home"):
        state = run_flow(sweep, file)
    assert state.is_failed()
    assert (state.message or "").startswith(f"{file} cannot be read: No such file")
    assert isinstance(error_of(state), ConfigError)
