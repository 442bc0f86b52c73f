"""Files and batches through litellm, for providers that speak OpenAI's batch API.

No retries and no database here.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

from judge_gym.llm.client import (
    classified,
    kind_of_status,
    listed_price,
    read_answer,
    speakable,
)
from judge_gym.llm.providers import Price, Provider
from judge_gym.llm.sdk import (
    LlmProviders,
    ModelResponse,
    ProviderConfigManager,
    convert_to_model_response_object,
    get_optional_params,
    litellm,
)
from judge_gym.records.batches import ProviderBatch, ProviderStatus
from judge_gym.records.calls import Answer, ProviderError

T = TypeVar("T")

ENDPOINT = "/v1/chat/completions"
OUR_KEY = "judge_gym_batch"
"""The name under which a batch's metadata holds our own key."""
LONGEST_LINE = 2_000_000
"""Bytes; an answer may have 200,000 characters of at most 6 bytes each."""
_PAGE = 100
_CLOCKS_APART = timedelta(days=1)
"""How far a provider's clock and ours may be apart when its list is searched."""
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


class BatchClient:
    """One provider's files and batches; every method raises `ProviderError`."""

    def __init__(self, provider: Provider, key: str, timeout_s: float) -> None:
        self._provider = provider
        self._key = key
        self._timeout_s = timeout_s

    @property
    def secret(self) -> str | None:
        """The key, when it is one that nobody may read."""
        return self._key if self._provider.key_env else None

    async def upload(self, name: str, content: bytes) -> str:
        """Store an input file; returns its id."""
        made = litellm.acreate_file(file=(name, content), purpose="batch", **self._where())
        return str((await self._done(made)).id)

    async def create(self, input_file_id: str, our_key: str) -> ProviderBatch:
        """Have a file worked on, within a day."""
        made = litellm.acreate_batch(
            completion_window="24h",
            endpoint=ENDPOINT,
            input_file_id=input_file_id,
            metadata={OUR_KEY: our_key},
            **self._where(),
        )
        return self._read(await self._done(made))

    async def retrieve(self, batch_id: str) -> ProviderBatch:
        """Ask how far a batch is."""
        found = litellm.aretrieve_batch(batch_id=batch_id, **self._where())
        return self._read(await self._done(found))

    async def cancel(self, batch_id: str) -> ProviderBatch:
        """End a batch; what it has answered until then can still be read."""
        return self._read(
            await self._done(litellm.acancel_batch(batch_id=batch_id, **self._where()))
        )

    async def find(
        self, our_key: str, input_file_id: str, created_at: datetime
    ) -> ProviderBatch | None:
        """Search the provider's list, newest first, for a batch made of our file."""
        after: str | None = None
        while True:
            listed = await self._done(
                litellm.alist_batches(after=after, limit=_PAGE, **self._where())
            )
            page = [self._read(batch) for batch in listed.data or ()]
            for batch in page:
                if batch.our_key == our_key or batch.input_file_id == input_file_id:
                    return batch
            oldest = created_at - _CLOCKS_APART
            if not page or not listed.has_more or page[-1].created_at < oldest:
                return None
            after = page[-1].id

    async def lines(self, file_id: str) -> AsyncIterator[bytes]:
        """Yield a file's lines as they arrive; those over `LONGEST_LINE` are left out."""
        content = await self._done(
            litellm.afile_content(file_id=file_id, stream=True, **self._where())
        )
        rest = b""
        async with aclosing(content.stream_iterator) as chunks:
            while (chunk := await self._done(anext(chunks, None))) is not None:
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    if len(line) <= LONGEST_LINE:
                        yield line
                rest = rest[: LONGEST_LINE + 1]
        if len(rest) <= LONGEST_LINE:
            yield rest

    def _where(self) -> dict[str, Any]:
        return {
            "custom_llm_provider": "openai",
            "api_key": self._key,
            "api_base": self._provider.address() or None,
            "timeout": self._timeout_s,
            "max_retries": 0,
        }

    async def _done(self, asking: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asking
        except TimeoutError as error:
            raise ProviderError("timeout", f"no answer within {self._timeout_s:g} s") from error
        except Exception as error:
            # Without its cause, which may repeat the key in a trace.
            raise classified(error, self.secret) from None

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
                our_key=(batch.metadata or {}).get(OUR_KEY, ""),
                error=speakable(said, self.secret),
                created_at=datetime.fromtimestamp(batch.created_at, UTC),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ProviderError("unreadable", f"This is no batch: {error!r}") from None


def chat_body(
    provider: Provider, model: str, messages: list[Any], parameters: dict[str, Any]
) -> bytes:
    """Return the body, as JSON, that a direct call sends for the same question."""
    name, prefix = model.partition("/")[2], provider.litellm or provider.name
    config = ProviderConfigManager.get_provider_chat_config(name, LlmProviders(prefix))
    assert config is not None, f"litellm has no chat with {prefix}"
    taken = get_optional_params(
        model=name, custom_llm_provider=prefix, messages=messages, **parameters
    )
    body = config.transform_request(name, messages, taken, litellm_params={}, headers={})
    body |= body.pop("extra_body", None) or {}
    # litellm says that nothing shall be streamed, and sends it only when something shall.
    del body["stream"]
    return json.dumps(body).encode()


def answer_of(
    provider: Provider, model: str, response: dict[str, Any], secret: str | None
) -> Answer:
    """Return the answer in a line's `response`; raises `ProviderError` when there is none.

    Priced by the providers file, else as a batch by litellm's list, else as a direct call.
    """
    status, body = response.get("status_code"), response.get("body")
    if status != 200 or not isinstance(body, dict):
        kind = kind_of_status(status) if isinstance(status, int) and status != 200 else "unreadable"
        raise ProviderError(kind, speakable(f"status {status}: {_said(body)}", secret))
    try:
        read = convert_to_model_response_object(
            response_object=body, model_response_object=ModelResponse()
        )
    except Exception as error:  # whatever litellm makes of JSON that is no completion
        raise ProviderError("unreadable", "The line holds no chat completion.") from error
    return read_answer(read, None, model, price_in_batch(provider, model.partition("/")[2]))


def price_in_batch(provider: Provider, name: str) -> Price | None:
    """Return what a model costs in a batch; None when it is in no list."""
    own = provider.prices.get(name)
    return own or listed_price(provider, name, "_batches") or listed_price(provider, name)


def _said(body: Any) -> str:
    error = body.get("error") if isinstance(body, dict) else body
    return str(cast(Any, error).get("message") if isinstance(error, dict) else error)
