"""The decision study: do more items or more replicates buy more, for the money?

From variance components, in the sense of generalizability theory (Brennan 2001): the error of a
mean falls with items in every part, with replicates only in the part that is their noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from judge_gym.metrics.intervals import EPSILON


@dataclass(frozen=True)
class Components:
    """Variances of a 0-1 score: what a judge makes of an item by itself, and its replicates.

    From `decomposition.variance_components`. An estimate below 0 stands for none, and counts as 0.
    """

    judge_item: float
    replicate: float


@dataclass(frozen=True)
class Costs:
    """In one currency: of an item (finding and editing it) and of one judgement with its probe."""

    item: float
    judgement: float

    def __post_init__(self) -> None:
        """Refuse a free judgement: nothing would then limit their number."""
        if self.item < 0 or self.judgement <= 0:
            raise ValueError(f"{self}: an item costs 0 or more, a judgement more than 0")


@dataclass(frozen=True)
class Plan:
    """One choice of items and replicates: the standard error it gives, and what it costs."""

    items: int
    replicates: int
    standard_error: float
    cost: float


@dataclass(frozen=True)
class Decision:
    """The plans compared, the number of replicates that is best at any budget, and the advice."""

    plans: tuple[Plan, ...]
    best_replicates: float | None
    advice: str


def standard_error(components: Components, items: int, replicates: int) -> float:
    """Return the expected error of the difference of two judges' mean scores on common items.

    √(2·(σ²_judge×item + σ²_replicate / r) / n): the item's own level, shared, cancels.
    """
    judge_item, noise = max(0.0, components.judge_item), max(0.0, components.replicate)
    return float((2 * (judge_item + noise / replicates) / items) ** 0.5)


def decision_study(
    components: Components,
    costs: Costs,
    judges: int,
    items: Sequence[int],
    replicates: Sequence[int],
) -> Decision:
    """Return the plans of every combination and what to buy next from the smallest of them.

    The best number of replicates is √(c_item / c_judgements · σ²_replicate / σ²_judge×item),
    c_judgements that of one replicate by all judges; it does not depend on the budget. None when
    judges read items alike: then only replicates' noise is left, and one replicate of many items
    is as good as many of few, but for the price of items.
    """
    per_replicate = judges * costs.judgement

    def plan(n: int, r: int) -> Plan:
        cost = n * (costs.item + r * per_replicate)
        return Plan(n, r, standard_error(components, n, r), cost)

    noise, judge_item = max(0.0, components.replicate), max(0.0, components.judge_item)
    best = None
    if judge_item > EPSILON:
        best = (costs.item / per_replicate * noise / judge_item) ** 0.5
    plans = tuple(plan(n, r) for n in items for r in replicates)
    return Decision(
        plans, best, _advice(components, costs, judges, plan(min(items), min(replicates)))
    )


def _advice(components: Components, costs: Costs, judges: int, now: Plan) -> str:
    """Compare one more replicate of every item with the items that the same money buys."""
    extra = now.items * judges * costs.judgement
    added = extra / (costs.item + now.replicates * judges * costs.judgement)
    variance = now.standard_error**2
    if variance <= EPSILON:
        return "neither: nothing varies, so that nothing is gained by either"
    by_replicate = standard_error(components, now.items, now.replicates + 1) / now.standard_error
    by_items = (now.items / (now.items + added)) ** 0.5
    told = (
        f"from {now.items} items of {now.replicates}, one more replicate cuts the error by "
        f"{1 - by_replicate:.1%}, as much money in items by {1 - by_items:.1%}"
    )
    return f"more {'replicates' if by_replicate < by_items else 'items'}: {told}"
