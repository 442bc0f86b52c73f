"""Whether a text is an article: not binary data, and no page that stands where one was expected.

Pure. A page is known by its sentences, not by single words: an article about cookies is kept,
since most of its words are in sentences that no consent page has.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

PlausibilityReason = Literal["binary", "not_article", "only_beginning"]

_LEAST_OF_NOISE = 0.05
"""Share of characters that no text has, from which on it is binary; some pages have a few."""
_LEAST_OF_WORDS = 0.4
"""Share of letters, digits and marks among the characters that are no spaces."""
_MAGIC = (
    "%PDF-",
    "PK\x03\x04",
    "\x89PNG",
    "GIF87a",
    "GIF89a",
    "\x1f\x8b",
    "\x7fELF",
    "\xff\xd8\xff",
)
_PDF = re.compile(r"\bendobj\b|\bendstream\b|\bstartxref\b|\b\d+ 0 obj\b")
_CODED = re.compile(r"[A-Za-z0-9+/=_-]{300,}")
_LARGEST_HEAD = 200_000
"""Characters that are looked at."""
_MOSTLY, _PARTLY = 0.5, 0.3
"""Share of words in the sentences of such a page, at which a text, and a text with few other words,
is one. Sentences that repeat count once."""
_FEW_WORDS = 60
_SHORT_WORDS = 250
"""Words of a text that ends at a subscription: longer ones may be whole."""
_QUOTES = "\"'“”„«‘‚「"
_TAG = re.compile(r"<[^<>]{1,400}>")
_MARKS = re.compile(
    r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,2000}\)|[*_#>|`~]+|^[\s\-=•+\d.]+", re.MULTILINE
)
_SENTENCE = re.compile(r"\n+|(?<=[.!?。！？])\s+|(?<=[。！？])")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+")


@dataclass(frozen=True)
class TextFault:
    """Why a text is no article, or not a whole one."""

    reason: PlausibilityReason
    detail: str


def fault_of(text: str) -> TextFault | None:
    """Return why a text, as its source gave it, is no article; None for one that may be."""
    head = text[:_LARGEST_HEAD]
    if binary := _binary(head):
        return TextFault("binary", binary)
    return _page(head)


def _binary(text: str) -> str:
    """Return what shows that a text is binary data, or ""."""
    start = text.lstrip("\ufeff \t\r\n")
    if (magic := next((one for one in _MAGIC if start.startswith(one)), None)) is not None:
        return f"it begins like a file of bytes ({magic.encode('unicode_escape').decode()})"
    seen = [character for character in text if not character.isspace()]
    if not seen:
        return ""
    kinds = Counter(map(_kind, seen))
    if kinds["noise"] >= _LEAST_OF_NOISE * len(seen):
        return f"{kinds['noise'] / len(seen):.0%} of its characters are no text"
    if len(_PDF.findall(text)) >= 3:
        return "it has the marks of a PDF file"
    if sum(map(len, _CODED.findall(text))) >= len(seen) / 2:
        return "most of it is one long code without spaces"
    if kinds["word"] < _LEAST_OF_WORDS * len(seen):
        return f"only {kinds['word'] / len(seen):.0%} of its characters are letters or digits"
    return ""


def _kind(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] in "LNM":
        return "word"
    # Controls, halves of surrogate pairs, private and unassigned characters.
    return "noise" if category in ("Cc", "Cs", "Co", "Cn") or character == "\ufffd" else "other"


def _page(text: str) -> TextFault | None:
    """Return what kind of page the sentences of a text are from, if of one."""
    sentences = list(dict.fromkeys(_sentences(text)))
    words = {sentence: len(_WORD.findall(sentence)) for sentence in sentences}
    total = sum(words.values())
    kinds: Counter[str] = Counter()
    for sentence in sentences:
        if kind := _kind_of_sentence(sentence):
            kinds[kind] += words[sentence]
    matched = kinds.total()
    if not matched:
        return None
    [(kind, _)] = kinds.most_common(1)
    share = matched / total
    if share >= _MOSTLY or (share >= _PARTLY and total - matched < _FEW_WORDS):
        of_it = f"{matched} of {total} words (repeats aside) are of {_kinds()[kind][0]}"
        return TextFault("not_article", of_it)
    if total < _SHORT_WORDS and any(map(_breaks_off().search, sentences[-8:])):
        return TextFault("only_beginning", f"its {total} words end at {_kinds()['wall'][0]}")
    return None


def _sentences(text: str) -> Iterable[str]:
    plain = _MARKS.sub(lambda match: match[1] or " ", _TAG.sub("\n", text))
    for sentence in _SENTENCE.split(plain):
        if stripped := " ".join(sentence.replace("\u2019", "'").split()):
            yield stripped[:1000]


def _kind_of_sentence(sentence: str) -> str:
    if sentence[0] in _QUOTES:  # reported speech
        return ""
    return next((kind for kind, (_, form) in _kinds().items() if form.search(sentence)), "")


@cache
def _listed() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


@cache
def _kinds() -> dict[str, tuple[str, re.Pattern[str]]]:
    """Return kind → its name and a pattern of its sentences."""
    return {kind: (given["name"], _any_of(given["sentences"])) for kind, given in _listed().items()}


@cache
def _breaks_off() -> re.Pattern[str]:
    return _any_of(_listed()["wall"]["ends"])


def _any_of(forms: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(forms), re.IGNORECASE)
