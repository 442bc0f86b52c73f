"""The utility roles: cleaning, clinical summaries and taking names out, by rule.

Each does what its instruction asks and no more: a cleaned text loses page furniture, a
neutralized one its tone and comment, an abstracted one its names.
"""

import re
from functools import cache, lru_cache
from random import Random

from judge_gym.planted.families import Family
from judge_gym.planted.lexicon import cue_matcher, lexicon, tone_matcher, word_set

_FURNITURE = re.compile(
    r"(cookie|subscribe|sign up|newsletter|advertis|share this|read more|read also|related:|"
    r"related stor|click here|all rights reserved|follow us|log in|skip to|photo:|image:|menu\b|"
    r"most read|privacy policy|terms of)",
    re.IGNORECASE,
)
_WORDS_PER_TONE_WORD = 6
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])")


def clean(text: str) -> str:
    """Return the article without short lines of page furniture; every other line as it is."""
    lines = text.splitlines()
    kept = [line for line in lines if not (_FURNITURE.search(line) and len(line) < 160)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def neutralize(family: Family, text: str, limit: int, rng: Random) -> str:
    """Return factual sentences without judging words, at most `limit` words.

    A planted share of summaries runs a few words over, so that the check has something to catch.
    """
    room = limit + rng.randint(3, 12) if rng.random() < family.over_limit else limit
    summary: list[str] = []
    for sentence in _plain_sentences(text):
        words = sentence.split()
        if len(summary) + len(words) > room:
            if room > limit:
                summary += words[: room - len(summary)]
            break
        summary += words
    return " ".join(summary) or "The article makes no factual claim."


@lru_cache(maxsize=256)
def _plain_sentences(text: str) -> tuple[str, ...]:
    sentences = _SENTENCE_END.split(" ".join(text.split()))
    return tuple(_plain(sentence) for sentence in sentences if not _is_comment(sentence))


def _is_comment(sentence: str) -> bool:
    """Whether a sentence only judges: a question, a formula of opinion, or tone and no event."""
    lower = sentence.lower().rstrip("\"'”’ ")
    if re.search(r"\d", lower):
        return False
    quoted = any(mark in sentence for mark in '"“”')
    if lower.endswith("?") or (not quoted and word_set(lexicon().tone.opinion).find(lower)):
        return True
    tone = sum(weight for _, weight in tone_matcher().find(lower))
    loud = lower.endswith("!") or tone * _WORDS_PER_TONE_WORD > len(lower.split())
    return loud and not cue_matcher().find(lower)


def _plain(sentence: str) -> str:
    plain = sentence.replace("!", ".")
    for pattern, replacement in _plain_words():
        plain = pattern.sub(replacement, plain)
    plain = _modifier_pattern().sub("", plain)
    plain = re.sub(r"\s+([,.;:])", r"\1", re.sub(r"\s{2,}", " ", plain)).strip(" ,;")
    plain = re.sub(r"([-–—:])\s*,", r"\1", plain)
    plain = re.sub(r"\b([Aa])n (?=[bcdfgj-np-tv-z])", r"\1 ", plain)
    plain = re.sub(r"\ba (?=[aeio][a-z])", "an ", plain)
    return plain[:1].upper() + plain[1:]


@cache
def _plain_words() -> tuple[tuple[re.Pattern[str], str], ...]:
    verbs = lexicon().tone.plain_verbs
    return tuple(
        (re.compile(rf"\b{word}\b", re.IGNORECASE), plain) for word, plain in verbs.items()
    )


@cache
def _modifier_pattern() -> re.Pattern[str]:
    modifiers = sorted(lexicon().tone.modifiers, key=len, reverse=True)
    words = "|".join(re.escape(word) for word in modifiers)
    return re.compile(
        rf"(?:,\s*)?\b(?:{words})\b(?:,?\s+(?:and|but)\s+(?:{words})\b)?", re.IGNORECASE
    )
