"""The graders of the simulator: parameters planted for judges of `judge_gym.judges`.

The parameters are in `graders.toml`; what follows from them is in `grading`.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.model_names import SIMULATED

Feature = Literal["evidence", "specificity", "accuracy", "order", "concision", "actionability"]
DEFAULT = "good"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Grader(_Frozen):
    """The planted parameters of one grader."""

    about: str
    """One line for people."""
    models: tuple[str, ...] = Field(min_length=1)
    """The models served that grade like this, without the `sim/` before."""
    centre: float = Field(default=0.5, ge=0, le=1)
    """What a text of middling worth is given, as a share of the scale."""
    spread: float = Field(default=1.0, ge=0, le=2)
    """How far marks follow a text's worth: 1 uses the whole scale, 0 gives one mark to all."""
    blind: tuple[Feature, ...] = ()
    """What it does not see; it takes that to be middling well done."""
    length_weight: float = Field(default=0.0, ge=0, le=1)
    """The share that a text's length has in its worth."""
    noise: float = Field(default=0.03, ge=0, le=1)
    """Standard deviation of a mark at temperature 1, as a share of the scale."""
    severity: float = Field(default=0.0, ge=-1, le=1)
    """What it takes off every score as a rater or arbiter of a panel, as a share of the scale."""
    shared: float = Field(default=0.0, ge=0, le=1)
    """Share of the variance of its noise, as a rater, that all who grade like this have in common
    on a text: how much less a second persona tells than a second model."""
    accuracy: float = Field(default=0.95, ge=0, le=1)
    """Probability of deciding or comparing rightly, each time anew."""
    first_bias: float = Field(default=0.0, ge=0, le=1)
    """Probability of taking the text shown first, whatever it says."""
    obedience: float = Field(default=0.0, ge=0, le=1)
    """Probability of giving the best marks to a text that tells its grader what to do."""
    malformed: float = Field(default=0.0, ge=0, le=1)
    """Share of answers that cannot be read."""


class Words(_Frozen):
    """Lists of words and phrases in lower case."""

    vague: tuple[str, ...]
    filler: tuple[str, ...]
    advice: tuple[str, ...]
    """What makes a sentence advice wherever it stands."""
    imperatives: tuple[str, ...]
    """What makes it advice at its beginning."""
    orders: tuple[str, ...]
    """What makes it an order to whoever grades it."""
    backward: tuple[str, ...]
    """What can open a sentence only when something stands before it."""


class GraderFile(_Frozen):
    """The whole file."""

    graders: Mapping[str, Grader]
    features: Mapping[Feature, tuple[str, ...]]
    words: Words
    places: Mapping[str, int]


@cache
def grader_file() -> GraderFile:
    """Load the file."""
    source = files("judge_gym.simulator").joinpath("graders.toml").read_text(encoding="utf-8")
    return GraderFile.model_validate(tomllib.loads(source))


@cache
def grader_models() -> tuple[str, ...]:
    """Return the models of the graders, without the `sim/` before."""
    return tuple(model for grader in grader_file().graders.values() for model in grader.models)


def grader_of(model: str) -> Grader:
    """Return how a model grades; one of no grader grades well."""
    graders = grader_file().graders
    name = model.removeprefix(SIMULATED)
    return next((one for one in graders.values() if name in one.models), graders[DEFAULT])
