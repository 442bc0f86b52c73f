"""What every provider's batch API offers to `submitting`, and what their clients share."""

import asyncio
import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeVar

from httpx import Response

from judge_gym.llm.failures import classified
from judge_gym.llm.pricing import price_in_batch
from judge_gym.llm.providers import Provider
from judge_gym.llm.responses import read_answer
from judge_gym.llm.sdk import LlmProviders, get_async_httpx_client
from judge_gym.records.batches import BatchCall, ProviderBatch, StoredBatch
from judge_gym.records.calls import Answer, Failure, ProviderError

T = TypeVar("T")
Outcome = tuple[int, Answer | Failure | None]
"""(call id, outcome); None for a call that was certainly not executed."""
Bodies = dict[int, dict[str, Any]]
"""Call id → the body of its request, as a direct call sends it."""
Announce = Callable[[Bodies, str | None], Awaitable[None]]
"""Stores, before a batch is created, what it will send and the id of its input file."""

LONGEST_LINE = 2_000_000
"""Bytes; an answer may have 200,000 characters of at most 6 bytes each."""
CLOCKS_APART = timedelta(days=1)
"""How far a provider's clock and ours may be apart when its list is searched."""


_QUEUE = re.compile(
    r"enqueued token|token_limit_exceeded|(batch|request)s? (in|to) (the|your) .{0,20}queue"
    r"|too many (enqueued|queued|pending|in[- ]progress)|(active|pending) batch(es)? limit",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"(file|batch|body|payload|entity|request)( size)? (is )?too (large|big|long)"
    r"|too_many_(tasks|requests|lines)|request_too_large"
    r"|(file|batch|request) size .{0,40}(exceed|limit|maximum)|(exceed|above).{0,40}file size"
    r"|(number|count) of (requests|tasks|lines|rows).{0,60}(exceed|limit|maximum)"
    r"|(at most|maximum of|more than) [\d,._]+ (requests|tasks|lines|rows|bytes)",
    re.IGNORECASE,
)


def limit_met(status: int | None, said: str) -> Literal["queue", "size"] | None:
    """Return which limit of batches a refusal is about, by its words; None for another reason.

    `queue`: all waiting batches together are too much now. `size`: this batch is too large.
    """
    if _QUEUE.search(said):
        return "queue"
    return "size" if status == 413 or _SIZE.search(said) else None


def not_understood(state: object) -> str:
    """Return a note on a batch in a state of an unknown name: it counts as running."""
    return f"its state is {state!r}, which judge-gym does not know, so it counts as running"


class BatchClient(Protocol):
    """One provider's batches; every method raises `ProviderError`."""

    async def create(
        self, batch: StoredBatch, calls: Sequence[BatchCall], announce: Announce
    ) -> ProviderBatch:
        """Have the calls of a batch worked on, within a day; `announce` right before that."""

    async def find(self, batch: StoredBatch, others: Collection[str]) -> ProviderBatch | None:
        """Search the provider's list for a batch; `others` are the ids of other batches."""

    async def retrieve(self, batch_id: str) -> ProviderBatch:
        """Ask how far a batch is."""

    async def cancel(self, batch_id: str) -> ProviderBatch:
        """End a batch; what it has answered until then can still be read."""

    def outcomes(self, batch: StoredBatch, theirs: ProviderBatch) -> AsyncIterator[Outcome | None]:
        """Yield what each line of a batch that has ended says of a call; None where unreadable.

        Ids are as the provider gives them; the same one may come twice.
        """


class Connection:
    """A provider's batch API over HTTP, with its key and a time limit for every request."""

    litellm_name: LlmProviders

    def __init__(self, provider: Provider, key: str, timeout_s: float) -> None:
        self._provider = provider
        self._key = key
        self._timeout_s = timeout_s
        self._secret = key if provider.key_env else None

    def _url(self, path: str) -> str:
        """Return the address of a path of the batch API."""
        raise NotImplementedError

    def _headers(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of a request: its own, and those of every request with the key."""
        raise NotImplementedError

    async def _json(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **request: Any
    ) -> dict[str, Any]:
        """Return the JSON object that a request is answered with."""
        response = await self._answered(method, path, headers=headers, **request)
        try:
            body = response.json()
        except ValueError as error:
            raise classified(error, self._secret) from None
        if not isinstance(body, dict):
            raise ProviderError("unreadable", "The answer is no JSON object.")
        return body

    async def _lines_at(self, path: str) -> AsyncGenerator[tuple[Mapping[str, str], bytes]]:
        """Yield the lines of a download as they arrive, each with the headers of the response."""
        response = await self._answered("GET", path, stream=True)
        try:
            async for line in self._lines_of(response.aiter_bytes()):
                yield response.headers, line
        finally:
            await response.aclose()

    async def _answered(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        stream: bool = False,
        **request: Any,
    ) -> Response:
        client = get_async_httpx_client(llm_provider=self.litellm_name).client
        built = client.build_request(
            method,
            self._url(path),
            headers=self._headers(headers or {}),
            timeout=self._timeout_s,
            **request,
        )

        async def answered() -> Response:
            response: Response = await client.send(built, stream=stream)
            if not response.is_success:
                await response.aread()  # what it says of the failure
                response.raise_for_status()
            return response

        return await self._done(answered())

    async def _done(self, request: Awaitable[T]) -> T:
        """Await one request; raises `ProviderError` with the key masked."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await request
        except TimeoutError as error:
            raise ProviderError("timeout", f"no answer within {self._timeout_s:g} s") from error
        except Exception as error:
            # Without its cause, which may repeat the key in a trace.
            raise classified(error, self._secret) from None

    async def _lines_of(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the lines of a download as they arrive, without those over `LONGEST_LINE`."""
        rest = b""
        while (chunk := await self._done(anext(chunks, None))) is not None:
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                if len(line) <= LONGEST_LINE:
                    yield line
            rest = rest[: LONGEST_LINE + 1]
        if len(rest) <= LONGEST_LINE:
            yield rest


def answer_in_batch(
    provider: Provider, model: str, response: Any, body: Mapping[str, Any]
) -> Answer:
    """Return an answer at the price of a batch; `response` is litellm's reading of `body`."""
    name = model.partition("/")[2]
    answer = read_answer(response, body, model, price_in_batch(provider, name))
    if answer.cost_source == "file" and name not in provider.prices:
        return replace(answer, cost_source="litellm")
    return answer
