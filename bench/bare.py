"""Clients to compare judge-gym with: `python -m bench.bare CLIENT PROMPTS URL`.

Bare aiohttp, the openai client, and litellm alone. Each sends every line of a prompts file, 100
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
async def bare_aiohttp(url: str) -> AsyncIterator[Ask]:
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
async def openai_client(url: str) -> AsyncIterator[Ask]:
    """The openai client with its defaults, over httpx."""
    import openai

    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def ask(body: dict[str, Any]) -> str:
            reply = await client.chat.completions.create(**body)
            return reply.choices[0].message.content or ""

        yield ask


@asynccontextmanager
async def litellm_alone(url: str) -> AsyncIterator[Ask]:
    """litellm alone, with the parameters of judge-gym's client."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import litellm
    from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = True

    async def ask(body: dict[str, Any]) -> str:
        reply = await litellm.acompletion(
            **(body | {"model": f"openai/{body['model']}"}),
            api_key="none",
            base_url=url,
            timeout=120,
            num_retries=0,
            max_retries=0,
        )
        return reply.choices[0].message.content or ""

    yield ask
    await close_litellm_async_clients()


CLIENTS = {"aiohttp": bare_aiohttp, "openai": openai_client, "litellm": litellm_alone}


async def main(client: str, prompts: Path, url: str) -> None:
    """Send all prompts, a hundred concurrently."""
    first, *bodies = map(json.loads, prompts.read_text().splitlines())
    waiting = iter(bodies)

    async def worker(ask: Ask) -> int:
        return sum([len(await ask(body)) for body in waiting])

    async with CLIENTS[client](url) as ask:
        await ask(first)
        with Meter(calls=len(bodies)):
            await asyncio.gather(*(worker(ask) for _ in range(CONNECTIONS)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
