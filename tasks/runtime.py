"""The runtime of a run: its settings, and keys from Prefect's Secret blocks."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from prefect.client.orchestration import get_client
from prefect.events import emit_event
from prefect.events.related import tags_as_related_resources
from prefect.exceptions import ObjectNotFound, Pause
from prefect.runtime import flow_run
from prefect.variables import Variable
from pydantic import SecretStr

from judge_gym import runtime as library
from judge_gym.errors import ConfigError
from judge_gym.logs import of_run
from judge_gym.runtime import Runtime
from judge_gym.settings import Layers

RUN_SUSPENDED = "judge-gym.run.suspended"


@asynccontextmanager
async def runtime(layers: Layers = ()) -> AsyncIterator[Runtime]:
    """Open the runtime of this event loop, or share the one already open; logs name the run."""
    with of_run(flow_run.id):
        try:
            async with library.runtime(layers, secret_block) as opened:
                yield opened
        except Pause:
            # The last that the run does: heartbeats of before it are heard before it.
            _emit_suspended()
            raise


def _emit_suspended() -> None:
    """Emit that the process of this flow run ends until a person has decided."""
    emit_event(
        RUN_SUSPENDED,
        resource={
            "prefect.resource.id": f"prefect.flow-run.{flow_run.id}",
            "prefect.resource.name": str(flow_run.name),
        },
        related=tags_as_related_resources(flow_run.tags),
    )


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


VARIABLE = "judge_gym_settings"
_PARAMETERS = "run parameters"


def parameter_layer(settings: Mapping[str, Any] | None) -> Layers:
    """Return the settings in a run's parameters as a layer; without any, the caller's hold."""
    return ((_PARAMETERS, settings),) if settings else ()


def together(layers: Layers) -> dict[str, Any]:
    """Return what these layers come to, for a run elsewhere."""
    return {name: value for _, values in layers for name, value in values.items()}


async def settings_of_this_run(parameters: Mapping[str, Any]) -> Layers:
    """Return what goes over the file; raises `ConfigError` when the variable is no JSON object."""
    variable: Any = await Variable.aget(VARIABLE, default=None)
    if variable is None:
        variable = {}
    if not isinstance(variable, dict):
        raise ConfigError(
            f"The Prefect variable {VARIABLE} is not a JSON object.",
            'Use settings by name, such as {"workers": 8}.',
        )
    layers = ((_PARAMETERS, parameters), (f"Prefect variable {VARIABLE}", variable))
    return tuple((source, values) for source, values in layers if values)
