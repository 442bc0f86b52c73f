"""Whether a judge may be used: can its answers be read, do people agree, what do its checks say."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from judge_gym.answers.readability import Answers
from judge_gym.calibration.checks import Check, Margins, Result, claimed, more_items
from judge_gym.counting import counted
from judge_gym.formats import percent, plain
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import Claim, Direction
from judge_gym.metrics.score_agreement import label_agreement
from judge_gym.planted.editing import Expectation

_HALF = 0.5


class CalibrationVerdict(IntEnum):
    """From the best to the worst."""

    USE = 0
    CARE = 1
    CANNOT_TELL = 2
    DO_NOT_USE = 3

    @property
    def words(self) -> str:
        """The verdict as people read it."""
        return ("use", "use with care", "cannot tell", "do not use")[self]


@dataclass(frozen=True)
class Decision:
    """A verdict, and why in a sentence or two."""

    verdict: CalibrationVerdict
    why: str

    @property
    def recommends(self) -> bool:
        """Whether the judge may be used at all."""
        return self.verdict in (CalibrationVerdict.USE, CalibrationVerdict.CARE)


def decide(name: str, checks: Sequence[Check], made: int, expected: int) -> Decision:
    """Return what the checks say of the judge called `name`.

    `made` of its `expected` judgements exist. Until all do, it is not recommended: what was not
    tested cannot have failed.
    """
    by_name = {check.name: check for check in checks}
    readable, agreement = by_name[READABLE], by_name.get(AGREEMENT)
    share = readable.estimate.estimate
    if share is None:
        return Decision(CalibrationVerdict.CANNOT_TELL, f"{name}: nothing is judged yet.")
    if share < _HALF:
        why = f"Do not use {name}: most answers have no score, {readable.reason}."
        return Decision(CalibrationVerdict.DO_NOT_USE, f"{why} {readable.action}")
    if agreement and agreement.result is Result.FAILS:
        why = f"Do not use {name}: it does not agree with people's labels, {agreement.reason}."
        return Decision(CalibrationVerdict.DO_NOT_USE, f"{why} {agreement.action}")
    partial = Decision(
        CalibrationVerdict.CANNOT_TELL,
        f"{name}: only {made} of {expected} judgements exist, which cannot tell whether it may "
        f"be used. So far {_counts(checks)}.",
    )
    if agreement and agreement.result is not Result.PASSES:
        if made < expected:
            return partial
        why = f"{name}: the labels cannot tell whether people agree with it, {agreement.reason}."
        return Decision(CalibrationVerdict.CANNOT_TELL, f"{why} {agreement.action}")
    decision = _by_perturbation(name, checks, agreement)
    return partial if decision.recommends and made < expected else decision


CONTENT = {"inject_errors": "injected errors", "vague_ify": "vague wording"}
"""Perturbations of what a text says. A judge that fails both may score something else."""


def _by_perturbation(name: str, checks: Sequence[Check], agreement: Check | None) -> Decision:
    failing = [check for check in checks if check.result is Result.FAILS]
    tested = [check for check in checks if check.result is not Result.NOT_APPLICABLE]
    missed = [
        CONTENT[check.perturbation]
        for check in failing
        if check.perturbation in CONTENT and check.expectation is Expectation.DROP
    ]
    counts, failures = _counts(checks), _failures(failing)
    if agreement:
        people = f"it agrees with people's labels beyond chance ({agreement.reason})"
        if len(missed) == len(CONTENT):
            why = (
                f"Do not use {name} before this is mended: {people}, but {failures}. So its scores "
                "may follow something that only goes along with quality in these texts, such as "
                f"length. Have it look for {' and '.join(missed)}, or use another judge. "
                f"In all, {counts}."
            )
            return Decision(CalibrationVerdict.DO_NOT_USE, why)
        if failing:
            why = f"Use {name} with care: {people}, but {failures}. In all, {counts}."
            return Decision(CalibrationVerdict.CARE, why)
        people = f"{people[0].upper()}{people[1:]}."
    else:
        people = "No text has a label: whether people agree with it is not known."
        if [check.name for check in tested] == [READABLE]:
            why = f"{name}: no check could be made. {people}"
            return Decision(CalibrationVerdict.CANNOT_TELL, why)
        if failing:
            why = f"Do not use {name} before this is mended: {failures}. In all, {counts}. {people}"
            return Decision(CalibrationVerdict.DO_NOT_USE, why)
    if any(check.result is Result.INCONCLUSIVE for check in checks):
        why = f"Use {name} with care: {counts}. More items will decide the rest. {people}"
        return Decision(CalibrationVerdict.CARE, why)
    return Decision(CalibrationVerdict.USE, f"Use {name}: {counts}. {people}")


def _counts(checks: Sequence[Check]) -> str:
    of = Counter(check.result for check in checks)
    passes, fails, still_open = (
        of[result] for result in (Result.PASSES, Result.FAILS, Result.INCONCLUSIVE)
    )
    tested = passes + fails + still_open
    return f"of {counted(tested, 'check')}, {passes} pass, {fails} fail and {still_open} are open"


def _failures(failing: Sequence[Check]) -> str:
    """Return what a judge does wrong: what it misses first, then what it should not react to."""
    by_kind: dict[str, list[str]] = {}
    for check in failing:
        trend = check.perturbation and check.expectation is None
        kind = _TREND if trend else _FAILURES.get(check.expectation, "it fails")
        named = CONTENT.get(check.perturbation, check.perturbation) or check.name
        by_kind.setdefault(kind, []).append(named)
    kinds = [*_FAILURES.values(), _TREND, "it fails"]
    return "; ".join(f"{kind} {', '.join(by_kind[kind])}" for kind in kinds if kind in by_kind)


_FAILURES: Mapping[Expectation | None, str] = {
    Expectation.DROP: "its scores hardly fall for",
    Expectation.RISE: "its scores hardly rise for",
    Expectation.INVARIANT: "its scores move for",
}
_TREND = "its scores go the wrong way with more"


READABLE, AGREEMENT = "readable", "agreement"
LEAST_LABELS = 10
"""Labels below which agreement is left open: every one of them may be right by chance."""


def readable_check(
    scored: IntArray, expected: IntArray, answers: Answers, margins: Margins
) -> Check:
    """Return whether the judge's answers can be read; counts are by text."""
    kinds = answers.by_kind
    common = min(kinds, key=lambda kind: (-kinds[kind], kind), default="")
    action = answers.remedy_of(common)
    check = claimed(
        READABLE,
        f"{percent(margins.readable)} of the answers have a score",
        clustered_share("readable_rate", scored, expected),
        Claim(Direction.ABOVE, margins.readable),
        action,
        undecided=action if kinds else "",
    )
    return replace(check, reason=f"{check.reason} ({answers})") if kinds else check


