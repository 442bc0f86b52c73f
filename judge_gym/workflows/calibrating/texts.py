"""The texts of a calibration: originals, and their variants by perturbation and severity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judge_gym.calibration.design import CalibrationDesign
from judge_gym.calibration.editing import Edit, NothingToChange
from judge_gym.judges.items import Item, Variant


@dataclass(frozen=True)
class Changed:
    """One variant: the place of its original, the item to judge, and its edits."""

    original: int
    item: Item
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Texts:
    """What is judged. `changed` is (perturbation, severity) → its variants, in the order of the
    originals; `not_applicable` counts, by perturbation, the originals it finds nothing to change
    in."""

    originals: Sequence[Item]
    changed: Mapping[tuple[str, float], list[Changed]] = field(default_factory=dict)
    not_applicable: Mapping[str, int] = field(default_factory=dict)

    @property
    def items(self) -> list[Item]:
        """Everything to be judged: the originals first."""
        return [*self.originals, *(one.item for some in self.changed.values() for one in some)]


def changed_texts(originals: Sequence[Item], design: CalibrationDesign) -> Texts:
    """Return the originals with every variant that the design asks for; always the same ones."""
    changed: dict[tuple[str, float], list[Changed]] = {}
    not_applicable: dict[str, int] = {}
    for perturbation in design.chosen:
        for severity in design.severities_of(perturbation):
            variants: list[Changed] = []
            for place, item in enumerate(originals):
                found = perturbation.apply(item.text, severity, design.seed)
                if isinstance(found, NothingToChange):
                    continue
                variant = Variant(
                    perturbation=perturbation.name, severity=severity, seed=design.seed
                )
                made = item.model_copy(update={"text": found.text, "variant": variant})
                variants.append(Changed(place, made, found.edits))
            changed[perturbation.name, severity] = variants
            not_applicable[perturbation.name] = len(originals) - len(variants)
    return Texts(originals, changed, not_applicable)
