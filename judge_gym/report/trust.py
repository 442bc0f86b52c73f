"""How far a report can be trusted, as five tiles: a value each, and what it is of."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from judge_gym.analysis.facets import averaged
from judge_gym.counting import counted
from judge_gym.formats import ABSENT, number, percent
from judge_gym.metrics.estimate import RemarkKind
from judge_gym.metrics.hypotheses import HYPOTHESES, VALIDITY_CHECKS, contrast_figure
from judge_gym.metrics.inference import POWER, detectable_beyond, equivalence_within
from judge_gym.report.facts import ServedSummary
from judge_gym.report.findings import corrected_over
from judge_gym.report.headlines import Headline
from judge_gym.report.scopes import may_abstain
from judge_gym.seeds import canonical_json
from judge_gym.store.results import FindingRow, ResultRow


@dataclass(frozen=True)
class Tile:
    """One figure on trust: `value` in large letters, `label` above it, `says` what it means.

    Whoever reads a tile may have read nothing else: it has no term that is not explained in it.
    """

    label: str
    value: str
    says: str


READABLE = "Readable answers"
ABSTAINED = "Judge abstained"
STABLE = "Unstable over time"
INDEPENDENT = "Independent judges"
DETECTABLE = "Smallest detectable effect"
"""The labels of the tiles of a sweep, in their order."""
MOST_TILES = 6
"""Tiles of judges or candidates that a page opens with; its table has all."""


_METRICS = {one.key: one.metric for one in (*HYPOTHESES, *VALIDITY_CHECKS)} | {
    "H3": "swap_sensitivity"
}
"""Claim → the metric whose figures have its degrees of freedom."""


def trust_tiles(
    rows: Sequence[ResultRow],
    claims: Sequence[Headline],
    served: ServedSummary,
    findings: Sequence[FindingRow],
) -> list[Tile]:
    """Return the five tiles; one that lacks its figures shows that it is absent, and why.

    `claims` are the headlines of `findings`.
    Judgements of a level whose figure over all levels is there count once.
    """
    rows = averaged(rows)
    return [
        _share(rows, "unparseable_rate", READABLE, readable=True),
        _abstained(rows),
        _stability(rows, served),
        _votes(rows),
        _power(claims, rows, findings),
    ]


def _abstained(rows: Sequence[ResultRow]) -> Tile:
    """Return how often judges abstained, of the judgements in which they may."""
    allowed = [row for row in rows if may_abstain(row.scope)]
    tile = _share(allowed, "abstention_rate", ABSTAINED, readable=False)
    if len(_whole(allowed, "abstention_rate")) == len(_whole(rows, "abstention_rate")):
        return tile
    return replace(tile, says=f"{tile.says}; settings of forced choice are not counted")


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
    what = "answers hold a verdict" if readable else "answers say that the judge cannot tell"
    return Tile(label, value, f"of {total:,} {what}{at_worst}")


def _whole(rows: Iterable[ResultRow], metric: str) -> list[ResultRow]:
    """Return the figures of a metric that are not of one category of items."""
    return [
        row
        for row in rows
        if row.metric == metric and row.estimate is not None and "category" not in row.scope
    ]


def _stability(rows: Sequence[ResultRow], served: ServedSummary) -> Tile:
    """Return whether repeats depend on time, and whether other models answered."""
    compared = [
        row
        for row in rows
        if row.metric.startswith("replicate_time_correlation") and row.estimate is not None
    ]
    drifting = sum(
        remark.kind is RemarkKind.DEPENDENT_REPLICATES for row in compared for remark in row.remarks
    )
    value = f"{drifting} of {len(compared)}" if compared else ABSENT
    about = (
        "groups of repeats: answers close in time agree more"
        if compared
        else "too few repeats to compare"
    )
    return Tile(STABLE, value, f"{about}; {answered_by(served)}" if served.differing else about)


def answered_by(served: ServedSummary) -> str:
    """Return whether the models that were requested answered."""
    if served.differing:
        return f"another model than the requested one answered for {', '.join(served.differing)}"
    if served.named:
        of_judges = counted(served.judges, "judge")
        return f"the requested model answered for {served.named} of {of_judges}"
    return "providers do not say which model answered"


def _votes(rows: Iterable[ResultRow]) -> Tile:
    found = [row for row in rows if row.metric.startswith("effective_votes")]
    known = [row for row in found if row.estimate is not None]
    if not known:
        reasons = dict.fromkeys(row.because for row in found if row.because)
        return Tile(INDEPENDENT, ABSENT, next(iter(reasons), "not estimated in this sweep"))
    least = min(known, key=lambda row: row.estimate or 0.0)
    concept = f" on {least.scope['concept']}" if "concept" in least.scope else ""
    interval = (
        f" [{number(least.lower, 1)}, {number(least.upper, 1)}]" if least.lower is not None else ""
    )
    fewest = f" (lowest of {len(known)})" if len(known) > 1 else ""
    says = (
        f"how many judges that err independently all of them are worth{concept}{fewest}{interval}"
    )
    return Tile(INDEPENDENT, number(least.estimate, 1), says)


def _power(
    claims: Sequence[Headline], rows: Sequence[ResultRow], findings: Sequence[FindingRow]
) -> Tile:
    """Return the smallest effect that 80% of such sweeps would show, of the first claim.

    Of all its figures, at the strictest step of the correction, as `sweep plan` has it.
    """
    tested = [
        finding
        for row in claims
        if not row.is_check and not row.is_beside
        for finding in row.findings
        if finding.lower is not None and finding.upper is not None and finding.n_items > 1
    ]
    if not tested:
        checks = [one for row in claims if row.is_check for one in row.findings]
        alone = any(one.lower is not None for one in checks)
        return Tile(DETECTABLE, ABSENT, f"no claim{' but checks' if alone else ''} has an interval")
    first = tested[0]
    of_claim = [one for one in tested if one.hypothesis == first.hypothesis]
    tests = corrected_over(findings)[first.confirmatory]
    degrees = {(row.metric, row.scope_key): row.df for row in rows}
    within = first.direction == "within"
    shown = equivalence_within if within else detectable_beyond
    value = max(shown(_half(one), _df(one, degrees), max(1, tests)) for one in of_claim)
    studies = f"{percent(POWER)} of such studies"
    says = (
        f"where nothing moves, {studies} show less than this; claim: within {number(first.margin)}"
        if within
        else f"beyond the first claim's margin, found by {studies}"
    )
    several = f"; least precise of {len(of_claim)} figures" if len(of_claim) > 1 else ""
    after = f", corrected over {tests}" if tests > 1 else ""
    return Tile(DETECTABLE, number(value), says + several + after)


def _half(finding: FindingRow) -> float:
    return ((finding.upper or 0.0) - (finding.lower or 0.0)) / 2


def _df(finding: FindingRow, degrees: Mapping[tuple[str, str], float | None]) -> float:
    """Return the degrees of freedom of a finding's interval: those of its figure, else items - 1.

    A change beyond a sham has those of the swap.
    """
    of_contrast = contrast_figure(finding.hypothesis)
    metric = of_contrast.metric if of_contrast else _METRICS.get(finding.hypothesis, "")
    return degrees.get((metric, canonical_json(finding.scope))) or finding.n_items - 1
