"""Parameters planted in the simulated judges: families, which score stages, and graders.

The parameters are in `families.toml`, `stand_ins.toml` and `graders.toml`; the report prints them
beside the recovered figures. `judging` draws verdicts from a family, `expected` computes what
follows.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.errors import did_you_mean
from judge_gym.model_names import SIMULATED, is_simulated_model, planted_name
from judge_gym.seeds import derive_seed

Feature = Literal["evidence", "specificity", "accuracy", "order", "concision", "actionability"]
"""What a grader can see in a text."""
LADDER_LENGTH = 10
FREQUENCIES = (
    "in no reported instance",
    "in at most one instance",
    "in isolated instances",
    "in infrequent instances",
    "in a limited number of instances",
    "in recurring instances",
    "in frequent instances",
    "in most instances",
    "in nearly all instances",
    "in all instances",
)
"""What `{often}` becomes on each step of a ladder."""
_OWN_SHARE = 0.5
_FAMILY_OF_GRADERS = "calm"
"""The family that grader models answer as when the prompt does not ask for a grade."""
_DEFAULT_GRADER = "good"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Voice(_Frozen):
    """How a family writes rubrics: its own vocabulary, by which it knows them again."""

    ladder: tuple[str, ...] = Field(min_length=LADDER_LENGTH, max_length=LADDER_LENGTH)
    """Words of amount from none to all; a scale of n stages uses n of them, evenly spread."""
    labels: tuple[str, ...] = Field(min_length=2)
    """Label patterns with `{degree}`; the first for a first design, the next for a second."""
    criteria: tuple[str, ...] = Field(min_length=3)
    """Criterion patterns with `{degree}` and `{often}`, three a stage in turn."""


class Family(_Frozen):
    """The planted parameters of one judge family."""

    about: str
    """One line for people."""
    models: tuple[str, ...] = Field(min_length=1)
    """The models served under this family, without the `sim/` before."""
    leaning: float = Field(default=0.0, ge=-1, le=1)
    """δ: added to the reading, times how contested the concept is; makes polarization."""
    tone_bias: float = Field(default=0.05, ge=-1, le=1)
    """t: added to the reading, times how emotive the text is; what neutralising removes."""
    noise: float = Field(default=0.05, ge=0, le=1)
    """σ: scale of the logistic noise of a reading at temperature 1, in units of the scale."""
    wording_sd: float = Field(default=0.05, ge=0, le=0.5)
    """Standard deviation, over wordings of the judging prompt, of what one adds to the reading."""
    wording_shift: float = 0.0
    """What the wording at hand adds to the reading (see `wordings.worded`); none at `standard`."""
    threshold_shift: float = Field(default=0.0, ge=-0.5, le=0.5)
    """Added to every threshold between stages: above zero is a stricter judge."""
    rubric_shift: float = Field(default=0.0, ge=-0.5, le=0.5)
    """What a rubric in the family's words adds to those of any judge: above zero it is stricter."""
    gain: float = Field(default=1.0, gt=0, le=20)
    """g: multiplies the distance of a reading from the middle; far above 1, verdicts jump."""
    first_bias: float = Field(default=0.0, ge=0, le=0.5)
    """π: probability of taking the stage displayed first, whatever the evidence says."""
    label_a_bias: float = Field(default=0.0, ge=0, le=0.5)
    """λ: probability of taking the stage lettered A, whatever the evidence says."""
    subset_width: float = Field(default=0.4, gt=0, le=1)
    """w: a set verdict names every stage at least this likely, relative to the likeliest."""
    abstention: float = Field(default=0.5, ge=0, le=1)
    """a: probability of abstaining, where offered, on a text with nothing to judge by."""
    reserve: float = Field(default=0.0, ge=0, le=1)
    """Probability of abstaining, where offered, instead of naming the lowest stage alone."""
    own_rubric_reserve: float = Field(default=0.0, ge=0, le=1)
    """What a rubric in the family's own words adds to that."""
    probe_level: float = Field(default=0.4, ge=-1, le=2)
    """κ0: stated probability for a verdict no likelier than its best rival."""
    probe_slope: float = Field(default=0.4, ge=-1, le=2)
    """κ1: what the verdict's margin over its best rival adds to it."""
    own_rubric_loyalty: float = Field(default=0.03, ge=-1, le=1)
    """ρ: what the stated probability loses under a rubric not in the family's own words."""
    probe_noise: float = Field(default=0.03, ge=0, le=0.5)
    """Standard deviation of the stated probability at temperature 1."""
    accuracy: float = Field(default=0.85, ge=0, le=1)
    """Probability of judging a claim with a known answer rightly, each time anew."""
    fixed_reading: float | None = Field(default=None, ge=0, le=1)
    """Reads this whatever the text says; a judge that never looks."""
    malformed: float = Field(default=0.0, ge=0, le=0.5)
    """Share of free-text verdicts that cannot be read."""
    compliance: float = Field(default=0.0, ge=0, le=1)
    """Probability of concluding what the evidence demands, where it demands a stage."""
    rubric_slip: float = Field(default=0.0, ge=0, le=1)
    """Share of first rubrics that break a rule; asked again, the family mends it."""
    over_limit: float = Field(default=0.02, ge=0, le=1)
    """Share of clinical summaries a little over their word limit."""
    styles: Mapping[str, float] = {"plain": 1.0}
    """House styles of free text (see `writing`) and how often each, relative to the others."""
    voice: Voice


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
    compliance: float = Field(default=0.0, ge=0, le=1)
    """Probability of giving the best marks to a text that tells its grader what to do."""
    contradicting: float = Field(default=0.0, ge=0, le=1)
    """Share of marks and decisions whose reason says the opposite."""
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
def planted() -> dict[str, Family]:
    """Return the planted parameters of every family, by its name."""
    return {name: Family.model_validate(data) for name, data in _read("families.toml").items()}


