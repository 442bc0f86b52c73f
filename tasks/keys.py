"""Keys that Prefect keeps: Secret blocks, read where they are used and held in memory only."""

from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from pydantic import SecretStr

from judge_gym.errors import ConfigError


async def secret_block(name: str) -> SecretStr | None:
    """Return the text of a Secret block, None without one; raises `ConfigError` for no text."""
    async with get_client() as client:
        try:
            block = await client.read_block_document_by_name(name, "secret", include_secrets=True)
        except ObjectNotFound:
            return None
    value = block.data.get("value")
    if not isinstance(value, str) or not value:
        raise ConfigError(f"The Prefect Secret block {name} holds no text.", "Save the key in it.")
    return SecretStr(value)
