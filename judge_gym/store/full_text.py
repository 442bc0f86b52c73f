"""PostgreSQL's full-text search over texts that are given, not stored."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

# Any word of the query may match: contexts are long, learnings short. Lexemes have no spaces, so
# " & " is always an operator.
_FULL_TEXT = sa.text(
    """
    WITH learning AS MATERIALIZED (
        SELECT place, to_tsvector('english', said) AS words
        FROM unnest(CAST(:texts AS text[])) WITH ORDINALITY AS given (said, place)
    ), query AS MATERIALIZED (
        SELECT place, CAST(replace(
            CAST(plainto_tsquery('english', said) AS text), ' & ', ' | '
        ) AS tsquery) AS wanted
        FROM unnest(CAST(:queries AS text[])) WITH ORDINALITY AS given (said, place)
    )
    SELECT query.place - 1, learning.place - 1
    FROM query JOIN learning ON learning.words @@ query.wanted
    ORDER BY query.place, ts_rank(learning.words, query.wanted) DESC, learning.place
    """
)


def full_text(session: Session, queries: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """Return for each query the indices of the texts that match it in English, best first."""
    rankings: list[list[int]] = [[] for _ in queries]
    rows = session.execute(_FULL_TEXT, {"queries": list(queries), "texts": list(texts)})
    for query, text in rows:
        rankings[query].append(text)
    return rankings
