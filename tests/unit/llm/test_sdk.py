"""The inside of litellm that judge_gym/llm relies on, name by name: its contract with us.

A new version of litellm that renames or rewrites one of these fails here, not in a sweep.
"""

import asyncio
import inspect

import httpx
import pytest
from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

from judge_gym.llm.sdk import ModelResponse, litellm


def test_async_http_handler_resends_through_single_connection_post_request() -> None:
    """`sdk` replaces this method of `AsyncHTTPHandler`: `post` must still go through it."""
    assert AsyncHTTPHandler.single_connection_post_request.__module__ == "judge_gym.llm.sdk"
    posting = inspect.unwrap(AsyncHTTPHandler.post)
    assert "single_connection_post_request" in posting.__code__.co_names


def test_a_request_on_a_connection_that_breaks_is_sent_once() -> None:
    """The server reads a request whole and hangs up: it may have been answered, and paid for."""
    requests = 0

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        await reader.readuntil(b"\r\n\r\n{}")
        requests += 1
        writer.close()

    async def send() -> None:
        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
            host, port = server.sockets[0].getsockname()
            handler = AsyncHTTPHandler()
            try:
                await handler.post(f"http://{host}:{port}/", json={})
            finally:
                await handler.close()

    with pytest.raises(httpx.HTTPError):
        asyncio.run(send())
    assert requests == 1


def test_no_parameter_is_dropped_silently() -> None:
    assert litellm.drop_params is False


def test_responses_carry_the_cost_in_hidden_params() -> None:
    """`client` reads and clears the entry `response_cost` of `ModelResponse._hidden_params`."""
    response = asyncio.run(
        litellm.acompletion(
            model="openai/gpt-4.1",
            messages=[{"role": "user", "content": "?"}],
            mock_response="Stage 2",
        )
    )
    assert isinstance(response, ModelResponse)
    assert response._hidden_params["response_cost"] > 0
