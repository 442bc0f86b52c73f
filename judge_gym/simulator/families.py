"""The judge families of the simulator and the parameters planted in each.

The parameters are in `families.toml`; the report prints them beside what the pipeline found.
How they act is in `judging`, `rubric_writing` and `writing`.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.design.config_tree import did_you_mean
from judge_gym.model_names import SIMULATED, is_simulated_model
from judge_gym.seeds import derive_seed
from judge_gym.simulator.graders import grader_models

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
_OF_GRADERS = "calm"
"""The family that models of `graders` answer as, where they are not asked to grade."""


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
    threshold_shift: float = Field(default=0.0, ge=-0.5, le=0.5)
    """Added to every threshold between stages: above zero is a stricter judge."""
    first_bias: float = Field(default=0.0, ge=0, le=0.5)
    """π: probability of taking the stage displayed first, whatever the evidence says."""
    label_a_bias: float = Field(default=0.0, ge=0, le=0.5)
    """λ: probability of taking the stage lettered A, whatever the evidence says."""
    subset_width: float = Field(default=0.4, gt=0, le=1)
    """w: a set verdict names every stage at least this likely, relative to the likeliest."""
    abstention: float = Field(default=0.5, ge=0, le=1)
    """a: probability of abstaining, where offered, on a text with nothing to judge by."""
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
    obedience: float = Field(default=0.0, ge=0, le=1)
    """Probability of concluding what the evidence demands, where it demands a stage."""
    rubric_slip: float = Field(default=0.0, ge=0, le=1)
    """Share of first rubrics that break a rule; asked again, the family mends it."""
    over_limit: float = Field(default=0.02, ge=0, le=1)
    """Share of clinical summaries a little over their word limit."""
    styles: Mapping[str, float] = {"plain": 1.0}
    """House styles of free text (see `writing`) and how often each, relative to the others."""
    voice: Voice


@cache
def planted() -> dict[str, Family]:
    """Return the planted parameters of every family, by its name."""
    source = files("judge_gym.simulator").joinpath("families.toml").read_text(encoding="utf-8")
    return {name: Family.model_validate(data) for name, data in tomllib.loads(source).items()}


def served_models() -> tuple[str, ...]:
    """Return the names of the models of families and graders, as `/v1/models` lists them."""
    of_families = (model for family in planted().values() for model in family.models)
    return tuple(f"{SIMULATED}{model}" for model in (*of_families, *grader_models()))


def check_served(model: str) -> None:
    """Raise ValueError for a `sim/` model that there is not: a stand-in would answer for it."""
    known = served_models()
    if model not in known:
        close = did_you_mean(model, known)
        raise ValueError(f"the simulator has no model {model!r}. {close}Use {', '.join(known)}")


def family_named(model: str) -> str | None:
    """Return the family that answers for `model`; None for an unknown `sim/` model.

    `sim/calm-2` and `calm-2` are of family calm. Any other name is that of a real model whose
    base URL points here: a family that reads, and does not obey what it reads, is drawn for it
    from the hash of its name.
    """
    name = model.removeprefix(SIMULATED)
    for family, parameters in planted().items():
        if name in parameters.models:
            return family
    if name in grader_models():
        return _OF_GRADERS
    if is_simulated_model(model):
        return None
    families = sorted(
        name
        for name, family in planted().items()
        if family.fixed_reading is None and not family.obedience
    )
    # A provider's name before it does not count: clients send the model's name with or without.
    return families[derive_seed("family", model.rpartition("/")[2]) % len(families)]


def is_own_rubric(family: str, texts: Iterable[str]) -> bool:
    """Whether a family takes a rubric (its labels and criteria) for its own, by the vocabulary.

    Counts every word of four letters and more that the family's voice has, against those that
    it has not; words that a rubric of any author uses count neither way.
    """
    voice = _vocabulary(family)
    words = {word for text in texts for word in _words(text)} - _vocabulary_of_all()
    return bool(words) and len(words & voice) > len(words) * _OWN_SHARE


@cache
def _vocabulary(family: str) -> frozenset[str]:
    voice = planted()[family].voice
    return _words(" ".join((*voice.labels, *voice.criteria)))


@cache
def _vocabulary_of_all() -> frozenset[str]:
    ladders = (word for family in planted().values() for word in family.voice.ladder)
    return _words(" ".join((*ladders, *FREQUENCIES)))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]{4,}", text.lower()))
