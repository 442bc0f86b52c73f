"""The order of a rubric's stages, inferred from the words of their labels and criteria.

Letters and display order are never read, except that stages no word tells apart keep the order
in which they are listed.
"""

import re
from functools import lru_cache
from statistics import fmean

from judge_gym.design.rubric import is_midpoint
from judge_gym.planted.lexicon import amount_matcher, polarity_matcher

_NOT = re.compile(r"\b(?:not|never|isn't|aren't|neither)\b(?:\s+\w+){0,1}\s*$")
_UNSAID = 0.55
_LABEL_WEIGHT = 0.75

Listed = tuple[str, tuple[str, ...]]
"""A stage as displayed: label and criteria."""


@lru_cache(maxsize=4096)
def order_stages(stages: tuple[Listed, ...], valence: int) -> tuple[int, ...]:
    """Return indices into `stages`, from the weakest signal to the strongest.

    `valence` is the concept's: it decides whether "severe violations" means much of it or little.
    """
    strengths = [_strength(label, criteria, valence) for label, criteria in stages]
    order = sorted(range(len(stages)), key=lambda index: strengths[index])
    middle = [index for index in order if is_midpoint(stages[index][0])]
    if len(middle) == 1 and len(stages) % 2:
        order.remove(middle[0])
        order.insert(len(stages) // 2, middle[0])
    return tuple(order)


@lru_cache(maxsize=4096)
def _strength(label: str, criteria: tuple[str, ...], valence: int) -> float:
    from_label = _amount(label, valence)
    from_criteria = [amount for text in criteria if (amount := _amount(text, valence)) is not None]
    if from_label is None:
        return fmean(from_criteria) if from_criteria else _UNSAID
    if not from_criteria:
        return from_label
    return _LABEL_WEIGHT * from_label + (1 - _LABEL_WEIGHT) * fmean(from_criteria)


def _amount(text: str, valence: int) -> float | None:
    """How much of the concept a text says, in [0, 1]; None when no word says."""
    lower = text.lower()
    said = []
    for match, amount in amount_matcher().find(lower):
        negated = _NOT.search(lower, max(0, match.start() - 24), match.start())
        said.append(1 - amount if negated else amount)
    direction = sum(weight for _, weight in polarity_matcher().find(lower)) * (valence or -1)
    if not said:
        return None if direction == 0 else (0.75 if direction > 0 else 0.25)
    amount = 0.0 if 0.0 in said else fmean(said)
    return 1 - amount if direction < 0 else amount
