"""litellm's list of models: what it says of prices and limits, read without importing litellm.

The import takes a second, reading the list a fiftieth of one. It is the list of the version that is
installed, and nobody is asked.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_LIST = "model_prices_and_context_window_backup.json"


def names(prefix: str) -> list[str]:
    """Return the names of a provider's chat models; `prefix` is litellm's name of the provider."""
    return [
        name.removeprefix(f"{prefix}/")
        for name, entry in _models().items()
        if _is_of(entry, prefix) and entry.get("mode") == "chat"
    ]


def entry(prefix: str, name: str) -> Mapping[str, Any]:
    """Return what the list says of a model; empty where it is not in it."""
    prefixed, bare = (_models().get(key) for key in (f"{prefix}/{name}", name))
    own = bare if bare and _is_of(bare, prefix) else None
    return prefixed or own or {}


@cache
def _models() -> Mapping[str, Mapping[str, Any]]:
    installed = find_spec("litellm")
    assert installed is not None
    assert installed.origin is not None
    text = Path(installed.origin).with_name(_LIST).read_text(encoding="utf-8")
    models: dict[str, Mapping[str, Any]] = json.loads(text)
    return models


def _is_of(entry: Mapping[str, Any], prefix: str) -> bool:
    """Whether an entry is of a provider; Bedrock and Vertex have several."""
    provider = str(entry.get("litellm_provider"))
    return provider == prefix or provider.startswith((f"{prefix}-", f"{prefix}_converse"))
