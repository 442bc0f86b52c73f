"""litellm as it is used here: the one module that imports it, and what it changes of it."""

import gc
from typing import Any

import litellm
from litellm import exceptions
from litellm.litellm_core_utils.llm_response_utils.convert_dict_to_response import (
    convert_to_model_response_object,
)
from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients
from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
from litellm.types.utils import LlmProviders, ModelResponse
from litellm.utils import ProviderConfigManager, get_optional_params

__all__ = [
    "LlmProviders",
    "ModelResponse",
    "ProviderConfigManager",
    "close_litellm_async_clients",
    "convert_to_model_response_object",
    "exceptions",
    "get_optional_params",
    "litellm",
]

litellm.telemetry = False
litellm.suppress_debug_info = True
# What a model takes is decided in `capabilities`, and nothing goes without a record.
litellm.drop_params = False


async def _not_sent_again(*_: Any, **__: Any) -> Any:
    raise  # the error that litellm is handling


# litellm sends once more, over a new connection, what a broken one may have delivered: an answer
# that would be paid for and in no ledger. Whether to send again is the gateway's to decide.
AsyncHTTPHandler.single_connection_post_request = _not_sent_again

# What imports have made stays for good, and most of it is litellm's: walking it again and again in
# search of garbage takes 0.4 ms of each call.
gc.freeze()
