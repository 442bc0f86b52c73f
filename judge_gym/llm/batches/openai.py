"""OpenAI's files and batches through litellm: a file of requests in, files of answers out."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from judge_gym.llm.batches.clients import (
    CLOCKS_APART,
    Announce,
    Bodies,
    Connection,
    Outcome,
    answer_in_batch,
)
from judge_gym.llm.failures import failure_of, speakable
from judge_gym.llm.keys import answer_without_key
from judge_gym.llm.providers import Provider
from judge_gym.llm.sdk import (
    LlmProviders,
    ModelResponse,
    ProviderConfigManager,
    convert_to_model_response_object,
    get_optional_params,
    litellm,
)
from judge_gym.records.batches import BatchCall, ProviderBatch, ProviderStatus, StoredBatch
from judge_gym.records.calls import Answer, Failure, ProviderError

ENDPOINT = "/v1/chat/completions"
OUR_KEY = "judge_gym_batch"
"""The name under which a batch's metadata holds our own key."""
_PAGE = 100
_STATUSES: dict[str, ProviderStatus] = {
    "validating": "submitted",
    "in_progress": "submitted",
    "finalizing": "submitted",
    "cancelling": "cancelling",
    "completed": "completed",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}


class OpenAIBatches(Connection):
    """A `BatchClient` of a provider with OpenAI's API."""

    async def create(
        self, batch: StoredBatch, calls: Sequence[BatchCall], announce: Announce
    ) -> ProviderBatch:
        bodies: Bodies = {}
        file_id = batch.input_file_id
        if file_id is None:
            bodies = await asyncio.to_thread(request_bodies, self._provider, batch.model, calls)
            content = await asyncio.to_thread(request_file, bodies)
            file_id = await self._upload(f"judge-gym-{batch.key}.jsonl", content)
        # Before it is used: a batch is found again by its input file.
        await announce(bodies, file_id)
        made = litellm.acreate_batch(
            completion_window="24h",
            endpoint=ENDPOINT,
            input_file_id=file_id,
            metadata={OUR_KEY: batch.key},
            **self._where(),
        )
        return self._read(await self._done(made))

    async def find(self, batch: StoredBatch, others: Collection[str]) -> ProviderBatch | None:
        after: str | None = None
        while True:
            listed = await self._done(
                litellm.alist_batches(after=after, limit=_PAGE, **self._where())
            )
            page = list(listed.data or ())
            for one in page:
                ours = (one.metadata or {}).get(OUR_KEY) == batch.key
                if one.id not in others and (ours or one.input_file_id == batch.input_file_id):
                    return self._read(one)
            oldest = (batch.created_at - CLOCKS_APART).timestamp()
            if not page or not listed.has_more or page[-1].created_at < oldest:
                return None
            after = page[-1].id

    async def retrieve(self, batch_id: str) -> ProviderBatch:
        found = litellm.aretrieve_batch(batch_id=batch_id, **self._where())
        return self._read(await self._done(found))

    async def cancel(self, batch_id: str) -> ProviderBatch:
        return self._read(
            await self._done(litellm.acancel_batch(batch_id=batch_id, **self._where()))
        )

    async def outcomes(self, batch: StoredBatch, theirs: ProviderBatch) -> AsyncIterator[Outcome]:
        for file_id in (theirs.output_file_id, theirs.error_file_id):
            if file_id is None:
                continue
            try:
                async for raw in self._lines(file_id):
                    if outcome := read_line(self._provider, batch.model, raw, self._secret):
                        yield outcome
            except ProviderError as error:
                if error.kind != "not_found":  # a file that is gone says nothing
                    raise

    async def _upload(self, name: str, content: bytes) -> str:
        made = litellm.acreate_file(file=(name, content), purpose="batch", **self._where())
        return str((await self._done(made)).id)

    async def _lines(self, file_id: str) -> AsyncIterator[bytes]:
        content = await self._done(
            litellm.afile_content(file_id=file_id, stream=True, **self._where())
        )
        async with aclosing(content.stream_iterator) as chunks:
            async for line in self._lines_of(chunks):
                yield line

    def _where(self) -> dict[str, Any]:
        return {
            "custom_llm_provider": "openai",
            "api_key": self._key,
            "api_base": self._provider.address() or None,
            "timeout": self._timeout_s,
            "max_retries": 0,
        }

    def _read(self, batch: Any) -> ProviderBatch:
        try:
            errors = getattr(batch.errors, "data", None) or ()
            said = "; ".join(error.message or "" for error in errors)
            return ProviderBatch(
                id=batch.id,
                status=_STATUSES[batch.status],
                input_file_id=batch.input_file_id,
                output_file_id=batch.output_file_id,
                error_file_id=batch.error_file_id,
                error=speakable(said, self._secret),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ProviderError("unreadable", f"This is no batch: {error!r}") from None


def request_bodies(provider: Provider, model: str, calls: Iterable[BatchCall]) -> Bodies:
    """Return call id → the body of its request, as a direct call sends it."""
    return {call.id: chat_body(provider, model, call.messages, call.given) for call in calls}


def chat_body(
    provider: Provider, model: str, messages: list[Any], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the body that a direct call sends for the same question."""
    name, prefix = model.partition("/")[2], provider.litellm or provider.name
    config = ProviderConfigManager.get_provider_chat_config(name, LlmProviders(prefix))
    assert config is not None, f"litellm has no chat with {prefix}"
    taken = get_optional_params(
        model=name, custom_llm_provider=prefix, messages=messages, **parameters
    )
    body: dict[str, Any] = config.transform_request(
        name, messages, taken, litellm_params={}, headers={}
    )
    body |= body.pop("extra_body", None) or {}
    # litellm says that nothing shall be streamed, and sends it only when something shall.
    del body["stream"]
    return body | provider.body


def request_file(bodies: Mapping[int, Mapping[str, Any]]) -> bytes:
    """Return the input file: a line a call, named by the id of its ledger row."""
    head = {"method": "POST", "url": ENDPOINT}
    lines = ({"custom_id": str(one)} | head | {"body": body} for one, body in bodies.items())
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def read_line(provider: Provider, model: str, raw: bytes, secret: str | None) -> Outcome | None:
    """Return what a line of an output or error file says of a call, with `secret` masked.

    None when it cannot be read, or is about a request that was never executed.
    """
    try:
        line = json.loads(raw)
        call_id, response = int(str(line["custom_id"])), line["response"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(response, dict):
        return None
    try:
        return call_id, _answer_of(provider, model, response, secret)
    except ProviderError as error:
        return call_id, Failure(error.kind, str(error))


def _answer_of(
    provider: Provider, model: str, response: dict[str, Any], secret: str | None
) -> Answer:
    """Return the answer in a line's `response`; raises `ProviderError` when there is none."""
    status, body = response.get("status_code"), response.get("body")
    if isinstance(status, int) and status != 200:
        raise failure_of(status, body, {}, secret)
    if not isinstance(body, dict):
        raise ProviderError("unreadable", speakable(f"The line has no answer: {body}", secret))
    try:
        read = convert_to_model_response_object(
            response_object=body, model_response_object=ModelResponse()
        )
    except Exception as error:  # whatever litellm makes of JSON that is no completion
        raise ProviderError("unreadable", "The line holds no chat completion.") from error
    return answer_without_key(answer_in_batch(provider, model, read, body), secret)
