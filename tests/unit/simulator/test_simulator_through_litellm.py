"""The simulator through the real litellm: files, batches, and faults as its exceptions.

What the gateway makes of them is tested with the gateway; here it is that they arrive.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

# Before litellm is imported: it would fetch a price list, and in its development mode read .env.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")

import litellm
from litellm import exceptions
from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

from judge_gym.simulator.server import serving

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
litellm.suppress_debug_info = True
CHAT = "/v1/chat/completions"
BODY = {"model": "sim/calm-1", "messages": [{"role": "user", "content": "Hello?"}]}


@pytest.fixture(autouse=True)
def _litellm_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the switch that `judge_gym.llm` sets for its own calls."""
    monkeypatch.delenv("EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER", raising=False)


def against(
    work: Callable[[dict[str, Any]], Awaitable[Any]], tmp_path: Any, *tables: str, **settings: Any
) -> Any:
    """Do `work` with litellm's arguments for a simulator with these `[[fault]]` tables."""
    plan = tmp_path / "plan.toml"
    plan.write_text("\n".join(f"[[fault]]\n{table}" for table in tables))

    async def run() -> Any:
        async with serving(faults=plan, **settings) as url:
            try:
                return await work(
                    {"custom_llm_provider": "openai", "api_base": url, "api_key": "none"}
                )
            finally:
                await close_litellm_async_clients()

    return asyncio.run(run())


async def _ask(where: dict[str, Any], **more: Any) -> Any:
    return await litellm.acompletion(
        model="openai/sim/calm-1", messages=BODY["messages"], base_url=where["api_base"],
        api_key="none", num_retries=0, max_retries=0, **{"timeout": 20} | more,
    )  # fmt: skip


async def _batch_of(where: dict[str, Any], count: int) -> Any:
    lines = [
        json.dumps(
            {"custom_id": f"c{n}", "method": "POST", "url": CHAT, "body": BODY | {"seed": n}}
        )
        for n in range(count)
    ]
    content = ("in.jsonl", "\n".join(lines).encode())
    file = await litellm.acreate_file(file=content, purpose="batch", **where)
    return await litellm.acreate_batch(
        completion_window="24h", endpoint=CHAT, input_file_id=file.id, metadata={"run": "r"},
        **where,
    )  # fmt: skip


async def _lines(where: dict[str, Any], file_id: str) -> list[dict[str, Any]]:
    content = await litellm.afile_content(file_id=file_id, **where)
    return [json.loads(text) for text in content.content.splitlines()]


def test_a_batch_from_its_file_to_its_answers(tmp_path):
    async def work(where: dict[str, Any]) -> None:
        created = await _batch_of(where, 3)
        batch = await litellm.aretrieve_batch(batch_id=created.id, **where)
        assert (batch.status, batch.metadata) == ("completed", {"run": "r"})
        counts = batch.request_counts
        assert (counts.total, counts.completed, counts.failed) == (3, 3, 0)
        output = await _lines(where, batch.output_file_id)
        assert [found["custom_id"] for found in output] == ["c0", "c1", "c2"]
        direct = await _ask(where)
        said = output[0]["response"]["body"]["choices"][0]["message"]["content"]
        assert direct.choices[0].message.content == said
        listed = await litellm.alist_batches(**where)
        assert [found.id for found in listed.data] == [batch.id]

    against(work, tmp_path, batch_seconds=0.0)


def test_a_batch_that_half_fails_and_one_that_expires(tmp_path):
    async def work(where: dict[str, Any]) -> None:
        half = await _batch_of(where, 4)
        assert half.status == "completed"
        assert (half.request_counts.completed, half.request_counts.failed) == (2, 2)
        errors = await _lines(where, half.error_file_id)
        assert {error["response"]["status_code"] for error in errors} == {500}
        expired = await _batch_of(where, 5)
        assert expired.status == "expired"
        assert len(await _lines(where, expired.output_file_id)) == 2
        assert len(await _lines(where, expired.error_file_id)) == 3

    tables = (
        'kind = "batch_half_failed"\nmax_count = 1',
        'kind = "batch_expired"\ndone = 0.4',
    )
    against(work, tmp_path, *tables, batch_seconds=0.0)


def test_a_batch_is_cancelled_and_one_that_vanished_is_not_found(tmp_path):
    async def work(where: dict[str, Any]) -> None:
        created = await _batch_of(where, 2)
        assert created.status == "validating"
        cancelled = await litellm.acancel_batch(batch_id=created.id, **where)
        assert cancelled.status == "cancelling"
        with pytest.raises(Exception, match="No such batch") as lost:
            await litellm.aretrieve_batch(batch_id="batch_x", **where)
        assert lost.value.status_code == 404
        with pytest.raises(Exception, match="No such file") as lost:
            await litellm.afile_content(file_id="file-x", **where)
        assert lost.value.status_code == 404

    against(work, tmp_path, batch_seconds=3600.0)


@pytest.mark.parametrize(
    ("table", "expected", "status"),
    [
        ('kind = "rate_limit"', exceptions.RateLimitError, 429),
        ('kind = "rate_limit"\ncode = "insufficient_quota"', exceptions.RateLimitError, 429),
        ('kind = "server_error"', exceptions.InternalServerError, 500),
        ('kind = "server_error"\nstatus = 502', exceptions.BadGatewayError, 502),
        ('kind = "server_error"\nstatus = 503', exceptions.ServiceUnavailableError, 503),
        ('kind = "server_error"\nstatus = 529', exceptions.APIError, 529),
        ('kind = "unauthorized"', exceptions.AuthenticationError, 401),
        ('kind = "context_too_long"', exceptions.ContextWindowExceededError, 400),
        ('kind = "cut"', exceptions.InternalServerError, 500),
        ('kind = "html"', exceptions.InternalServerError, 500),
        ('kind = "invalid_json"', exceptions.InternalServerError, 500),
    ],
)
def test_faults_are_the_exceptions_that_litellm_makes_of_real_ones(
    tmp_path, table, expected, status
):
    async def work(where: dict[str, Any]) -> Any:
        try:
            return await _ask(where)
        except Exception as error:
            return error

    error = against(work, tmp_path, table)
    assert isinstance(error, expected), repr(error)
    assert error.status_code == status
    if "rate_limit" in table:
        assert error.litellm_response_headers["retry-after"] == "1"


def test_a_slow_first_byte_is_a_timeout(tmp_path):
    async def work(where: dict[str, Any]) -> None:
        with pytest.raises(exceptions.Timeout):
            await _ask(where, timeout=0.2)

    against(work, tmp_path, 'kind = "slow_first_byte"\nseconds = 3600')


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [("empty", "", "stop"), ("refusal", None, "content_filter"), ("length", ..., "length")],
)
def test_faults_in_what_is_said_are_answers_to_litellm(tmp_path, kind, content, reason):
    async def work(where: dict[str, Any]) -> Any:
        return (await _ask(where)).choices[0]

    choice = against(work, tmp_path, f'kind = "{kind}"')
    assert choice.finish_reason == reason
    assert content is ... or choice.message.content == content
