"""The power of planned contrasts: the change that a sweep's items and replicates would find.

By the arithmetic of the analysis: a paired t interval over items beyond the margin, at the
strictest step of Holm over all primary figures. How far items differ in their change is an
assumption, unless the plan gives it.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from math import pi

from judge_gym.counting import counted
from judge_gym.design.axis_pairs import REGROUPED
from judge_gym.design.plan_scopes import ComparedPair, contrasted
from judge_gym.design.plans import IN_STAGES, PlannedContrast
from judge_gym.design.sweep import Sweep
from judge_gym.lab.power.comparisons import (
    PrimaryFamily,
    documents_of,
    items_of,
    primary_family,
)
from judge_gym.metrics.hypotheses import CONTRAST_FIGURES
from judge_gym.metrics.inference import (
    detectable_difference,
    equivalence_items,
    equivalence_margin,
)

REPLICATE_SD = 0.1 * pi / 3**0.5
"""Assumed spread of replicates on 0 to 1: that of logistic noise of scale 0.1, as `sweep power`."""
CHANGE_SD = 0.1
"""Assumed standard deviation between items of a judge's true change."""
_MEANS = ("score", "expected_stage", "confidence", "set_width", "set_size", "jitter")
"""Figures whose replicates are values on 0 to 1; those of the others are yes or no."""
_Design = tuple[int, bool, int, int | None]
"""Items, whether they are assumed, replicates, and the stages of a figure in stages."""
_OTHER_ITEMS = "its two levels have other items, so their spread is not assumed: give item_sd"


@dataclass(frozen=True)
class ContrastPower:
    """What one planned contrast would find, for judges with as many items and replicates."""

    hypothesis: str
    axis: str
    levels: tuple[str, str]
    figure: str
    unit: str
    direction: str
    margin: float
    judges: tuple[str, ...]
    concepts: tuple[str, ...]
    items: int
    items_assumed: bool
    replicates: int
    item_sd: float | None
    """Standard deviation of the item differences: given, or assumed at `detectable`."""
    item_sd_assumed: bool
    tests: int
    """Figures that Holm's correction is over, as far as the sweep says."""
    corrected_over: str
    """The same in words."""
    detectable: float | None
    """The true change that 80% of such runs find; of an equivalence the least margin that 80% show
    where nothing moves."""
    stages: int | None
    """The stages of the scale, of a figure in stages."""
    reason: str = ""
    """Why there is none."""

    @property
    def scale(self) -> str:
        """The scale of a figure in stages, as the end of a phrase; else empty."""
        return f", {self.stages} stages" if self.stages else ""

    @property
    def shortfall(self) -> str:
        """Why a claim within a margin is not to be expected of this plan; empty where it is."""
        found, sd = self.detectable, self.item_sd
        if self.direction != "within" or found is None or sd is None or found <= self.margin:
            return ""
        needed = equivalence_items(sd, self.margin, tests=self.tests)
        return (
            f"{self.hypothesis}: this plan cannot be expected to show {self.figure} within "
            f"{self.margin:g}{self.scale}: where nothing moves, {counted(self.items, 'item')} show "
            f"{found:.2g} in 80% of runs. With this spread it needs {needed:,} items."
        )


def contrast_powers(sweep: Sweep) -> list[ContrastPower]:
    """Return what the planned contrasts of a sweep would find; none without any in its plan."""
    if sweep.plan is None or not sweep.plan.contrasts:
        return []
    by_key = {key: contrasted(sweep, one) for key, one in sweep.plan.keyed_contrasts.items()}
    family = primary_family(sweep)
    documents = documents_of(sweep)
    found = []
    for key, pairs in by_key.items():
        contrast = sweep.plan.keyed_contrasts[key]
        alike: dict[_Design, list[ComparedPair]] = defaultdict(list)
        for pair in pairs:
            sides = (pair.before, pair.after)
            items, assumed = min(items_of(side, documents) for side in sides)
            replicates = min(side.replicates for side in sides)
            stages = pair.after.scale_size if contrast.figure in IN_STAGES else None
            alike[items, assumed, replicates, stages].append(pair)
        found += [
            _power(key, contrast, members, design, family) for design, members in alike.items()
        ]
    return found


def _power(
    key: str,
    contrast: PlannedContrast,
    pairs: list[ComparedPair],
    design: _Design,
    family: PrimaryFamily,
) -> ContrastPower:
    items, items_assumed, replicates, stages = design
    steps, tests = stages - 1 if stages else 1, family.figures
    spread = spread_of(contrast, replicates, steps)
    change = None if spread is None else _change(contrast, spread, items, steps, tests)
    sd = None if spread is None else spread(0.0 if change is None else change / steps)
    if spread is None:
        reason = _OTHER_ITEMS
    elif items < 2:
        reason = "it needs two items"
    else:
        reason = "" if change is not None else "no possible change is large enough"
    return ContrastPower(
        key, contrast.axis, contrast.written_levels, contrast.figure,
        CONTRAST_FIGURES[contrast.figure].unit, contrast.direction, contrast.margin,
        tuple(dict.fromkeys(pair.after.model for pair in pairs)),
        tuple(dict.fromkeys(pair.after.concept for pair in pairs)),
        items, items_assumed, replicates, None if sd is None else sd * steps,
        contrast.item_sd is None, tests, family.said, change, stages, reason,
    )  # fmt: skip


def _change(
    contrast: PlannedContrast,
    spread: Callable[[float], float],
    items: int,
    steps: int,
    tests: int,
) -> float | None:
    """Return the true change that is found, or the margin that is shown, in the figure's unit."""
    if contrast.direction == "within":
        margin = equivalence_margin(spread(0.0), items, tests=tests)
        return None if margin is None else margin * steps
    sign, margin = (1 if contrast.direction == "above" else -1), contrast.margin / steps
    beyond = detectable_difference(
        lambda beyond: spread(margin + sign * beyond), items, most=1 - sign * margin, tests=tests
    )
    return None if beyond is None else (margin + sign * beyond) * steps


def spread_of(
    contrast: PlannedContrast, replicates: int, steps: int = 1
) -> Callable[[float], float] | None:
    """Return mean change → standard deviation of the items' changes, both on 0 to 1.

    As the plan gives it, else assumed: `CHANGE_SD` between items, and the noise of replicates. A
    share is then near a half, where it is noisiest; abstentions that only one level allows are of
    items that are always or never abstained on. None where the levels have other items.
    """
    if contrast.item_sd is not None:
        # Of other items, both sides have the spread.
        given = contrast.item_sd / steps * (2**0.5 if contrast.axis in REGROUPED else 1)
        return lambda _: given
    if contrast.axis in REGROUPED:
        return None
    if contrast.axis == "abstain" and contrast.figure == "abstain_share":
        return lambda change: max(abs(change) * (1 - abs(change)), 1e-4) ** 0.5
    if contrast.figure in _MEANS:
        noise = 2 * REPLICATE_SD**2 / replicates
        return lambda _: (noise + CHANGE_SD**2) ** 0.5
    return lambda change: ((1 - change**2) / (2 * replicates) + CHANGE_SD**2) ** 0.5
