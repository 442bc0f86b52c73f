"""What a claim rests on is taken out: sentences with figures, quotations, sources or examples."""

import random
import re

from judge_gym.planted.editing import Change, Expectation, removals
from judge_gym.planted.mentions import numbers
from judge_gym.planted.sentences import Sentence, quotes, sentences

EXPECTATION = Expectation.DROP
NEEDS = "sentence beside another that gives a figure, a quotation, a source or an example"

_SUPPORT = re.compile(
    r"\b(?:according to|for example|for instance|e\.g\.|such as|as shown|shows? that|"
    r"(?:study|studies|survey|report|data|evidence|experiments?|measurements?|source|records?)\b)"
    r"|https?://|\[\d{1,3}\]|\([^()\n]{0,60}\b(?:1[89]|20)\d\d[a-z]?\)",
    re.IGNORECASE,
)


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return the removal of each such sentence; one sentence of the text always stays."""
    spans = [*numbers(text), *quotes(text)]
    return removals(text, [one for one in sentences(text) if _supports(text, one, spans)])


def _supports(text: str, one: Sentence, spans: list[tuple[int, int]]) -> bool:
    holds = any(one.start <= first and last <= one.end for first, last in spans)
    return not one.heading and (holds or bool(_SUPPORT.search(text, one.start, one.end)))
