"""Embeddings of documents and rubrics: answers in the ledger, found by the key of their call."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.bundles import Bundles
from judge_gym.design.rubric import stage_text, whole_text
from judge_gym.records.calls import EMBEDDER
from judge_gym.records.shown import ShownDocument
from judge_gym.seeds import digest
from judge_gym.store import tables as t
from judge_gym.store.bulk import among


@dataclass(frozen=True)
class ToEmbed:
    """A text of a document or rubric, by its id, and the key of the call that embeds it."""

    of: int
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


def rubric_texts_compared(session: Session, rubrics: Collection[str], model: str) -> list[ToEmbed]:
    """Return the texts of written rubrics with these keys: each whole, then stage by stage."""
    query = (
        sa.select(t.Rubric.id, t.Rubric.key, t.Rubric.stages)
        .where(among(t.Rubric.key, rubrics), t.Rubric.status == "ready", t.Rubric.owner_model != "")
        .order_by(t.Rubric.id)
    )
    texts = []
    for rubric, key, stages in session.execute(query):
        by_stage = [stage_text(one["label"], one["criteria"]) for one in stages]
        for part, text in enumerate((whole_text(by_stage), *by_stage)):
            asked = digest("embedding", model, text)
            texts.append(ToEmbed(rubric, f"embedding/{key}/rubric/{part}/{asked}", text))
    return texts


def rubric_texts_to_embed(session: Session, rubrics: Collection[str], model: str) -> list[ToEmbed]:
    """Return the texts of these rubrics that a model has not embedded yet."""
    texts = rubric_texts_compared(session, rubrics, model)
    found = _answers(session, [one.key for one in texts])
    return [one for one in texts if one.key not in found]


@dataclass(frozen=True)
class RubricVectors:
    """The vectors of a model of the texts of rubrics, as far as they are embedded."""

    model: str
    by_text: Mapping[str, list[float]]
    simulated: bool


def rubric_vectors(session: Session, sweep: str, rubrics: Collection[int]) -> RubricVectors | None:
    """Return the vectors of these rubrics by the model that a sweep names for it; None without."""
    definition = session.scalar(sa.select(t.Sweep.definition).where(t.Sweep.name == sweep)) or {}
    if "rubric_embeddings" not in definition:
        return None
    named = definition["rubric_embeddings"]
    model = definition.get("stand_ins", {}).get(named, named)
    keys = session.scalars(sa.select(t.Rubric.key).where(among(t.Rubric.id, rubrics))).all()
    texts = {one.key: one.text for one in rubric_texts_compared(session, keys, model)}
    answered = among(t.Call.key, texts) & (t.Call.status == "succeeded")
    rows = session.execute(sa.select(t.Call.key, t.Call.answer, t.Call.simulated).where(answered))
    found = [row for row in rows if row.answer]
    return RubricVectors(
        model,
        {texts[row.key]: json.loads(row.answer) for row in found},
        any(row.simulated for row in found),
    )


def vectors(session: Session, window: int, plan: Bundles, recipe: str) -> dict[int, list[float]]:
    """Return the vectors of a window's documents by document, as far as they are embedded."""
    texts = texts_compared(session, window, plan, recipe)
    found = _answers(session, [one.key for one in texts])
    return {one.of: json.loads(found[one.key]) for one in texts if one.key in found}


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
