"""Answer text → one of the forms of a verdict that a recorded file uses, or a named failure.

Prompts of others ask for `[[A>>B]]`, `Output (a)` or `Rating: 4`. The last asserted form counts.
As in `verdict`, denials and quotations are skipped; an answer is unreadable where its last form is
in doubt, one of several, withdrawn, or differs from an earlier one without being its conclusion.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from judge_gym.answers.assertion import DOUBTS, unasserted, withdrawn
from judge_gym.answers.conclusion import contradiction
from judge_gym.answers.text import FailureReason, ParseFailure, read_answer, tokenize

_LAYOUT = r"[\s*_`\\]*"
"""Layout that may stand between the parts of a form, as in `**Rating:** 4`."""
_STATEMENT = re.compile(r"[:=<>\[]|\b(?:is|are|wins?|beats?|prefer(?:red)?)\b")
"""What makes a form a statement. Any other form is a name, such as `Output (a)`."""
_ENDS = re.compile(r"[\s*_`\"')\]}]*(?:[.!?;]|\n|$)")
_REASON = re.compile(
    r"[\s*_`\"')\]},]*(?:because|since|as|for|due|given|than|overall)\b", re.IGNORECASE
)
_LONGER_NUMBER = re.compile(
    rf"[.,]?\d|[½¼¾]|{_LAYOUT}(?:[—~%-]|(?:to|or|and)\b){_LAYOUT}\d"
    rf"|{_LAYOUT}[,(]?{_LAYOUT}(?:or|maybe|perhaps|possibly|bordering|leaning|verging|almost)\b"
    r"[^.;!?\n\d]{0,30}\d",
    re.IGNORECASE,
)
_OF_HIGHEST = re.compile(
    rf"{_LAYOUT}(?:/|(?:out )?of\b){_LAYOUT}(\d+)(?![\d/]|[.,]\d)", re.IGNORECASE
)
_PERCENT = re.compile(rf"{_LAYOUT}[%٪]")
_OTHER_NUMBER = "a number that is none of the declared forms"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SAME_NUMBER = r"(?:(?:\.0+|,00?)(?!\d|[.,]\d))?"
"""What may follow a whole number and leave it the same: 4.0 is 4."""
_ANY_NUMBER = r"[+-]?\d+(?:[.,/]\d+)*"
_UNDECLARED = object()
"""The meaning of a form whose number is not declared: `[[7.5]]` beside `[[7]]` and `[[8]]`."""
_LISTED = re.compile(r"[\s*_`\"']*(?:[,/|&]|,?\s*\bor\b)[\s*_`\"']*(?:the\b\s*)?")
_CONTRAST = re.compile(r"\b(?:but|however|yet|although|though|whereas)\b")
_SENTENCE_END = re.compile(r"[.!?;\n]")
_QUOTES = ('"', "'")


@dataclass(frozen=True)
class FoundForm:
    """The form that an answer asserts; `span` holds offsets in the original answer."""

    form: str
    span: tuple[int, int]
    text: str


@dataclass(frozen=True)
class _Match:
    """A form in a text, with its meaning."""

    form: str
    meaning: object
    start: int
    end: int

    @property
    def is_statement(self) -> bool:
        return bool(_STATEMENT.search(self.form.lower()))


def read_form(answer: str, forms: Mapping[str, object]) -> FoundForm | ParseFailure:
    """Return the last form that an answer asserts.

    `forms` maps each form to what it stands for; two forms of equal meaning do not contradict each
    other. Case, white space and Markdown are ignored. A statement (`[[A]]`, `Rating: 4`,
    `Output (a) is better`) counts in every sentence that asserts it, a name (`Output (a)`) only
    where it ends its sentence or a reason follows.
    """
    return _read(answer, tuple(forms.items()))


@lru_cache(maxsize=1 << 12)
def _read(answer: str, forms: tuple[tuple[str, object], ...]) -> FoundForm | ParseFailure:
    source = read_answer(answer)
    text = source.text
    if not text.strip():
        return ParseFailure("empty", "the answer is empty")
    failure = ParseFailure("no_verdict", "the answer has none of the declared forms")
    matches = _matches(text, dict(forms))
    denied: list[object] = []
    highest = _highest(name for name, _ in forms)
    for place in reversed(range(len(matches))):
        match = matches[place]
        if not (match.is_statement or _stands_alone(text, match.end)):
            continue
        span = source.span(match.start, match.end)
        doubt = _doubt_before(text, match)
        if doubt in ("denied", "quoted") or (doubt == "unclear" and not match.is_statement):
            failure = ParseFailure(doubt, DOUBTS[doubt], span)
            denied += [match.meaning] if doubt == "denied" else []
            continue
        if doubt is None and match.meaning in denied:
            doubt = "withdrawn"
        if match.meaning is _UNDECLARED:
            doubt = doubt or "malformed"
        doubt = doubt or _doubt_among(text, matches, place, highest) or withdrawn(text[match.end :])
        if doubt:
            return ParseFailure(doubt, DOUBTS.get(doubt, _OTHER_NUMBER), span)
        before = _other_before(text, matches[:place], match.meaning)
        if contradicted := contradiction(text, before, (match.start, match.end)):
            return replace(contradicted, span=span)
        return FoundForm(match.form, span, answer[slice(*span)])
    return failure


def _other_before(text: str, matches: Sequence[_Match], meaning: object) -> tuple[int, int] | None:
    """Return where an answer asserts a form of another meaning, the last such place."""
    for match in reversed(matches):
        stated = match.is_statement or _stands_alone(text, match.end)
        if match.meaning != meaning and stated and _doubt_before(text, match) is None:
            return match.start, match.end
    return None


def _matches(text: str, forms: Mapping[str, object]) -> list[_Match]:
    names, pattern = _compiled(tuple(forms))
    return [
        _Match(name or found.group(), forms.get(name, _UNDECLARED), found.start(), found.end())
        for found in pattern.finditer(text)
        for name in [names[(found.lastindex or 1) - 1]]
    ]


@lru_cache(maxsize=16)
def _compiled(forms: tuple[str, ...]) -> tuple[tuple[str, ...], re.Pattern[str]]:
    # The longest form first: `Output (a) is better` holds `Output (a)`.
    names = tuple(sorted(forms, key=len, reverse=True))
    written = [*map(_pattern, names), *_undeclared(names)]
    names += ("",) * (len(written) - len(names))
    return names, re.compile("|".join(f"({one})" for one in written), re.IGNORECASE)


def _undeclared(names: Sequence[str]) -> list[str]:
    """Return the patterns of forms that differ from several of these in their number only."""
    around = Counter(
        (name[: number.start()], name[number.end() :])
        for name in names
        for number in _NUMBER.finditer(name)
        if len(_NUMBER.findall(name)) == 1
    )
    return [
        f"{_pattern(before)}{_LAYOUT}{_ANY_NUMBER}{_LAYOUT}{_pattern(after)}"
        for (before, after), times in around.items()
        if times > 1 and before.strip()
    ]


def _pattern(form: str) -> str:
    parts = [token.text for token in tokenize(read_answer(form).text)]
    body = _LAYOUT.join(
        re.escape(part) + (_SAME_NUMBER if part.isdecimal() else "") for part in parts
    )
    start = r"(?<!\w)" if parts and parts[0][0].isalnum() else ""
    start += r"(?<!\d[.,])" if parts and parts[0][0].isdecimal() else ""
    end = r"(?![^\W\d])" if parts and parts[-1][-1].isalnum() else ""
    return f"{start}{body}{end}"


def _stands_alone(text: str, end: int) -> bool:
    return bool(_ENDS.match(text, end) or _REASON.match(text, end))


def _doubt_before(text: str, match: _Match) -> FailureReason | None:
    before = text[: match.start].rstrip("*_ ")
    after = text[match.end :].lstrip("*_ .,")
    inside_line = bool(before[before.rfind("\n") + 1 :].strip("\"' "))
    if inside_line and before.endswith(_QUOTES) and after.startswith(_QUOTES):
        return "quoted"
    return unasserted(text, match.start, strict=match.form[0].isalnum())


def _is_longer(text: str, end: int, highest: str) -> bool:
    """Return whether the number that ends here goes on, other than by the end of its scale."""
    if scale := _OF_HIGHEST.match(text, end):
        return scale[1] != highest
    if _PERCENT.match(text, end):
        return highest != "100"
    return bool(_LONGER_NUMBER.match(text, end))


def _highest(forms: Iterable[str]) -> str:
    """Return the highest number of the declared forms; "" without one."""
    numbers = [number for form in forms for number in _NUMBER.findall(read_answer(form).text)]
    return max(numbers, key=float, default="")


def _doubt_among(
    text: str, matches: Sequence[_Match], place: int, highest: str
) -> FailureReason | None:
    """Return why the text around a form, or another form beside it, leaves it in doubt.

    `highest` is the highest number of the forms.
    """
    match = matches[place]
    if text[match.end - 1].isdigit() and _is_longer(text, match.end, highest):
        return "malformed"
    sentence_end = _SENTENCE_END.search(text, match.end)
    end = sentence_end.start() if sentence_end else len(text)
    for other in matches[place + 1 :]:
        between = text[match.end : other.start].lower()
        if other.start > end or other.meaning == match.meaning:
            continue
        if _LISTED.fullmatch(between):
            return "alternatives"
        if _CONTRAST.search(between):
            return "unclear"
    if place and matches[place - 1].meaning != match.meaning:
        between = text[matches[place - 1].end : match.start].lower()
        return "alternatives" if _LISTED.fullmatch(between) else None
    return None
