"""Names of flow runs that a person understands at a glance."""

from collections.abc import Callable, Sequence
from pathlib import Path

from prefect.runtime import flow_run


def of_experiments(verb: str) -> Callable[[], str]:
    """Return a namer: "score fascism-sim-calm-1-0a1b2c3d and 11 more"."""
    return lambda: _several(verb, flow_run.parameters["experiments"])


def of_rubrics() -> str:
    """Return "write rubrics of ...", or "write second rubrics of ..." for a sham."""
    kind = "second rubrics" if flow_run.parameters["sham"] else "rubrics"
    return _several(f"write {kind} of", flow_run.parameters["experiments"])


def of_windows() -> str:
    """Return "evidence of window 3 and 11 more"."""
    return _several("evidence of window", flow_run.parameters["windows"])


def of_rolling() -> str:
    """Return "daily windows of news.yaml before 2026-01-10", the day it was meant to begin on."""
    given, meant_for = flow_run.parameters, flow_run.scheduled_start_time
    name = Path(given["file"]).name
    return f"{given['cadence']} windows of {name} before {meant_for:%Y-%m-%d}"


def of_review() -> str:
    """Return "review notes.yaml of 2026-01-10" or, without a day, when it was meant to begin."""
    given, meant_for = flow_run.parameters, flow_run.scheduled_start_time
    of = f"of {given['day']}" if given["day"] else f"meant for {meant_for:%Y-%m-%d %H:%M} UTC"
    return f"review {Path(given['file']).name} {of}"


def _several(verb: str, names: Sequence[object]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{verb} {names[0] if names else 'nothing'}{more}"
