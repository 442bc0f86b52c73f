"""Searches over a store of learnings: each ranks their places for every query, the best first."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.errors import first_line
from judge_gym.gyms.similarity import trigram_similarity
from judge_gym.metrics.cells import FloatArray
from judge_gym.store.full_text import full_text

Ranking = list[int]
RRF_K = 60
"""The constant of reciprocal rank fusion: how little the first few ranks stand out."""
FASTEMBED = "fastembed"
EMBEDDERS = (FASTEMBED, "sentence_transformers")
"""Packages that can embed texts; the first that is installed does."""
SENTENCE_MODEL = "all-MiniLM-L6-v2"
"""What sentence_transformers is asked for; fastembed has a default of its own."""


class Unavailable(Exception):
    """A search cannot be made here; the message says why."""


def trigram(_: Session, queries: Sequence[str], texts: Sequence[str]) -> list[Ranking]:
    """Rank by similarity of trigrams; what shares none is left out."""
    return [list(_by_trigrams(query, tuple(texts))) for query in queries]


@lru_cache(maxsize=10_000)
def _by_trigrams(query: str, texts: tuple[str, ...]) -> tuple[int, ...]:
    # Kept, since a ranking is made anew whenever it is looked at.
    alike = np.array([trigram_similarity(query, text) for text in texts])
    return tuple(_best_first(alike, above=0.0))


def embedding(_: Session, queries: Sequence[str], texts: Sequence[str]) -> list[Ranking]:
    """Rank by the cosine of embeddings; raises `Unavailable` without a package or its model."""
    vectors = _embedded([*queries, *texts])
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    alike = vectors[: len(queries)] @ vectors[len(queries) :].T
    return [_best_first(row, above=-1.0) for row in alike]


SEARCHES: Mapping[str, Callable[[Session, Sequence[str], Sequence[str]], list[Ranking]]] = {
    "full_text": full_text,
    "trigram": trigram,
    "embedding": embedding,
}


def fused(rankings: Sequence[Ranking]) -> Ranking:
    """Return the fusion of rankings of the same texts: by Σ 1 / (RRF_K + rank), the largest first.

    Ranks count from 1; a ranking that leaves a text out adds nothing; ties go to the lower place.
    Source: Cormack, Clarke and Büttcher 2009, SIGIR.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            scores[place] = scores.get(place, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda place: (-scores[place], place))


def _best_first(alike: FloatArray, above: float) -> Ranking:
    return [int(place) for place in np.argsort(-alike, kind="stable") if alike[place] > above]


def _embedded(texts: Sequence[str]) -> FloatArray:
    package = next((name for name in EMBEDDERS if find_spec(name) is not None), None)
    if package is None:
        raise Unavailable(f"none of {' and '.join(EMBEDDERS)} is installed")
    try:
        module = import_module(package)
        if package == FASTEMBED:
            vectors = list(module.TextEmbedding().embed(list(texts)))
        else:
            vectors = module.SentenceTransformer(SENTENCE_MODEL).encode(list(texts))
    except Exception as error:  # such as a model that cannot be fetched here
        raise Unavailable(f"{package} cannot embed: {first_line(error)}") from error
    return np.asarray(vectors, dtype=np.float64)