@cache
def stand_ins() -> dict[str, Family]:
    """Return the planted parameters of stand-ins for real models, by their names."""
    return {name: Family.model_validate(data) for name, data in _read("stand_ins.toml").items()}


def parameters_of(name: str) -> Family:
    """Return the parameters of a family or stand-in; raises `KeyError` for another name."""
    return planted().get(name) or stand_ins()[name]


@cache
def grader_file() -> GraderFile:
    """Return the graders' parameters and the words by which they read a text."""
    return GraderFile.model_validate(_read("graders.toml"))


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("judge_gym.planted").joinpath(name).read_text(encoding="utf-8"))


@cache
def grader_models() -> tuple[str, ...]:
    """Return the models of the graders, without the `sim/` prefix."""
    return tuple(model for grader in grader_file().graders.values() for model in grader.models)


def grader_of(model: str) -> Grader:
    """Return the grader that a model plays; a model of no grader is a good one."""
    graders = grader_file().graders
    name = planted_name(model)
    matches = (grader for grader in graders.values() if name in grader.models)
    return next(matches, graders[_DEFAULT_GRADER])


def served_models() -> tuple[str, ...]:
    """Return the names of the models of families and graders, as `/v1/models` lists them."""
    return tuple(f"{SIMULATED}{model}" for model in models_about())


def models_about() -> dict[str, str]:
    """Return what the models of families and graders do, by name without the `sim/` prefix."""
    of: list[Family | Grader] = [*_families().values(), *grader_file().graders.values()]
    return {model: one.about for one in of for model in one.models}


def served(model: str) -> str:
    """Return the name of a model; raises ValueError for a simulated one that does not exist."""
    models = served_models()
    if is_simulated_model(model) and f"{SIMULATED}{planted_name(model)}" not in models:
        hint = did_you_mean(model, models)
        raise ValueError(f"the simulator has no model {model!r}. {hint}Use {', '.join(models)}")
    return model


def family_named(model: str) -> str | None:
    """Return the family that answers for `model`; None for an unknown `sim/` model.

    `sim/calm-2`, `sim-gemini/calm-2` and `calm-2` are of family calm. Any other name is that of a
    real model whose base URL points to the simulator: the hash of the name draws a family for it,
    among those that read their evidence and do not obey it.
    """
    name = planted_name(model)
    for family, parameters in _families().items():
        if name in parameters.models:
            return family
    if name in grader_models():
        return _FAMILY_OF_GRADERS
    if is_simulated_model(model):
        return None
    families = sorted(
        name
        for name, family in planted().items()
        if family.fixed_reading is None and not family.compliance
    )
    # Clients send a model's name with or without its provider, so the provider does not count.
    return families[derive_seed("family", model.rpartition("/")[2]) % len(families)]


def is_own_rubric(family: str, texts: Iterable[str]) -> bool:
    """Whether a rubric (its labels and criteria) is in the vocabulary of a family.

    True when the family's voice has more than half of the rubric's words of four letters and
    more. Words that rubrics of every family use do not count.
    """
    voice = _vocabulary(family)
    words = {word for text in texts for word in _words(text)} - _shared_vocabulary()
    return bool(words) and len(words & voice) > len(words) * _OWN_SHARE


def rubric_shift(texts: Iterable[str]) -> float:
    """Return what a rubric (its labels and criteria) adds to the thresholds of any judge."""
    shifts = {name: one.rubric_shift for name, one in _families().items() if one.rubric_shift}
    texts = list(texts) if shifts else []
    return next((shift for name, shift in shifts.items() if is_own_rubric(name, texts)), 0.0)


def shifted(family: Family, shift: float) -> Family:
    """Return a family's parameters under a rubric that adds so much to its thresholds."""
    if not shift:
        return family
    return family.model_copy(update={"threshold_shift": family.threshold_shift + shift})


def _families() -> dict[str, Family]:
    return {**planted(), **stand_ins()}


@cache
def _vocabulary(family: str) -> frozenset[str]:
    voice = parameters_of(family).voice
    return _words(" ".join((*voice.labels, *voice.criteria)))


@cache
def _shared_vocabulary() -> frozenset[str]:
    ladders = (word for family in planted().values() for word in family.voice.ladder)
    return _words(" ".join((*ladders, *FREQUENCIES)))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]{4,}", text.lower()))
