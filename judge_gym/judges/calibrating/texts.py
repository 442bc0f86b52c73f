"""The texts of a calibration: originals, and their variants by perturbation and severity."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from judge_gym.calibration.design import CalibrationDesign
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.planted.editing import Edit, Made, NothingToChange, Perturbed
from judge_gym.planted.perturbations import Perturbation, perturbations
from judge_gym.questions.perturber import LONGEST_ORIGINAL, prompt_hash
from judge_gym.records.items import Item, Variant, distinct
from judge_gym.seeds import digest


@dataclass(frozen=True)
class Changed:
    """One variant: the place of its original, the item to judge, and its edits."""

    original: int
    item: Item
    edits: tuple[Edit, ...]

    @property
    def perturber(self) -> str:
        """The model that made it; empty when the rules did."""
        return (self.item.variant.perturber if self.item.variant else None) or ""


@dataclass(frozen=True, eq=False)
class Texts:
    """What is judged. `changed` is (perturbation, severity) → its variants, in the order of the
    originals; `left_out` says why the others have none, and of how many. `not_applicable` counts,
    by perturbation, the originals that it cannot be applied to."""

    originals: Sequence[Item]
    changed: Mapping[tuple[str, float], list[Changed]] = field(default_factory=dict)
    not_applicable: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[tuple[str, float], Mapping[str, int]] = field(default_factory=dict)
    people: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Labels of the originals in points, people x originals, NaN where a person gave none; without
    a file of people's labels no row."""
    answers: Mapping[str, int] = field(default_factory=Counter)
    """Key of an original → the answers that its label stands for; 1 where it is not there."""

    def times(self, labelled: Sequence[Item]) -> IntArray:
        """Return how many answers the labels of these originals stand for."""
        return np.array([self.answers.get(item.key, 1) for item in labelled], dtype=np.int64)

    @property
    def items(self) -> list[Item]:
        """Every text to be judged, once: the originals first."""
        changed = (text.item for some in self.changed.values() for text in some)
        return distinct([*self.originals, *changed])


@dataclass(frozen=True)
class Rewriting:
    """One text that a model is to change in one way."""

    perturbation: str
    severity: float
    seed: int
    model: str
    text: str
    simulated: bool
    """Whether the simulator made the text."""

    @property
    def description(self) -> str:
        """The change in words, as the model reads it."""
        return perturbations()[self.perturbation].description

    @cached_property
    def key(self) -> str:
        """16-digit identity: everything that the answer depends on."""
        identity = (self.model, prompt_hash(), self.description, self.severity, self.seed)
        return digest("perturbed text", *identity, self.text)


@dataclass(frozen=True)
class RewrittenText:
    """What came of a rewriting; `simulated` when the simulator had a hand in it."""

    made: Made
    simulated: bool = False


def rewritings(originals: Sequence[Item], design: CalibrationDesign) -> list[Rewriting]:
    """Return what the design has a model change; a text that is there twice is changed once."""
    wanted = (
        _rewriting(item, perturbation, severity, design)
        for perturbation in design.chosen
        if design.made_by(perturbation)
        for severity in design.severities_of(perturbation)
        for item in originals
        if len(item.text) <= LONGEST_ORIGINAL
    )
    return list({rewriting.key: rewriting for rewriting in wanted}.values())


def changed_texts(
    originals: Sequence[Item],
    design: CalibrationDesign,
    rewritten: Mapping[str, RewrittenText] | None = None,
) -> Texts:
    """Return the originals with every variant that the design asks for; always the same ones.

    `rewritten` is what came of the rewritings so far, by key; one that is not in it has no variant.
    """
    changed: dict[tuple[str, float], list[Changed]] = {}
    left_out: dict[tuple[str, float], Counter[str]] = {}
    not_applicable: dict[str, int] = {}
    for perturbation in design.chosen:
        for severity in design.severities_of(perturbation):
            at = perturbation.name, severity
            changed[at], left_out[at], not_applicable[perturbation.name] = [], Counter(), 0
            for place, change in _made(originals, perturbation, severity, design, rewritten or {}):
                if isinstance(change.made, Perturbed):
                    changed[at].append(_changed(place, originals[place], at, design, change))
                    continue
                left_out[at][change.made.reason] += 1
                if isinstance(change.made, NothingToChange):
                    not_applicable[perturbation.name] += 1
    return Texts(originals, changed, not_applicable, left_out)


def _made(
    originals: Sequence[Item],
    perturbation: Perturbation,
    severity: float,
    design: CalibrationDesign,
    rewritten: Mapping[str, RewrittenText],
) -> Iterator[tuple[int, RewrittenText]]:
    """Yield the place of each original and what came of it; of none that is yet to be asked."""
    for place, item in enumerate(originals):
        if not design.made_by(perturbation):
            yield place, RewrittenText(perturbation.apply(item.text, severity, design.seed))
        elif len(item.text) > LONGEST_ORIGINAL:
            too_long = f"a model is not given more than {LONGEST_ORIGINAL:,} characters to change"
            yield place, RewrittenText(NothingToChange(too_long))
        elif stored := rewritten.get(_rewriting(item, perturbation, severity, design).key):
            yield place, stored


def _rewriting(
    item: Item, perturbation: Perturbation, severity: float, design: CalibrationDesign
) -> Rewriting:
    return Rewriting(
        perturbation=perturbation.name,
        severity=severity,
        seed=design.seed,
        model=design.made_by(perturbation),
        text=item.text,
        simulated=item.simulated,
    )


def _changed(
    place: int, item: Item, at: tuple[str, float], design: CalibrationDesign, change: RewrittenText
) -> Changed:
    assert isinstance(change.made, Perturbed)
    name, severity = at
    variant = Variant(
        perturbation=name,
        severity=severity,
        seed=design.seed,
        perturber=design.made_by(perturbations()[name]) or None,
    )
    given = {
        "text": change.made.text,
        "variant": variant,
        "simulated": item.simulated or change.simulated,
    }
    return Changed(place, item.model_copy(update=given), change.made.edits)
