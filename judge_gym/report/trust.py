"""How far a report can be trusted, as five tiles: a value each, and what it is of."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge_gym.counting import counted
from judge_gym.formats import ABSENT, number, percent
from judge_gym.metrics.estimate import RemarkKind
from judge_gym.report.facts import ServedSummary
from judge_gym.report.headlines import Headline
from judge_gym.store.results import ResultRow

_POWER = 0.8
_DETECTED = 1.43
"""Half-widths of a 95% interval from the margin at which 80% of intervals exclude it:
(1.960 + 0.842) / 1.960, the normal approximation."""


@dataclass(frozen=True)
class Tile:
    """One figure on trust: `value` in large letters, `label` above it, `says` what it is of."""

    label: str
    value: str
    says: str


MOST_TILES = 6
"""Tiles of judges or candidates that a page opens with; its table has all."""


def trust_tiles(
    rows: Sequence[ResultRow], claims: Sequence[Headline], served: ServedSummary
) -> list[Tile]:
    """Return the five tiles; one that lacks its figures shows that it is absent, and why."""
    return [
        _share(rows, "unparseable_rate", "Readable answers", readable=True),
        _share(rows, "abstention_rate", "Abstained", readable=False),
        _stability(rows, served),
        _votes(rows),
        _power(claims),
    ]


def _share(rows: Iterable[ResultRow], metric: str, label: str, *, readable: bool) -> Tile:
    counted_rows = [row for row in _whole(rows, metric) if row.n]
    total = sum(row.n for row in counted_rows)
    if not total:
        return Tile(label, ABSENT, "no judgements")
    share = sum((row.estimate or 0.0) * row.n for row in counted_rows) / total
    found: dict[str, float] = defaultdict(float)
    judged: Counter[str] = Counter()
    for row in counted_rows:
        judge = str(row.scope.get("judge", "a judge"))
        judged[judge] += row.n
        found[judge] += (row.estimate or 0.0) * row.n
    worst, judge = max((found[judge] / judged[judge], judge) for judge in judged)
    end = f"lowest {percent(1 - worst)}" if readable else f"highest {percent(worst)}"
    at_worst = f"; {end} ({judge})" if worst else ""
    digits = 1 if 0 < share < 1 else 0
    value = percent(1 - share if readable else share, digits)
    return Tile(label, value, f"of {total:,} judgements{at_worst}")


def _whole(rows: Iterable[ResultRow], metric: str) -> list[ResultRow]:
    """Return the figures of a metric that are not of one category of items."""
    return [
        row
        for row in rows
        if row.metric == metric and row.estimate is not None and "category" not in row.scope
    ]


def _stability(rows: Sequence[ResultRow], served: ServedSummary) -> Tile:
    """Return whether replicates depend on time, and whether other models answered."""
    compared = [
        row
        for row in rows
        if row.metric.startswith("replicate_time_correlation") and row.estimate is not None
    ]
    drifting = sum(
        remark.kind is RemarkKind.DEPENDENT_REPLICATES for row in compared for remark in row.remarks
    )
    of_judges = counted(served.judges, "judge")
    models = (
        f"another model served for {', '.join(served.differing)}"
        if served.differing
        else f"{served.named} of {of_judges} served as asked"
        if served.named
        else "served models: not named by providers"
    )
    value = f"{drifting} of {len(compared)}" if compared else ABSENT
    about = "groups of repeats change with time" if compared else "too few repeats"
    return Tile("Drift", value, f"{about}; {models}")


def _votes(rows: Iterable[ResultRow]) -> Tile:
    label = "Effective votes"
    found = [row for row in rows if row.metric.startswith("effective_votes")]
    known = [row for row in found if row.estimate is not None]
    if not known:
        reasons = dict.fromkeys(row.because for row in found if row.because)
        return Tile(label, ABSENT, next(iter(reasons), "not estimated in this sweep"))
    least = min(known, key=lambda row: row.estimate or 0.0)
    concept = f" on {least.scope['concept']}" if "concept" in least.scope else ""
    interval = (
        f" [{number(least.lower, 1)}, {number(least.upper, 1)}]" if least.lower is not None else ""
    )
    fewest = f"lowest of {counted(len(known), 'group')}" if len(known) > 1 else "of one group"
    says = f"independent judges would tell as much{interval}; {fewest}{concept}"
    return Tile(label, number(least.estimate, 1), " ".join(says.split()))


def _power(claims: Iterable[Headline]) -> Tile:
    """Return the smallest effect beyond the margin that 80% of such sweeps would support."""
    label = "Could be found"
    for row in claims:
        widths = [
            (finding.upper - finding.lower) / 2
            for finding in row.findings
            if finding.lower is not None and finding.upper is not None
        ]
        if widths and not row.is_check:
            return Tile(
                label,
                number(_DETECTED * max(widths)),
                "beyond the margin, or more: a true effect of that size would be found by "
                f"{percent(_POWER)} of such sweeps (first claim)",
            )
    return Tile(label, ABSENT, "no claim has an interval")
