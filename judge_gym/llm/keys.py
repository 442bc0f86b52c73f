"""Keys of providers: from the environment, else from where the process was told they are kept.

They are held in memory only, and never leave as anything but a `SecretStr`.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable

from pydantic import SecretStr

from judge_gym.errors import ConfigError
from judge_gym.llm.providers import Provider

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
        return key
