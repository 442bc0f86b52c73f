"""The calibration file: which judges, on which texts, changed how, and what counts as enough."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from judge_gym.calibration.checks import Decide, Known, Margins
from judge_gym.design.config import check_exists, read_model, read_tree
from judge_gym.design.fields import Frozen, Legal, ModelName, Slug
from judge_gym.design.plans import Budget
from judge_gym.evidence.choosing import FieldColumns
from judge_gym.planted.editing import Expectation
from judge_gym.planted.families import served
from judge_gym.planted.perturbations import Perturbation, perturbations
from judge_gym.records.items import Fields
from judge_gym.seeds import digest

_EXPECTED = Legal("a mapping of perturbations to drop, invariant or rise")
_LABELS = Legal("the lowest and the highest label, such as [1, 5]")
_SEVERITIES = Legal("shares above 0 and at most 1, ascending")


class Perturber(Frozen):
    """A model that makes some of the perturbations, in place of the rules."""

    model: Annotated[ModelName, AfterValidator(served)]
    """The model that rewrites, as provider/model; best of another family than the judges."""
    types: tuple[Known, ...] = Field(min_length=1)
    """The perturbations it makes; the rules make the others."""
    budget: Budget | None = None
    """What it may use in all, over every calibration."""

    @property
    def key(self) -> str:
        """By what its calls are counted in the ledger: its model."""
        return digest("perturber", self.model)

    @property
    def called(self) -> str:
        """What messages call it."""
        return f"The perturber {self.model}"


class CalibrationDesign(Frozen):
    """One calibration: judges that score single texts, on one corpus."""

    name: Slug
    """What it is called: small letters, digits and hyphens."""
    judges: tuple[Path, ...] = Field(min_length=1, max_length=20)
    """Judge files, relative to this one."""
    items: Path
    """The texts (JSONL or CSV), relative to this file; `truth` may hold a person's label: a score
    on the scale of the judges or on `label_scale`, or the name of a verdict."""
    label_scale: Annotated[tuple[float, float], _LABELS] | None = None
    """The lowest and the highest label, such as [1, 5]: labels are mapped linearly from there to
    each judge's scale. Needed where judges have different scales."""
    fields: Fields = Field(default_factory=dict)
    """Field of an item → the column of the file it stands in, such as {truth: human_score}."""
    labels: Path | None = None
    """People's labels of the texts (CSV or JSONL), relative to this file: a row for an item, an
    annotator and a criterion. Figures then use the mean or the majority of several people."""
    label_fields: FieldColumns = Field(default_factory=dict)
    """Field of a label → the column of `labels` it stands in, such as {annotator: rater}."""
    repeats: int = Field(default=3, ge=1, le=50)
    """How often each text is judged; 3 are needed to tell discrimination."""
    severities: Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], _SEVERITIES] = Field(
        default=(0.5, 1.0), min_length=1, max_length=10
    )
    """Shares of the possible changes that are made, ascending, above 0 and at most 1. What should
    move the score is judged at each of them, what should not at the highest."""
    perturbations: tuple[Known, ...] = ()
    """Those to use; all when none is named."""
    expectations: Annotated[dict[Known, Expectation], _EXPECTED] = Field(default_factory=dict)
    """Perturbation → drop, invariant or rise, where the perturbation's own does not fit."""
    perturber: Perturber | None = None
    """A model that makes some of them; without one the rules make all."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Which changes are drawn first."""
    margins: Margins = Margins()
    """What counts as enough for a check."""
    decide: Decide = Decide()
    """What counts as enough for a verdict."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if list(self.severities) != sorted(set(self.severities)):
            raise ValueError("severities are not ascending")
        if self.label_scale and not self.label_scale[0] < self.label_scale[1]:
            raise ValueError("label_scale does not ascend")
        if others := set(self.perturber.types if self.perturber else ()) - {
            perturbation.name for perturbation in self.chosen
        }:
            named = ", ".join(sorted(others))
            raise ValueError(f"perturber has {named}, which is not among the perturbations")
        if len(set(self.judges)) < len(self.judges):
            raise ValueError("a judge is named twice")
        return self

    @property
    def chosen(self) -> list[Perturbation]:
        """The perturbations to use, in a fixed order."""
        available = perturbations()
        return [
            available[name]
            for name in available
            if not self.perturbations or name in self.perturbations
        ]

    def expectation(self, perturbation: Perturbation) -> Expectation:
        """Return what is expected of a perturbation here."""
        return self.expectations.get(perturbation.name, perturbation.expectation)

    def made_by(self, perturbation: Perturbation) -> str:
        """Return the model that makes a perturbation here; empty where the rules do."""
        perturber = self.perturber
        return perturber.model if perturber and perturbation.name in perturber.types else ""

    def severities_of(self, perturbation: Perturbation) -> tuple[float, ...]:
        """Return the severities at which a perturbation is judged, ascending."""
        stays = self.expectation(perturbation) is Expectation.INVARIANT
        return self.severities[-1:] if stays else self.severities


def load_calibration(path: Path) -> CalibrationDesign:
    """Read a calibration file, its paths found from where it is.

    Raises `ConfigError` naming file, line, key and value.
    """
    tree = read_tree(path)
    if "kind" in tree.items and "judges" not in tree.items:
        raise tree.place.problem(
            "is a judge file", f"Write a calibration file with judges: [{path.name}]."
        )
    design = read_model(CalibrationDesign, tree)
    for key in ("judges", "items", *(("labels",) if design.labels else ())):
        check_exists(tree.items[key])
    paths = {"judges": tuple(path.parent / name for name in design.judges),
             "items": path.parent / design.items,
             "labels": path.parent / design.labels if design.labels else None}  # fmt: skip
    return design.model_copy(update=paths)
