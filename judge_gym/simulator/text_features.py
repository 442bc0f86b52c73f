"""What a grader can see in a text: cheap features, each in [0, 1].

They depend on the words of the text and of its context alone, and count what is there once: what a
text repeats or pads itself with counts in its concision and its length, and nowhere else. So taking
evidence or advice out, vague words and errors lower the feature they are about and no other, and
scrambled sentences lower the order where sentences say their place.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from judge_gym.errors import EvidenceError
from judge_gym.planted.families import Feature, grader_file
from judge_gym.planted.lexicon import Matcher, word_set
from judge_gym.planted.reading import claim_truth
from judge_gym.seeds import digest
from judge_gym.simulator.files import json_lines

Known = Mapping[str, float]
"""`identity` of a text → its worth."""
NOTHING: Known = {}


def identity(text: str) -> str:
    """Return the key of a text; spaces and line breaks do not change it."""
    return digest("known", text.split())


def read_known(path: Path | None) -> Known:
    """Read lines of `{"text": "...", "worth": 1}`; nothing for None.

    A worth lies in [0, 1]. Raises `EvidenceError` naming the line at fault.
    """
    worths: dict[str, float] = {}
    for number, row in json_lines(path) if path else ():
        entry: Mapping[str, Any] = row or {}
        text, worth = entry.get("text"), entry.get("worth")
        # JSON's true is Python's 1, and its NaN is in no range.
        if isinstance(worth, bool) or not isinstance(worth, int | float):
            worth = math.nan
        if not isinstance(text, str) or not 0 <= worth <= 1:
            legal = '{"text": "...", "worth": a number from 0 to 1}'
            raise EvidenceError(f"{path} line {number}: not {legal}.")
        worths[identity(text)] = float(worth)
    return worths


_SENTENCE_END = re.compile(r"(?<=[.!?:])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])|\n+")
_WORD = re.compile(r"[^\W\d_][\w'’-]*|\d[\d.,:%]*")
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_QUOTE = re.compile(r"[\"“][^\"“”]{3,}[\"”]")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w’'-]+")
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
_LONG = 300
"""Words of a text that is as long as any."""


@dataclass(frozen=True)
class Features:
    """The features of a text, in [0, 1], with its length and whether it gives orders."""

    by_name: Mapping[Feature, float]
    length: float
    """1 from 300 words on."""
    gives_orders: bool
    """Whether it tells its grader what to do; such sentences count in nothing else."""


@lru_cache(maxsize=1024)
def features_of(text: str, context: str = "") -> Features:
    """Return the features of a text, compared with its context if there is one."""
    parts, orders = sentences_of(text)
    sentences = [part for part in parts if not part.endswith(":") or stated_in(part)]  # no lead-ins
    kept = "\n".join(sentences)
    concrete = len(stated_in(kept)) + len(set(_QUOTE.findall(kept)))
    vague = len(word_set(grader_file().words.vague).find(kept.lower()))
    advice = {sentence.lower() for sentence in sentences if advises(sentence)}
    return Features(
        {
            "evidence": _saturating(concrete, half=3),
            "specificity": concrete / (concrete + vague) if concrete + vague else 0.5,
            "accuracy": _accuracy(kept, context),
            "order": _order(sentences),
            "concision": _concision(parts, context),
            "actionability": _saturating(len(advice), half=1),
        },
        length=min(1.0, len(_WORD.findall(text)) / _LONG),
        gives_orders=bool(orders),
    )


def worth(text: str, context: str = "", worths: Known = NOTHING) -> float:
    """Return a text's worth: as known, else whether its claim is true, else its mean feature."""
    value = worths.get(identity(text), claim_truth([text]))
    return fmean(features_of(text, context).by_name.values()) if value is None else float(value)


@lru_cache(maxsize=1024)
def features_meant(name: str, description: str) -> tuple[Feature, ...]:
    """Return the features a criterion is about, by its name, else by its description, else all."""
    for text in (name.replace("_", " ").replace("-", " ").lower(), description.lower()):
        if relevant := tuple(feature for feature, words in _cues().items() if words.find(text)):
            return relevant
    return tuple(_cues())


def sentences_of(text: str) -> tuple[list[str], list[str]]:
    """Return the sentences of a text, and those that are orders to its grader."""
    parts = [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]
    order = word_set(grader_file().words.orders)
    orders = [part for part in parts if order.find(part.lower())]
    return [_BULLET.sub("", part) for part in parts if part not in orders], orders


def _saturating(count: int, half: int) -> float:
    return count / (count + half)


def stated_in(text: str) -> set[str]:
    """Return the figures and names of a text."""
    return {match.lower() for match in (*_FIGURE.findall(text), *_NAME.findall(text))}


def _accuracy(text: str, context: str) -> float:
    """1 less twice the share of figures and names that the context lacks; 1 without a context."""
    stated = stated_in(text)
    if not context or not stated:
        return 1.0
    in_context = stated_in(context) | {word.lower() for word in _WORD.findall(context)}
    return max(0.0, 1 - 2 * len(stated - in_context) / len(stated))


def _order(sentences: Sequence[str]) -> float:
    """Lower for sentences out of the order they name, and for an opening that refers back."""
    opened = [match for sentence in sentences if (match := _place_words().match(sentence))]
    places = [grader_file().places[match.group().lower()] for match in opened]
    turned = [before > after for before, after in combinations(places, 2)]
    leaning = bool(sentences and _backward_words().match(sentences[0]))
    return 1 - 0.6 * (fmean(turned) if turned else 0) - 0.4 * leaning


def _concision(sentences: Sequence[str], context: str) -> float:
    """Return the share of sentences that are neither repeated nor padding."""
    plain = [" ".join(_WORD.findall(sentence.lower())) for sentence in sentences]
    stems = [_stems(sentence) for sentence in plain]
    about = _stems(context.lower())
    useful = 0
    for position, sentence in enumerate(plain):
        others = about.union(*(stems[:position] + stems[position + 1 :]))
        supported = stated_in(sentences[position])
        off_topic = len(plain) > 1 and not supported and not stems[position] & others
        filler = bool(word_set(grader_file().words.filler).find(sentence))
        useful += not (sentence in plain[:position] or off_topic or filler)
    return useful / len(plain) if plain else 0.0


def _stems(text: str) -> set[str]:
    return {word[:5] for word in _WORD.findall(text) if len(word) > 4}


def advises(sentence: str) -> bool:
    """Return whether a sentence says what to do."""
    advice = word_set(grader_file().words.advice).find(sentence.lower())
    return bool(advice or _imperatives().match(sentence))


@cache
def _imperatives() -> re.Pattern[str]:
    lead = "first|second|third|then|next|finally|also|please|now|and|never|always|instead"
    return _opening(grader_file().words.imperatives, rf"(?:(?:{lead}),? )?")


@cache
def _place_words() -> re.Pattern[str]:
    return _opening(grader_file().places)


@cache
def _backward_words() -> re.Pattern[str]:
    return _opening(grader_file().words.backward)


def _opening(words: Iterable[str], lead: str = "") -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(rf"{lead}(?:{'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)


@cache
def _cues() -> Mapping[Feature, Matcher]:
    return {feature: word_set(words) for feature, words in grader_file().features.items()}
