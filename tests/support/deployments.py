"""The deployments that prefect.yaml declares."""

from functools import cache

from prefect.utilities.importtools import import_object
from ruamel.yaml import YAML

from support.command_line import REPOSITORY


@cache
def deployment_names() -> frozenset[str]:
    """Return the names of all, each with that of its flow before it: "score/default"."""
    declared = YAML(typ="safe").load(REPOSITORY / "prefect.yaml")["deployments"]
    return frozenset(f"{import_object(one['entrypoint']).name}/{one['name']}" for one in declared)
