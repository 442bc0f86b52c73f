"""Reads the text after `VERDICT:`: tokens → labels, an abstention, or the reason for neither.

A label counts only as a whole token, and nothing after it may change its meaning. A remark needs
punctuation before it ("B (moderate)", "B - Recurring pattern") and may not name another label.
`verdict` locates the value in the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from judge_gym.answers.text import CLOSERS, MARKUP, OPENERS, FailureReason, Token, has_words


@dataclass(frozen=True)
class Grammar:
    """What the prompt offered: labels, whether an answer may name several, and ABSTAIN."""

    labels: tuple[str, ...]
    subset: bool
    abstain: bool

    def __post_init__(self) -> None:
        single = all(len(label) == 1 and "A" <= label <= "Z" for label in self.labels)
        if not self.labels or not single or len(set(self.labels)) != len(self.labels):
            raise ValueError(f"labels must be distinct capital letters A-Z, not {self.labels!r}")


@dataclass(frozen=True)
class ParsedValue:
    """Letters in label order (none: abstained), and the offset of their end in normalised text."""

    letters: tuple[str, ...]
    end: int


class UnreadableValue(Exception):
    """The value is not a verdict of the grammar; callers return it as a `ParseFailure`."""

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(detail)
        self.reason: FailureReason = reason
        self.detail = detail


_ABSTENTIONS = frozenset({"abstain", "abstained", "abstains", "abstaining", "abstention"})
_NOUNS = frozenset(
    {"stage", "stages", "option", "options", "label", "labels", "letter", "letters", "both"}
)
_PLACEHOLDERS = frozenset(
    {"letter", "letters", "label", "labels", "one", "your", "choice", "answer", "verdict", "insert"}
)
_CONNECTIVES = frozenset({"and", "or", "to", "through"})
_LIST_SIGNS = frozenset(",;/&|")
_LIST_JOINERS = _LIST_SIGNS | {"and", "or"}
_RANGE_JOINERS = frozenset({"-", "—", "~", "to", "through"})
_TRAILING_SIGNS = frozenset(",;|")
_REMARK_OPENERS = frozenset("-—:.,;!=|") | OPENERS
_BEFORE_LABEL = MARKUP | OPENERS | _NOUNS | frozenset("-—:=")
_BETWEEN_LABELS = _BEFORE_LABEL | _LIST_SIGNS | frozenset({"and", "."})
_AFTER_LABEL = (MARKUP | CLOSERS) - {"~"}


def read_value(tokens: Sequence[Token], grammar: Grammar) -> ParsedValue:
    """Read the tokens after `VERDICT:`; raises `UnreadableValue`."""
    if _is_placeholder(tokens, grammar):
        raise UnreadableValue("echo", "only the placeholder of the prompt")
    if any(a.text == "<" and b.text == "/" for a, b in pairwise(tokens)):
        # In <b>C</b> the tag would read as one more label.
        raise UnreadableValue("malformed", "a markup tag around the label")
    first = _first_word(tokens)
    if first == len(tokens):
        raise UnreadableValue("no_verdict", "nothing follows VERDICT")
    if _is_abstention(tokens, first):
        return _read_abstention(tokens, first, grammar)
    if not _is_lone_letter(tokens, first):
        raise _no_letter(tokens, first, grammar)
    return _read_letters(tokens, first, grammar)


def _first_word(tokens: Sequence[Token]) -> int:
    """Return the index of the label: after markup, LaTeX commands and words such as "Stage"."""
    # A brace may close around the keyword: \text{VERDICT: } \boxed{B}.
    index = next((i for i, token in enumerate(tokens) if token.text not in CLOSERS), len(tokens))
    while index < len(tokens):
        is_command = index > 0 and tokens[index - 1].text == "\\" and len(tokens[index].text) > 1
        if not (is_command or tokens[index].text.lower() in _BEFORE_LABEL):
            break
        index += 1
    return index


def _read_abstention(tokens: Sequence[Token], index: int, grammar: Grammar) -> ParsedValue:
    if not grammar.abstain:
        raise UnreadableValue("not_offered", "ABSTAIN was not offered")
    if tokens[index].text.lower() not in _ABSTENTIONS:
        index += 1  # the I of "I abstain"
    after = _skip(tokens, index + 1, _AFTER_LABEL)
    follows_directly = after < len(tokens) and tokens[after].is_word
    while after < len(tokens) and not tokens[after].is_word:
        after += 1
    if after < len(tokens):
        if tokens[after].text.lower() in _CONNECTIVES or _is_lone_letter(tokens, after):
            raise UnreadableValue("conflict", "ABSTAIN together with something else")
        if follows_directly:
            raise UnreadableValue("malformed", f"{tokens[after].text!r} after ABSTAIN")
    return ParsedValue((), tokens[index].end)


def _read_letters(tokens: Sequence[Token], index: int, grammar: Grammar) -> ParsedValue:
    last = index
    letters = {tokens[index].text.upper()}
    index = _skip(tokens, index + 1, _AFTER_LABEL)
    while index < len(tokens):
        following = _next_letter(tokens, index, grammar)
        if following is not None:
            letters.add(tokens[following].text.upper())
            last = index = following
        else:
            remark_end = _remark_end(tokens, index, letters, grammar)
            if remark_end is None:
                _check_remark(tokens[index:], letters, grammar)
                break
            index = remark_end
        index = _skip(tokens, index + 1, _AFTER_LABEL)
    return ParsedValue(_offered(letters, grammar), tokens[last].end)


def _next_letter(tokens: Sequence[Token], index: int, grammar: Grammar) -> int | None:
    """Return the index of the next listed label if the tokens at `index` lead to one."""
    if _is_lone_letter(tokens, index):
        return index
    joiner = tokens[index].text.lower()
    after = _skip(tokens, index + 1, _BETWEEN_LABELS)
    if after == len(tokens):
        return None
    if _is_abstention(tokens, after) and joiner in _LIST_JOINERS:
        raise UnreadableValue("conflict", "a label together with ABSTAIN")
    if not _is_lone_letter(tokens, after):
        return None
    dots = joiner == "." and tokens[index + 1].text == "."
    if joiner in _RANGE_JOINERS or dots:
        raise UnreadableValue("range", "a range of labels")
    if joiner == "or" and grammar.subset:
        raise UnreadableValue("malformed", "'or' between labels does not say which are meant")
    in_brackets = joiner in OPENERS and after + 1 < len(tokens) and tokens[after + 1].text in ")]}>"
    return after if joiner in _LIST_JOINERS or in_brackets else None


def _remark_end(
    tokens: Sequence[Token], index: int, letters: set[str], grammar: Grammar
) -> int | None:
    """Return the index of the parenthesis that closes a remark without another label."""
    if tokens[index].text != "(":
        return None
    for end in range(index + 1, len(tokens)):
        if tokens[end].text == ")":
            remark = tokens[index + 1 : end]
            return None if _names_more(remark, letters, grammar) else end
    return None


def _check_remark(remark: Sequence[Token], letters: set[str], grammar: Grammar) -> None:
    sign = remark[0].text
    if sign in _TRAILING_SIGNS and not has_words(remark):
        return
    if sign not in _REMARK_OPENERS or (grammar.subset and sign in _LIST_SIGNS):
        raise UnreadableValue("malformed", f"{sign!r} after the label")
    if _names_more(remark, letters, grammar):
        reason: FailureReason = "malformed" if grammar.subset else "several_letters"
        raise UnreadableValue(reason, "the remark after the label names or hints at another")


def _names_more(remark: Sequence[Token], letters: set[str], grammar: Grammar) -> bool:
    words = [token.text.lower() for token in remark if token.is_word]
    if any(a == "not" and b.upper() in letters for a, b in pairwise(words)):
        return True
    goes_on = bool(words) and words[0] in _CONNECTIVES
    return goes_on or bool(_mentions(remark, grammar) - letters)


def _mentions(tokens: Sequence[Token], grammar: Grammar) -> set[str]:
    """Return the offered labels (and ABSTAIN) in prose; the words "A" and "I" are not labels."""
    labels: set[str] = set()
    for index, token in enumerate(tokens):
        if token.text in grammar.labels:
            is_english_word = token.text in "AI" and not _is_lone_letter(tokens, index)
            if not is_english_word and not _is_initial(tokens, index):
                labels.add(token.text)
        elif _is_hyphen_range(token):
            labels.update(token.text[::2])
        elif token.text == "ABSTAIN":
            labels.add(token.text)
    return labels


def _no_letter(tokens: Sequence[Token], first: int, grammar: Grammar) -> UnreadableValue:
    word = tokens[first].text
    if _is_hyphen_range(tokens[first]):
        return UnreadableValue("range", f"the range {word}")
    if len(_mentions(tokens, grammar)) > 1:
        if word.lower() in {"between", "from"}:
            return UnreadableValue("range", "a range of labels")
        reason: FailureReason = "malformed" if grammar.subset else "several_letters"
        return UnreadableValue(reason, "prose that names several labels")
    if len(word) == 1 and word.isalpha():
        return UnreadableValue("malformed", f"{word!r} runs on into other text")
    expected = "one of the labels offered is expected"
    return UnreadableValue("no_verdict", f"{word[:40]!r} stands where {expected}")


def _offered(letters: set[str], grammar: Grammar) -> tuple[str, ...]:
    if len(letters) > 1 and not grammar.subset:
        raise UnreadableValue("several_letters", f"one label was asked for, not {sorted(letters)}")
    unknown = sorted(letters.difference(grammar.labels))
    if unknown:
        raise UnreadableValue("not_offered", f"{unknown} not among {list(grammar.labels)}")
    return tuple(label for label in grammar.labels if label in letters)


def _is_placeholder(tokens: Sequence[Token], grammar: Grammar) -> bool:
    """Return whether the value repeats a placeholder: `<one letter of A, B>`, `[A/B/C/D]`."""
    words = [token.text.lower() for token in tokens if token.is_word]
    named = _mentions(tokens, grammar).intersection(grammar.labels)
    if len(named) != 1 and {"letter", "letters"}.intersection(words[:4]):
        return True
    opener = next((token.text for token in tokens if token.text not in MARKUP), "")
    if opener not in OPENERS or not _closes_around_all(tokens):
        return False
    if len(named) != 1 and _PLACEHOLDERS.intersection(words):
        return True
    # Where several labels may be named, {A, B} can also be the set of all of them.
    set_notation = grammar.subset and opener != "<" and not any(t.text in "/|" for t in tokens)
    return named == set(grammar.labels) and len(named) > 1 and not set_notation


def _closes_around_all(tokens: Sequence[Token]) -> bool:
    for index, token in enumerate(tokens):
        if token.text in CLOSERS - MARKUP or (token.text == ">" and index > 1):
            rest = (t.text.lower() for t in tokens[index:] if t.is_word)
            return all(word == "or" or word in _ABSTENTIONS for word in rest)
    return False


def _is_lone_letter(tokens: Sequence[Token], index: int) -> bool:
    """Return whether this is a single letter: no initial, and no word before another ("A coup")."""
    text = tokens[index].text
    if not (len(text) == 1 and text.isascii() and text.isalpha()) or _is_initial(tokens, index):
        return False
    if index + 1 == len(tokens) or not tokens[index + 1].is_word:
        return True
    following = tokens[index + 1].text
    return len(following) == 1 or following.lower() in _CONNECTIVES


def _is_initial(tokens: Sequence[Token], index: int) -> bool:
    """Return whether this is part of a dotted abbreviation such as A.I. or D.C."""
    return _is_dotted(tokens[index : index + 3]) or (
        index >= 2 and _is_dotted(tokens[index - 2 : index + 1])
    )


def _is_dotted(three: Sequence[Token]) -> bool:
    return (
        len(three) == 3
        and three[0].is_word
        and three[1].text == "."
        and three[2].is_word
        and three[0].end == three[1].start
        and three[1].end == three[2].start
    )


def _is_hyphen_range(token: Token) -> bool:
    text = token.text
    return len(text) == 3 and text[1] == "-" and text[0].isalpha() and text[2].isalpha()


def _is_abstention(tokens: Sequence[Token], index: int) -> bool:
    if tokens[index].text.lower() in _ABSTENTIONS:
        return True
    says_i = tokens[index].text == "I" and index + 1 < len(tokens)
    return says_i and tokens[index + 1].text.lower() in _ABSTENTIONS


def _skip(tokens: Sequence[Token], index: int, texts: frozenset[str]) -> int:
    while index < len(tokens) and tokens[index].text.lower() in texts:
        index += 1
    return index
