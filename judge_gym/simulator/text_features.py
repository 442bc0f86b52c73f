"""What a grader can see in a text: cheap features, each in [0, 1].

They depend on the words of the text and of its context alone. They are what the planted faults of
a calibration change: evidence taken out, figures made vague, errors put in, sentences scrambled,
repeated or padded, advice removed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from statistics import fmean

from judge_gym.simulator.graders import Feature, grader_file
from judge_gym.simulator.lexicon import Matcher, word_set
from judge_gym.simulator.reading import claim_truth

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|\n+")
_WORD = re.compile(r"[^\W\d_][\w'’-]*|\d[\d.,:%]*")
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_QUOTE = re.compile(r"[\"“][^\"“”]{3,}[\"”]")
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][\w’'-]+")
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
_ENOUGH_A_SENTENCE = 2.0
"""Figures, names and quotations that make a sentence well supported."""
_LONG = 300
"""Words of a text that is as long as any."""


@dataclass(frozen=True)
class Features:
    """How well a text does by each feature, and how long it is (1 from 300 words on)."""

    by_name: Mapping[Feature, float]
    length: float


@lru_cache(maxsize=1024)
def features_of(text: str, context: str = "") -> Features:
    """Read the features of a text, held against its context where there is one."""
    sentences = [
        _BULLET.sub("", part.strip()) for part in _SENTENCE_END.split(text) if part.strip()
    ]
    words = len(_WORD.findall(text))
    return Features(
        {
            "evidence": _evidence(sentences),
            "specificity": _specificity(text, words),
            "accuracy": _accuracy(text, context),
            "order": _order(sentences),
            "concision": _concision(sentences, context),
            "actionability": _actionability(sentences),
        },
        length=min(1.0, words / _LONG),
    )


def worth(text: str, context: str = "") -> float:
    """Return what a text is worth in all: the mean of its features, or whether its claim holds."""
    holds = claim_truth([text])
    return fmean(features_of(text, context).by_name.values()) if holds is None else float(holds)


def features_meant(name: str, description: str) -> tuple[Feature, ...]:
    """Return the features a criterion is about, by its name, else by its description."""
    for told in (name.replace("_", " ").replace("-", " ").lower(), description.lower()):
        if meant := tuple(one for one in _cues() if _cues()[one].find(told)):
            return meant
    return tuple(_cues())


def _evidence(sentences: Sequence[str]) -> float:
    """Share of well supported sentences; each needs two figures, names or quotations."""
    support = (
        len(_FIGURE.findall(one)) + len(_NAME.findall(one)) + len(_QUOTE.findall(one))
        for one in sentences
    )
    return _mean([min(1.0, count / _ENOUGH_A_SENTENCE) for count in support])


def _specificity(text: str, words: int) -> float:
    """One vague word in eight makes a text wholly vague."""
    vague = len(word_set(grader_file().words.vague).find(text.lower()))
    return max(0.0, 1 - 8 * vague / max(1, words))


def _accuracy(text: str, context: str) -> float:
    """Share of figures and names that the context has, a wrong one counting twice; 1 without."""
    stated = _stated(text)
    if not context or not stated:
        return 1.0
    known = _stated(context) | {word.lower() for word in _WORD.findall(context)}
    return max(0.0, 1 - 2 * len(stated - known) / len(stated))


def _stated(text: str) -> set[str]:
    return {one.lower() for one in (*_FIGURE.findall(text), *_NAME.findall(text))}


def _order(sentences: Sequence[str]) -> float:
    """Less for sentences out of the order they name, and for an opening that leans back."""
    places = grader_file().places
    found = [
        place for sentence in sentences for word, place in places.items() if _opens(sentence, word)
    ]
    pairs = list(combinations(found, 2))
    turned = _mean([float(before > after) for before, after in pairs]) if pairs else 0.0
    opening = sentences[0] if sentences else ""
    leaning = any(_opens(opening, word) for word in grader_file().words.backward)
    return 1 - 0.6 * turned - 0.4 * leaning


def _concision(sentences: Sequence[str], context: str) -> float:
    """Share of sentences that are neither repeated nor padding."""
    plain = [" ".join(_WORD.findall(sentence.lower())) for sentence in sentences]
    stems = [_stems(sentence) for sentence in plain]
    about = _stems(context.lower())
    useful = 0
    for position, sentence in enumerate(plain):
        others = about.union(*(stems[:position] + stems[position + 1 :]))
        supported = _FIGURE.search(sentence) or _NAME.search(sentences[position])
        off_topic = len(plain) > 1 and not supported and not stems[position] & others
        filler = bool(word_set(grader_file().words.filler).find(sentence))
        useful += not (sentence in plain[:position] or off_topic or filler)
    return useful / len(plain) if plain else 0.0


def _stems(text: str) -> set[str]:
    return {word[:5] for word in _WORD.findall(text) if len(word) > 4}


def _actionability(sentences: Sequence[str]) -> float:
    """Full from one sentence in three that says what to do."""
    words = grader_file().words
    advising = [
        any(_opens(sentence, verb) for verb in words.imperatives)
        or bool(word_set(words.action).find(sentence.lower()))
        for sentence in sentences
    ]
    return min(1.0, 3 * _mean([float(one) for one in advising]))


def _opens(sentence: str, opening: str) -> bool:
    return re.match(rf"{re.escape(opening)}\b", sentence, re.IGNORECASE) is not None


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0


@cache
def _cues() -> Mapping[Feature, Matcher]:
    return {one: word_set(words) for one, words in grader_file().features.items()}
