"""The abstractor: names of people, parties, places and outlets become roles, by rule."""

import calendar
import re
from collections import Counter

_NAME = re.compile(r"\b[A-Z][\w'’-]+(?:\s+(?:(?:of|de|al|bin|van|von|the)\s+)?[A-Z][\w'’-]+)*")
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
_OTHER_ROLE = "a named party"
_CALENDAR = frozenset([*calendar.month_name[1:], *calendar.day_name])
_SENTENCE_START = re.compile(r"(?:^|[.!?][\"'”’)]*\s+|\n)[\"'“‘(]*$")


def abstract(text: str) -> str:
    """Return the text with names replaced by roles, the same name always by the same role.

    A single capitalised word that only ever opens sentences is taken for an ordinary word.
    """
    names = {match.group() for match in _NAME.finditer(text) if not _opens(text, match.start())}
    known = {name.split()[-1] for name in names}
    roles: dict[str, str] = {}
    counts: Counter[str] = Counter()

    def replaced(match: re.Match[str]) -> str:
        name, opens = match.group(), _opens(text, match.start())
        words = name.split()
        article = opens and words[0] in {"The", "A", "An", "In", "On", "At", "But", "And", "After"}
        lead = f"{words[0]} " if article and len(words) > 1 else ""
        words = words[1:] if lead else words
        if set(words) <= _CALENDAR or (opens and len(words) == 1 and words[0] not in known):
            return name
        key = words[-1]
        if key not in roles:
            role = _role(words)
            counts[role] += 1
            roles[key] = role if counts[role] == 1 else f"{role} ({counts[role]})"
        role = roles[key]
        if lead.strip() in {"The", "A", "An"}:
            lead = ""
        role = f"{lead}{role}"
        return role[:1].upper() + role[1:] if opens else role

    return re.sub(r"\b([Tt]he|[Aa]n?) (?=(?:the|an?) )", "", _NAME.sub(replaced, text))


def _opens(text: str, start: int) -> bool:
    return bool(_SENTENCE_START.search(text, max(0, start - 8), start))


def _role(words: list[str]) -> str:
    for word in words[:1]:
        if word in _TITLE_ROLES:
            return _TITLE_ROLES[word]
    return next((_KIND_ROLES[word] for word in reversed(words) if word in _KIND_ROLES), _OTHER_ROLE)
