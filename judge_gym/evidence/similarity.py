"""How alike documents are in their words: TF-IDF and its cosine, by scikit-learn."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def text_similarity(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the cosine of the TF-IDF vectors of every two texts, in [0, 1]; 0 without words."""
    # Importing it takes most of a second.
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    except ValueError:  # no text has a word
        return np.zeros((len(texts), len(texts)))
    return np.asarray(np.clip((vectors @ vectors.T).toarray(), 0.0, 1.0))
