"""Anthropic's Message Batches: requests in one body, results in any order.

litellm makes the bodies and headers of single requests and reads their answers; its batches can
only be asked after, so the requests of the batch API itself are made here, over its HTTP client.

A Message Batch has no metadata. Its requests are named by our key of the batch and the id of the
call, and the names can be read once the batch has ended: `find` recognises it by them.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from httpx import Response

from judge_gym.llm.batches.clients import (
    CLOCKS_APART,
    Announce,
    Bodies,
    Connection,
    Outcome,
    answer_in_batch,
    not_understood,
)
from judge_gym.llm.failures import failure_of
from judge_gym.llm.keys import answer_without_key
from judge_gym.llm.providers import Provider
from judge_gym.llm.sdk import (
    AnthropicBatchesConfig,
    AnthropicConfig,
    LlmProviders,
    ModelResponse,
    get_optional_params,
    update_request_with_filtered_beta,
)
from judge_gym.records.batches import BatchCall, ProviderBatch, ProviderStatus, StoredBatch
from judge_gym.records.calls import Answer, Failure, ProviderError

_PREFIX = "anthropic"
_PAGE = 1000
_BETA = "anthropic-beta"
_CONFIG = AnthropicBatchesConfig()
_CHAT = AnthropicConfig()


class AnthropicBatches(Connection):
    """A `BatchClient` of a provider with Anthropic's API."""

    litellm_name = LlmProviders.ANTHROPIC

    def _url(self, path: str) -> str:
        base: str = _CONFIG.get_complete_batch_url(
            api_base=self._provider.address() or None,
            api_key=self._key,
            model="",
            optional_params={},
            litellm_params={},
            data={},
        )
        return base + path

    def _headers(self, own: Mapping[str, str]) -> dict[str, str]:
        headers: dict[str, str] = _CONFIG.validate_environment(
            headers=dict(own),
            model="",
            messages=[],
            optional_params={},
            litellm_params={},
            api_key=self._key,
            api_base=self._url(""),
        )
        return headers

    async def create(
        self, batch: StoredBatch, calls: Sequence[BatchCall], announce: Announce
    ) -> ProviderBatch:
        bodies, betas = await asyncio.to_thread(self._requests, batch.model, calls)
        await announce(bodies, None)
        named = {_name(batch, call_id): body for call_id, body in bodies.items()}
        requests = [{"custom_id": name, "params": body} for name, body in named.items()]
        features = {_BETA: ",".join(sorted(betas))} if betas else {}
        made = await self._json("POST", "", features, json={"requests": requests})
        return _read(made)[0]

    async def find(self, batch: StoredBatch, others: Collection[str]) -> ProviderBatch | None:
        undecided = ""
        since = (batch.requested_at or batch.created_at) - CLOCKS_APART
        async for theirs, size in self._listed(since):
            if batch.provider_batch_id is not None:
                if theirs.id == batch.provider_batch_id:
                    return theirs
            elif theirs.id in others or size not in (None, batch.calls):
                continue
            elif theirs.status in ("submitted", "cancelling"):
                undecided = theirs.id
            elif await self._holds(theirs, batch):
                return theirs
        if undecided:
            raise ProviderError(
                "unreadable",
                f"{undecided} may be this batch, whose creation was interrupted. It can be "
                "recognised when it has ended; until then, no other batch is created.",
            )
        return None

    async def retrieve(self, batch_id: str) -> ProviderBatch:
        return _read(await self._json("GET", f"/{batch_id}"))[0]

    async def cancel(self, batch_id: str) -> ProviderBatch:
        return _read(await self._json("POST", f"/{batch_id}/cancel"))[0]

    async def outcomes(
        self, batch: StoredBatch, theirs: ProviderBatch
    ) -> AsyncIterator[Outcome | None]:
        async with aclosing(self._results(theirs.id)) as results:
            async for headers, raw in results:
                if raw.strip():
                    yield read_result(self._provider, batch, headers, raw, self._secret)

    async def _holds(self, theirs: ProviderBatch, batch: StoredBatch) -> bool:
        """Whether the first result of a batch that can be read names a call of ours."""
        try:
            async with aclosing(self._results(theirs.id)) as results:
                async for _, raw in results:
                    if (named := _named(raw)) is not None:
                        return named[0].startswith(f"{batch.key}-")
        except ProviderError as error:
            if error.kind != "not_found":  # archived or deleted: there is nothing to read again
                raise
        return False

    async def _listed(self, since: datetime) -> AsyncIterator[tuple[ProviderBatch, int | None]]:
        """Yield the provider's batches since then, the newest first, with their sizes."""
        query: dict[str, Any] = {"limit": _PAGE}
        while True:
            page = await self._json("GET", "", params=query)
            batches = page.get("data") or []
            for one in batches:
                theirs, size, created_at = _read(one)
                if created_at is not None and created_at < since:
                    return
                yield theirs, size
            if not batches or not page.get("has_more"):
                return
            query["after_id"] = batches[-1]["id"]

    def _results(self, batch_id: str) -> AsyncGenerator[tuple[Mapping[str, str], bytes]]:
        """Yield the lines of the results, each with the headers of the response.

        The address is made here: the one in the batch might have the key sent elsewhere.
        """
        return self._lines_at(f"/{batch_id}/results")

    def _requests(self, model: str, calls: Iterable[BatchCall]) -> tuple[Bodies, set[str]]:
        """Return the bodies of the calls, and the beta features that any of them needs."""
        bodies, betas = {}, set()
        for call in calls:
            bodies[call.id], headers = message_body(
                self._provider, model, call.messages, call.given, self._key
            )
            betas |= {one for one in headers.get(_BETA, "").split(",") if one}
        return bodies, betas


