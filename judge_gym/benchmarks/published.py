"""Published accuracies, and the difference of a judge's accuracy from one of them."""

from functools import cache
from importlib.resources import as_file, files

from pydantic import Field

from judge_gym.design.config_model import read_model
from judge_gym.design.config_tree import read_tree
from judge_gym.design.frozen import Frozen
from judge_gym.formats import number
from judge_gym.metrics.estimate import SIGNED_UNIT, Estimate, wilson, with_interval


class PublishedAccuracy(Frozen):
    """A published accuracy."""

    benchmark: str = Field(min_length=1)
    """The name of the benchmark's mapping."""
    part: str = ""
    """The part of the benchmark it is of."""
    judge: str = Field(min_length=1)
    """The judge as its source names it."""
    correct: int = Field(ge=0)
    """Pairs judged rightly."""
    pairs: int = Field(gt=0)
    """Pairs judged."""

    @property
    def name(self) -> str:
        """The judge and the part, which tell it from the others of its benchmark."""
        return f"{self.judge}, {self.part}"

    @property
    def accuracy(self) -> float:
        """The share of pairs judged rightly, in [0, 1]."""
        return self.correct / self.pairs


@cache
def published_accuracies() -> tuple[PublishedAccuracy, ...]:
    """Return the accuracies of `published.yaml`, whose header names their sources."""
    with as_file(files(__package__).joinpath("published.yaml")) as path:
        return tuple(read_model(PublishedAccuracy, entry) for entry in read_tree(path).entries)


def above_published(accuracy: Estimate, published: PublishedAccuracy) -> Estimate:
    """Return a judge's accuracy minus the published one, in [-1, 1].

    Interval: Newcombe's from both Wilson intervals, for independent samples; too wide if the pairs
    are the same. An accuracy that is not estimable is returned unchanged. Source:
    Newcombe 1998, Statistics in Medicine 17.
    """
    own, low, high = accuracy.estimate, accuracy.lower, accuracy.upper
    if own is None or low is None or high is None:
        return accuracy
    other = published.accuracy
    other_low, other_high = wilson(published.correct, published.pairs)
    difference = own - other
    below = ((own - low) ** 2 + (other_high - other) ** 2) ** 0.5
    above = ((high - own) ** 2 + (other - other_low) ** 2) ** 0.5
    estimate = Estimate(
        "accuracy_above_published", difference, None, None, accuracy.n, accuracy.n_items,
        method=f"less {number(other, 3)} on {published.pairs} pairs; Newcombe",
        unit="share",
    )  # fmt: skip
    return with_interval(estimate, (difference - below, difference + above), SIGNED_UNIT)
