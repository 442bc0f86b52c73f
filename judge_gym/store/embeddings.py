"""Embeddings of documents: the answers of calls in the ledger, found by the key of the call."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.bundles import Bundles
from judge_gym.records.calls import EMBEDDER
from judge_gym.records.shown import ShownDocument
from judge_gym.seeds import digest
from judge_gym.store import tables as t
from judge_gym.store.bulk import among


@dataclass(frozen=True)
class ToEmbed:
    """A text of a document, and the key of the call that embeds it."""

    document: int
    key: str
    text: str


def text_to_embed(document: ShownDocument, *, titled: bool) -> str:
    """Return what is embedded of a document: its raw text has its title before it."""
    return f"{document.title}\n\n{document.text}" if titled else document.text


def texts_compared(session: Session, window: int, plan: Bundles, recipe: str) -> list[ToEmbed]:
    """Return the texts of a window's documents that a plan compares, in order.

    Title and text where it compares the raw view; of another one the views of this `recipe` that
    are there.
    """
    query = (
        sa.select(t.Document.id, t.Document.key, t.Window.key, t.Document.title, t.Document.text)
        .join(t.Window, t.Window.id == t.Document.window_id)
        .where(t.Document.window_id == window)
        .order_by(t.Document.position)
    )
    if plan.view != "raw":
        of_view = sa.and_(
            t.View.document_id == t.Document.id,
            t.View.view == plan.view,
            t.View.recipe == recipe,
            t.View.status == "ready",
        )
        query = query.join(t.View, of_view).with_only_columns(
            t.Document.id, t.Document.key, t.Window.key, sa.literal(""), t.View.text
        )
    texts = []
    for document, key, window_key, title, text in session.execute(query):
        shown = text_to_embed(ShownDocument(title, text or ""), titled=plan.view == "raw")
        # Another text or another model is another call.
        asked = digest("embedding", plan.embeddings, shown)
        call_key = f"embedding/{window_key}/{key}/{plan.view}/{asked}"
        texts.append(ToEmbed(document, call_key, shown))
    return texts


def to_embed(session: Session, window: int, plan: Bundles, recipe: str) -> list[ToEmbed]:
    """Return the texts that a plan compares and that its model has not embedded yet."""
    texts = texts_compared(session, window, plan, recipe)
    found = _answers(session, [one.key for one in texts])
    return [one for one in texts if one.key not in found]


def vectors(session: Session, window: int, plan: Bundles, recipe: str) -> dict[int, list[float]]:
    """Return the vectors of a window's documents by document, as far as they are embedded."""
    texts = texts_compared(session, window, plan, recipe)
    found = _answers(session, [one.key for one in texts])
    return {one.document: json.loads(found[one.key]) for one in texts if one.key in found}


def _answers(session: Session, keys: Iterable[str]) -> dict[str, str]:
    answered = among(t.Call.key, keys) & (t.Call.status == "succeeded")
    rows = session.execute(sa.select(t.Call.key, t.Call.answer).where(answered))
    return {key: answer for key, answer in rows if answer}


def count_embeddings(session: Session, window_key: str, view: str, model: str) -> int:
    """Return how many documents of a window have an embedding of a view by a model."""
    window, document, of_view = (sa.func.split_part(t.Call.key, "/", part) for part in (2, 3, 4))
    return session.scalars(
        sa.select(sa.func.count(sa.distinct(document))).where(
            t.Call.experiment_id.is_(None),
            t.Call.agent == EMBEDDER,
            t.Call.model == model,
            t.Call.status == "succeeded",
            window == window_key,
            of_view == view,
        )
    ).one()
