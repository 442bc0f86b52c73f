"""The hypotheses H1-H4, the five validity checks and planned contrasts, decided by intervals.

Some sources give a target that no honest data can reach, or that holds by construction. The claim
here is then another one; `replaces` names the original and the reason. Decisions are corrected
for the number of tests.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from judge_gym.metrics.estimate import Estimate, rescaled
from judge_gym.metrics.inference import benjamini_hochberg, holm
from judge_gym.metrics.margins import (
    ALPHA,
    Conclusion,
    Direction,
    MarginClaim,
    conclude,
    difference,
    p_at_margin,
)

CONTESTED, CONTROL, BENCHMARK, PAIRS = "ecc", "control", "benchmark", "pairs"


@dataclass(frozen=True)
class Hypothesis:
    """A statement, the figure that stands for it and the claim about it.

    `margin` is the default of the plan, in the figure's unit. `needs` completes "it needs ...".
    """

    key: str
    statement: str
    estimand: str
    metric: str
    direction: Direction
    margin: float
    tasks: tuple[str, ...]
    needs: str
    replaces: str = ""


HYPOTHESES = (
    Hypothesis(
        "H1",
        "Entrenchment: judge families stand apart on contested concepts under one rubric.",
        "P - P0 under a common rubric, mean over items",
        "polarization_excess",
        Direction.ABOVE,
        0.05,
        (CONTESTED,),
        "two judge families with a common rubric on a contested concept",
        "A raw P, which is above 0 for identical judges at few replicates.",
    ),
    Hypothesis(
        "H2",
        "Consensus hallucination: judges expect more agreement than the other judges show.",
        "probed probability less realised agreement, mean over items",
        "overconfidence",
        Direction.ABOVE,
        0.10,
        (CONTESTED,),
        "probes of two judges with a common rubric on a contested concept",
        "A mean probability above 0.8, which may be right where judges do agree.",
    ),
    Hypothesis(
        "H3",
        "Framework sensitivity: a rival's rubric lowers confidence more than a second own one.",
        "change of confidence under the rival's rubric less that under a sham",
        "swap_beyond_sham",
        Direction.BELOW,
        -0.05,
        (CONTESTED, CONTROL),
        "a swap, and a sham of the same judge: without one, any other rubric may do it",
        "The swap alone.",
    ),
    Hypothesis(
        "H4.polarization",
        "Forced-choice inflation: part of the polarization of single verdicts is forced choice.",
        "P of pignistic distributions: single verdicts widened at random to the sizes of the "
        "subsets, less the subsets",
        "forced_choice_polarization",
        Direction.ABOVE,
        0.02,
        (CONTESTED, CONTROL),
        "single and subset verdicts of two judges on the same items and rubric",
        "k of subsets below P of single verdicts: other units, and true by construction.",
    ),
    Hypothesis(
        "H4.distance",
        "Forced-choice inflation, by distance between sets.",
        "d_J²: single verdicts widened at random to the sizes of the subsets, less the subsets",
        "forced_choice_distance",
        Direction.ABOVE,
        0.02,
        (CONTESTED, CONTROL),
        "single and subset verdicts of two judges on the same items and rubric",
        "k of subsets below P of single verdicts: other units, and true by construction.",
    ),
)

VALIDITY_CHECKS = (
    Hypothesis(
        "V1.polarization",
        "Discriminant control: judges agree where experts do.",
        "P - P0 under a common rubric, mean over items",
        "polarization_excess",
        Direction.BELOW,
        0.05,
        (CONTROL,),
        "two judge families with a common rubric on a control",
        "P and k below 0.1, which identical judges exceed.",
    ),
    Hypothesis(
        "V1.reference",
        "Discriminant control: verdicts are near the reference index.",
        "mean distance of the 0-1 score from the index",
        "control_error",
        Direction.BELOW,
        0.15,
        (CONTROL,),
        "a control with an index for its items",
        "0.95 for Norway: V-Dem's liberal democracy index gives it 0.83 to 0.85, and no country "
        "more than 0.90.",
    ),
    Hypothesis(
        "V2",
        "Dose-response: the more contested concept polarizes more.",
        "P - P0 of the more contested concept less that of the next",
        "dose_step",
        Direction.ABOVE,
        0.0,
        (CONTESTED, CONTROL),
        "two concepts under a common rubric, whose order of contestation the plan gives",
        "An order of point estimates, which comes about by chance in one of six for three.",
    ),
    Hypothesis(
        "V3.chance",
        "External benchmark: judges find known answers more often than by guessing.",
        "share correct less the chance level, which is the larger of 1 over the number of answers "
        "that are true of some item and the agreement expected of the judge's own shares of "
        "answers (Cohen 1960); of pairs without a true tie, share judged right "
        "less share judged wrong, less what the judge's habit of place alone gives",
        "accuracy",
        Direction.ABOVE,
        0.0,
        (BENCHMARK, PAIRS),
        "a benchmark with known answers",
        "80% on JudgeBench: the best published judge had 75.4%.",
    ),
    Hypothesis(
        "V3.published",
        "External benchmark: a judge scores as published.",
        "share correct less the published figure of the same judge",
        "accuracy_as_published",
        Direction.WITHIN,
        0.05,
        (BENCHMARK, PAIRS),
        "a published figure of the same judge on the same benchmark",
        "80% on JudgeBench; o1-mini, for one, is published with 65.71% on the GPT-4o pairs.",
    ),
    Hypothesis(
        "V4.variance",
        "Internal consistency: a judge repeats itself.",
        "variance of the 0-1 score over replicates",
        "replicate_variance",
        Direction.BELOW,
        0.05,
        (CONTESTED, CONTROL, BENCHMARK, PAIRS),
        "3 replicates",
        "A variance of 0.5 in stages, which depends on the scale and passes a constant judge.",
    ),
    Hypothesis(
        "V4.icc",
        "Internal consistency: repeats tell items apart.",
        "share of the variance that is between items (ICC)",
        "replicate_icc",
        Direction.ABOVE,
        0.5,
        (CONTESTED, CONTROL, BENCHMARK, PAIRS),
        "3 replicates and items that differ",
        "A low variance alone, which a constant judge has.",
    ),
    Hypothesis(
        "V5",
        "Belief functions: for single verdicts the excess conflict of items follows their P.",
        "rank correlation over items of P and excess conflict (k less the mean self-conflict)",
        "conflict_polarization_correlation",
        Direction.ABOVE,
        0.8,
        (CONTESTED, CONTROL),
        "single verdicts of two judges with a common rubric on items that differ",
        "The correlation of P with k itself, which is 0.54 in a faultless implementation.",
    ),
)


@dataclass(frozen=True)
class ContrastFigure:
    """A figure that a planned contrast may be about: in words, its metric and its unit.

    In stages it is the metric, which is on the 0-1 scale, times the steps of the scale.
    """

    words: str
    metric: str
    unit: str
    absent: str = "it has no figure"
    """Why a pair of settings has no such figure."""


_NO_SETS = "verdicts of one of its sides name one stage each"
CONTRAST_FIGURES = {
    "score": ContrastFigure("verdict on the 0-1 scale", "contrast", "0-1 scale"),
    "expected_stage": ContrastFigure("expected stage", "contrast", "stages"),
    "confidence": ContrastFigure("stated confidence", "contrast_confidence", "probability"),
    "abstain_share": ContrastFigure(
        "share of abstentions",
        "contrast_abstain_share",
        "share",
        "no answer of its two sides is an abstention",
    ),
    "middle_mass": ContrastFigure(
        "share between the ends",
        "contrast_middle_mass",
        "share",
        "its sides have scales of two lengths, of which the longer has more between its ends",
    ),
    "singleton_share": ContrastFigure(
        "share of verdicts that name one stage", "contrast_singleton_share", "share", _NO_SETS
    ),
    "set_width": ContrastFigure(
        "width of sets, as a share of the scale", "contrast_set_width", "share", _NO_SETS
    ),
    "adjacent_share": ContrastFigure(
        "share of larger sets without a gap", "contrast_adjacent_share", "share", _NO_SETS
    ),
    "jitter": ContrastFigure("distance between replicates", "contrast_jitter", "0-1 scale"),
    "set_size": ContrastFigure("size of sets", "contrast_set_width", "stages", _NO_SETS),
}
"""Name in a plan → the figure."""


def contrast_figure(key: str) -> ContrastFigure | None:
    """Return the figure of a planned contrast (`C1.abstain_share`); None of another claim."""
    kind, _, figure = key.partition(".")
    return CONTRAST_FIGURES.get(figure) if kind.startswith("C") else None


def contrast_hypothesis(
    key: str, axis: str, levels: tuple[str, str], direction: Direction, margin: float
) -> Hypothesis:
    """Return the claim of a planned contrast; `levels` are the axis's before and after."""
    figure = contrast_figure(key)
    if figure is None:
        raise ValueError(f"{key} is no key of a contrast")
    before, after = levels
    words = axis.replace("_", " ")
    return Hypothesis(
        key,
        f"Planned contrast: {words} from {before} to {after} changes the {figure.words}.",
        f"{figure.words} at {words} {after} less that at {before}, mean over items",
        figure.metric,
        direction,
        margin,
        (CONTESTED, CONTROL, BENCHMARK, PAIRS),
        f"two experiments of a judge that differ in {words} alone, {before} and {after}",
    )


