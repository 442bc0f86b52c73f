"""What became of the samples: abstention, unparseable, refused and failed rates."""

from dataclasses import dataclass

from judge_gym.metrics.cells import IntArray
from judge_gym.metrics.estimate import Estimate, not_estimable, with_interval
from judge_gym.metrics.intervals import clustered_wilson


@dataclass(frozen=True, eq=False)
class OutcomeCounts:
    """Samples by outcome, each an array with one count per item."""

    scored: IntArray
    abstained: IntArray
    unparseable: IntArray
    refused: IntArray
    failed: IntArray


def outcome_rates(counts: OutcomeCounts) -> list[Estimate]:
    """Return the rates of abstention, unparseable, refused and failed samples, each in [0, 1].

    Abstention is abstained / (scored + abstained): a judgement that was made. The other three
    are shares of all samples. Interval: Wilson clustered by item. Needs one sample.
    """
    judged = counts.scored + counts.abstained
    everything = judged + counts.unparseable + counts.refused + counts.failed
    return [
        clustered_share("abstention_rate", counts.abstained, judged),
        clustered_share("unparseable_rate", counts.unparseable, everything),
        clustered_share("refused_rate", counts.refused, everything),
        clustered_share("failed_rate", counts.failed, everything),
    ]


def clustered_share(metric: str, successes: IntArray, trials: IntArray) -> Estimate:
    """Return Σ successes / Σ trials, in [0, 1], with its Wilson interval clustered by item.

    Both arrays hold a count per item. Needs one trial.
    """
    n = int(trials.sum())
    if n == 0:
        return not_estimable(metric, "there is no sample to count", unit="share")
    estimate = Estimate(
        metric,
        int(successes.sum()) / n,
        None,
        None,
        n,
        int((trials > 0).sum()),
        method="share of samples, Wilson interval clustered by item",
        unit="share",
    )
    return with_interval(estimate, clustered_wilson(successes, trials))
