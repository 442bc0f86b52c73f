"""OpenAI's files and batches: a file of requests in, files of answers out.

litellm makes the bodies of single requests and reads their answers. Its own batches check what a
provider says against closed lists of words and download answers twice, so the requests of the batch
API are made here, over its HTTP client.
"""

import asyncio
import json
import os
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
    limit_met,
    not_understood,
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
)
from judge_gym.records.batches import (
    BatchCall,
    BatchCause,
    ProviderBatch,
    ProviderStatus,
    StoredBatch,
)
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
    "canceling": "cancelling",
    "canceled": "cancelled",
}
_ADDRESS = "https://api.openai.com/v1"
_ACCOUNT = {
    "OpenAI-Organization": ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION"),
    "OpenAI-Project": ("OPENAI_PROJECT_ID",),
}
"""Header → the environment variables that OpenAI's own client and litellm fill it from."""
_NOT_EXECUTED = ("batch_expired", "batch_cancelled", "batch_canceled")
"""Codes of lines about requests that were not executed."""


class OpenAIBatches(Connection):
    """A `BatchClient` of a provider with OpenAI's API."""

    litellm_name = LlmProviders.OPENAI

    def _url(self, path: str) -> str:
        return (self._provider.address() or _ADDRESS).rstrip("/") + path

    def _headers(self, own: Mapping[str, str]) -> dict[str, str]:
        account = {
            header: next(filter(None, map(os.environ.get, variables)), "")
            for header, variables in _ACCOUNT.items()
        }
        key = {"Authorization": f"Bearer {self._key}"}
        return {**key, **{name: value for name, value in account.items() if value}, **own}

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
        asked = {
            "input_file_id": file_id,
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {OUR_KEY: batch.key},
        }
        return self._read(await self._json("POST", "/batches", json=asked))

    async def find(self, batch: StoredBatch, others: Collection[str]) -> ProviderBatch | None:
        query: dict[str, Any] = {"limit": _PAGE}
        oldest = (batch.created_at - CLOCKS_APART).timestamp()
        while True:
            listed = await self._json("GET", "/batches", params=query)
            page = [one for one in listed.get("data") or () if isinstance(one, dict)]
            for one in page:
                if _id(one.get("id")) not in others and _is_ours(one, batch):
                    return self._read(one)
            last = page[-1] if page else {}
            created = last.get("created_at")
            if not listed.get("has_more") or not last.get("id"):
                return None
            if isinstance(created, int | float) and created < oldest:
                return None
            query["after"] = last["id"]

    async def retrieve(self, batch_id: str) -> ProviderBatch:
        return self._read(await self._json("GET", f"/batches/{batch_id}"))

    async def cancel(self, batch_id: str) -> ProviderBatch:
        return self._read(await self._json("POST", f"/batches/{batch_id}/cancel"))

    async def outcomes(
        self, batch: StoredBatch, theirs: ProviderBatch
    ) -> AsyncIterator[Outcome | None]:
        for file_id in filter(None, (theirs.output_file_id, theirs.error_file_id)):
            async with aclosing(self._lines_at(f"/files/{file_id}/content")) as lines:
                async for _, raw in lines:
                    if raw.strip():
                        yield read_line(self._provider, batch.model, raw, self._secret)

    async def _upload(self, name: str, content: bytes) -> str:
        made = await self._json(
            "POST",
            "/files",
            data={"purpose": "batch"},
            files={"file": (name, content, "application/octet-stream")},
        )
        if (file_id := _id(made.get("id"))) is None:
            raise ProviderError("unreadable", "The provider gave the input file no id.")
        return file_id

    def _read(self, batch: Mapping[str, Any]) -> ProviderBatch:
        """Return a batch; nothing but its id is needed, since a batch that exists is paid for."""
        batch_id = _id(batch.get("id"))
        if batch_id is None:
            said = speakable(f"This is no batch: it has no id: {batch}", self._secret)
            raise ProviderError("unreadable", said)
        state = batch.get("status")
        status = _STATUSES.get(str(state).lower())
        said, cause = _errors(batch.get("errors"))
        return ProviderBatch(
            id=batch_id,
            status=status or "submitted",
            input_file_id=_id(batch.get("input_file_id")),
            output_file_id=_id(batch.get("output_file_id")),
            error_file_id=_id(batch.get("error_file_id")),
            error=speakable(said, self._secret),
            cause=cause,
            note="" if status else not_understood(state),
        )


def _id(given: Any) -> str | None:
    """Return an id; some servers write an absent one as "" instead of null."""
    return str(given) if given else None


def _is_ours(theirs: Mapping[str, Any], batch: StoredBatch) -> bool:
    metadata = theirs.get("metadata")
    if isinstance(metadata, dict) and metadata.get(OUR_KEY) == batch.key:
        return True
    file_id = _id(theirs.get("input_file_id"))
    return file_id is not None and file_id == batch.input_file_id


def _errors(errors: Any) -> tuple[str, BatchCause | None]:
    """Return what a batch says of its validation, and the class of the first error with one."""
    listed = errors.get("data") if isinstance(errors, dict) else errors
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    said = "; ".join(str(one.get("message") or one.get("code") or "") for one in found)
    causes = (_cause(one) for one in found)
    return said, next((cause for cause in causes if cause), None)


def _cause(error: Mapping[str, Any]) -> BatchCause | None:
    failure = failure_of(400, {"error": dict(error)}, {}, None)
    if failure.kind == "quota":
        return "quota"
    return limit_met(None, f"{error.get('code')} {error.get('message')}")


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

    None when it cannot be read or names no call.
    """
    try:
        line = json.loads(raw)
        call_id = int(str(line["custom_id"]))
        response, error = line.get("response"), line.get("error")
    except (AttributeError, ValueError, TypeError, KeyError, RecursionError):
        return None
    try:
        if isinstance(response, dict):
            return call_id, _answer_of(provider, model, response, secret)
        if isinstance(error, dict) and error.get("code") not in _NOT_EXECUTED:
            raise failure_of(200, {"error": error}, {}, secret)
    except ProviderError as failed:
        return call_id, Failure(failed.kind, str(failed))
    return call_id, None


def _answer_of(
    provider: Provider, model: str, response: dict[str, Any], secret: str | None
) -> Answer:
    """Return the answer in a line's `response`; raises `ProviderError` when there is none."""
    status, body = str(response.get("status_code")), _body(response)
    if status.isdecimal() and status != "200":
        raise failure_of(int(status), body, {}, secret)
    if not isinstance(body, dict):
        raise ProviderError("unreadable", speakable(f"The line has no answer: {body}", secret))
    try:
        read = convert_to_model_response_object(
            response_object=body, model_response_object=ModelResponse()
        )
    except Exception as error:  # whatever litellm makes of JSON that is no completion
        raise ProviderError("unreadable", "The line holds no chat completion.") from error
    return answer_without_key(answer_in_batch(provider, model, read, body), secret)


def _body(response: Mapping[str, Any]) -> Any:
    """Return the body in a line's `response`: as an object, as its JSON, or the response itself."""
    body = response.get("body", response if "choices" in response else None)
    if isinstance(body, str):
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            return body
    return body
