"""The vocabulary of planted judges, from `lexicon.toml`, compiled into matchers.

What a match means is decided by its users: `reading`, and the simulator where it orders stages,
edits texts and rates rubrics.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby

from pydantic import BaseModel, ConfigDict, Field


class _LexiconPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CueGroup(_LexiconPart):
    """Phrases of one kind and the weight of each in a reading."""

    weight: float = Field(gt=0)
    phrases: tuple[str, ...]


class Cues(_LexiconPart):
    """Phrases about the state of institutions."""

    strong_good: CueGroup
    mild_good: CueGroup
    mild_bad: CueGroup
    strong_bad: CueGroup


class Tone(_LexiconPart):
    """Emotive and judging words, with neutral replacements for some."""

    modifiers: tuple[str, ...]
    nouns: tuple[str, ...]
    opinion: tuple[str, ...]
    plain_verbs: Mapping[str, str]


class Polarity(_LexiconPart):
    """Words for good and bad things, by which the direction of a stage is inferred."""

    good: tuple[str, ...]
    bad: tuple[str, ...]


class Vague(_LexiconPart):
    """Words that cannot be checked."""

    words: tuple[str, ...]


class Concept(_LexiconPart):
    """The valence of a concept and how contested it is; `words` all occur in its name."""

    words: tuple[str, ...] = ()
    valence: int = Field(default=-1, ge=-1, le=1)
    contested: float = Field(default=0.5, ge=0, le=1)


class Lexicon(_LexiconPart):
    """The whole vocabulary file."""

    cues: Cues
    tone: Tone
    amounts: Mapping[float, tuple[str, ...]]
    polarity: Polarity
    vague: Vague
    concepts: tuple[Concept, ...]


@dataclass(frozen=True)
class Matcher:
    """Finds weighted phrases, the longest first, never overlapping."""

    pattern: re.Pattern[str]
    weights: tuple[float, ...]

    def find(self, text: str) -> list[tuple[re.Match[str], float]]:
        """Return every match in lower-case `text` with its weight, in order."""
        return [
            (match, self.weights[(match.lastindex or 1) - 1])
            for match in self.pattern.finditer(text)
        ]


def matcher(weighted: Iterable[tuple[str, float]]) -> Matcher:
    """Compile phrases (`*` ends an open word, `?` is any letter but the first) with weights.

    Phrases are grouped by their first letter, which makes matching ten times as fast as one list
    of all phrases.
    """
    ordered = sorted(dict(weighted).items(), key=lambda pair: (pair[0][0], -len(pair[0]), pair[0]))
    by_letter = groupby((phrase for phrase, _ in ordered), key=lambda phrase: phrase[0])
    alternatives = "|".join(
        f"{re.escape(letter)}(?:{'|'.join(f'({_pattern(phrase[1:])})' for phrase in phrases)})"
        for letter, phrases in by_letter
    )
    return Matcher(
        re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])"),
        tuple(weight for _, weight in ordered),
    )


def _pattern(phrase: str) -> str:
    escaped = re.escape(phrase).replace(r"\*", r"[\w-]*").replace(r"\?", r"\w")
    return escaped.replace(r"\ ", r"\s+")


@cache
def lexicon() -> Lexicon:
    """Load the vocabulary."""
    return Lexicon.model_validate(tomllib.loads(_source("lexicon.toml")))


def _source(name: str) -> str:
    return files("judge_gym.planted").joinpath(name).read_text(encoding="utf-8")


@cache
def cue_matcher() -> Matcher:
    """Institutional cues: weight above zero for good ones, below for bad ones."""
    cues = lexicon().cues
    signed = [
        (cues.strong_good, 1),
        (cues.mild_good, 1),
        (cues.mild_bad, -1),
        (cues.strong_bad, -1),
    ]
    return matcher(
        (phrase, sign * group.weight) for group, sign in signed for phrase in group.phrases
    )


@cache
def tone_matcher() -> Matcher:
    """Emotive and judging words; opinion formulas weigh as much as two of them."""
    tone = lexicon().tone
    words = [(word, 1.0) for word in (*tone.modifiers, *tone.nouns)]
    return matcher([*words, *((formula, 2.0) for formula in tone.opinion)])


@cache
def amount_matcher() -> Matcher:
    """Words of amount with the amount they say, in [0, 1]."""
    return matcher((word, amount) for amount, words in lexicon().amounts.items() for word in words)


@cache
def polarity_matcher() -> Matcher:
    """Words for good (+1) and bad (-1) things."""
    polarity = lexicon().polarity
    return matcher(
        [*((word, 1.0) for word in polarity.good), *((word, -1.0) for word in polarity.bad)]
    )


@cache
def vague_matcher() -> Matcher:
    """Words that cannot be checked against evidence."""
    return matcher((word, 1.0) for word in lexicon().vague.words)


@cache
def word_set(words: Sequence[str]) -> Matcher:
    """A matcher without weights, for the words of one list (a tuple)."""
    return matcher((word, 1.0) for word in words)