@dataclass(frozen=True)
class TestedFigure:
    """An estimate, found by its metric, with what it is about.

    `reference` is what the value is compared with where that is no constant: the chance level of
    an accuracy (the floor of `share_correct` or `pair_balance`), or the published figure of the
    judge.
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
    claim: MarginClaim
    estimate: Estimate | None
    conclusion: Conclusion
    reason: str
    p: float | None = None
    p_adjusted: float | None = None
    confirmatory: bool = False


def examine(
    figures: Sequence[TestedFigure],
    margins: Mapping[str, float],
    hypotheses: Sequence[Hypothesis] = (*HYPOTHESES, *VALIDITY_CHECKS),
) -> list[Finding]:
    """Return a finding per hypothesis and matching figure; one "not testable" without any.

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
            findings.append(without_figure(hypothesis, margin, {}))
    return findings


def without_figure(
    hypothesis: Hypothesis, margin: float, scope: Mapping[str, str], because: str = ""
) -> Finding:
    """Return the finding of a claim that no figure is about: not testable."""
    claim, because = (
        MarginClaim(hypothesis.direction, margin),
        because or f"it needs {hypothesis.needs}",
    )
    return Finding(hypothesis, scope, claim, None, Conclusion.NOT_TESTABLE, because)


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
    conclusions = {finding.conclusion for finding in findings} - {Conclusion.NOT_TESTABLE}
    if not conclusions:
        return Conclusion.NOT_TESTABLE
    return conclusions.pop() if len(conclusions) == 1 else Conclusion.INCONCLUSIVE


