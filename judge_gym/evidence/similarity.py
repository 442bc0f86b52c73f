"""How alike documents are: the cosine of their TF-IDF vectors, or of their embeddings."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

_WORDS = re.compile(r"\b\w\w+\b")


def text_similarity(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the cosine of the TF-IDF vectors of every two texts, in [0, 1]; 0 without words.

    As scikit-learn's `TfidfVectorizer(sublinear_tf=True)`, which each analysis would wait for: it
    imports pandas and scipy.stats. Words of two and more characters in lower case, weighted by
    (1 + ln tf) (1 + ln((1 + n) / (1 + df))). Takes the memory of the n x n result.
    """
    number = len(texts)
    uses: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, text in enumerate(texts):
        for word, count in Counter(_WORDS.findall(text.lower())).items():
            uses[word].append((place, 1 + log(count)))
    products = np.zeros((number, number))
    for used in uses.values():
        places, weights = map(np.array, zip(*used, strict=True))
        weights *= 1 + log((1 + number) / (1 + len(used)))
        products[np.ix_(places, places)] += np.outer(weights, weights)
    lengths = np.sqrt(np.diagonal(products))
    lengths[lengths == 0] = 1
    return np.asarray(np.clip(products / np.outer(lengths, lengths), 0.0, 1.0))


def vector_similarity(vectors: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return the cosine of every two vectors, in [-1, 1]; 0 for a vector of zeros."""
    rows = np.array(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    rows /= lengths
    return np.asarray(np.clip(rows @ rows.T, -1.0, 1.0))
