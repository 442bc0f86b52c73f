"""What the figures of an analysis say about the hypotheses, corrected for their number."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.hypotheses_list import HYPOTHESES, VALIDITY_CHECKS, Hypothesis
from judge_gym.metrics.hypotheses_margins import (
    ALPHA,
    Claim,
    Conclusion,
    Direction,
    conclude,
    difference,
    p_at_margin,
)
from judge_gym.metrics.inference import benjamini_hochberg, holm


@dataclass(frozen=True)
class Figure:
    """An estimate, found by its metric, with what it is about.

    `reference` is what the value is compared with where that is no constant: the chance level of
    an accuracy (1/S, or that of a pair's right less wrong), or the published figure of the judge.
    """

    estimate: Estimate
    task_type: str
    scope: Mapping[str, str] = field(default_factory=dict)
    reference: float = 0.0


@dataclass(frozen=True)
class Finding:
    """What the data of one scope say about a hypothesis; p is that of `p_at_margin`."""

    hypothesis: Hypothesis
    scope: Mapping[str, str]
    claim: Claim
    estimate: Estimate | None
    conclusion: Conclusion
    reason: str
    p: float | None = None
    p_adjusted: float | None = None
    confirmatory: bool = False


def examine(
    figures: Sequence[Figure],
    margins: Mapping[str, float],
    hypotheses: Sequence[Hypothesis] = (*HYPOTHESES, *VALIDITY_CHECKS),
) -> list[Finding]:
    """Return a finding per hypothesis and matching figure; one "not testable here" without any.

    `margins` replace the defaults by key. Not corrected for multiplicity: see `correct`.
    """
    findings = []
    for hypothesis in hypotheses:
        margin = margins.get(hypothesis.key, hypothesis.margin)
        matching = [
            figure
            for figure in figures
            if figure.estimate.metric == hypothesis.metric and figure.task_type in hypothesis.tasks
        ]
        findings += [_finding(hypothesis, margin, figure) for figure in matching]
        if not matching:
            claim = Claim(hypothesis.direction, margin)
            because = f"it needs {hypothesis.needs}"
            findings.append(Finding(hypothesis, {}, claim, None, Conclusion.NOT_TESTABLE, because))
    return findings


def correct(findings: Sequence[Finding], confirmatory: Callable[[Finding], bool]) -> list[Finding]:
    """Return the findings with adjusted p: Holm over the confirmatory, else Benjamini-Hochberg.

    A conclusion that does not survive its correction becomes inconclusive.
    """
    first = [confirmatory(finding) for finding in findings]
    corrected = list(findings)
    for family, adjust, name in (
        (True, holm, "Holm"),
        (False, benjamini_hochberg, "Benjamini-Hochberg"),
    ):
        members = [
            (index, finding.p)
            for index, finding in enumerate(findings)
            if first[index] is family and finding.p is not None
        ]
        adjusted = adjust([p for _, p in members])
        for (index, _), p in zip(members, adjusted, strict=True):
            corrected[index] = _adjusted(findings[index], p, f"{name} over {len(members)}")
    return [
        replace(finding, confirmatory=family)
        for finding, family in zip(corrected, first, strict=True)
    ]


def overall(findings: Sequence[Finding]) -> Conclusion:
    """Return one conclusion of several findings: they must all say so, or it is inconclusive.

    Findings that are not testable do not count; without any other, nothing is testable.
    """
    said = {one.conclusion for one in findings} - {Conclusion.NOT_TESTABLE}
    if not said:
        return Conclusion.NOT_TESTABLE
    return said.pop() if len(said) == 1 else Conclusion.INCONCLUSIVE


def beyond_sham(figures: Sequence[Figure]) -> list[Figure]:
    """Return each `swap_sensitivity` less the `sham_sensitivity` of the same judge and setting.

    The interval is too wide rather than too narrow, as both share the judge's own arm.
    """
    shams = {
        _key(figure.scope): figure
        for figure in figures
        if figure.estimate.metric == "sham_sensitivity"
    }
    return [
        replace(
            figure,
            estimate=difference(
                "swap_beyond_sham", figure.estimate, shams[_key(figure.scope, "rival")].estimate
            ),
        )
        for figure in figures
        if figure.estimate.metric == "swap_sensitivity" and _key(figure.scope, "rival") in shams
    ]


def dose_steps(figures: Sequence[Figure], order: Sequence[str]) -> list[Figure]:
    """Return the step of `polarization_excess` from each concept to the next less contested one.

    `figures` are of one setting; `order` names the concepts, the most contested first. With one
    concept a level, a step is about these two concepts, not about contestation.
    """
    found = {
        figure.scope.get("concept", ""): figure
        for figure in figures
        if figure.estimate.metric == "polarization_excess"
    }
    steps = []
    for more, less in pairwise(order):
        if more in found and less in found:
            step = difference("dose_step", found[more].estimate, found[less].estimate)
            scope = {"concept": more, "less contested": less}
            steps.append(Figure(step, found[more].task_type, scope))
    return steps


def _finding(hypothesis: Hypothesis, margin: float, figure: Figure) -> Finding:
    claim = Claim(hypothesis.direction, margin, figure.reference)
    estimate = figure.estimate
    conclusion = conclude(estimate, claim)
    return Finding(
        hypothesis,
        figure.scope,
        claim,
        estimate,
        conclusion,
        _reason(estimate, claim, conclusion),
        p_at_margin(estimate, claim),
    )


def _reason(estimate: Estimate, claim: Claim, conclusion: Conclusion) -> str:
    if estimate.estimate is None or estimate.lower is None or estimate.upper is None:
        return estimate.reason
    low, high = claim.region
    wanted = {
        Direction.ABOVE: f"above {low:.3g}",
        Direction.BELOW: f"below {high:.3g}",
        Direction.WITHIN: f"within {low:.3g} to {high:.3g}",
    }[claim.direction]
    lies = {
        Conclusion.SUPPORTED: "is",
        Conclusion.REFUTED: "is not",
    }.get(conclusion, "is only partly")
    return f"the interval {estimate.lower:.3g} to {estimate.upper:.3g} {lies} {wanted}"


def _adjusted(finding: Finding, p: float, name: str) -> Finding:
    told = replace(finding, p_adjusted=p)
    if p < ALPHA or finding.conclusion is Conclusion.INCONCLUSIVE:
        return told
    reason = f"{finding.reason}, but p is {p:.3f} after {name}"
    return replace(told, conclusion=Conclusion.INCONCLUSIVE, reason=reason)


def _key(scope: Mapping[str, str], *without: str) -> frozenset[tuple[str, str]]:
    return frozenset((name, str(value)) for name, value in scope.items() if name not in without)
