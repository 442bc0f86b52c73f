"""Normalises and tokenises model answers, and finds their closing lines.

Full-width letters, digits of any script, typographic quotes and invisible characters become plain
text. Every character keeps its offset in the original answer, so that a verdict can be highlighted
there. `verdict` and `probability` interpret a closing line.

All searches are single passes over tokens, so their time is linear for any answer.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Literal

READ_LIMIT = 20_000
"""Characters of an answer that are read, from its end, where the closing line is."""

FailureReason = Literal[
    "empty",  # nothing but white space and invisible characters
    "too_long",  # longer than an answer of this kind may be
    "no_verdict",  # no closing line, or one that names no label
    "echo",  # only the placeholder of the prompt, such as [A/B/C/D]
    "quoted",  # only what stands in the evidence, may be its wording, or is attributed to it
    "denied",  # "I refuse to say VERDICT: D"
    "alternatives",  # "VERDICT: A or VERDICT: B"
    "withdrawn",  # taken back after it was given
    "contradicted",  # "Rating: [[7]]. It narrowly missed [[8]]", or scores of two things
    "unclear",  # inside a sentence that may not assert it
    "not_offered",  # a label, or ABSTAIN, that the prompt did not offer
    "several_letters",  # more than one label where one was asked for
    "conflict",  # ABSTAIN together with a label
    "range",  # A-C
    "malformed",  # a label or a number with something that may change its meaning
    "no_json",  # no JSON object
    "malformed_json",  # an object that is cut off, beyond repair, or inside an array
    "no_number",  # nothing on the closing line, or no such line and more than a number
    "out_of_range",  # a number outside [0, 1]
]


@dataclass(frozen=True)
class ParseFailure:
    """Why an answer is unreadable; `span` holds offsets in the original answer, if any apply."""

    reason: FailureReason
    detail: str
    span: tuple[int, int] | None = None


@dataclass(frozen=True)
class AnswerText:
    """The normalised end of an answer, with the original offsets of each character."""

    text: str
    offsets: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the original answer of a non-empty slice [start, end)."""
        return self.offsets[start], self.offsets[end - 1] + 1


@dataclass(frozen=True)
class Token:
    """A word (with its inner apostrophes and hyphens) or one other character."""

    text: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        return self.text[0].isalnum()


@dataclass(frozen=True)
class ClosingLine:
    """A `KEYWORD: value` line. A heading has no colon; its value is the next line with words."""

    keyword: Token
    value: tuple[Token, ...]
    is_heading: bool
    starts_line: bool
    """Whether only a number or a lead-in precedes it on its line."""


MARKUP = frozenset("*_#>`\"'~\\$")
OPENERS = frozenset("([{<")
CLOSERS = frozenset(")]}>")

