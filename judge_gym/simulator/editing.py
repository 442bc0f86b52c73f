"""The utility roles, by rule: clean, neutralize, abstract, perturb and draft.

Each does what its instruction asks and no more: a cleaned text loses page furniture, a neutralized
one its tone and comment, an abstracted one its names.
"""

import calendar
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from random import Random

from judge_gym.planted.editing import Perturbed
from judge_gym.planted.families import Family
from judge_gym.planted.lexicon import cue_matcher, lexicon, tone_matcher, word_set
from judge_gym.planted.perturbations import perturbations
from judge_gym.simulator.prompts import Message, documents_in, outside_fences
from judge_gym.simulator.text_features import advises, sentences_of, stated_in

_NAME = re.compile(
    r"\b[A-Z][\w-]+(?:\s+(?:(?:of|de|al|bin|van|von)\s+(?:the\s+)?)?[A-Z][\w-]+)*(?P<owns>['’]s?)?"
)
_TITLES = (
    ("President Prime Premier Chancellor King Queen", "the head of government"),
    ("Minister Secretary", "a minister"),
    ("Judge Justice", "a judge"),
    ("Senator Deputy Representative Governor Mayor", "a politician"),
    ("General Colonel Admiral Captain", "an officer"),
)
_KINDS = (
    ("Party Front Movement League Alliance Coalition Union", "a political organisation"),
    ("Times Post Herald News Gazette Tribune Courier Radio Television TV", "a news outlet"),
    ("Court Tribunal", "a court"),
    ("Commission Committee Council Agency Authority Board Office", "a public body"),
    ("Parliament Assembly Senate Congress Chamber House", "the legislature"),
    ("Ministry Department", "a ministry"),
    ("Police Army Guard", "a security force"),
)
_TITLE_ROLES = {word: role for words, role in _TITLES for word in words.split()}
_KIND_ROLES = {word: role for words, role in _KINDS for word in words.split()}
_PLACE = re.compile(r"\b(?:in|at|near|from|across|of|to|on)\s+(?:the\s+)?$")
_CALENDAR = frozenset([*calendar.month_name[1:], *calendar.day_name])
_OPENERS = frozenset(("The", "A", "An", "In", "On", "At", "But", "And", "After", "From", "For"))
_ARTICLES = frozenset(("The", "A", "An"))
_SENTENCE_START = re.compile(r"(?:^|[.!?:][\"'”’)]*\s+|\s[-–—]\s+|\n)[\"'“‘(]*$")
_SECOND_ARTICLE = re.compile(r"\b([Tt]he|[Aa]n?)((?: \w+)?) (?:the|an?) (?=[a-z])")


def abstract(text: str) -> str:
    """Return the text with names replaced by roles, the same name always by the same role.

    A single capitalised word that occurs only at the start of sentences counts as an ordinary word.
    """
    return _SECOND_ARTICLE.sub(r"\1\2 ", _NAME.sub(_Roles(text).replace, text))


class _Roles:
    """Roles given to the names of a text; the last word identifies a name."""

    def __init__(self, text: str) -> None:
        inside = (match for match in _NAME.finditer(text) if not _opens(match))
        self._known = {_words(match)[-1] for match in inside}
        self._given: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def replace(self, match: re.Match[str]) -> str:
        words, opens = _words(match), _opens(match)
        lead = words.pop(0) if opens and len(words) > 1 and words[0] in _OPENERS else ""
        ordinary = opens and len(words) == 1 and words[0] not in self._known
        if ordinary or set(words) <= _CALENDAR or (len(words) > 3 and match.group().isupper()):
            return match.group()
        place = _PLACE.search(match.string, max(0, match.start() - 16), match.start())
        role = self._role_of(words, "a place" if place else "a person or group")
        role = role + (match["owns"] or "")
        if lead and lead not in _ARTICLES:
            return f"{lead} {role}"
        return role[:1].upper() + role[1:] if opens else role

    def _role_of(self, words: list[str], otherwise: str) -> str:
        key = words[-1]
        if key not in self._given:
            kinds = (_KIND_ROLES[word] for word in reversed(words) if word in _KIND_ROLES)
            role = _TITLE_ROLES.get(words[0]) or next(kinds, otherwise)
            self._counts[role] += 1
            number = self._counts[role]
            self._given[key] = role if number == 1 else f"{role} ({number})"
        return self._given[key]


def _words(match: re.Match[str]) -> list[str]:
    return match.group().removesuffix(match["owns"] or "").split()


def _opens(match: re.Match[str]) -> bool:
    start = match.start()
    return bool(_SENTENCE_START.search(match.string, max(0, start - 8), start))


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

    A planted share of summaries is a few words too long, to test the check of the limit.
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


_SHARE = re.compile(r"\((?P<percent>\d{1,3}(?:\.\d+)?)%\)")


def perturb(messages: Sequence[Message]) -> str:
    """Return the text after the change that the prompt describes, made by its rule.

    A text in which the rule finds nothing to change is returned as it is.
    """
    prompt = next(text for role, text in messages if role == "user")
    request = outside_fences(prompt)
    text = "\n\n".join(documents_in(prompt))
    described = (
        perturbation
        for perturbation in perturbations().values()
        if perturbation.description in request
    )
    change, share = next(described, None), _SHARE.search(request)
    if change is None or share is None:
        return "The message does not say which change to make, and how much of it."
    # One seed for all shares, so that a greater share changes all that a smaller one changes.
    changed = change.apply(text, min(1.0, float(share["percent"]) / 100), seed=0)
    return changed.text if isinstance(changed, Perturbed) else text


_OVERLOOKED = 0.15
"""Share of claims that the model misses."""
_KEEPING = re.compile(r"\b(?:figures?|numbers?|specifics?|details?)\b", re.IGNORECASE)
_ALL = re.compile(r"\b(?:all|each|every)\b", re.IGNORECASE)


def generalise(prompt: str) -> str:
    """Return the advice of a text, or its first sentence, with names taken out.

    Includes the sentences with figures and names when the instruction asks for specifics.
    """
    sentences, _ = sentences_of("\n\n".join(documents_in(prompt)))
    advice = [sentence for sentence in sentences if advises(sentence)] or sentences[:1]
    grounds = [sentence for sentence in sentences if stated_in(sentence) and sentence not in advice]
    kept = [*grounds, *advice] if _KEEPING.search(outside_fences(prompt)) else advice
    return abstract(" ".join(kept)) or "The text teaches nothing in general."


def claims(prompt: str, rng: Random) -> str:
    """Return sentences that state a figure or a name, one a line; a share is missed.

    All sentences, when the instruction asks for all, each or every one.
    """
    sentences, _ = sentences_of("\n\n".join(documents_in(prompt)))
    candidates = sentences
    if not _ALL.search(outside_fences(prompt)):
        candidates = [sentence for sentence in sentences if stated_in(sentence)]
    kept = [sentence for sentence in candidates if rng.random() >= _OVERLOOKED]
    return "\n".join(f"- {sentence}" for sentence in kept) or "NONE"
