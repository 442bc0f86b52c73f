"""Readings of texts: how much of a concept they show, their tone, and their information.

A reading depends on the words alone, not on the judge; leanings and noise are in `judging`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from judge_gym.planted.lexicon import Concept, cue_matcher, lexicon, tone_matcher, word_set
from judge_gym.seeds import generator

# Keeps texts with few cues near the middle: cues have to outweigh this weight, which grows with
# every word.
_PRIOR_WEIGHT = 2.0
_WEIGHT_PER_WORD = 0.012
_NEGATION = re.compile(r"\b(?:no|not|never|without|nor|neither|cannot|n't)\b[^.;:,]{0,24}$")
_NEGATED = -0.5
_QUIRK = 0.04
_TONE_PER_WORD = 1 / 14
_CUES_FOR_A_JUDGEMENT, _WORDS_FOR_A_JUDGEMENT = 4, 20


@dataclass(frozen=True)
class DocumentReading:
    """One document, or several averaged.

    `theta` in [0, 1]: how far the text shows the concept; `tau` in [0, 1]: how emotive it is;
    `information` in [0, 1]: how much evidence it has; `cues`: the phrases with the largest weight.
    """

    theta: float
    tau: float
    information: float
    cues: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Text:
    balance: float
    tau: float
    information: float
    cues: tuple[str, ...]
    quirk: float


def read_documents(documents: Sequence[str], concept: Concept) -> DocumentReading:
    """Read one or more documents for a concept; a bundle reads as the mean of its documents."""
    readings = [_for_concept(_read(text), concept) for text in documents] or [NOTHING_READ]
    return DocumentReading(
        theta=fmean(reading.theta for reading in readings),
        tau=fmean(reading.tau for reading in readings),
        information=fmean(reading.information for reading in readings),
        cues=tuple(cue for reading in readings for cue in reading.cues)[:3],
    )


NOTHING_READ = DocumentReading(theta=0.5, tau=0.0, information=0.0)


def _for_concept(text: _Text, concept: Concept) -> DocumentReading:
    direction = concept.valence or -1
    theta = 0.5 + 0.5 * direction * text.balance + text.quirk
    return DocumentReading(min(1.0, max(0.0, theta)), text.tau, text.information, text.cues)


@lru_cache(maxsize=1024)
def _read(text: str) -> _Text:
    lower = text.lower().replace("’", "'")
    words = lower.count(" ") + 1
    good = bad = 0.0
    seen: dict[str, float] = {}
    for match, weight in cue_matcher().find(lower):
        if _NEGATION.search(lower, max(0, match.start() - 32), match.start()):
            weight *= _NEGATED
        good, bad = good + max(weight, 0.0), bad + max(-weight, 0.0)
        seen.setdefault(match.group(), abs(weight))
    balance = (good - bad) / (good + bad + _PRIOR_WEIGHT + _WEIGHT_PER_WORD * words)
    return _Text(
        balance=balance,
        tau=_tone(lower, words),
        information=min(1.0, len(seen) / _CUES_FOR_A_JUDGEMENT, words / _WORDS_FOR_A_JUDGEMENT),
        cues=tuple(sorted(seen, key=lambda cue: -seen[cue])[:3]),
        quirk=generator("quirk", text).uniform(-_QUIRK, _QUIRK),
    )


def _tone(lower: str, words: int) -> float:
    weight = sum(weight for _, weight in tone_matcher().find(lower))
    weight += lower.count("!") + 0.5 * lower.count("?")
    return 1 - math.exp(-weight / (words * _TONE_PER_WORD + 1))


@lru_cache(maxsize=512)
def concept_named(name: str) -> Concept:
    """Return the concept of this name; an unknown one is half contested."""
    lower = name.lower()
    for concept in lexicon().concepts:
        if all(word_set((word,)).find(lower) for word in concept.words):
            return concept
    return Concept()


_CLAIM = re.compile(r"^\s*claim:\s*(?P<text>.+?)\s*\.?\s*$", re.IGNORECASE | re.MULTILINE)
_RELATIONS = {
    "is greater than": ">",
    "is more than": ">",
    "is less than": "<",
    "is at least": ">=",
    "is at most": "<=",
    "is equal to": "=",
    "equals": "=",
    "is": "=",
    "==": "=",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
}
_SUM = r"-?\d{1,9}(?:\s*[-+*]\s*-?\d{1,9}){0,7}"
_COMPARISON = re.compile(rf"^(?P<left>{_SUM})\s*(?P<relation>[<>!]=|[<>=])\s*(?P<right>{_SUM})$")


def claim_truth(documents: Sequence[str]) -> bool | None:
    """Return whether the claim in a single document is true; None without a sum to check.

    Reads a line such as `Claim: 17 + 25 = 42`, with whole numbers, + - ×, and = < > ≤ ≥ ≠.
    """
    if len(documents) != 1 or not (claim := _CLAIM.search(documents[0])):
        return None
    text = claim["text"].lower()
    for sign in "−–":
        text = text.replace(sign, "-")
    text = re.sub(r"(?<=\d)\s*(?:×|x|times)\s*(?=[-\d])", " * ", text)
    for words, sign in _RELATIONS.items():
        text = re.sub(rf"(?<=\d)\s*{re.escape(words)}\s*(?=[-\d])", f" {sign} ", text)
    comparison = _COMPARISON.match(text.strip())
    if comparison is None:
        return None
    left, right = _value(comparison["left"]), _value(comparison["right"])
    outcomes = {
        "=": left == right,
        "!=": left != right,
        "<": left < right,
        ">": left > right,
        "<=": left <= right,
        ">=": left >= right,
    }
    return outcomes[comparison["relation"]]


def _value(text: str) -> int:
    """Add up a sum of products such as `3 * 4 - 5`."""
    total, term, sign = 0, 1, 1
    for operator, number in re.findall(r"(^|[-+*])\s*(-?\d+)", text):
        if operator == "*":
            term *= int(number)
        else:
            total += sign * term if operator else 0
            sign, term = (-1 if operator == "-" else 1), int(number)
    return total + sign * term
