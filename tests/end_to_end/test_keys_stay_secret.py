"""A key planted in the environment or in a Prefect Secret block reaches the provider alone."""

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from aiohttp import web

from support.command_line import CommandLine, Ended, small_sweep
from support.figures import value_of
from support.flow_runs import rows_of
from support.misbehaving import Step, answers, misbehaving, refuses
from support.prefect_server import PrefectServer

# Characters that JSON leaves alone and an address does not.
IN_ENVIRONMENT = "sk-planted/environment+0123456789=?"
IN_BLOCK = "sk-planted/block+9876543210=?"
PROVIDERS = """
[sim]
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
[vault]
litellm = "openai"
base_url_env = "VAULT_URL"
key_env = "VAULT_API_KEY"
[spare]
key_env = "SPARE_API_KEY"
"""


def repeats_the_key(status: int) -> Step:
    """A step that refuses, and says which key it was sent."""

    async def step(request: web.Request) -> web.StreamResponse:
        key = request.headers["Authorization"].removeprefix("Bearer ")
        return await refuses(status, f"refused to {key}")(request)

    return step


def run_sweep(command: CommandLine, *script: Step, **environment: str) -> tuple[Ended, list[str]]:
    """The sweep run in words of its own, against a scripted provider; the keys that it was sent."""

    async def run() -> tuple[Ended, list[str]]:
        async with misbehaving(*script) as provider:
            arguments = ("sweep", "run", "vault.yaml", "--verbose")
            where = {"VAULT_URL": provider.base_url}
            ended = await asyncio.to_thread(command, *arguments, **where, **environment)
            return ended, provider.keys

    return asyncio.run(run())


@pytest.fixture
def place(command: CommandLine) -> CommandLine:
    (command.folder / "vault.yaml").write_text(small_sweep("vault", "vault/judge-1"))
    (command.folder / "providers.toml").write_text(PROVIDERS)
    command.environment["JUDGE_GYM_PROVIDERS_FILE"] = str(command.folder / "providers.toml")
    return command


@pytest.fixture
def block(prefect_server: PrefectServer) -> Iterator[None]:
    """The Secret block of VAULT_API_KEY, with a planted key."""

    def prefect(statement: str) -> None:
        subprocess.run(
            [sys.executable, "-c", f"from prefect.blocks.system import Secret; {statement}"],
            env=os.environ | prefect_server.environment | {"PLANTED": IN_BLOCK},
            check=True,
        )

    prefect("import os; Secret(value=os.environ['PLANTED']).save('vault-api-key')")
    yield
    prefect("Secret.delete('vault-api-key')")


def forms(key: str) -> Iterator[bytes]:
    """The key, and what it looks like in an address and inside base64, at each of 3 places."""
    yield key.encode()
    yield quote(key, safe="").encode()
    for before in range(3):
        # The first and the last group may hold something else beside it.
        yield base64.b64encode(bytes(before) + key.encode())[4:-4]


def assert_nowhere(texts: Iterable[tuple[str, bytes]]) -> None:
    searched = 0
    for where, text in texts:
        searched += 1
        for key in (IN_ENVIRONMENT, IN_BLOCK):
            for form in forms(key):
                assert form not in text, f"{form!r} is in {where}"
    assert searched


def assert_lines_tell_calls_and_not_texts(log: str) -> None:
    """Every line is JSON; one a call, with its run, and neither its prompt nor its answer."""
    lines = [json.loads(line) for line in log.splitlines()]
    calls = [line for line in lines if "call_id" in line]
    assert {line["status"] for line in calls} == {"failed", "succeeded"}
    assert {line["failure"] for line in calls if line["status"] == "failed"} == {"bad_request"}
    for line in calls:
        assert {"run", "experiment_id", "call_key", "workflow", "model"} <= line.keys()
    for text in ("VERDICT", "Valmora", "refused to"):
        assert text not in log


def rows_as_text(url: str) -> Iterator[tuple[str, bytes]]:
    for table, rows in rows_of(url).items():
        yield table, "\n".join(map(str, rows)).encode()


def files_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    for file in folder.rglob("*"):
        # The server of the whole run may delete a file meanwhile.
        with suppress(FileNotFoundError, IsADirectoryError):
            yield str(file), file.read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("block")
def test_a_key_reaches_the_provider_and_nothing_else(
    place: CommandLine, database: str, prefect_server: PrefectServer
) -> None:
    # What is logged is settled before Prefect is imported.
    place = replace(place, in_process=False)
    # The environment wins over the block. The provider repeats the key that it refuses.
    refused, sent = run_sweep(place, repeats_the_key(401), VAULT_API_KEY=IN_ENVIRONMENT)
    assert refused.code == 1
    assert "refused to [key]" in refused.errors
    assert set(sent) == {f"Bearer {IN_ENVIRONMENT}"}

    # Without it the block is read. One call fails, with the key in what is said about it.
    ended, sent = run_sweep(
        place,
        repeats_the_key(400),
        answers("VERDICT: A\nPROBABILITY: 0.8"),
        JUDGE_GYM_LOG_FORMAT="json",
    )
    assert ended.code == 1
    assert set(sent) == {f"Bearer {IN_BLOCK}"}
    assert_lines_tell_calls_and_not_texts(ended.errors)
    assert "sweep retry vault" in ended.errors

    kept = dict(rows_as_text(database))
    assert b"refused to [key]" in kept["llm_calls"]
    assert_nowhere(kept.items())
    home = Path(prefect_server.environment["PREFECT_HOME"])
    recorded = dict(prefect_server.rows())
    assert b"vault-api-key" in recorded["block_document"]
    assert_nowhere(recorded.items())
    assert_nowhere(files_below(home))
    reports = dict(files_below(place.folder))
    assert str(place.data / "reports" / "report-vault.html") in reports
    assert_nowhere(reports.items())
    said = "\n".join((refused.output, refused.errors, ended.output, ended.errors))
    assert "Finished in state Completed" in said  # Prefect's log is in it
    assert_nowhere([("the terminal", said.encode())])


def test_a_search_finds_every_form(tmp_path: Path) -> None:
    for text in (
        f"Bearer {IN_BLOCK}".encode(),
        f"https://host/?key={quote(IN_BLOCK, safe='')}".encode(),
        *(base64.b64encode(f"{user}:{IN_BLOCK} and more".encode()) for user in ("", "u", "us")),
    ):
        (tmp_path / "file").write_bytes(text)
        with pytest.raises(AssertionError, match="is in"):
            assert_nowhere(files_below(tmp_path))


def test_without_a_key_one_line_says_where_it_may_be(place: CommandLine, database: str) -> None:
    ended, sent = run_sweep(place, answers())
    assert ended.code == 2
    assert "The key for provider vault is not set." in ended.errors
    assert (
        "VAULT_API_KEY, or save the key as the Prefect Secret block vault-api-key" in ended.errors
    )
    assert sent == []
    assert value_of(database, "SELECT count(*) FROM experiments") == 0


@pytest.mark.slow
@pytest.mark.usefixtures("block")
def test_the_doctor_says_where_keys_come_from(place: CommandLine) -> None:
    told = place("doctor", FIRECRAWL_API_KEY=IN_ENVIRONMENT).output
    assert "key of vault: from Secret block vault-api-key" in told
    assert "key of firecrawl: from FIRECRAWL_API_KEY" in told
    assert "key of spare: not set: no SPARE_API_KEY, no Secret block spare-api-key" in told
    assert_nowhere([("the terminal", told.encode())])
