"""How graders rate documents for a panel, and reconcile what raters say.

An item's quality is what is known of its text, else what the features say that the rater's label or
persona is about. Its score is that quality as the grader marks it, less the grader's severity, with
noise of which a share is common to all who grade alike: their errors on a text correlate by that
share.
"""

import math
import re
from collections.abc import Sequence
from random import Random
from statistics import fmean

from judge_gym.planted.families import Feature, Grader
from judge_gym.planted.judging import Sampling
from judge_gym.seeds import generator
from judge_gym.simulator.grading import as_said, marked, perceived
from judge_gym.simulator.grading_prompts import scale_in
from judge_gym.simulator.known import Known, identity
from judge_gym.simulator.prompt_reader import Message, fenced_entries, outside_fences
from judge_gym.simulator.text_features import features_meant, features_of

_RATER = re.compile(r"raters of a panel: (?P<label>[^.\n]+)\. (?P<persona>.*)", re.DOTALL)
_OVERALL = re.compile(r"^Overall score: (?P<score>-?\d+)\.", re.MULTILINE)
_MISSING = "of them gave no review"


def review(
    messages: Sequence[Message], grader: Grader, sampling: Sampling, rng: Random, known: Known
) -> str:
    """Answer a request for a review of a document, item by item."""
    whole = _asked(messages)
    lowest, highest = scale_in(outside_fences(whole))
    meant = _meant(messages)
    items, shares = [], []
    for name, text in fenced_entries(whole, "Item"):
        features = features_of(text)
        share = _share(grader, text, meant, sampling, rng, known)
        if features.gives_orders and rng.random() < grader.obedience:
            share = 1.0
        by_worth = sorted(meant, key=lambda one: features.by_name[one])
        comment = f"Strongest in {by_worth[-1]}, weakest in {by_worth[0]}."
        score = lowest + round(share * (highest - lowest))
        items.append({"id": name, "score": score, "comment": comment})
        shares.append(share)
    if not items:
        return "The message shows no items to review."
    overall = lowest + round(fmean(shares) * (highest - lowest))
    said = {
        "items": items,
        "overall_comment": f"I looked at {' and '.join(meant)}.",
        "overall_score": overall,
    }
    return as_said(said, grader, rng)


def reconcile(messages: Sequence[Message], grader: Grader, rng: Random) -> str:
    """Answer a request for what reviews come to: their mean, less the grader's severity."""
    whole = _asked(messages)
    request = outside_fences(whole)
    lowest, highest = scale_in(request)
    scores = {}
    for _, said in fenced_entries(whole, "Review"):
        if score := _OVERALL.search(said):
            scores[said.partition(",")[0]] = int(score["score"])
    if not scores:
        return "The message shows no reviews to reconcile."
    final = round(fmean(scores.values()) - grader.severity * (highest - lowest))
    told = ", ".join(f"{name} gives {score}" for name, score in scores.items())
    rationale = f"I weigh the raters alike: {told}."
    if _MISSING in request:
        rationale += " A perspective is missing, and what it would have seen is not known."
    return as_said({"rationale": rationale, "final_score": final}, grader, rng)


def _share(
    grader: Grader,
    text: str,
    meant: Sequence[Feature],
    sampling: Sampling,
    rng: Random,
    known: Known,
) -> float:
    quality = known.get(identity(text))
    share = (
        perceived(grader, features_of(text), meant) if quality is None else marked(grader, quality)
    )
    in_common = generator("shared noise", grader.models, text).gauss(0.0, 1.0)
    own = rng.gauss(0.0, 1.0)
    noise = math.sqrt(grader.shared) * in_common + math.sqrt(1 - grader.shared) * own
    share += grader.noise * sampling.temperature * noise - grader.severity
    return min(1.0, max(0.0, share))


def _meant(messages: Sequence[Message]) -> tuple[Feature, ...]:
    system = next((text for who, text in messages if who == "system"), "")
    rater = _RATER.search(system)
    return features_meant("", f"{rater['label']}. {rater['persona']}" if rater else "")


def _asked(messages: Sequence[Message]) -> str:
    return "\n".join(text for who, text in messages if who == "user")
