"""JSON Schema of every kind of YAML file, for editors that complete and check them.

The schemas come from the models that read the files. A sweep file has no model of its own: its
blocks take a value or a list for each field of an experiment.
"""

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, create_model

from judge_gym.design.experiment import Experiment, Expertise
from judge_gym.design.fields import Frozen
from judge_gym.design.plans import Budget, SwapPlan
from judge_gym.design.space import ControlledDraw, RandomDraw
from judge_gym.design.sweep import KEYS, MOST_DRAWS, OnUnsupported
from judge_gym.design.sweep_blocks import PAUSE_AFTER, PER_SAMPLE, SINGLE
from judge_gym.design.window import Window

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_FILLED_IN = {"Window": ("name",), "CorpusSource": ("digest",), "BenchmarkSource": ("digest",),
              "PairsSource": ("digest",)}  # fmt: skip
"""Model → fields that are set when a file is read, and are not written in it."""


class _SharedSchema(Frozen):
    shared: str
    """The model that writes the rubric."""


class _Provided(Frozen):
    provided: str
    """A rubric file, relative to this one."""


class _Swapped(Frozen):
    swapped: str
    """A mapping file of names, relative to this one."""


def _axis_type(name: str, annotation: Any) -> Any:
    """Return the type of an axis as sweep files write it."""
    from typing import Literal

    written: Mapping[str, Any] = {
        "window": str,
        "rubric": Literal["own"] | _SharedSchema | _Provided,
        "actors": Literal["as_found"] | _Swapped,
    }
    return written.get(name, annotation)


def _block(*, lists: bool) -> type[BaseModel]:
    """Return the model of a block; a field is a value or, with `lists`, a list of them."""
    fields: dict[str, Any] = {}
    for name, field in Experiment.model_fields.items():
        written: Any = Annotated[_axis_type(name, field.annotation), Field(), *field.metadata]
        several = lists and name not in SINGLE
        either = written | list[written] if several else written
        fields[name] = (either, Field(default=None, description=field.description))
    fields[PAUSE_AFTER] = (Literal["w2-rubric"], Field(default=None, description=KEYS[PAUSE_AFTER]))
    fields[PER_SAMPLE] = (bool, Field(default=False, description="A rubric for each replicate."))
    return create_model("Block" if lists else "Defaults", __base__=Frozen, **fields)


def _sweep() -> type[BaseModel]:
    types: dict[str, Any] = {
        "name": Annotated[str, Field(pattern=r"^[a-z0-9-]{1,80}$")],
        "description": str,
        "utility_model": str,
        "stand_ins": dict[str, str],
        "windows": Annotated[dict[str, Window], Field(min_length=1)],
        "families": dict[str, str],
        "concepts": dict[str, Expertise],
        "rubric_draws": Annotated[int, Field(ge=1, le=MOST_DRAWS)],
        "defaults": _block(lists=False),
        "blocks": Annotated[list[_block(lists=True)], Field(min_length=1)],  # type: ignore[misc]
        "on_unsupported": OnUnsupported,
        "swap": SwapPlan,
        "rubric_embeddings": str,
        "score_critic": str,
        "draw": RandomDraw | ControlledDraw,
        "budget": Budget,
        "approve_over_usd": Annotated[float, Field(ge=0)],
        "pause_after": Literal["w2-rubric"],
        "plan": str,
    }
    fields: dict[str, Any] = {
        name: (types[name], Field(default=... if "Required" in said else None, description=said))
        for name, said in KEYS.items()
    }
    return create_model("Sweep", __base__=Frozen, **fields)


KINDS: Mapping[str, tuple[str, str]] = {
    "sweep": ("a set of experiments", ""),
    "plan": ("an analysis plan of a sweep", "design.plans:AnalysisPlan"),
    "study": ("a sweep that runs again on a schedule", "design.study_file:StudyFile"),
    "rubric": ("a rubric of stages", "design.rubric:Rubric"),
    "actors": ("names that take each other's place", "design.actors:ActorMap"),
    "windows": ("windows collected on a schedule", "design.window_files:RollingFile"),
    "judge": ("a product judge", "judges.files:JudgeFile"),
    "certificate": ("a certificate of a judge", "judges.certifying.certificate:Certificate"),
    "calibration": ("a calibration of judges", "calibration.design:CalibrationDesign"),
    "alignment": (
        "an alignment of a judge with people",
        "calibration.alignment_file:AlignmentFile",
    ),
    "review": ("judges in use and their alternatives", "calibration.review_file:ReviewFile"),
    "benchmark": ("the columns of a set with known answers", "benchmarks.files:Benchmark"),
    "gym": ("candidates for a step of a pipeline", "gyms.files:AnyGym"),
    "panel": ("a panel of raters with an arbiter", "panel.files:PanelFile"),
    "rater": ("a rater of a panel", "panel.panel:Rater"),
    "panel-rubric": ("the rubric of a panel", "panel.rubric:PanelRubric"),
    "panel-document": ("a document for a panel", "panel.document:ReviewedDocument"),
    "recorded": ("the columns of recorded judgements", "recorded.mapping:Recorded"),
    "claims": ("claims about the judges of a study", "recorded.claims:StudyClaims"),
    "published": ("published figures of a sweep", "design.published:PublishedStudy"),
    "annotations": ("the columns of people's labels", "annotations:AnnotationMapping"),
}
"""Kind of file → what it describes, and the type below `judge_gym` that reads it, as module:name.

Only the type of one kind is imported. A sweep has none: its type is made here.
"""


def _type_of(kind: str) -> Any:
    module, _, name = KINDS[kind][1].partition(":")
    return getattr(import_module(f"judge_gym.{module}"), name) if module else _sweep()


def text_of(kind: str) -> str:
    """Return the schema of a kind of file as `judge-gym data schema` prints it."""
    return json.dumps(schema_of(kind), indent=1) + "\n"


def schema_of(kind: str) -> Schema:
    """Return the JSON Schema (2020-12) of a kind of file."""
    about, _ = KINDS[kind]
    schema = TypeAdapter(_type_of(kind)).json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        for name in _FILLED_IN.get(part.get("title", ""), ()):
            part["properties"].pop(name, None)
            part["required"] = [each for each in part.get("required", []) if each != name]
    return {"$schema": DIALECT, **schema, "title": f"judge-gym: {about}"}
