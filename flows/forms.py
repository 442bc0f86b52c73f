"""What a person sees of a flow: the name of its run, and the fields of its form."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from prefect.runtime import flow_run
from pydantic import AfterValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from judge_gym.shipped import own_or_shipped


def unless_named(name: Callable[[], str]) -> Callable[[], str]:
    """Return a namer that leaves a name alone which a person or a sweep has given to the run.

    Prefect names the others by two words, such as "amber-otter".
    """

    def namer() -> str:
        given = str(flow_run.name or "")
        words = given.split("-")
        generated = len(words) == 2 and _generated_words().issuperset(words)
        return given if given and not generated else name()

    return namer


@cache
def _generated_words() -> frozenset[str]:
    from coolname.data import config

    parts: dict[str, Any] = dict(config)
    return frozenset(word for part in parts.values() for word in part.get("words", ()))


@unless_named
def analysis_run_name() -> str:
    """Return "analyse my-study"."""
    return f"analyse {flow_run.parameters['sweep']}"


def file_run_name(verb: str, parameter: str = "file") -> Callable[[], str]:
    """Return a namer: "gym apply.yaml", with the name of the file in a parameter.

    Without the file, what the parameter holds was given as JSON.
    """

    def name() -> str:
        file = flow_run.parameters[parameter]
        return f"{verb} {Path(file).name}" if file else f"{verb} {parameter} given as JSON"

    return unless_named(name)


def experiments_run_name(verb: str) -> Callable[[], str]:
    """Return a namer: "score fascism-sim-calm-1-0a1b2c3d and 11 more"."""
    return unless_named(lambda: _several(verb, flow_run.parameters["experiments"]))


@unless_named
def rubrics_run_name() -> str:
    """Return "write rubrics of ...", or "write second rubrics of ..." for a sham."""
    kind = "second rubrics" if flow_run.parameters["sham"] else "rubrics"
    return _several(f"write {kind} of", flow_run.parameters["experiments"])


@unless_named
def sweep_run_name() -> str:
    """Return "sweep demo.yaml", or "sweep my-study" for a definition of that name."""
    parameters = flow_run.parameters
    definition, file = parameters.get("definition"), parameters.get("file")
    if definition is not None:
        return f"sweep {definition.get('name', 'without a name')}"
    return f"sweep {Path(file).name}" if file else "sweep without a file"


@unless_named
def windows_run_name() -> str:
    """Return "evidence of window 3 and 11 more"."""
    return _several("evidence of window", flow_run.parameters["windows"])


@unless_named
def rolling_run_name() -> str:
    """Return "daily windows of news.yaml before 2026-01-10", the day it was meant to begin on."""
    parameters, meant_for = flow_run.parameters, flow_run.scheduled_start_time
    name = Path(parameters["file"]).name
    return f"{parameters['cadence']} windows of {name} before {meant_for:%Y-%m-%d}"


@unless_named
def study_run_name() -> str:
    """Return "study weekly.yaml before 2026-01-12", the day it was meant for."""
    parameters, meant_for = flow_run.parameters, flow_run.scheduled_start_time
    return f"study {Path(parameters['file']).name} before {parameters['day'] or meant_for.date()}"


@unless_named
def review_run_name() -> str:
    """Return "review notes.yaml of 2026-01-10" or, without a day, when it was meant to begin."""
    parameters, meant_for = flow_run.parameters, flow_run.scheduled_start_time
    suffix = (
        f"of {parameters['day']}"
        if parameters["day"]
        else f"meant for {meant_for:%Y-%m-%d %H:%M} UTC"
    )
    return f"review {Path(parameters['file']).name} {suffix}"


def _several(verb: str, names: Sequence[object]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{verb} {names[0] if names else 'nothing'}{more}"


T = TypeVar("T")


class _WithoutDefault(dict[str, Any]):
    """A schema that takes no default: Prefect's forms submit it, and null would not be valid."""

    def __setitem__(self, key: str, value: Any) -> None:
        if key != "default":
            super().__setitem__(key, value)


class WithoutNull:
    """Leaves null out of a type's schema, or Prefect's form asks whether it is to be "None"."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        shown: list[JsonSchemaValue] = handler(schema)["anyOf"]
        return _WithoutDefault(next(option for option in shown if option != {"type": "null"}))


OrLeftOut = Annotated[T | None, WithoutNull()]
"""What a form may leave empty; it is None then."""
File = Annotated[Path, AfterValidator(own_or_shipped)]
"""A file of the run's folder, or a shipped example such as deployments/sweeps/demo.yaml."""
Columns = OrLeftOut[dict[str, str]]
"""Field → the column that it stands in, where that has another name."""
Rows = OrLeftOut[list[dict[str, Any]]]
"""Rows of a file, each as a JSON object."""
Thresholds = OrLeftOut[dict[str, Annotated[float, Field(ge=0, lt=1)]]]
"""Figure → what its interval has to lie above."""
AtLeastOne = Annotated[int, Field(ge=1)]
Decider = Annotated[
    str,
    Field(min_length=1, max_length=200, pattern=r"\S", description="Who decides. It is recorded."),
]
Reason = Annotated[str, Field(max_length=2000, description="Why, in your words. It is recorded.")]
Model = Annotated[str, Field(pattern=r"^[^/\s]+/\S+$", examples=["openai/gpt-4.1-nano"])]
"""A provider of the providers file and a model of it."""
RunSettings = OrLeftOut[dict[str, Any]]
"""Settings of one run, by name."""
Definition = OrLeftOut[dict[str, Any]]
"""What a file would say, as a JSON object."""
Definitions = OrLeftOut[list[dict[str, Any]]]
"""What several files would say, each as a JSON object."""
