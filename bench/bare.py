"""Clients to compare judge-gym with: `python -m bench.bare CLIENT PROMPTS URL PREFIX`.

Bare aiohttp, the openai client, and litellm alone: as it is by default, and tuned as judge-gym
tunes it. PREFIX is litellm's for the API. Each sends every line of a prompts file, 100
concurrently, after one warm-up call, and keeps only the number of characters received.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.meter import Meter

CONNECTIONS = 100
Ask = Callable[[dict[str, Any]], Awaitable[str]]


@asynccontextmanager
async def bare_aiohttp(url: str, _prefix: str) -> AsyncIterator[Ask]:
    """POST and read JSON."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=CONNECTIONS)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(body: dict[str, Any]) -> str:
            async with session.post(f"{url}/chat/completions", json=body) as reply:
                answer: str = (await reply.json())["choices"][0]["message"]["content"]
                return answer

        yield ask


@asynccontextmanager
async def openai_client(url: str, _prefix: str) -> AsyncIterator[Ask]:
    """The openai client with its defaults, over httpx."""
    import openai

    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def ask(body: dict[str, Any]) -> str:
            reply = await client.chat.completions.create(**body)
            return reply.choices[0].message.content or ""

        yield ask


@asynccontextmanager
async def litellm_alone(url: str, prefix: str) -> AsyncIterator[Ask]:
    """litellm by default, with the parameters of judge-gym's client."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    async with asking(litellm, url, prefix) as ask:
        yield ask


@asynccontextmanager
async def litellm_tuned(url: str, prefix: str) -> AsyncIterator[Ask]:
    """litellm with the handler, the registered model and the garbage collector of judge-gym."""
    from judge_gym.llm.sdk import litellm
    from judge_gym.llm.sendable import register_unlisted

    async with asking(litellm, url, prefix, register_unlisted) as ask:
        yield ask


@asynccontextmanager
async def asking(
    litellm: Any, url: str, prefix: str, prepare: Callable[[str, str], Any] | None = None
) -> AsyncIterator[Ask]:
    """litellm as it was imported."""
    from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

    async def ask(body: dict[str, Any]) -> str:
        if prepare is not None:
            prepare(prefix, body["model"])
        reply = await litellm.acompletion(
            **(body | {"model": f"{prefix}/{body['model']}"}),
            api_key="none",
            base_url=url,
            timeout=120,
            num_retries=0,
            max_retries=0,
        )
        return reply.choices[0].message.content or ""

    yield ask
    await close_litellm_async_clients()


CLIENTS = {
    "aiohttp": bare_aiohttp,
    "openai": openai_client,
    "litellm": litellm_alone,
    "litellm-tuned": litellm_tuned,
}


async def main(client: str, prompts: Path, url: str, prefix: str) -> None:
    """Send all prompts, a hundred concurrently."""
    first, *bodies = map(json.loads, prompts.read_text().splitlines())
    waiting = iter(bodies)

    async def worker(ask: Ask) -> int:
        return sum([len(await ask(body)) for body in waiting])

    async with CLIENTS[client](url, prefix) as ask:
        await ask(first)
        with Meter(calls=len(bodies)):
            await asyncio.gather(*(worker(ask) for _ in range(CONNECTIONS)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
