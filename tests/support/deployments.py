"""The deployments that prefect.yaml declares."""

from functools import cache
from typing import Any

from prefect import Flow
from prefect.utilities.importtools import import_object
from ruamel.yaml import YAML

from support.command_line import REPOSITORY


@cache
def deployments() -> dict[str, Flow[..., Any]]:
    """Return the flow of each, by its name with that of the flow before it: "score/default"."""
    declared = YAML(typ="safe").load(REPOSITORY / "prefect.yaml")["deployments"]
    of_each = [(import_object(one["entrypoint"]), one["name"]) for one in declared]
    return {f"{flow.name}/{name}": flow for flow, name in of_each}
