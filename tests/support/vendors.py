"""Stand-ins of vendors as the shipped providers file names them, each with a model of theirs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import sqlalchemy as sa

from judge_gym.llm.gateway import Gateway
from judge_gym.llm.providers import Provider, Providers, load_providers
from judge_gym.shipped import DEPLOYMENTS
from support.rig import KEY_NAME

SHIPPED = load_providers(DEPLOYMENTS / "providers.toml")


@dataclass(frozen=True)
class Wire:
    """An API: where its stand-in is, a model, and what it calls the ends of an answer."""

    name: str
    path: str
    model: str
    stop: str = "stop"
    length: str = "length"

    @property
    def asked(self) -> str:
        """The model as sweeps name it."""
        return f"{self.name}/{self.model}"

    def at(self, url: str) -> Provider:
        """Return the shipped entry, at a simulator, with the test's key and as fast as it goes."""
        address = url.removesuffix("/v1") + self.path
        place = {
            "base_url": address,
            "base_url_env": "",
            "key_env": KEY_NAME,
            "requests_per_minute": None,
            "tokens_per_minute": None,
        }
        return SHIPPED.by_name[self.name].model_copy(update=place)


OPENAI, ANTHROPIC, GEMINI, MISTRAL = MAIN_WIRES = (
    Wire("openai", "/v1", "gpt-5-mini"),
    Wire("anthropic", "", "claude-sonnet-4-5", "end_turn", "max_tokens"),
    Wire("gemini", "/v1beta", "gemini-2.5-flash", "STOP", "MAX_TOKENS"),
    Wire("mistral", "/mistral/v1", "mistral-large-latest"),
)
OTHER_WIRES = (
    Wire("openrouter", "/openrouter/api/v1", "openai/gpt-4o"),
    Wire("xai", "/xai/v1", "grok-3-mini"),
    Wire("deepseek", "/deepseek", "deepseek-v4-pro"),
    Wire("azure", "/azure", "gpt-4.1"),
    Wire("ollama", "/ollama", "llama3.2"),
    Wire("vllm", "/vllm/v1", "served"),
)
WIRES = {wire.name: wire for wire in (*MAIN_WIRES, *OTHER_WIRES)}


@asynccontextmanager
async def gateway_by(
    wire: Wire, url: str, database: str, *, attempts: int = 3, timeout_s: float = 20
) -> AsyncIterator[tuple[Gateway, sa.Engine]]:
    """Yield a gateway to the stand-in of one API, and its database."""
    engine = sa.create_engine(database)
    providers = Providers({wire.name: wire.at(url)}, SHIPPED.file)
    gateway = Gateway(engine, providers, attempts=attempts, timeout_s=timeout_s)
    try:
        yield gateway, engine
    finally:
        await gateway.close()
        engine.dispose()
