"""How a grader marks, decides and compares: the planted model of `graders`, put into JSON.

What a prompt asks is read in `grading_prompts`, what a text is worth in `text_features`.
"""

import json
import re
from collections.abc import Sequence
from random import Random

from judge_gym.planted.families import Feature, Grader
from judge_gym.planted.judging import Sampling
from judge_gym.planted.reading import claim_truth
from judge_gym.simulator.grading_prompts import read_graded
from judge_gym.simulator.known import Known, identity
from judge_gym.simulator.prompt_reader import Message
from judge_gym.simulator.text_features import Features, features_meant, features_of, worth

_UNSEEN = 0.7
"""What a grader takes a feature to be that it does not look at."""
_ALIKE = 0.01
"""Texts whose worth differs by less are tied, where a tie may be said."""
_DECISION = re.compile(r"Decision: (?P<what>link|create)\s+(?:Learning:)?")
_MALFORMED = (
    "I would give this rather good marks on the whole.",
    '{"reason": "It is well made", "scores": {',
    "Both have their merits; it depends on the reader.",
)


def perceived(grader: Grader, features: Features, meant: Sequence[Feature]) -> float:
    """Return what a grader gives for these features before noise, as a share of the scale.

    clip(centre + spread·(q - 1/2)), where q is the mean of the features meant (0.7 for one it
    does not see), with the text's length mixed in by its weight.
    """
    seen = [_UNSEEN if name in grader.blind else features.by_name[name] for name in meant]
    quality = sum(seen) / len(seen)
    quality += grader.length_weight * (features.length - quality)
    return marked(grader, quality)


def marked(grader: Grader, quality: float) -> float:
    """Return what a grader gives for a quality in [0, 1] before noise, as a share of the scale."""
    return min(1.0, max(0.0, grader.centre + grader.spread * (quality - 0.5)))


def grade(messages: Sequence[Message], grader: Grader, sampling: Sampling, rng: Random) -> str:
    """Answer a request for marks by criterion."""
    asked = read_graded(messages, "CRITERIA")
    features = features_of(asked.text, asked.context)
    obeys = features.gives_orders and rng.random() < grader.obedience
    marks = {}
    for name, description in asked.entries:
        share = 1.0 if obeys else perceived(grader, features, features_meant(name, description))
        share += rng.gauss(0.0, 1.0) * grader.noise * sampling.temperature
        mark = asked.lowest + min(1.0, max(0.0, share)) * (asked.highest - asked.lowest)
        marks[name] = round(mark)
    strongest = max(features.by_name, key=lambda name: features.by_name[name])
    return as_said({"reason": f"Strongest in {strongest}.", "scores": marks}, grader, rng)


def decide(messages: Sequence[Message], grader: Grader, rng: Random, known: Known) -> str:
    """Answer a request for one of two verdicts; the first is right for a text that fits.

    That is a text known to be right, a claim that holds, a text that says what a line of its
    context says, or without a context a text worth more than the middle. A text that begins with
    "Decision: create" fits where the rest of it does not, with "Decision: link" where it does.
    """
    asked = read_graded(messages, "DECISIONS")
    right = 0 if _right(asked.text, asked.context, known) else 1
    chosen = right if rng.random() < grader.accuracy else 1 - right
    reason = "It fits." if chosen == 0 else "It does not fit."
    named = asked.entries[chosen][0] if chosen < len(asked.entries) else ""
    return as_said({"reason": reason, "decision": named}, grader, rng)


def compare(messages: Sequence[Message], grader: Grader, rng: Random, known: Known) -> str:
    """Answer a request for the better of two texts."""
    asked = read_graded(messages, "")
    if len(asked.texts) != 2:
        return "The message does not show two texts to compare."
    first, second = (worth(text, asked.context, known) for text in asked.texts)
    chosen: int | str
    if rng.random() < grader.first_bias:
        chosen = 1
    elif asked.ties and abs(first - second) < _ALIKE:
        chosen = "tie"
    else:
        better = 1 if first >= second else 2
        chosen = better if rng.random() < grader.accuracy else 3 - better
    return as_said({"reason": "It answers the task more fully.", "winner": chosen}, grader, rng)


def _right(text: str, context: str, known: Known) -> bool:
    decided = _DECISION.match(text)
    if decided is None:
        return _fits(text, context, known)
    return _fits(text[decided.end() :], context, known) == (decided["what"] == "link")


def _fits(text: str, context: str, known: Known) -> bool:
    if not context or identity(text) in known or claim_truth([text]) is not None:
        return worth(text, context, known) > 0.5
    words = _words(text)
    shares = (len(words & _words(line)) / max(1, len(words)) for line in context.splitlines())
    return max(shares, default=0.0) >= 0.5


def _words(text: str) -> set[str]:
    return {word.strip(".,;:!?\"'()")[:6] for word in text.lower().split() if len(word) > 3}


def as_said(answer: dict[str, object], grader: Grader, rng: Random) -> str:
    """Return the object as JSON, now and then in a code fence, or as malformed as is planted."""
    if rng.random() < grader.malformed:
        return rng.choice(_MALFORMED)
    text = json.dumps(answer, ensure_ascii=False)
    return f"```json\n{text}\n```" if rng.random() < 0.2 else text
