"""Findings for people: a table, a sentence or two for each claim, and the largest effects."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from judge_gym.analysis.facets import averaged
from judge_gym.analysis.groups import MIXED, PARTS
from judge_gym.design.axes import axes as design_axes
from judge_gym.formats import figure, number, p_value, side_of_0
from judge_gym.metrics.accuracy import OF_PAIRS
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.hypotheses import contrast_figure
from judge_gym.metrics.margins import ALPHA, Conclusion, Direction, MarginClaim, conclude
from judge_gym.report.scopes import (
    Scope,
    behind,
    changes,
    default_level,
    rubric_phrase,
    setting_phrases,
    short_label,
    varying,
)
from judge_gym.report.table import Row, Table
from judge_gym.store.results import FindingRow, ResultRow

NOT_TESTABLE = "not testable here"
HOW_DECIDED = (
    "Each claim is decided by its 95% interval against a margin, never by a point estimate: "
    "supported when the interval lies within the claim, refuted when outside, else inconclusive."
)
BESIDE = {
    "rival": "rival",
    "less contested": "against",
    "system": "system",
    "category": "part",
}
"""What a finding is about besides its judge and concept, and the word that leads to it."""
PLACES = ("country", "window")
AXES = frozenset(axis.name for axis in design_axes()) - {"rubric"}


def findings_table(findings: Sequence[FindingRow], standing: str) -> Table:
    """Return the findings by hypothesis; what cannot be tested is a note, with the reason."""
    tested = [finding for finding in findings if finding.conclusion != NOT_TESTABLE]
    untestable = [finding for finding in findings if finding.conclusion == NOT_TESTABLE]
    return Table(
        "Findings one by one",
        "Each row is one figure that a claim rests on, with its 95% interval.",
        ("about", "conclusion", "plan", "figure", "claim", "p (adjusted)"),
        tuple(
            _row(finding, label)
            for finding, label in zip(tested, distinct_labels(tested, findings), strict=True)
        ),
        notes=(
            f"Plan: {standing}." if standing else "Plan: none.",
            *_not_testable(untestable, {finding.hypothesis for finding in tested}),
        ),
        words=3,
        simulated=any(finding.simulated for finding in findings),
        imported=any(finding.imported for finding in findings),
    )


def _not_testable(findings: Sequence[FindingRow], tested: set[str]) -> Iterator[str]:
    """Yield each reason of a claim once; where it has figures that decide, how many more lack."""
    for (claim, reason), count in Counter(
        (finding.hypothesis, finding.reason) for finding in findings
    ).items():
        more = f"{count} more {'is' if count == 1 else 'are'} " if claim in tested else ""
        yield f"{claim}: {more}not testable here, because {reason}."


def _row(finding: FindingRow, label: str) -> Row:
    return Row(
        (
            label,
            finding.conclusion,
            finding.kind,
            f"{number(finding.estimate)} [{number(finding.lower)}, {number(finding.upper)}]"
            if finding.lower is not None
            else number(finding.estimate),
            claimed(finding),
            p_value(finding.p_adjusted),
        ),
        heading=f"{finding.hypothesis}  {finding.statement}",
        about=behind([finding.scope]),
        group=finding.hypothesis,
    )


def about(finding: FindingRow, named: Collection[str] = ()) -> str:
    """Return in words what a finding is about: who, which concept, and what is set otherwise.

    The parts of its scope that are `named` are also told at their defaults.
    """
    scope = finding.scope
    beside = [f"{word} {scope[name]}" for name, word in BESIDE.items() if name in scope]
    places = [str(scope[name]) for name in PLACES if name in named]
    axes = {name: value for name, value in scope.items() if name in AXES}
    rubric = rubric_phrase(str(scope.get("rubric", ""))) if "rubric" in named else ""
    settings = [*setting_phrases(axes, named), *filter(None, [rubric])]
    return ", ".join([short_label(scope), *beside, *places, *settings])


def distinct_labels(findings: Sequence[FindingRow], among: Sequence[FindingRow] = ()) -> list[str]:
    """Return what each finding is about, with the level of every axis in which another differs.

    Others are those of the same claim about the same concept, also those `among` which these were
    chosen. `levels_unsaid` tells the levels that no label names.
    """
    differing = _differing(among or findings)
    return [about(finding, differing[_topic(finding)]) for finding in findings]


def levels_unsaid(findings: Sequence[FindingRow], among: Sequence[FindingRow]) -> dict[str, object]:
    """Return the levels of axes that a sweep varies and the labels of planned findings leave out.

    All are at their defaults, which a label names only where another finding `among` differs.
    """
    differing = _differing(among)
    return {
        name: finding.scope[name]
        for finding in findings
        if finding.confirmatory
        # A scope has the axes that the sweep varies.
        for name in (AXES & finding.scope.keys()) - differing[_topic(finding)]
        if finding.scope[name] == default_level(name)
    }


def _differing(findings: Sequence[FindingRow]) -> dict[tuple[str, str], set[str]]:
    """Return what tells the findings of each topic apart: parts of their scopes."""
    alike: dict[tuple[str, str], list[Scope]] = defaultdict(list)
    for finding in findings:
        alike[_topic(finding)].append(finding.scope)
    return {topic: varying(scopes) for topic, scopes in alike.items()}


def joint_label(findings: Sequence[FindingRow], among: Sequence[FindingRow]) -> str:
    """Return what several findings of one claim are about, told from the others `among` them.

    Empty where they differ in more than the judge.
    """
    scopes = [{**finding.scope, "judge": ""} for finding in findings]
    if any(scope != scopes[0] for scope in scopes):
        return ""
    names = ", ".join(dict.fromkeys(str(finding.scope.get("judge", "")) for finding in findings))
    joint = replace(findings[0], scope={**findings[0].scope, "judge": names})
    return about(joint, _differing(among)[_topic(findings[0])])


def _topic(finding: FindingRow) -> tuple[str, str]:
    return finding.hypothesis, str(finding.scope.get("concept", ""))


def claimed(finding: FindingRow) -> str:
    """Return what a finding claims of its value, such as `above 0.05`."""
    if finding.direction == "within":
        return f"within {number(finding.margin)} of {number(finding.reference)}"
    return f"{finding.direction} {number(finding.reference + finding.margin)}"


def claim_and_estimate(finding: FindingRow) -> tuple[MarginClaim, Estimate]:
    """Return what a finding claims, and the figure that it claims it of."""
    claim = MarginClaim(Direction(finding.direction), finding.margin, finding.reference)
    estimate = Estimate(
        finding.hypothesis,
        finding.estimate,
        finding.lower,
        finding.upper,
        finding.n,
        finding.n_items,
        unit=finding.unit,
        because=finding.reason,
        items_lower=finding.items_lower,
        items_upper=finding.items_upper,
    )
    return claim, estimate


def open_by_correction(finding: FindingRow) -> bool:
    """Whether its interval decides a finding, and the correction for many tests leaves it open."""
    if finding.conclusion != Conclusion.INCONCLUSIVE:
        return False
    claim, estimate = claim_and_estimate(finding)
    return conclude(estimate, claim) is not Conclusion.INCONCLUSIVE


TITLES: Mapping[str, str] = {
    "H1": "entrenchment",
    "H2": "consensus hallucination",
    "H3": "framework sensitivity",
    "H4.polarization": "forced-choice inflation",
    "H4.distance": "forced-choice inflation, by distance between sets",
    "V1.polarization": "discriminant control",
    "V1.reference": "discriminant control",
    "V2": "dose-response",
    "V3.chance": "external benchmark",
    "V3.published": "external benchmark",
    "V4.variance": "internal consistency",
    "V4.icc": "internal consistency",
    "V5": "belief functions",
}
"""What sentences call each hypothesis and check."""
PHRASES: Mapping[str, str] = {
    "H1": "judge families stand {} bits further apart than chance would show",
    "H2": "the confidence stated exceeds the agreement that the other judges show by {}",
    "H3": "a rival's rubric moves confidence by {} beyond what a second own rubric does",
    "H4.polarization": "free choice takes {} bits off polarization beyond widening at random",
    "H4.distance": "free choice takes {} off the distance between sets beyond widening at random",
    "V1.polarization": "on the control families stand {} bits further apart than chance would show",
    "V1.reference": "verdicts lie {} of the scale from the reference index on average",
    "V2": "the more contested concept polarizes by {} bits more than the next",
    "V3.chance": "the share of right verdicts is {}",
    "V3.published": "the share of right verdicts is {}",
    "V4.variance": "the variance of repeated verdicts, on the 0-1 scale, is {}",
    "V4.icc": "the share of variance that tells items apart is {}",
    "V5": "excess conflict and polarization have a rank correlation of {} over items",
}
"""What the figure of a hypothesis says, with a place for its value and interval."""
_OF_PAIRS = "the share of pairs judged right, less that of pairs judged wrong, is {}"

_LIES = {
    ("above", "supported"): "wholly above {}",
    ("above", "refuted"): "wholly at or below {}",
    ("below", "supported"): "wholly below {}",
    ("below", "refuted"): "wholly at or above {}",
    ("within", "supported"): "wholly within {}",
    ("within", "refuted"): "wholly outside {}",
}
_VERBS = {
    "supported": ("supports it", "support it"),
    "refuted": ("refutes it", "refute it"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
}


def corrected_over(findings: Sequence[FindingRow]) -> Counter[bool]:
    """Return how many figures the confirmatory and the exploratory ones are corrected over."""
    return Counter(finding.confirmatory for finding in findings if finding.p is not None)


def sentences(findings: Sequence[FindingRow]) -> list[str]:
    """Return a sentence or two per hypothesis and validity check, in the order of the findings.

    What cannot be tested comes last, so that it does not hide what can.
    What a plan confirms is told apart from what explores. Several figures of one claim decide it
    together only when they all say the same.
    """
    tests = corrected_over(findings)
    decided, untestable = [], []
    for _, group in groupby(findings, key=lambda finding: finding.hypothesis):
        of_claim = list(group)
        # The parts of the items stand in the table; the claim is about the whole.
        parts = set(PARTS)
        members = [one for one in of_claim if parts.isdisjoint(one.scope)] or of_claim
        tested = [finding for finding in members if finding.conclusion != NOT_TESTABLE]
        if not tested:
            reasons = "; ".join(dict.fromkeys(finding.reason for finding in members))
            untestable.append(f"{_name(members[0])} is not testable here, because {reasons}.")
        for confirmatory in (True, False):
            part = [finding for finding in tested if finding.confirmatory is confirmatory]
            if part:
                decided.append(
                    _single(part[0], members, tests) if len(part) == 1 else _several(part, members)
                )
    return decided + untestable


def _single(finding: FindingRow, among: Sequence[FindingRow], tests: Mapping[bool, int]) -> str:
    phrase = _phrase(finding).format(figure(finding))
    head = f"{_name(finding)} is {finding.conclusion} ({finding.kind})"
    [label] = distinct_labels([finding], among)
    return f"{head}: for {label}, {phrase}{_tail(finding, tests)}."


def _several(findings: Sequence[FindingRow], among: Sequence[FindingRow]) -> str:
    first, count = findings[0], Counter(finding.conclusion for finding in findings)
    if len(count) == 1:
        verdict = f"is {first.conclusion} in all {len(findings)} figures ({first.kind})"
    else:
        parts = [f"{n} {_VERBS[conclusion][n > 1]}" for conclusion, n in count.most_common()]
        split = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
        verdict = f"has mixed results ({first.kind}): of {len(findings)} figures, {split}"
    labelled = zip(findings, distinct_labels(findings, among), strict=True)
    ordered = sorted(labelled, key=lambda pair: pair[0].estimate or 0.0)
    (low, lowest), (high, highest) = ordered[0], ordered[-1]
    ends = (
        f"At the lowest, {_phrase(first).format(figure(low))} ({lowest}); "
        f"at the highest, it is {figure(high)} ({highest})"
    )
    bare = sum(finding.lower is None for finding in findings)
    without = f"; {bare} of them {'has' if bare == 1 else 'have'} no interval" if bare else ""
    claims = {f"the claim is {_claimed(finding)}" for finding in findings}
    claim = f"; {claims.pop()}" if len(claims) == 1 else ""
    return f"{_name(first)} {verdict}{without}. {ends}{claim}."


def _phrase(finding: FindingRow) -> str:
    if figure_of := contrast_figure(finding.hypothesis):
        return f"{change_of(finding)} moves the {figure_of.words} by {{}}"
    return _OF_PAIRS if finding.unit == OF_PAIRS else PHRASES[finding.hypothesis]


def _tail(finding: FindingRow, tests: Mapping[bool, int]) -> str:
    """Return how the interval lies to the margin; when it decides nothing, what is possible.

    `tests` counts the corrected p values, confirmatory and exploratory ones.
    """
    edge = _edge(finding)
    if lies := _LIES.get((finding.direction, finding.conclusion)):
        return f", {lies.format(edge)}"
    if finding.lower is None:
        return f"; {finding.reason or 'it has no interval'}, so that nothing is decided"
    if finding.p is not None and finding.p < ALPHA:
        correction = "Holm" if finding.confirmatory else "Benjamini-Hochberg"
        over = f"{correction} over {tests[finding.confirmatory]}"
        p = number(finding.p_adjusted, 3)
        return f"; the interval alone would decide, but p is {p} after {over}"
    low, high = number(finding.lower), number(finding.upper)
    return f"; anything from {low} to {high} is still possible, on either side of {edge}"


def _claimed(finding: FindingRow) -> str:
    return f"{finding.direction} {_edge(finding)}"


def _edge(finding: FindingRow) -> str:
    margin, reference = number(finding.margin), number(finding.reference)
    if finding.direction == "within":
        return f"{margin} of {reference}"
    if finding.reference == 0:
        return f"the margin of {margin}" if finding.margin else "0"
    level = f"the chance level of {reference}"
    return f"{level} by {margin}" if finding.margin else level


def _name(finding: FindingRow) -> str:
    title = TITLES.get(finding.hypothesis, "planned contrast")
    return f"{finding.hypothesis}, {title},"


def change_of(finding: FindingRow) -> str:
    """Return what a planned contrast changes, such as `abstain: off → on`."""
    return changes([finding.scope])[0]


@dataclass(frozen=True)
class _Effect:
    metric: str
    most: str
    none: str
    label: Callable[[Scope], str]
    unit: str = ""


def _swap_label(scope: Scope) -> str:
    return f"{scope['judge']} under the rubric of {scope['rival']} on {scope['concept']}"


def _axis_label(scope: Scope) -> str:
    return f"{str(scope['axis']).replace('_', ' ')} from {scope['from']} to {scope['to']}"


def _pair_label(scope: Scope) -> str:
    return f"{scope['pair']} on {scope['concept']}"


_EFFECTS = (
    _Effect(
        "polarization_pair",
        "The two families furthest apart are",
        "No two families stand apart beyond chance; furthest are",
        _pair_label,
        " bits",
    ),
    _Effect(
        "swap_sensitivity",
        "The swap that moves confidence most is",
        "No swap is shown to move confidence; the largest change is",
        _swap_label,
    ),
    _Effect(
        "axis_effect",
        "The axis that moves the mean verdict most is",
        "No axis is shown to move the mean verdict; the largest change is",
        _axis_label,
        " of the scale",
    ),
    _Effect(
        "axis_effect_abstain_share",
        "The axis that moves the share of abstentions most is",
        "No axis is shown to move the share of abstentions; the largest change is",
        _axis_label,
    ),
    _Effect(
        "axis_effect_confidence",
        "The axis that moves confidence most is",
        "No axis is shown to move confidence; the largest change is",
        _axis_label,
    ),
)


def largest_effects(rows: Sequence[ResultRow]) -> list[str]:
    """Return a sentence per kind of effect that these figures have with an interval."""
    rows = averaged(rows)
    return [sentence for effect in _EFFECTS if (sentence := _sentence(effect, rows))]


def _sentence(effect: _Effect, rows: Sequence[ResultRow]) -> str:
    common = [row for row in rows if row.metric == effect.metric]
    # Under own rubrics judges differ in rubric and judgement at once: only where there is no other.
    pool = common or [row for row in rows if row.metric == effect.metric + MIXED]
    estimated = [row for row in pool if row.estimate is not None and row.lower is not None]
    if not estimated:
        return ""
    shown = [row for row in estimated if stands(row)]
    row = max(shown or estimated, key=lambda candidate: abs(candidate.estimate or 0.0))
    head = f"{effect.most if shown else effect.none} {effect.label(row.scope)}"
    rubrics = ", each by its own rubric" if row.metric.endswith(MIXED) else ""
    floor = "" if row.floor is None else f", beside a floor of {number(row.floor)}"
    p = "" if row.p_adjusted is None else f", corrected p {p_value(row.p_adjusted)}"
    chosen = f"; chosen as the largest of {len(estimated)}, so likely overstated"
    tail = chosen if shown and len(estimated) > 1 else ""
    return f"{head}{rubrics}: {figure(row)}{effect.unit}{floor}{p}{tail}."


def stands(row: ResultRow) -> bool:
    """Return whether 0, or the floor, is outside what the figure allows."""
    if row.p_adjusted is not None:
        return row.p_adjusted < ALPHA
    return side_of_0(row) != 0