def message_body(
    provider: Provider,
    model: str,
    messages: list[Any],
    parameters: Mapping[str, Any],
    key: str,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the body and the headers that a direct call sends for the same question."""
    name = model.partition("/")[2]
    taken = get_optional_params(
        model=name,
        custom_llm_provider=_PREFIX,
        messages=messages,
        **provider.options(name),
        **parameters,
    )
    taken.pop("json_mode", None)  # of use to read the answer
    headers = _CHAT.validate_environment(
        headers={},
        model=name,
        messages=messages,
        optional_params=taken,
        litellm_params={},
        api_key=key,
        api_base=provider.address() or None,
    )
    body = _CHAT.transform_request(name, messages, taken, litellm_params={}, headers=headers)
    headers, body = update_request_with_filtered_beta(headers, body, _PREFIX)
    return body, headers


def read_result(
    provider: Provider,
    batch: StoredBatch,
    headers: Mapping[str, str],
    raw: bytes,
    secret: str | None,
) -> Outcome | None:
    """Return what a line of the results says of a call, with `secret` masked.

    None when it cannot be read or is of another batch.
    """
    named = _named(raw)
    if named is None:
        return None
    key, _, number = named[0].rpartition("-")
    if key != batch.key or not number.isdecimal():
        return None
    call_id, result = int(number), named[1]
    try:
        match result.get("type"):
            case "succeeded":
                answer = _answer_of(provider, batch.model, headers, result.get("message"))
                return call_id, answer_without_key(answer, secret)
            case "errored":
                raise failure_of(200, result.get("error"), {}, secret)
            case "canceled" | "cancelled" | "expired":
                return call_id, None
            case other:
                raise ProviderError("unreadable", f"The result is of an unknown type: {other!r}.")
    except ProviderError as error:
        return call_id, Failure(error.kind, str(error))


def _named(raw: bytes) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name of the request in a line of the results, and its result."""
    try:
        line = json.loads(raw)
        name, result = line["custom_id"], line["result"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return (name, result) if isinstance(name, str) and isinstance(result, dict) else None


def _name(batch: StoredBatch, call_id: int) -> str:
    """Return the name of a request; calls of another database may have the same ids."""
    return f"{batch.key}-{call_id}"


def _answer_of(provider: Provider, model: str, headers: Mapping[str, str], message: Any) -> Answer:
    """Return the answer in a message; raises `ProviderError` when there is none."""
    try:
        read = _CHAT.transform_parsed_response(
            completion_response=deepcopy(message),  # it is changed
            raw_response=Response(200, headers=headers),
            model_response=ModelResponse(),
            json_mode=True,
        )
    except Exception as error:  # whatever litellm makes of JSON that is no message
        raise ProviderError("unreadable", "The result holds no message.") from error
    return answer_in_batch(provider, model, read, message)


def _status(batch: Mapping[str, Any]) -> tuple[ProviderStatus, str]:
    """Return the status of a batch, and what is not understood of it.

    One that has ended has results of all its requests. One in a state of another name is at work,
    unless it says when it ended.
    """
    given = batch.get("processing_status")
    if given == "ended" or batch.get("ended_at"):
        counts = _counts(batch)
        if counts.get("canceled"):
            return "cancelled", ""
        return ("expired" if counts.get("expired") else "completed"), ""
    if given in ("canceling", "cancelling"):
        return "cancelling", ""
    return "submitted", "" if given == "in_progress" else not_understood(given)


def _counts(batch: Mapping[str, Any]) -> dict[str, int]:
    """Return how many requests had which fate; without what is no count."""
    given = batch.get("request_counts")
    counts = given if isinstance(given, dict) else {}
    return {fate: count for fate, count in counts.items() if isinstance(count, int)}


def _read(batch: Any) -> tuple[ProviderBatch, int | None, datetime | None]:
    """Return a batch, its number of requests, and when it was created; None for what is missing.

    Nothing but its id is needed: a batch that exists is paid for.
    """
    if not isinstance(batch, dict) or not batch.get("id"):
        raise ProviderError("unreadable", f"This is no batch: it has no id: {batch!s:.200}")
    status, note = _status(batch)
    # Each request is counted once, whatever became of it.
    size = sum(_counts(batch).values()) or None
    return ProviderBatch(id=str(batch["id"]), status=status, note=note), size, _created(batch)


def _created(batch: Mapping[str, Any]) -> datetime | None:
    try:
        moment = datetime.fromisoformat(batch["created_at"])
    except (KeyError, TypeError, ValueError):
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC)
