"""An experiment: one point of the design space, as data.

The docstring of each field says why the field exists; `judge-gym sweep axes` prints them. Fields
marked `Axis` are the design space. The other fields say what is judged, and by which model. The
modules in `strategies/` define what an axis does.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from judge_gym.design.actors import ACTORS_FORMS, Actors
from judge_gym.design.bundles import BUNDLE_FORMS, BundlePlan, Bundles
from judge_gym.design.fields import Frozen, Legal
from judge_gym.design.names import TaskType
from judge_gym.design.rubric import Rubric, is_of_values, pair_rubric, rubric_faults
from judge_gym.design.window import Window
from judge_gym.model_names import is_recorded_model, is_simulated_model
from judge_gym.seeds import digest

ScoringMethod = Literal["single", "subset", "structured_json"]
EvidenceView = Literal["raw", "cleaned", "neutralized", "abstracted"]
PromptOrder = Literal["rubric_first", "evidence_first"]
ProbeWindow = Literal["fresh", "same"]
Effort = Literal["none", "low", "medium", "high"]
"""How much a model is to think before it answers."""
ReasoningEffort = Literal["default", Effort]

STANDARD_WORDING = "standard"
WORDINGS = (
    STANDARD_WORDING,
    "concise",
    "courteous",
    "detailed",
    "formal",
    "plain",
    "protocol",
    "questions",
)
"""The wordings of the judging prompt that judge-gym has, for every scoring method."""

_TAG = (
    "at most 120 small letters, digits, dots, underscores and hyphens, "
    "beginning with a letter or digit"
)


@dataclass(frozen=True)
class Axis:
    """Marks a field of `Experiment` as an axis of the design space."""

    facet: bool = False
    """Whether its levels are draws of one thing, such as paraphrases of a prompt. The levels of a
    facet are averaged over with their variance; they are compared only where a sweep asks."""


class GroundTruth(Frozen):
    """The known right answer; used by the analysis, never in a prompt."""

    source: str = Field(min_length=1, max_length=200)
    """The source of the truth, as a paper would cite it."""
    value: float | None = Field(default=None, ge=0, le=1)
    """One index in [0, 1] for every item (control)."""
    label: str | None = None
    """One stage label for every item (benchmark)."""
    per_item: bool = False
    """Each document has its truth in its `truth` field."""

    @model_validator(mode="after")
    def _exactly_one(self) -> "GroundTruth":
        given = [self.value is not None, self.label is not None, self.per_item]
        if sum(given) != 1:
            raise ValueError("give exactly one of value, label and per_item: true")
        return self

    def __str__(self) -> str:
        return f"from {self.source}"


_Words = Field(max_length=80, pattern=r"^[^\W\d_][\w ,.'()&/-]*$|^$")
# Both stand in the source of templates, so they have none of its syntax.
Persona = Annotated[str, _Words, Legal("words such as: political scientist")]
Domain = Annotated[str, _Words, Legal("words such as: political science")]


class Expertise(Frozen):
    """As whom prompts address a judge. It belongs to the concept; empty parts are derived."""

    persona: Persona = ""
    """Whom the judge is to be, without an article: "an expert PERSONA"."""
    domain: Domain = ""
    """The field of the experts whose agreement a probe is about: "experts in DOMAIN"."""

    @property
    def bound(self) -> dict[str, str]:
        """The words that templates take, by their names there."""
        article = "an" if self.persona[:1].lower() in "aeiou" else "a"
        return {
            "persona": self.persona,
            "a persona": f"{article} {self.persona}",
            "domain": self.domain,
        }


POLITICAL = Expertise(persona="political scientist", domain="political science")
"""Of contested concepts, unless the sweep says otherwise."""
NEUTRAL = Expertise(persona="reviewer", domain="the subject")
"""Of controls and benchmarks, which may be about anything."""

RUBRIC_FORMS = "own, {shared: MODEL} or {provided: FILE}"


class RubricSource(Frozen):
    """Whose rubric the judge applies.

    Written `own`, `{shared: MODEL}` or `{provided: FILE}`. A provided rubric is read together with
    the sweep, so the experiment contains its rubric.
    """

    kind: Literal["own", "shared", "provided"] = "own"
    model: str = ""
    """The model whose rubric all judges use (`shared`)."""
    rubric: Rubric | None = None
    """The rubric itself (`provided`)."""
    name: str = Field(default="", exclude=True)
    """The file that a provided rubric was read from, as the sweep writes it, or the last part of an
    absolute path. It is in no dump, so it is part of no identity; `stored_config` adds it."""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, given: Any) -> Any:
        if given == "own":
            return {"kind": "own"}
        if isinstance(given, dict) and len(given) == 1:
            if "shared" in given:
                return {"kind": "shared", "model": given["shared"]}
            if "provided" in given:
                return {"kind": "provided", "rubric": given["provided"]}
        if isinstance(given, dict) and "kind" in given:
            return given
        if isinstance(given, RubricSource):
            return given
        raise ValueError(f"rubric is {RUBRIC_FORMS}")

    @model_validator(mode="after")
    def _complete(self) -> "RubricSource":
        if (self.kind == "shared") != bool(self.model):
            raise ValueError("a shared rubric, and only that, names a model")
        if (self.kind == "provided") != (self.rubric is not None):
            raise ValueError("a provided rubric, and only that, carries its stages")
        return self

    def __str__(self) -> str:
        return f"shared by {self.model}" if self.model else self.kind


@dataclass(frozen=True)
class FieldRule:
    """A constraint between fields.

    `fault` takes the values of `fields` in that order and returns what is wrong, or "". A sweep
    checks each rule on these fields only, so every combination is checked before a run.
    """

    fields: tuple[str, ...]
    fault: Callable[..., str]


def _truth_fits_task(task_type: TaskType, ground_truth: GroundTruth | None) -> str:
    if task_type == "pairs":
        one_truth = ground_truth is not None and not ground_truth.per_item
        return "each pair has its own winner, so write per_item: true" if one_truth else ""
    if (task_type == "ecc") != (ground_truth is not None):
        return ""
    verb = "has no" if task_type == "ecc" else "needs"
    return f"task_type {task_type} {verb} ground_truth"


def _bundled_once(bundle_size: int, bundles: Bundles) -> str:
    both = bundle_size > 1 and bundles.size > 1
    return "bundles has a size of its own, so leave bundle_size out" if both else ""


def _bundle_fits_task(task_type: TaskType, bundle_size: int) -> str:
    return (
        f"{_ONE_TEXT[task_type]}, so bundle_size is 1" if _several(task_type, bundle_size) else ""
    )


def _bundles_fit_task(task_type: TaskType, bundles: Bundles) -> str:
    several = _several(task_type, bundles.size)
    return f"{_ONE_TEXT[task_type]}, so the size of bundles is 1" if several else ""


_ONE_TEXT = {"benchmark": "a benchmark has one truth an item", "pairs": "a pair is an item"}


def _several(task_type: TaskType, size: int) -> bool:
    return size > 1 and task_type in _ONE_TEXT


def _window_fits_task(task_type: TaskType, window: Window) -> str:
    if (task_type == "pairs") == (window.source.kind == "pairs"):
        return ""
    return "task_type pairs, and no other, judges a window whose source is {kind: pairs}"


def _scale_fits_task(task_type: TaskType, scale_size: int) -> str:
    if task_type != "pairs" or scale_size in (2, 3):
        return ""
    return "write scale_size: 2 for one of two answers, or 3 to offer a tie"


def _view_fits_task(task_type: TaskType, evidence_view: EvidenceView) -> str:
    if task_type != "pairs" or evidence_view == "raw":
        return ""
    return "answers are judged as they were written, so write evidence_view: raw"


def _rubric_fits_task(task_type: TaskType, rubric: RubricSource) -> str:
    if task_type != "pairs" or rubric.kind == "own" or _is_of_pairs(rubric):
        return ""
    return "the options of a pair are its rubric, so leave rubric out"


def _wording_fits_task(task_type: TaskType, wording: str) -> str:
    if task_type != "pairs" or wording == STANDARD_WORDING:
        return ""
    return "the wordings are of prompts with a rubric, so leave wording out"


def _is_of_pairs(rubric: RubricSource) -> bool:
    given = rubric.rubric
    return given is not None and given.scale_size < 4 and given == pair_rubric(given.scale_size)


def _rubric_fits_scale(rubric: RubricSource, scale_size: int) -> str:
    if _is_of_pairs(rubric):
        return ""
    if rubric.rubric and (size := rubric.rubric.scale_size) != scale_size:
        return f"the provided rubric has {size} stages, so write scale_size: {size}"
    if rubric.rubric is None or is_of_values(rubric.rubric):
        return ""
    faults = rubric_faults(rubric.rubric, scale_size)
    return f"the provided rubric does not fit: {'; '.join(faults)}" if faults else ""


def _wording_is_known(model: str, wording: str) -> str:
    if wording in WORDINGS or is_recorded_model(model):
        return ""
    known = ", ".join(WORDINGS)
    return f"judge-gym has no such wording; use {known} (recorded judgements may name any)"


def _rubric_has_draws(rubric: RubricSource, rubric_draw: int) -> str:
    return "a provided rubric has one draw, 0" if rubric.rubric and rubric_draw else ""


RULES = (
    FieldRule(("model", "wording"), _wording_is_known),
    FieldRule(("rubric", "rubric_draw"), _rubric_has_draws),
    FieldRule(("task_type", "ground_truth"), _truth_fits_task),
    FieldRule(("bundle_size", "bundles"), _bundled_once),
    FieldRule(("task_type", "bundle_size"), _bundle_fits_task),
    FieldRule(("task_type", "bundles"), _bundles_fit_task),
    FieldRule(("task_type", "window"), _window_fits_task),
    FieldRule(("task_type", "scale_size"), _scale_fits_task),
    FieldRule(("task_type", "evidence_view"), _view_fits_task),
    FieldRule(("task_type", "rubric"), _rubric_fits_task),
    FieldRule(("task_type", "wording"), _wording_fits_task),
    FieldRule(("rubric", "scale_size"), _rubric_fits_scale),
)


class Experiment(Frozen):
    """One point of the design space. Equal points have equal keys and are one experiment."""

    tag: Annotated[str, Legal(_TAG)] = Field(
        default="", max_length=120, pattern=r"^[a-z0-9][a-z0-9._-]*$|^$"
    )
    """A name for people; by default derived from concept, model and content."""
    task_type: TaskType = "ecc"
    """`ecc` (contested, no truth), `control` (expert proxy), `benchmark` (known answer) or `pairs`
    (which of two answers is better)."""
    concept: str = Field(min_length=1, max_length=200)
    """What is judged, as free text."""
    persona: Persona = ""
    """As whom prompts address the judge ("an expert PERSONA"); by default a political scientist
    for contested concepts and a reviewer for controls and benchmarks."""
    domain: Domain = ""
    """The field of the experts whose agreement a probe is about; by default political science
    for contested concepts and the subject for controls and benchmarks."""
    window: Annotated[Window, Legal("the name of a window of the sweep")]
    """The evidence: a query, a country, a date range and a source."""
    country: str = Field(default="", max_length=200)
    """The country or setting named in prompts; by default the window's."""
    model: str = Field(min_length=1, max_length=200)
    """The judge: a litellm model string such as `openai/gpt-4.1`."""
    family: str = Field(default="", max_length=80)
    """Models of one family are averaged before families are compared; by default derived from
    the model's name."""
    ground_truth: GroundTruth | None = None
    """The truth of a control or benchmark; used by the analysis, never in a prompt."""

    scoring_method: Annotated[ScoringMethod, Axis()] = "single"
    """Form of the verdict: one stage, every stage that the evidence supports, or JSON. JSON during
    reasoning is reported to cost accuracy; subsets separate doubt from disagreement."""
    scale_size: Annotated[int, Axis()] = Field(default=4, ge=2, le=10)
    """Number of stages. Odd scales have the middle stage "Ambiguous / Mixed Evidence"; even scales
    force a decision."""
    randomize_labels: Annotated[bool, Axis()] = True
    """Give the stages random letters in each sample, to average out label bias."""
    shuffle_order: Annotated[bool, Axis()] = True
    """List the stages in random order in each sample, to average out position bias."""
    evidence_view: Annotated[EvidenceView, Axis()] = "neutralized"
    """What the judge reads: the raw article, without boilerplate, without tone, or also without
    names."""
    actors: Annotated[Actors, Axis(), Legal(ACTORS_FORMS)] = Actors()
    """Whose names the evidence and its titles show: as found, or exchanged by a mapping file. A
    judge that treats actors alike judges both texts alike."""
    prompt_order: Annotated[PromptOrder, Axis()] = "rubric_first"
    """Whether the rubric or the evidence comes first; models weigh the last part more."""
    abstain: Annotated[bool, Axis()] = True
    """Whether the judge may abstain; forced choice turns missing evidence into noise."""
    probe_window: Annotated[ProbeWindow, Axis()] = "fresh"
    """Whether the probe is a new conversation or follows the judge's own reasoning."""
    bundle_size: Annotated[int, Axis()] = Field(default=1, ge=1, le=20)
    """Documents judged together as one item, grouped by seed."""
    bundles: Annotated[BundlePlan, Axis(), Legal(BUNDLE_FORMS)] = Bundles()
    """Which documents are judged together, in the place of `bundle_size`: drawn at random, alike,
    or unlike. How evidence is bundled is part of the instrument."""
    rubric: Annotated[RubricSource, Axis(), Legal(RUBRIC_FORMS)] = RubricSource(kind="own")
    """Whose rubric: the judge's own, one shared by a named model, or one provided in a file.
    Only a common rubric separates effects of judge and rubric."""
    replicates: Annotated[int, Axis()] = Field(default=5, ge=1, le=1000)
    """Judgements per item. Not part of the identity: more can be added later."""
    temperature: Annotated[float, Axis()] = Field(default=1.0, ge=0, le=2)
    """Sampling temperature, sent with every judgement and probe."""
    top_p: Annotated[float, Axis()] = Field(default=1.0, gt=0, le=1)
    """Nucleus sampling (top-p), sent with every judgement and probe."""
    max_tokens: Annotated[int, Axis()] = Field(default=1024, ge=16, le=32_000)
    """Maximum length of an answer in tokens; longer answers are truncated and recorded as such."""
    reasoning_effort: Annotated[ReasoningEffort, Axis()] = "default"
    """How much the judge thinks before each judgement and probe; `default` sets nothing, and the
    model's own default holds."""
    logprobs: Annotated[bool, Axis()] = False
    """Whether to record the token probability of the verdict's letter, beside the probe's."""
    wording: Annotated[
        str, Axis(facet=True), Legal("a wording of the judging prompt: " + ", ".join(WORDINGS))
    ] = Field(default=STANDARD_WORDING, min_length=1, max_length=80)
    """The paraphrase of the judging prompt. A figure of one wording has the luck of its words."""
    rubric_draw: Annotated[int, Axis(facet=True)] = Field(default=0, ge=0, le=99)
    """The draw of the rubric among those that its owner writes from the same prompt. A figure of
    one draw has the luck of that rubric."""
    _rubric_recipe: str = PrivateAttr(default="")
    _view_recipe: str = PrivateAttr(default="")

    @model_validator(mode="before")
    @classmethod
    def _derive(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        filled = dict(given)
        window = filled.get("window")
        if not filled.get("country") and isinstance(window, Window):
            filled["country"] = window.country
        elif not filled.get("country") and isinstance(window, dict):
            filled["country"] = window.get("country", "")
        if not filled.get("family") and isinstance(filled.get("model"), str):
            filled["family"] = family_of(filled["model"])
        if filled.get("task_type") == "pairs" and _is_own(filled.get("rubric", "own")):
            scale = filled.get("scale_size")
            if scale in (2, 3):
                filled["rubric"] = RubricSource(kind="provided", rubric=pair_rubric(scale))
        return filled

    @model_validator(mode="after")
    def _check(self) -> "Experiment":
        for rule in RULES:
            if fault := rule.fault(*(getattr(self, name) for name in rule.fields)):
                raise ValueError(fault)
        return self

    @cached_property
    def key(self) -> str:
        """16-digit identity: everything but the tag, the window's name and the replicates.

        Values at their default are left out, so a new axis does not change experiments that do
        not use it. In return, the default of an axis must never change.
        """
        return self._digest("experiment", {"tag", "window", "replicates"})

    @property
    def peers_key(self) -> str:
        """16-digit identity without the judge: equal for experiments whose judges compare."""
        return self._digest("peers", {"tag", "window", "replicates", "model", "family"})

    @property
    def documents_together(self) -> int:
        """How many documents an item has, at least."""
        return max(self.bundle_size, self.bundles.size)

    @property
    def judges_pairs(self) -> bool:
        """Whether its items are pairs, of which one answer is better."""
        source = self.window.source
        return source.kind == "pairs" or (source.kind == "recorded" and source.pairwise)

    def _digest(self, kind: str, excluded: set[str]) -> str:
        content = self.model_dump(mode="json", exclude=excluded, exclude_defaults=True)
        return digest(kind, content, self.window.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def stored_config(self) -> dict[str, Any]:
        """Return all fields as the database keeps them, with the file of a provided rubric."""
        config = self.model_dump(mode="json")
        if self.rubric.name:
            config["rubric"]["name"] = self.rubric.name
        return config

    @property
    def expertise(self) -> Expertise:
        """As whom its prompts address the judge."""
        default = POLITICAL if self.task_type == "ecc" else NEUTRAL
        return Expertise(
            persona=self.persona or default.persona, domain=self.domain or default.domain
        )

    @property
    def rubric_recipe(self) -> str:
        """What tells its rubrics from others of the same owner and subject; set by the store."""
        return self._rubric_recipe

    @property
    def view(self) -> tuple[str, str]:
        """The view that it reads, and the recipe of this view; set by the store."""
        return self.evidence_view, self._view_recipe

    def stored_as(
        self, name: str, rubric_recipe: str, view_recipes: Mapping[str, str]
    ) -> "Experiment":
        """Return the experiment as stored: its name, and the recipes of its rubrics and views."""
        stored = self.model_copy(update={"tag": name})
        stored._rubric_recipe = rubric_recipe
        stored._view_recipe = view_recipes.get(self.evidence_view, "")
        return stored

    @property
    def name(self) -> str:
        """The tag, or one made of concept, model, levels of facets and key."""
        if self.tag:
            return self.tag
        wording = "" if self.wording == STANDARD_WORDING else _slug(self.wording)[:20]
        draw = f"draw-{self.rubric_draw}" if self.rubric_draw else ""
        parts = (_slug(self.concept), _slug(self.model), wording, draw, self.key[:8])
        return "-".join(filter(None, parts))


def _is_own(rubric: object) -> bool:
    return rubric in ("own", {"kind": "own"}, RubricSource(kind="own"))


def family_of(model: str) -> str:
    """Return the family a model string suggests: `openai/gpt-4.1` → `gpt`, `sim/calm-2` → `calm`.

    It is the leading word of the last path segment, as vendors name families. Simulator names
    lose only their number. Set `family` in the sweep where this is wrong.
    """
    name = model.rsplit("/", 1)[-1].lower()
    if is_simulated_model(model):
        return re.sub(r"-\d+$", "", name)
    if re.match(r"(chatgpt|o\d)", name):
        return "gpt"
    word = re.match(r"[a-z]+", name)
    return word.group() if word else name


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40]
