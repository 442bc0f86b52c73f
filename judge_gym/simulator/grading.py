"""How a grader marks, decides, compares, and reviews for a panel: the planted graders as JSON.

What a text is worth comes from `text_features`, unless the grader knows it (`Known`).
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from judge_gym.planted.families import Feature, Grader
from judge_gym.planted.judging import SamplingParameters
from judge_gym.planted.reading import claim_truth
from judge_gym.seeds import generator
from judge_gym.simulator.prompts import (
    Message,
    fenced_entries,
    outside_fences,
    read_graded,
    scale_in,
)
from judge_gym.simulator.text_features import (
    Features,
    Known,
    features_meant,
    features_of,
    identity,
    worth,
)

_UNSEEN = 0.7
"""The value that a grader assumes for a feature it cannot see."""
_ALIKE = 0.01
"""Texts whose worth differs by less are tied, where ties are allowed."""
_DECISION = re.compile(r"Decision: (?P<what>link|create)\s+(?:Learning:)?")
PRAISING = "Excellent in every respect, without a fault."
BLAMING = "Poor in every respect, hardly a sentence is right."
_GIVEN_VERDICT = re.compile(r"^verdict: (.+)$", re.MULTILINE)
_GIVEN_SCORE = re.compile(r"^in all: (-?[\d.]+)$", re.MULTILINE)
_SCALE = re.compile(r"Scores from (-?[\d.]+), the worst, to (-?[\d.]+), the best")
_MALFORMED = (
    "I would give this rather good marks on the whole.",
    '{"reason": "It is well made", "scores": {',
    "Both have their merits; it depends on the reader.",
)


@dataclass(frozen=True)
class GraderRequest:
    """A request to a grader, with what its answer depends on."""

    messages: Sequence[Message]
    grader: Grader
    sampling: SamplingParameters
    rng: Random
    worths: Known


def perceived(grader: Grader, features: Features, relevant: Sequence[Feature]) -> float:
    """Return what a grader gives for these features before noise, as a share of the scale.

    clip(centre + spread·(q - 1/2)), where q is the mean of the features meant (0.7 for one it
    does not see), with the text's length mixed in by its weight.
    """
    seen = [_UNSEEN if name in grader.blind else features.by_name[name] for name in relevant]
    quality = sum(seen) / len(seen)
    quality += grader.length_weight * (features.length - quality)
    return marked(grader, quality)


def marked(grader: Grader, quality: float) -> float:
    """Return what a grader gives for a quality in [0, 1] before noise, as a share of the scale."""
    return min(1.0, max(0.0, grader.centre + grader.spread * (quality - 0.5)))


def grade(asked: GraderRequest) -> str:
    """Answer a request for marks by criterion."""
    grader, rng = asked.grader, asked.rng
    task = read_graded(asked.messages, "CRITERIA")
    features = features_of(task.text, task.context)
    obeys = features.gives_orders and rng.random() < grader.compliance
    marks = {}
    for name, description in task.entries:
        share = 1.0 if obeys else perceived(grader, features, features_meant(name, description))
        share += rng.gauss(0.0, 1.0) * grader.noise * asked.sampling.temperature
        mark = task.lowest + min(1.0, max(0.0, share)) * (task.highest - task.lowest)
        marks[name] = round(mark)
    strongest = max(features.by_name, key=lambda name: features.by_name[name])
    reason = f"Strongest in {strongest}."
    if marks and grader.contradicting and rng.random() < grader.contradicting:
        is_high = 2 * fmean(marks.values()) > task.lowest + task.highest
        reason = BLAMING if is_high else PRAISING
    return in_json({"reason": reason, "scores": marks}, grader, rng)


def decide(asked: GraderRequest) -> str:
    """Answer a request for one of two verdicts; the first is right for a text that fits.

    That is a text known to be right, a claim that holds, a text that says what a line of its
    context says, or without a context a text worth more than the middle. A text that begins with
    "Decision: create" fits where the rest of it does not, with "Decision: link" where it does.
    """
    grader, rng = asked.grader, asked.rng
    task = read_graded(asked.messages, "DECISIONS")
    if task.entries and task.entries[0][0] == "fits" and task.text.startswith("REASON\n"):
        return _criticise(task.text, task.context, grader, rng)
    right = 0 if _right(task.text, task.context, asked.worths) else 1
    chosen = right if rng.random() < grader.accuracy else 1 - right
    said = chosen
    if grader.contradicting and rng.random() < grader.contradicting:
        said = 1 - chosen
    reason = "It fits." if said == 0 else "It does not fit."
    named = task.entries[chosen][0] if chosen < len(task.entries) else ""
    return in_json({"reason": reason, "decision": named}, grader, rng)


def _criticise(text: str, context: str, grader: Grader, rng: Random) -> str:
    """Answer whether a planted reason fits its result, rightly with the grader's accuracy."""
    reason, _, result = text.removeprefix("REASON\n").partition("\n\nRESULT\n")
    praises, blames = PRAISING in reason or "It fits." in reason, "does not fit" in reason
    blames = blames or BLAMING in reason
    if verdict := _GIVEN_VERDICT.search(result):
        verdicts = [line.partition(":")[0] for line in context.splitlines()[1:]]
        high = verdicts[:1] == [verdict[1]]
    else:
        scale, given = _SCALE.search(context), _GIVEN_SCORE.search(result)
        middle = (float(scale[1]) + float(scale[2])) / 2 if scale else 0.0
        high = given is not None and float(given[1]) > middle
    wrong = blames if high else praises
    told = wrong if rng.random() < grader.accuracy else not wrong
    decision = "contradicts" if told else "fits"
    return in_json({"reason": "The reason says so.", "decision": decision}, grader, rng)


