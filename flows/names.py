"""Names of flow runs that a person understands at a glance."""

from collections.abc import Callable

from prefect.runtime import flow_run


def of_experiments(verb: str) -> Callable[[], str]:
    """Return a namer: "score fascism-sim-calm-1-0a1b2c3d and 11 more"."""

    def name() -> str:
        tags = flow_run.parameters["experiments"]
        more = f" and {len(tags) - 1} more" if len(tags) > 1 else ""
        return f"{verb} {tags[0] if tags else 'nothing'}{more}"

    return name
