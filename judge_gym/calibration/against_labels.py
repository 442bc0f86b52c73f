"""Is there anything to go on, and do people agree? The two checks before all others."""

from dataclasses import replace

import numpy as np

from judge_gym.answers.readability import Answers
from judge_gym.calibration.checks import Check, Margins, Result, claimed, more_items
from judge_gym.formats import percent, plain
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import Claim, Direction
from judge_gym.metrics.score_agreement import label_agreement

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
