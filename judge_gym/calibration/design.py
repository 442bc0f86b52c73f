"""The calibration file: which judges, on which texts, changed how, and what counts as enough."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from judge_gym.calibration.checks import Margins
from judge_gym.calibration.editing import Expectation
from judge_gym.calibration.perturbations import Perturbation, perturbations
from judge_gym.design.config_model import read_model
from judge_gym.design.config_tree import did_you_mean, read_tree
from judge_gym.design.frozen import Frozen
from judge_gym.design.legal import Legal

_EXPECTED = Legal("a mapping of perturbations to drop, invariant or rise")


class CalibrationDesign(Frozen):
    """One calibration: judges that score single texts, on one corpus."""

    name: Annotated[str, Legal("small letters, digits and hyphens")] = Field(
        pattern=r"^[a-z0-9-]{1,80}$"
    )
    """What it is called: small letters, digits and hyphens."""
    judges: tuple[Path, ...] = Field(min_length=1, max_length=20)
    """Judge files, relative to this one."""
    items: Path
    """The texts (JSONL or CSV), relative to this file; `truth` may hold a known score, on the scale
    of the judges."""
    repeats: int = Field(default=3, ge=1, le=50)
    """How often each text is judged; 3 are needed to tell discrimination."""
    severities: tuple[float, ...] = Field(default=(0.5, 1.0), min_length=1, max_length=10)
    """Shares of the possible changes that are made, ascending, above 0 and at most 1. What should
    move the score is judged at each of them, what should not at the highest."""
    perturbations: tuple[str, ...] = ()
    """Those to use; all when none is named."""
    expectations: Annotated[dict[str, Expectation], _EXPECTED] = Field(default_factory=dict)
    """Perturbation → drop, invariant or rise, where the perturbation's own does not fit."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Which changes are drawn first."""
    margins: Margins = Margins()
    """What counts as enough."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if list(self.severities) != sorted({one for one in self.severities if 0 < one <= 1}):
            raise ValueError("severities are not ascending, above 0 and at most 1")
        for name in (*self.perturbations, *self.expectations):
            if name not in perturbations():
                known = ", ".join(perturbations())
                close = did_you_mean(name, list(perturbations()))
                raise ValueError(f"there is no perturbation {name!r}. {close}Use {known}")
        if len(set(self.judges)) < len(self.judges):
            raise ValueError("a judge is named twice")
        return self

    @property
    def chosen(self) -> list[Perturbation]:
        """The perturbations to use, in a fixed order."""
        known = perturbations()
        return [
            known[name] for name in known if not self.perturbations or name in self.perturbations
        ]

    def expectation(self, perturbation: Perturbation) -> Expectation:
        """Return what is expected of a perturbation here."""
        return self.expectations.get(perturbation.name, perturbation.expectation)

    def severities_of(self, perturbation: Perturbation) -> tuple[float, ...]:
        """Return the severities at which a perturbation is judged, ascending."""
        stays = self.expectation(perturbation) is Expectation.INVARIANT
        return self.severities[-1:] if stays else self.severities


def load_calibration(path: Path) -> CalibrationDesign:
    """Read a calibration file, its paths found from where it is.

    Raises `ConfigError` naming file, line, key and value.
    """
    design = read_model(CalibrationDesign, read_tree(path))
    found = {"judges": tuple(path.parent / one for one in design.judges),
             "items": path.parent / design.items}  # fmt: skip
    return design.model_copy(update=found)