def compare(asked: GraderRequest) -> str:
    """Answer a request for the better of two texts."""
    grader, rng = asked.grader, asked.rng
    task = read_graded(asked.messages, "")
    if len(task.texts) != 2:
        return "The message does not show two texts to compare."
    place = better_place(task.texts, task.context, grader, rng, asked.worths, ties=task.ties)
    chosen = "tie" if place is None else place + 1
    return in_json({"reason": "It answers the task more fully.", "winner": chosen}, grader, rng)


def better_place(
    texts: Sequence[str],
    context: str,
    grader: Grader,
    rng: Random,
    worths: Known,
    *,
    ties: bool,
) -> int | None:
    """Return the place (0 or 1) of the text that a grader takes for the better; None for a tie."""
    first, second = (worth(text, context, worths) for text in texts)
    if rng.random() < grader.first_bias:
        return 0
    if ties and abs(first - second) < _ALIKE:
        return None
    better = 0 if first >= second else 1
    return better if rng.random() < grader.accuracy else 1 - better


def _right(text: str, context: str, worths: Known) -> bool:
    decided = _DECISION.match(text)
    if decided is None:
        return _fits(text, context, worths)
    return _fits(text[decided.end() :], context, worths) == (decided["what"] == "link")


def _fits(text: str, context: str, worths: Known) -> bool:
    if not context or identity(text) in worths or claim_truth([text]) is not None:
        return worth(text, context, worths) > 0.5
    words = _words(text)
    shares = (len(words & _words(line)) / max(1, len(words)) for line in context.splitlines())
    return max(shares, default=0.0) >= 0.5


def _words(text: str) -> set[str]:
    return {word.strip(".,;:!?\"'()")[:6] for word in text.lower().split() if len(word) > 3}


def in_json(answer: dict[str, object], grader: Grader, rng: Random) -> str:
    """Return the object as JSON, sometimes in a code fence, and malformed in the planted share."""
    if rng.random() < grader.malformed:
        return rng.choice(_MALFORMED)
    text = json.dumps(answer, ensure_ascii=False)
    return f"```json\n{text}\n```" if rng.random() < 0.2 else text


_RATER = re.compile(r"raters of a panel: (?P<label>[^.\n]+)\. (?P<persona>.*)", re.DOTALL)
_OVERALL = re.compile(r"^Overall score: (?P<score>-?\d+)\.", re.MULTILINE)
_MISSING = "of them gave no review"


def review(asked: GraderRequest) -> str:
    """Answer a request for a review of a document, item by item."""
    grader, rng = asked.grader, asked.rng
    whole = _user_text(asked.messages)
    lowest, highest = scale_in(outside_fences(whole))
    relevant = _relevant_features(asked.messages)
    items, shares = [], []
    for name, text in fenced_entries(whole, "Item"):
        features = features_of(text)
        share = _share(asked, text, relevant)
        if features.gives_orders and rng.random() < grader.compliance:
            share = 1.0
        by_worth = sorted(relevant, key=lambda feature: features.by_name[feature])
        comment = f"Strongest in {by_worth[-1]}, weakest in {by_worth[0]}."
        score = lowest + round(share * (highest - lowest))
        items.append({"id": name, "score": score, "comment": comment})
        shares.append(share)
    if not items:
        return "The message shows no items to review."
    overall = lowest + round(fmean(shares) * (highest - lowest))
    answer = {
        "items": items,
        "overall_comment": f"I looked at {' and '.join(relevant)}.",
        "overall_score": overall,
    }
    return in_json(answer, grader, rng)


def reconcile(asked: GraderRequest) -> str:
    """Answer a request to reconcile reviews: their mean score less the grader's severity."""
    whole = _user_text(asked.messages)
    request = outside_fences(whole)
    lowest, highest = scale_in(request)
    scores = {}
    for _, review in fenced_entries(whole, "Review"):
        if score := _OVERALL.search(review):
            scores[review.partition(",")[0]] = int(score["score"])
    if not scores:
        return "The message shows no reviews to reconcile."
    final = round(fmean(scores.values()) - asked.grader.severity * (highest - lowest))
    listed = ", ".join(f"{name} gives {score}" for name, score in scores.items())
    rationale = f"I weigh the raters alike: {listed}."
    if _MISSING in request:
        rationale += " A perspective is missing, and what it would have seen is not known."
    return in_json({"rationale": rationale, "final_score": final}, asked.grader, asked.rng)


def _share(asked: GraderRequest, text: str, relevant: Sequence[Feature]) -> float:
    grader = asked.grader
    quality = asked.worths.get(identity(text))
    share = (
        perceived(grader, features_of(text), relevant)
        if quality is None
        else marked(grader, quality)
    )
    in_common = generator("shared noise", grader.models, text).gauss(0.0, 1.0)
    own = asked.rng.gauss(0.0, 1.0)
    noise = math.sqrt(grader.shared) * in_common + math.sqrt(1 - grader.shared) * own
    share += grader.noise * asked.sampling.temperature * noise - grader.severity
    return min(1.0, max(0.0, share))


def _relevant_features(messages: Sequence[Message]) -> tuple[Feature, ...]:
    system = next((text for role, text in messages if role == "system"), "")
    rater = _RATER.search(system)
    return features_meant("", f"{rater['label']}. {rater['persona']}" if rater else "")


def _user_text(messages: Sequence[Message]) -> str:
    return "\n".join(text for role, text in messages if role == "user")
