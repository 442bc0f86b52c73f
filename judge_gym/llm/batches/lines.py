"""What stands in the files of a batch: our requests, and a provider's answers to them."""

import json
from collections.abc import Iterable
from typing import Any

from judge_gym.llm.client_batches import ENDPOINT, answer_of, chat_body
from judge_gym.llm.providers import Provider
from judge_gym.records.calls import Answer, Failure, ProviderError

Line = tuple[int, Answer | Failure]
"""(call id, outcome)"""


def request_file(provider: Provider, model: str, calls: Iterable[Any]) -> bytes:
    """Return the input file: a line a call, named by the id of its ledger row."""
    return b"".join(_request_line(provider, model, call) for call in calls)


def _request_line(provider: Provider, model: str, call: Any) -> bytes:
    head = json.dumps({"custom_id": str(call.id), "method": "POST", "url": ENDPOINT})
    # Rows planned before `sent_parameters` was recorded have what was asked for alone.
    parameters = call.sent_parameters or call.parameters
    body = chat_body(provider, model, call.messages, parameters)
    # The body stands here byte for byte as a direct call sends it.
    return b'%s, "body": %s}\n' % (head[:-1].encode(), body)


def read_line(provider: Provider, model: str, raw: bytes, secret: str | None) -> Line | None:
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
        return call_id, answer_of(provider, model, response, secret)
    except ProviderError as error:
        return call_id, Failure(error.kind, str(error))
