"""Whether a judge may be used: can its answers be read, do people agree, what do its checks say."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from judge_gym.answers.readability import Answers
from judge_gym.calibration.checks import Check, Margins, Result, claimed, more_items
from judge_gym.formats import percent, plain
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import Claim, Direction
from judge_gym.metrics.score_agreement import label_agreement

_HALF = 0.5


class Verdict(IntEnum):
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

    verdict: Verdict
    why: str

    @property
    def recommends(self) -> bool:
        """Whether the judge may be used at all."""
        return self.verdict in (Verdict.USE, Verdict.CARE)


def decide(name: str, checks: Sequence[Check]) -> Decision:
    """Return what the checks say of the judge called `name`."""
    by_name = {check.name: check for check in checks}
    others = [check for check in checks if check.name not in (READABLE, AGREEMENT)]
    readable, agreement = by_name[READABLE], by_name.get(AGREEMENT)
    share = readable.estimate.estimate
    if share is None:
        return Decision(Verdict.CANNOT_TELL, f"{name}: nothing is judged yet.")
    if share < _HALF:
        why = f"Do not use {name}: most answers have no score, {readable.reason}."
        return Decision(Verdict.DO_NOT_USE, f"{why} {readable.action}")
    if agreement and agreement.result is Result.FAILS:
        why = f"Do not use {name}: it does not agree with people's labels, {agreement.reason}."
        return Decision(Verdict.DO_NOT_USE, f"{why} {agreement.action}")
    if agreement and agreement.result is not Result.PASSES:
        why = f"{name}: the labels cannot tell whether people agree with it, {agreement.reason}."
        return Decision(Verdict.CANNOT_TELL, f"{why} {agreement.action}")
    return _by_perturbation(name, [readable, *others], agreement)


def _by_perturbation(name: str, checks: Sequence[Check], agreement: Check | None) -> Decision:
    counts = {result: sum(check.result is result for check in checks) for result in Result}
    fails, still_open = counts[Result.FAILS], counts[Result.INCONCLUSIVE]
    of = f"{counts[Result.PASSES]} checks pass, {fails} fail and {still_open} are open"
    people = "No text has a label: whether people agree with it is not known."
    if agreement:
        people = f"It agrees with people's labels: {agreement.reason}."
    failing = ", ".join(check.name for check in checks if check.result is Result.FAILS)
    if not any(check.result is not Result.NOT_APPLICABLE for check in checks[1:]) and not agreement:
        return Decision(Verdict.CANNOT_TELL, f"{name}: no check could be made. {people}")
    if fails and not agreement:
        why = f"Do not use {name} before this is mended: {failing}. {of}. {people}"
        return Decision(Verdict.DO_NOT_USE, why)
    if fails:
        return Decision(Verdict.CARE, f"Use {name} with care. {people} It fails {failing}. {of}.")
    if still_open:
        why = f"Use {name} with care: {of}. More items will decide the rest. {people}"
        return Decision(Verdict.CARE, why)
    return Decision(Verdict.USE, f"Use {name}: {of}. {people}")


READABLE, AGREEMENT = "readable", "agreement"
LEAST_LABELS = 10
"""Labels below which agreement is left open: every one of them may be right by chance."""


def readable_check(scored: IntArray, asked: IntArray, answers: Answers, margins: Margins) -> Check:
    """Return whether the judge's answers can be read; counts are by text."""
    kinds = answers.by_kind
    common = min(kinds, key=lambda kind: (-kinds[kind], kind), default="")
    action = answers.remedy_of(common)
    check = claimed(
        READABLE,
        f"{percent(margins.readable)} of the answers have a score",
        clustered_share("readable_rate", scored, asked),
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
    found = label_agreement(labels, judged, rng)
    claim = Claim(Direction.ABOVE, margins.agreement)
    check = claimed(
        AGREEMENT,
        f"scores agree with people's labels by more than {plain(margins.agreement)}",
        found,
        claim,
        "Read the texts on which judge and labels differ; then change the rubric, or the judge.",
        beside=(met,),
        undecided=_more_labels(found, claim),
    )
    if len(near):
        check = replace(
            check, reason=f"{check.reason}; {int(near.sum())} of {len(near)} labels met"
        )
    if found.estimate is None:
        # Of a judge without a score, other labels would say no more.
        action = _OTHER_LABELS if len(near) else ""
        return replace(check, result=Result.NOT_APPLICABLE, action=action)
    if len(labels) < LEAST_LABELS:
        return replace(check, result=Result.INCONCLUSIVE, action=_more_labels(found, claim))
    return check


_OTHER_LABELS = "Label more texts, of different quality, drawn at random."


def _more_labels(found: Estimate, claim: Claim) -> str:
    if found.n_items < LEAST_LABELS:
        return (
            f"Label more texts, drawn at random: {LEAST_LABELS} labels are the fewest that decide, "
            f"and there are {found.n_items}."
        )
    return more_items(found, claim, "labels")