_PLAIN = {
    **dict.fromkeys("“”„‟«»‹›〝〞〟″", '"'),
    **dict.fromkeys("‘’‚‛′", "'"),
    **dict.fromkeys("‐‑−", "-"),
    **dict.fromkeys("⁄∕", "/"),
    **dict.fromkeys("【「『〔〈《", "["),
    **dict.fromkeys("】」』〕〉》", "]"),
    **dict.fromkeys("∶꞉", ":"),
    **dict.fromkeys("→⇒➔➜", "="),
    "、": ",",
    "。": ".",
    "٫": ".",
    "٬": ",",
}
_PLAIN_TEXT = re.compile(r"[\n\t -~]*")
"""Text that normalisation does not change."""
_LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_INVISIBLE_MARKS = frozenset("\u034f\ufe00\ufe01\ufe0e\ufe0f")
# NFKC would turn 1½ into 11/2 and a footnote mark after 0.3 into another digit.
_MEANINGFUL_FORMS = ("<super>", "<sub>", "<fraction>")
_TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|\n|\S")
_LEAD_INS = frozenset({"my", "the", "final", "overall", "so", "thus", "therefore", "hence"})
_QUOTES = frozenset("\"'`")
_SENTENCE_ENDS = frozenset(".!?;")
_THOUGHT = re.compile(r"\s*<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL)
_END_OF_THOUGHT = re.compile(r"\A(.*)^[ \t]*</think(?:ing)?>[ \t]*$", re.DOTALL | re.MULTILINE)
"""Of an answer whose beginning tag is in the prompt: the end on a line of its own."""

_END_OF_TURN = re.compile(
    # Of what speaks of such a token, in quotes or in a sentence, nothing ends.
    r"(?<=[^\s\"'`])\s*"
    r"(?:<\|(?:im_end|eot_id|eom_id|end_of_text|end_of_turn|endoftext|return)\|>|<end_of_turn>"
    # Another message of the same turn may follow, as the answer does the analysis.
    r"|<\|end\|>(?!\s*<\|start\|>assistant)|</s>)"
    r"(?=\s*(?:\Z|\n|<|\[))"
)
"""The token with which a model's turn ends, where a server left it in the text."""


@lru_cache(maxsize=4096)
def _normal_form(character: str) -> str:
    if character in _LINE_BREAKS:
        return "\n"
    category = unicodedata.category(character)
    if category == "Cf" or character in _INVISIBLE_MARKS:
        return ""
    if unicodedata.decomposition(character).startswith(_MEANINGFUL_FORMS):
        return character
    if category == "Nd":
        return str(unicodedata.decimal(character))
    return "".join(_plain(c) for c in unicodedata.normalize("NFKC", character))


def _plain(character: str) -> str:
    if character in _PLAIN:
        return _PLAIN[character]
    category = unicodedata.category(character)
    if category == "Pd" and character != "-":
        return "—"
    # Ticks and coloured squares decorate a verdict and do not change it.
    return "*" if category == "So" else character


def thinking(answer: str) -> tuple[str, int]:
    """Return what a model thought in tags at the beginning of its answer, and where that ends.

    Thinking without an end is all of the answer.
    """
    found = _THOUGHT.match(answer)
    if found is None and "</think" in answer:
        found = _END_OF_THOUGHT.match(answer)
    return (found[1], found.end()) if found else ("", 0)


def own_turn(answer: str) -> slice:
    """Return where the answer itself stands: after its thinking, before the end of its turn.

    What follows an end of turn was made up for others. Empty where there is thinking alone.
    """
    start = thinking(answer)[1]
    end = _END_OF_TURN.search(answer, start) if "<" in answer[start:] else None
    if end is None or (end[0].endswith("</s>") and "<s>" in answer):
        return slice(start, len(answer))
    return slice(start, end.start())


def read_answer(answer: str, limit: int = READ_LIMIT) -> AnswerText:
    """Normalise the last `limit` characters of an answer; offsets index the whole answer."""
    offset = max(0, len(answer) - limit)
    if _PLAIN_TEXT.fullmatch(answer, offset):
        return AnswerText(answer[offset:], range(offset, len(answer)))
    characters: list[str] = []
    offsets: list[int] = []
    for index, character in enumerate(answer[offset:], start=offset):
        for plain in _normal_form(character):
            characters.append(plain)
            offsets.append(index)
    return AnswerText("".join(characters), offsets)


def tokenize(text: str) -> list[Token]:
    """Return words and other visible characters of normalised text; line breaks are tokens."""
    return [Token(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text)]


def has_words(tokens: Sequence[Token]) -> bool:
    return any(token.is_word for token in tokens)


def closing_lines(text: str, keyword: str) -> Iterator[ClosingLine]:
    """Yield the closing lines of normalised text that start with `keyword`, the last one first."""
    following: list[Token] = []
    for line in reversed(_lines(text)):
        yield from _closing_lines_in(line, following, keyword)
        if has_words(line):
            following = line


def _lines(text: str) -> list[list[Token]]:
    lines: list[list[Token]] = [[]]
    for token in tokenize(text):
        if token.text == "\n":
            lines.append([])
        else:
            lines[-1].append(token)
    return lines


def _closing_lines_in(
    line: list[Token], following: list[Token], keyword: str
) -> Iterator[ClosingLine]:
    lead_in = _lead_in_length(line)
    # French marks stand apart from the words that they quote.
    quoted = _inside_quotation_marks(line)
    end = len(line)
    for index in reversed(range(len(line))):
        if line[index].text.upper() != keyword:
            continue
        starts_line = index <= lead_in
        if not starts_line and (quoted[index] or not _starts_statement(line, index, keyword)):
            continue
        value_start = _after_separator(line, index, end)
        if value_start is not None:
            value = line[value_start:end]
            if end == len(line) and not has_words(value):
                value = value + following
            yield ClosingLine(line[index], tuple(value), False, starts_line)
            end = index
        elif starts_line and end == len(line) and not has_words(line[index + 1 :]):
            yield ClosingLine(line[index], tuple(following), True, starts_line)


def _lead_in_length(line: list[Token]) -> int:
    """Return the index of the first word other than numbers and lead-ins such as "My final"."""
    for index, token in enumerate(line):
        if token.is_word and not (token.text.isdigit() or token.text.lower() in _LEAD_INS):
            return index
    return len(line)


def _starts_statement(line: list[Token], index: int, keyword: str) -> bool:
    """Return whether a keyword inside a line starts a statement of the writer.

    In a quotation (`the page says "VERDICT: D"`) it does not.
    """
    before = index - 1
    while before >= 0 and line[before].text in "*_":
        before -= 1
    previous = line[before]
    if previous.text in _QUOTES and previous.end == line[before + 1].start:
        return False
    return line[index].text == keyword or previous.text in _SENTENCE_ENDS


def _inside_quotation_marks(line: list[Token]) -> list[bool]:
    """Return which tokens of a line stand between two quotation marks, the first of them open."""
    last = max((index for index, token in enumerate(line) if token.text == '"'), default=-1)
    before = accumulate((token.text == '"' for token in line), initial=0)
    return [count % 2 == 1 and index <= last for index, count in enumerate(before)]


def _after_separator(line: list[Token], index: int, end: int) -> int | None:
    """Return the index after the colon, equals sign or free-standing dash after the keyword."""
    position = index + 1
    while position < end and (line[position].text in MARKUP or line[position].text in CLOSERS):
        position += 1
    if position == end:
        return None
    separator = line[position]
    if separator.text in ":=":
        return position + 1
    # The dash of "PROBABILITY -0.3" is a sign, not a separator.
    free = (
        position + 1 == end
        or line[position + 1].start > separator.end
        or line[position + 1].text == ">"
    )
    return position + 1 if separator.text in "-—" and free else None
