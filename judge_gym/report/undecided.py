"""Claims that a sweep leaves open: which figure, and how many items would decide it."""

from collections.abc import Iterator, Sequence

from judge_gym.calibration.checks import more_items
from judge_gym.counting import counted
from judge_gym.formats import figure
from judge_gym.metrics.margins import Conclusion
from judge_gym.report.findings import (
    claim_and_estimate,
    claimed,
    open_by_correction,
)
from judge_gym.report.headlines import Headline
from judge_gym.store.results import FindingRow

_MOST = 4


def undecided(rows: Sequence[Headline]) -> list[str]:
    """Return how many claims have an inconclusive figure, then each of these; none without any."""
    claims = [row for row in rows if not row.is_check]
    still_open = [row for row in claims if row.conclusion == Conclusion.INCONCLUSIVE]
    if not still_open:
        return []
    many = {row.claim_key for row in still_open}
    of = len({row.claim_key for row in claims})
    have = "has" if len(many) == 1 else "have"
    figures = [line for row in still_open for line in _figures(row)]
    more = len(figures) - _MOST
    left = [f"{counted(more, 'more figure')}, in the findings."] if more > 0 else []
    head = f"{len(many)} of {counted(of, 'claim')} {have} an inconclusive figure:"
    return [head, *figures[:_MOST], *left]


def _figures(row: Headline) -> Iterator[str]:
    for finding, label in zip(row.findings, row.names, strict=True):
        yield (
            f"{row.question} {label}: {figure(finding)}; claim: {claimed(finding)}. "
            f"{_settled_by(finding)}"
        )


def _settled_by(finding: FindingRow) -> str:
    """Return what would decide a finding: more items, unless its interval does so already."""
    if open_by_correction(finding):
        return (
            "Its interval decides it, but not after correction for many tests: plan fewer figures."
        )
    claim, estimate = claim_and_estimate(finding)
    return more_items(estimate, claim)
