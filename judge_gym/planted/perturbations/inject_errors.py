"""Facts become wrong: other numbers, names exchanged for each other, words for their opposites."""

import random
import re

from judge_gym.planted.editing import Change, Edit, Expectation, swaps
from judge_gym.planted.mentions import NUMBER_WORDS, names, numbers
from judge_gym.planted.sentences import sentences

EXPECTATION = Expectation.DROP
NEEDS = "number, pair of names or word with an opposite"

_PAIRS = (
    "increase decrease", "increases decreases", "increased decreased", "increasing decreasing",
    "rise fall", "rises falls", "rose fell", "rising falling", "more fewer", "higher lower",
    "highest lowest", "largest smallest", "larger smaller", "longer shorter", "faster slower",
    "before after", "always never", "all none", "first last", "best worst", "better worse",
    "win lose", "won lost", "accept reject", "accepted rejected", "allow forbid", "open closed",
    "allowed forbidden", "north south", "east west", "northern southern", "eastern western",
    "true false", "correct incorrect", "possible impossible", "legal illegal", "with without",
    "success failure", "gain loss", "strong weak", "hot cold", "buy sell", "bought sold",
    "supports opposes", "supported opposed", "above below", "minimum maximum", "old new",
)  # fmt: skip
_OPPOSITE = {
    a: b for pair in map(str.split, _PAIRS) for a, b in (tuple(pair), tuple(reversed(pair)))
}
_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(_OPPOSITE)})(?![\w-])", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9][0-9,.]*")
_YEAR = re.compile(r"1[5-9][0-9]{2}|20[0-9]{2}")


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return an error for each number, each two different names, and each word of a pair."""
    wrong: list[Change] = [
        (Edit(first, last, _other_number(text[first:last], rng)),) for first, last in numbers(text)
    ]
    words = [match for one in sentences(text) for match in _WORD.finditer(text, one.start, one.end)]
    wrong += [(Edit(*match.span(), _opposite(match.group())),) for match in words]
    return wrong + swaps(text, names(text), rng)


def _other_number(number: str, rng: random.Random) -> str:
    """Return a number of the same form and another value, near enough to be believed."""
    if number.casefold() in NUMBER_WORDS:
        others = [word for word in NUMBER_WORDS if word != number.casefold()]
        near = sorted(others, key=lambda word: abs(_place(word) - _place(number.casefold())))
        return _as_written(number, rng.choice(near[:4]))
    return _DIGITS.sub(lambda match: _other_digits(match.group(), rng), number, count=1)


def _other_digits(written: str, rng: random.Random) -> str:
    if _YEAR.fullmatch(written):
        return str(int(written) - rng.randint(2, 15))
    # A comma before three digits parts thousands, any other is a decimal one.
    plain = re.sub(r",(?=[0-9]{3}(?![0-9]))", "", written)
    comma, decimal = "," in plain, plain.replace(",", ".")
    places = len(decimal.partition(".")[2])
    value = float(decimal)
    changed = value * rng.choice((0.4, 0.55, 0.7, 1.4, 1.7, 2.3))
    if round(changed, places) == round(value, places):
        changed = value + 10**-places
    form = f"{changed:,.{places}f}" if plain != written else f"{changed:.{places}f}"
    return form.replace(".", ",") if comma else form


def _opposite(word: str) -> str:
    return _as_written(word, _OPPOSITE[word.casefold()])


def _as_written(word: str, other: str) -> str:
    return other.capitalize() if word[0].isupper() else other


def _place(word: str) -> int:
    return NUMBER_WORDS.index(word)
