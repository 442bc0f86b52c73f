"""Keys of providers: from the environment, else from where the process was told they are kept.

They are held in memory only, and never leave as anything but a `SecretStr`. What a provider repeats
of a key is masked before it is stored.
"""

import asyncio
import base64
import os
import re
import string
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

from judge_gym.errors import ConfigError
from judge_gym.llm.providers import Provider, Providers
from judge_gym.model_names import is_simulated_model
from judge_gym.records.calls import Answer

KeySource = Callable[[str], Awaitable[SecretStr | None]]
"""Name of a kept key → the key, None when there is none of this name."""


def kept_name(variable: str) -> str:
    """Return the name under which the key of a variable is kept: openai-api-key."""
    return variable.lower().replace("_", "-")


class Keys:
    """Finds keys by the name of their variable; belongs to one event loop."""

    def __init__(self, elsewhere: KeySource | None = None) -> None:
        self._elsewhere = elsewhere
        self._asked: dict[str, SecretStr | None] = {}
        self._asking = asyncio.Lock()

    async def find(self, variable: str) -> SecretStr | None:
        """Return the key in the environment, else the one kept elsewhere, which is asked once."""
        if key := os.environ.get(variable, ""):
            return SecretStr(key)
        if self._elsewhere is None:
            return None
        if variable not in self._asked:
            async with self._asking:
                if variable not in self._asked:
                    self._asked[variable] = await self._elsewhere(kept_name(variable))
        return self._asked[variable]

    async def of(self, provider: Provider) -> SecretStr:
        """Return a provider's key, "none" where none is needed; raises `ConfigError` without it."""
        if not provider.key_env:
            return SecretStr("none")
        key = await self.find(provider.key_env)
        if key is None:
            raise ConfigError(
                f"The key for provider {provider.name} is not set.",
                f"Set the environment variable {provider.key_env}, or save the key as the Prefect "
                f"Secret block {kept_name(provider.key_env)}.",
            )
        _check_key(provider.key_env, key.get_secret_value())
        return key


def refusals(providers: Providers, models: Collection[str]) -> Iterator[str]:
    """Yield what keeps a run from asking these models: an address, a variable or a key.

    A run starts the simulator itself. Keys are looked for in the environment only.
    """
    real = sorted(model for model in models if not is_simulated_model(model))
    for model in real:
        try:
            providers.check({model})
        except ConfigError as error:
            yield str(error)
    variables = {providers.of(model).key_env: providers.of(model).name for model in real}
    variables.pop("", None)
    for variable, provider in sorted(variables.items()):
        key = os.environ.get(variable)
        if not key:
            yield (
                f"The key for provider {provider} is not in the environment: a run needs "
                f"{variable}, or the Prefect Secret block {kept_name(variable)}."
            )
        else:
            try:
                _check_key(variable, key)
            except ConfigError as error:
                yield str(error)


def _check_key(variable: str, key: str) -> None:
    """Raise `ConfigError` for a key that no HTTP header can hold, without quoting it."""
    wrong = next((at for at, one in enumerate(key) if not "!" <= one <= "~"), None)
    if wrong is None:
        return
    names = {"\n": "a line end", "\r": "a line end (CR)", " ": "a space", "\t": "a tab"}
    name = names.get(key[wrong], f"the character U+{ord(key[wrong]):04X}")
    at = "at its end" if not key[wrong:].strip() else f"at position {wrong + 1}"
    raise ConfigError(
        f"The key in {variable} has {name} {at}, which no key has.",
        f"Set {variable} (or the Secret block {kept_name(variable)}) to the key alone, without "
        "spaces, line ends and quotation marks.",
    )


MASK = "[key]"
_SHORTEST_KEY = 16
"""Characters of a key that is masked in answers; a shorter one may be a word."""
_SHORTEST_WORD = 4
"""Characters of a key that is masked inside words, too: a letter is in nearly every word."""
_SHORTEST_PART = 13
"""Characters of the beginning of a key that are masked as the whole key is."""
_OF_BASE64 = frozenset(string.ascii_letters + string.digits + "+/=_-")


def without_key(text: str, key: str) -> str:
    """Return a text with a key masked: whole, its beginning, in an address, and in base64."""
    if len(key) < _SHORTEST_WORD:
        return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", MASK, text)
    masked = text.replace(key, MASK)
    if len(key) < _SHORTEST_KEY:
        return masked
    beginning, in_base64 = _traces(key)
    masked = beginning.sub(MASK, masked)
    for trace in in_base64:
        while (at := masked.find(trace)) >= 0:
            masked = _without_word(masked, at, at + len(trace))
    return masked


def _without_word(text: str, start: int, end: int) -> str:
    """Return a text with the base64 around this part of it masked; takes linear time."""
    while start and text[start - 1] in _OF_BASE64:
        start -= 1
    while end < len(text) and text[end] in _OF_BASE64:
        end += 1
    return f"{text[:start]}{MASK}{text[end:]}"


def answer_without_key(answer: Answer, key: str | None) -> Answer:
    """Return an answer with the key masked in all that the provider said.

    The probabilities of an answer with the key are left out: its tokens would spell the key.
    """
    if key is None or len(key) < _SHORTEST_KEY:
        return answer
    said: dict[str, Any] = {
        name: without_key(value, key)
        for name in ("text", "reasoning", "served_model", "response_id", "fingerprint")
        if (value := getattr(answer, name))
    }
    if said.get("text") == answer.text:
        return replace(answer, **said)
    return replace(answer, **said, chances=())


@lru_cache(maxsize=32)
def _traces(key: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Return a pattern of the key's beginning or the key in an address, and its base64."""
    beginning = rf"{re.escape(key[:_SHORTEST_PART])}[^\s\"'.,;]*"
    in_address = re.escape(quote(key, safe=""))
    return re.compile(f"{in_address}|{beginning}"), tuple(_inside_base64(key))


def _inside_base64(key: str) -> Iterator[str]:
    """Yield what is the same of a key in base64, whatever is around it, in both alphabets."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + key.encode()).decode()
        # The first and the last group may hold something else beside it.
        inner = encoded[4 if before else 0 : -4]
        yield from {inner, inner.translate(str.maketrans("+/", "-_"))}
