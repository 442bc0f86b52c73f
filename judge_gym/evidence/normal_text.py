"""Text in the form that judge-gym stores: normalised, without invisible characters.

A document can hide instructions in characters that readers do not see. They are removed here,
before a text is used in any way. Visible characters stay.
"""

import re
import unicodedata

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_UNSEEN_CATEGORIES = ("Cc", "Cf", "Cs")
# Fillers, variation selectors and joiners that render as nothing but are not controls.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff]"
)
_PLAIN = re.compile(r"[!-~]+(?: [!-~]+)*")
"""Words of ASCII on one line, which most names and labels are: normal as they are."""
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n{3,}")


def normal_text(text: str) -> str:
    """Return `text` in NFC without unseen characters, with plain spaces and line ends.

    Runs of spaces become one, of blank lines one. Applying it twice changes nothing.
    """
    if _PLAIN.fullmatch(text):
        return text
    lines = _LINE_ENDS.sub("\n", text)
    # Each character is looked up once, however long the text.
    unseen = {ord(character): None for character in set(lines) if _is_unseen(character)}
    composed = unicodedata.normalize("NFC", lines.translate(unseen))
    spaced = "\n".join(_SPACES.sub(" ", line).strip() for line in composed.split("\n"))
    return _BLANK_LINES.sub("\n\n", spaced).strip()


def normal_line(text: str, limit: int) -> str:
    """Return `text` normalised onto one line of at most `limit` characters."""
    return " ".join(normal_text(text).split())[:limit].rstrip()


def cut_text(text: str, limit: int) -> str:
    """Return normalised `text` cut to at most `limit` characters.

    Ends after a sentence when one ends in the last fifth, else after a word, else at the limit.
    """
    if len(text) <= limit:
        return text
    head, earliest = text[:limit], limit - limit // 5
    # One character more is looked at, so that a sentence or word ending at the limit is whole.
    for pattern in (r"[.!?。！？][\"'”’)\]]*(?=\s)", r"\S(?=\s)"):
        ends = [m.end() for m in re.finditer(pattern, text[earliest : limit + 1])]
        if ends:
            return text[: earliest + ends[-1]]
    return head


def _is_unseen(character: str) -> bool:
    if character in "\n\t":
        return False
    category = unicodedata.category(character)
    return category in _UNSEEN_CATEGORIES or bool(_UNSEEN.match(character))
