"""Numbers and names become vague words, so that nothing can be checked.

The words fit the grammar around them, so that a judge that marks grammar has no reason to mark a
changed text down: `every 3 hours` becomes `every few hours`, `error 4711` becomes `some error`.
"""

import random
import re

from judge_gym.planted.editing import Change, Edit, Expectation
from judge_gym.planted.mentions import Span, names, numbers
from judge_gym.planted.sentences import sentences

EXPECTATION = Expectation.DROP
NEEDS = "number or name"

_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|"
    "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
)
_WEEKDAYS = re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days")
_AFTER_PLACE = re.compile(r"\b(?:in|at|near)\s+\Z")
_AFTER_MONTH = re.compile(rf"\b(?:{_MONTHS})\.?,?\s+\Z")
_BEFORE_MONTH = re.compile(rf"\s(?:{_MONTHS})\b")
_DATED = re.compile(r"\b(?:in|since|by|until|of|from|to|for|before|after)\s+\Z")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_CODES = "EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK"
_CURRENCY = re.compile(rf"\b(?:{_CODES})\s+\Z")
_IN_CURRENCY = re.compile(rf"\s?(?:{_CODES}|euros?|dollars?|pounds)\b|\s?[€£]")
# Not "that", which before a number or a name is hardly ever one.
_DETERMINER = re.compile(
    r"\b(the|an?|this|these|those|its|their|our|his|her|my|your|all|both|last|next|first|past|"
    r"[\w-]+['’]s)\s+\Z",
    re.IGNORECASE,
)
_IDENTIFIED = re.compile(
    r"\b(account|article|build|bus|case|chapter|code|customer|error|figure|gate|invoice|item|line|"
    r"log|number|order|page|platform|port|release|room|route|row|section|step|table|ticket|user|"
    r"version)\s+\Z",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"\b(analyst|author|captain|chair|chairman|chancellor|clerk|colleague|cook|customer|director|doctor|"
    r"driver|economist|editor|engineer|farmer|grower|inspector|judge|lawyer|librarian|manager|mayor|minister|nurse|"
    r"officer|owner|president|professor|resident|secretary|senator|spokes(?:man|person|woman)|"
    r"student|teacher|user)\s+\Z",
    re.IGNORECASE,
)
_FUNCTION = frozenset(
    (
        "a", "about", "after", "against", "ago", "all", "also", "an", "and", "are", "as",
        "at", "because", "been", "before", "below", "between", "but", "by", "can", "could",
        "did", "do", "does", "down", "during", "each", "every", "for", "from", "had", "has",
        "have", "he", "her", "here", "his", "if", "in", "into", "is", "it", "its", "last",
        "later", "may", "might", "more", "next", "nor", "not", "now", "of", "off", "on",
        "once", "or", "out", "over", "per", "said", "says", "she", "since", "so", "than",
        "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
        "through", "to", "too", "under", "until", "up", "was", "we", "were", "when",
        "where", "which", "while", "who", "will", "with", "without", "would", "yet", "you",
    )
)  # fmt: skip
"""Words that no counted noun is."""
_PLACE_NOUN = re.compile(
    r"\s+(?:bridge|church|clinic|farm|hall|harbour|hospital|library|market|museum|office|park|road|"
    r"school|square|station|street|wood)s?\b"
)
_HOUR = re.compile(r"\s?(?:[ap]m\b|[ap]\.m\.)|\s+o['’]clock")
_OPENS_ITEM = re.compile(r"(?:\A|\n|[:;])[ \t]*[-*]?[ \t]*\Z")
_ENDS_MARK = re.compile(r"[.)]\s")
_SHORTENED = re.compile(r"\b(?:Co|Corp|Inc|Jr|Ltd|Sr)\Z")
_GOES_ON = re.compile(r"\.\s+[a-z]")
_NEXT_WORD = re.compile(r"\s+([A-Za-z][\w’']*)")


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return the replacement of each number and name by a word of the same kind."""
    openings = {one.start for one in sentences(text)}
    edits = [_number(text, *span) for span in _whole(text, numbers(text))]
    for first, last in names(text):
        if _WEEKDAYS.fullmatch(text, first, last):
            continue
        edit = _name(text, first, last)
        if not any(other.start < edit.end and edit.start < other.end for other in edits):
            edits.append(edit)
    return [
        (Edit(edit.start, edit.end, _opened(edit, text, openings)),)
        for edit in sorted(edits, key=lambda edit: edit.start)
    ]


def _whole(text: str, spans: list[Span]) -> list[Span]:
    """Return the numbers without marks of list items, groups of digits such as 0800 123 as one."""
    whole: list[Span] = []
    for first, last in spans:
        if _ENDS_MARK.match(text, last) and _OPENS_ITEM.search(text[:first]):
            continue
        if whole and text[whole[-1][1] : first] == " " and text[first:last].isdigit():
            whole[-1] = (whole[-1][0], last)
        else:
            whole.append((first, last))
    return whole


def _opened(edit: Edit, text: str, openings: set[int]) -> str:
    opens = edit.start in openings or text[: edit.start].rstrip()[-1:] in ("", ".", "!", "?")
    return edit.text[:1].upper() + edit.text[1:] if opens else edit.text


def _noun_follows(text: str, last: int) -> bool:
    word = _NEXT_WORD.match(text, last)
    return word is not None and word[1].casefold() not in _FUNCTION


def _number(text: str, first: int, last: int) -> Edit:
    """Return the edit of a number, and of the noun before it that it identifies."""
    number, before = text[first:last], text[max(0, first - 24) : first]
    determiner = _DETERMINER.search(before)
    noun = _noun_follows(text, last)
    if text[last : last + 1] == "-":
        return Edit(first, last, "many")
    if code := _CURRENCY.search(before):
        return Edit(first - len(before) + code.start(), last, "some amount")
    if hour := _HOUR.match(text, last):
        end = hour.end()
        closes = hour[0].endswith(".") and not _GOES_ON.match(text, end - 1)
        return Edit(first, end - closes, "later" if determiner else "some hour")
    if not number[0].isalnum():
        is_amount = True
    elif is_amount := bool(in_currency := _IN_CURRENCY.match(text, last)):
        assert in_currency is not None
        last = in_currency.end()
        noun = _noun_follows(text, last)
    if number.endswith("%") or is_amount:
        kind = "amount" if is_amount else "share"
        if determiner:
            return Edit(first, last, "certain" if noun else kind)
        return Edit(first, last, f"some {kind}")
    if _YEAR.fullmatch(number):
        if _AFTER_MONTH.search(before):
            return Edit(first, last, "of some year")
        if _DATED.search(before) and not noun:
            return Edit(first, last, "some year")
    if _BEFORE_MONTH.match(text, last):
        return Edit(first, last, "day in" if determiner else "some day in")
    if identified := _IDENTIFIED.search(before):
        at = first - len(before) + identified.start()
        if _DETERMINER.search(text[max(0, at - 12) : at]):
            return Edit(first - 1, last, "" if noun else " in question")
        return Edit(at, last, f"some {identified[1].casefold()}")
    return Edit(first, last, _count(text, (first, last), determiner and determiner[1], noun=noun))


def _count(text: str, span: Span, determiner: str | None, *, noun: bool) -> str:
    first, last = span
    before = text[max(0, first - 12) : first]
    if re.search(r"\bevery\s+\Z", before, re.IGNORECASE):
        return "few" if noun else "one"
    if determiner:
        if determiner.casefold() in ("a", "an"):
            return "certain" if noun else "number"
        if determiner.casefold() in ("last", "next", "first", "past"):
            return "few"
        return "various" if noun else "ones"
    if re.match(r"\s+(?:fewer|more|less)\b", text[last : last + 8]):
        return "somewhat"
    if re.match(r"\s+of\b", text[last : last + 4]):
        return "some"
    if noun:
        return "many" if re.search(r"\bof\s+\Z", before) else "some"
    return "some number"


def _name(text: str, first: int, last: int) -> Edit:
    """Return the edit of a name, and of the role before it."""
    if _SHORTENED.search(text[first:last]) and _GOES_ON.match(text, last):
        last += 1
    before = text[max(0, first - 24) : first]
    if role := _ROLE.search(before):
        at = first - len(before) + role.start()
        if _DETERMINER.search(text[max(0, at - 12) : at]):
            return Edit(first - 1, last, "")
        return Edit(at, last, f"some {role[1].casefold()}")
    determiner = _DETERMINER.search(before)
    if any(map(str.isdigit, text[first:last])):  # a code, and nobody
        if determiner:
            return Edit(first, last, "certain" if _noun_follows(text, last) else "one")
        return Edit(first, last, "such-and-such")
    if determiner:
        attributive = _noun_follows(text, last)
        vowel = determiner[1].casefold() == "an"
        return Edit(first, last, ("unnamed " * vowel) + ("local" if attributive else "place"))
    if _PLACE_NOUN.match(text, last):
        return Edit(first, last, "a certain")
    return Edit(first, last, "a certain place" if _AFTER_PLACE.search(before) else "someone")