def agreement_check(
    labels: FloatArray, judged: FloatArray, margins: Margins, rng: np.random.Generator
) -> Check:
    """Return whether a judge agrees with people's labels: points of the same texts, in one order.

    By Lin's concordance, which is 0 for a judge that does not depend on the text. Ten labels are
    the fewest that decide. `beside` is the share of labels met within `margins.near` points.
    """
    near = (np.abs(labels - judged) <= margins.near).astype(np.int64)
    met = clustered_share("labels_met", near, np.ones(len(near), dtype=np.int64))
    agreement = label_agreement(labels, judged, rng)
    claim = Claim(Direction.ABOVE, margins.agreement)
    check = claimed(
        AGREEMENT,
        f"scores agree with people's labels by more than {plain(margins.agreement)}",
        agreement,
        claim,
        "Read the texts on which judge and labels differ; then change the rubric, or the judge.",
        beside=(met,),
        undecided=_more_labels(agreement, claim),
    )
    if len(near):
        within = f"{int(near.sum())} of {len(near)} scores within {plain(margins.near)} points"
        check = replace(check, reason=f"concordance {check.reason}; {within} of their label")
    if agreement.estimate is None:
        # Of a judge without a score, other labels would say no more.
        action = _OTHER_LABELS if len(near) else ""
        return replace(check, result=Result.NOT_APPLICABLE, action=action)
    if len(labels) < LEAST_LABELS:
        return replace(check, result=Result.INCONCLUSIVE, action=_more_labels(agreement, claim))
    return check


_OTHER_LABELS = "Label more texts, of different quality, drawn at random."


def _more_labels(agreement: Estimate, claim: Claim) -> str:
    if agreement.n_items < LEAST_LABELS:
        return (
            f"Label more texts, drawn at random: {LEAST_LABELS} labels are the fewest that decide, "
            f"and there are {agreement.n_items}."
        )
    return more_items(agreement, claim, "labels")
