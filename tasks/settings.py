"""The settings of one run: its parameters, and over them a variable that Prefect keeps."""

from collections.abc import Mapping
from typing import Any

from prefect.variables import Variable

from judge_gym.errors import ConfigError
from judge_gym.settings import Layers

VARIABLE = "judge_gym_settings"
_PARAMETERS = "run parameters"


def given(settings: Mapping[str, Any] | None) -> Layers:
    """Return the settings of a workflow's run; without any it has those of who began it."""
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
