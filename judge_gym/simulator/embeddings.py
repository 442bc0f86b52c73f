"""The vector of a text: its words, each in a place and with a sign by its hash."""

import math
import re
from collections import Counter

from judge_gym.seeds import derive_seed

DIMENSIONS = 256
_WORDS = re.compile(r"\b\w\w+\b")


def embedding(text: str) -> list[float]:
    """Return a vector of length 1, near that of a text with the same words; zeros without words.

    A word that is used n times weighs 1 + ln n.
    """
    vector = [0.0] * DIMENSIONS
    for word, count in Counter(_WORDS.findall(text.lower())).items():
        number = derive_seed("embedding", word)
        sign = 1 if number // DIMENSIONS % 2 else -1
        vector[number % DIMENSIONS] += sign * (1 + math.log(count))
    length = math.hypot(*vector)
    return [round(one / length, 6) for one in vector] if length else vector
