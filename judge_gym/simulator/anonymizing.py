"""The abstractor: names of people, parties, places and outlets become roles, by rule."""

import calendar
import re
from collections import Counter

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

    A single capitalised word that only ever opens sentences is taken for an ordinary word.
    """
    return _SECOND_ARTICLE.sub(r"\1\2 ", _NAME.sub(_Roles(text).replace, text))


class _Roles:
    """Which role each name of a text has been given so far; a name is known by its last word."""

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
