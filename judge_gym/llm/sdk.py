"""litellm as it is used here: the one module that imports it, and what it changes of it."""

import gc
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import httpx
import litellm
from litellm import exceptions
from litellm.anthropic_beta_headers_manager import update_request_with_filtered_beta
from litellm.litellm_core_utils import exception_mapping_utils
from litellm.litellm_core_utils.litellm_logging import Logging
from litellm.litellm_core_utils.llm_response_utils.convert_dict_to_response import (
    convert_to_model_response_object,
)
from litellm.litellm_core_utils.secret_redaction import redact_string
from litellm.llms.anthropic.batches.transformation import AnthropicBatchesConfig
from litellm.llms.anthropic.chat.transformation import AnthropicConfig
from litellm.llms.azure import azure
from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients
from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler, get_async_httpx_client
from litellm.llms.openai import openai
from litellm.types.utils import LlmProviders, ModelResponse
from litellm.utils import ProviderConfigManager, get_optional_params

__all__ = [
    "AnthropicBatchesConfig",
    "AnthropicConfig",
    "Exchange",
    "LlmProviders",
    "ModelResponse",
    "ProviderConfigManager",
    "close_litellm_async_clients",
    "convert_to_model_response_object",
    "exceptions",
    "get_async_httpx_client",
    "get_optional_params",
    "litellm",
    "update_request_with_filtered_beta",
]

litellm.telemetry = False
litellm.suppress_debug_info = True
# For models that are in no list of its own it repeats the same warnings on every call.
# What it logs of an error is a trace, and the error is told by judge-gym.
logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
# What a model takes is decided in `capabilities`, and nothing goes without a record.
litellm.drop_params = False


async def _not_sent_again(*_: Any, **__: Any) -> Any:
    raise  # the error that litellm is handling


# litellm sends once more, over a new connection, what a broken one may have delivered: an answer
# that would be paid for and in no ledger. Whether to send again is the gateway's to decide.
AsyncHTTPHandler.single_connection_post_request = _not_sent_again

# For embeddings it takes a number of retries of 0 as none given, and has OpenAI's client retry.
litellm.DEFAULT_MAX_RETRIES = 0

_LONGEST_REDACTED = 10_000
"""Characters of an error; `failures` keeps fewer."""


def _redacted(text: str) -> str:
    redacted: str = redact_string(text[:_LONGEST_REDACTED])
    return redacted


# litellm searches what an error says for secrets, which takes a second for each megabyte of a page
# that stands where an answer should be. No other call goes on meanwhile.
exception_mapping_utils.redact_string = _redacted
exception_mapping_utils.redact_secret_string = _redacted

# litellm makes an empty answer with invented usage of OpenAI's refusal of an output limit that
# thinking used up.
azure.is_output_token_limit_error = openai.is_output_token_limit_error = lambda _: False


class Exchange(Logging):  # type: ignore[misc]
    """One call's request and response as sent and received, kept from litellm's own log of them.

    litellm logs to no one else: its handlers of success and failure, and with `priced` False its
    computation of the cost, are left out. They would take a third of the CPU of a call.
    """

    def __init__(self, model: str, messages: Sequence[Any], *, priced: bool) -> None:
        super().__init__(
            model=model,
            messages=list(messages),
            stream=False,
            call_type="acompletion",
            start_time=datetime.now(),
            litellm_call_id="",
            function_id="",
            litellm_trace_id="-",
        )
        self.update_environment_variables({"api_base": ""}, {}, model=model)
        self.priced = priced
        self.sent: dict[str, Any] | None = None
        """The body of the request."""
        self.received: Any = None
        """The body of the response, by litellm."""
        self.response: httpx.Response | None = None
        """The last response that was received whole."""

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Keep the responses that arrive meanwhile; litellm does not log one it cannot read."""
        before = _RECORDING.set(self)
        try:
            yield
        finally:
            _RECORDING.reset(before)

    @property
    def is_answered(self) -> bool:
        """Whether a response with status 200 was received whole."""
        return self.response is not None and self.response.status_code == 200

    @property
    def answer_body(self) -> Any:
        """The body of a response with status 200, as received; None when there was none."""
        if self.response is not None and self.is_answered:
            return self.response.text
        return self.received

    def pre_call(
        self, input: Any, api_key: Any, model: Any = None, additional_args: Any = None
    ) -> None:
        body = (additional_args or {}).get("complete_input_dict")
        self.sent = json.loads(body) if isinstance(body, str | bytes) else body

    def post_call(
        self, original_response: Any, input: Any = None, api_key: Any = None,
        additional_args: Any = None,
    ) -> None:  # fmt: skip
        self.received = original_response

    def response_cost_calculator(self, *given: Any, **named: Any) -> float | None:
        cost: float | None = None
        if self.priced:
            cost = super().response_cost_calculator(*given, **named)
        return cost

    def claim_async_success_log(self) -> bool:
        return False

    def handle_sync_success_callbacks_for_async_calls(self, *_: Any, **__: Any) -> None:
        return

    def failure_handler(self, *_: Any, **__: Any) -> None:
        return

    async def async_failure_handler(self, *_: Any, **__: Any) -> None:
        return


_RECORDING: ContextVar[Exchange | None] = ContextVar("recording", default=None)
_send = httpx.AsyncClient.send


async def _recorded(
    client: httpx.AsyncClient, request: httpx.Request, **named: Any
) -> httpx.Response:
    exchange = _RECORDING.get()
    # litellm asks Ollama what a model is, before it asks the model.
    if exchange is None or request.url.path.endswith("/api/show"):
        return await _send(client, request, **named)
    exchange.response = None
    response = await _send(client, request, **named)
    exchange.response = response if response.is_closed else None
    return response


# Each of litellm's clients sends by httpx, and some lose the body when they cannot read it.
httpx.AsyncClient.send = _recorded  # type: ignore[assignment, method-assign]

# What imports have made stays for good, and most of it is litellm's: walking it again and again in
# search of garbage takes 0.4 ms of each call.
gc.freeze()