def beyond_sham(figures: Sequence[TestedFigure]) -> list[TestedFigure]:
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


def in_stages(figure: TestedFigure, scale_size: int) -> TestedFigure:
    """Return a figure of the 0-1 scale in stages of a scale."""
    scaled = rescaled(figure.estimate, scale_size - 1)
    return replace(figure, estimate=replace(scaled, unit="stages", values=None))


def dose_steps(figures: Sequence[TestedFigure], order: Sequence[str]) -> list[TestedFigure]:
    """Return the step of `polarization_excess` from each concept to the next less contested one.

    `figures` are of one setting; `order` names the concepts, the most contested first. With one
    concept a level, a step is about these two concepts, not about contestation.
    """
    result = {
        figure.scope.get("concept", ""): figure
        for figure in figures
        if figure.estimate.metric == "polarization_excess"
    }
    steps = []
    for more, less in pairwise(order):
        if more in result and less in result:
            step = difference("dose_step", result[more].estimate, result[less].estimate)
            scope = {"concept": more, "less contested": less}
            steps.append(TestedFigure(step, result[more].task_type, scope))
    return steps


def _finding(hypothesis: Hypothesis, margin: float, figure: TestedFigure) -> Finding:
    claim = MarginClaim(hypothesis.direction, margin, figure.reference)
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


def _reason(estimate: Estimate, claim: MarginClaim, conclusion: Conclusion) -> str:
    if estimate.estimate is None or estimate.lower is None or estimate.upper is None:
        return estimate.because if conclusion is Conclusion.NOT_TESTABLE else estimate.reason
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
    adjusted = replace(finding, p_adjusted=p)
    if p < ALPHA or finding.conclusion is Conclusion.INCONCLUSIVE:
        return adjusted
    reason = f"{finding.reason}, but p is {p:.3f} after {name}"
    return replace(adjusted, conclusion=Conclusion.INCONCLUSIVE, reason=reason)


def _key(scope: Mapping[str, str], *without: str) -> frozenset[tuple[str, str]]:
    return frozenset((name, str(value)) for name, value in scope.items() if name not in without)
