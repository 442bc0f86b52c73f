"""Windows, their documents and the views of those documents."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.design.experiment import EvidenceView
from judge_gym.design.strategies.view import VIEWS
from judge_gym.design.window import Window
from judge_gym.errors import StoreError, did_you_mean, listing
from judge_gym.evidence.documents import Collected
from judge_gym.store import tables as t
from judge_gym.store.units import VIEW

_NO_IDENTITY = ("digest", "allow_empty")
"""Fields of a source that do not say which days were searched for what."""


def register_window(session: Session, window: Window) -> int:
    """Return the id of `window`, storing it when it is new."""
    source = window.model_dump(mode="json")["source"]
    # The same contents may have moved to another path; the newest path is the one to read.
    moved = {
        "source": source,
        "name": window.name,
        "shareable": window.may_be_shared,
        "licence": window.licence,
    }
    existing: int | None = session.scalar(
        sa.update(t.Window).where(t.Window.key == window.key).values(moved).returning(t.Window.id)
    )
    if existing is not None:
        return existing
    statement = insert(t.Window).values(
        key=window.key,
        query=window.query,
        country=window.country,
        start_date=window.start,
        end_date=window.end,
        max_documents=window.max_documents,
        **moved,
    )
    return session.scalars(
        statement.on_conflict_do_update(index_elements=["key"], set_=moved).returning(t.Window.id)
    ).one()


def window_names(session: Session, keys: Iterable[str]) -> dict[str, str]:
    """Return key → name of those of these windows that are stored."""
    query = sa.select(t.Window.key, t.Window.name).where(t.Window.key.in_(keys))
    return dict(session.execute(query).tuples().all())


def hold_back(session: Session, windows: Iterable[Window]) -> None:
    """Mark as not shareable what is not shareable any more; nothing becomes shareable by it."""
    keys = [window.key for window in windows if not window.may_be_shared]
    session.execute(sa.update(t.Window).where(t.Window.key.in_(keys)).values(shareable=False))


def load_window(session: Session, window_id: int) -> Window:
    """Return a stored window; raises `StoreError` when there is none with this id."""
    row = session.get(t.Window, window_id)
    if row is None:
        raise StoreError(
            f"There is no window {window_id}.", "List the windows with `judge-gym evidence list`."
        )
    return Window.model_validate(
        {
            "name": row.name,
            "query": row.query,
            "country": row.country,
            "start": row.start_date,
            "end": row.end_date,
            "max_documents": row.max_documents,
            "source": row.source,
        }
    )


def window_id(session: Session, name: str) -> int:
    """Return the id of a window given by number or name; raises `StoreError` if it is unknown."""
    rows = session.execute(sa.select(t.Window.id, t.Window.name).order_by(t.Window.id))
    windows = rows.tuples().all()
    matches = [id_ for id_, _ in windows if str(id_) == name] or [
        id_ for id_, named in windows if named == name
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise StoreError(
            f"There are {len(matches)} windows {name!r}.",
            f"Name one by its number: {', '.join(map(str, matches))}.",
        )
    suggestion = did_you_mean(name, {named for _, named in windows})
    listed = [f"{id_} ({named})" for id_, named in windows]
    raise StoreError(
        f"There is no window {name!r}.", suggestion + listing(listed, "judge-gym evidence list")
    )


def uncollected(session: Session, window_ids: Sequence[int]) -> list[int]:
    """Return which of these windows have not been collected yet."""
    return list(
        session.scalars(
            sa.select(t.Window.id)
            .where(t.Window.id.in_(window_ids), t.Window.collected_at.is_(None))
            .order_by(t.Window.id)
        )
    )


def collected_before(session: Session, window: Window) -> bool:
    """Whether these dates were collected for this query, country, limit and source already.

    Unlike a window's key this ignores the current content of a corpus: in a file that grows day by
    day, a day that was collected stays as it was found then.
    """
    source = window.model_dump(mode="json")["source"]
    for name in _NO_IDENTITY:
        source.pop(name, None)
    same = sa.select(t.Window.id).where(
        t.Window.query == window.query,
        t.Window.country == window.country,
        t.Window.start_date == window.start,
        t.Window.end_date == window.end,
        t.Window.max_documents == window.max_documents,
        t.Window.source - _NO_IDENTITY[0] - _NO_IDENTITY[1] == source,
        t.Window.collected_at.is_not(None),
    )
    return session.scalar(sa.select(same.exists())) or False


def save_collected(
    session: Session, window_id: int, collected: Collected, *, complete: bool = True
) -> None:
    """Store what a window's source gave and mark the window collected, once, if `complete`."""
    row = session.get_one(t.Window, window_id, with_for_update=True)
    if row.collected_at is not None:
        return
    # Those of a collection that was not complete.
    session.execute(sa.delete(t.DroppedDocument).filter_by(window_id=window_id))
    documents = [
        {
            "window_id": window_id,
            "position": position,
            "key": document.content_hash[:16],
            "url": document.url,
            "canonical_url": document.canonical_url,
            "domain": document.domain,
            "tier": document.tier.name,
            "tier_weight": document.tier.weight,
            "title": document.title,
            "published": document.published,
            "text": document.text,
            "cut_from": document.cut_from,
            "origin": document.origin,
            "doubt": document.doubt,
            "truth_value": document.truth if isinstance(document.truth, float) else None,
            "truth_label": document.truth if isinstance(document.truth, str) else None,
            "category": document.category,
            "simulated": document.simulated,
        }
        for position, document in enumerate(collected.documents)
    ]
    dropped = [
        {
            "window_id": window_id,
            "url": document.url,
            "title": document.title,
            "reason": document.reason,
            "detail": document.detail,
        }
        for document in collected.dropped
    ]
    if documents:
        session.execute(sa.insert(t.Document), documents)
    if dropped:
        session.execute(sa.insert(t.DroppedDocument), dropped)
    if complete:
        row.collected_at = datetime.now(UTC)


def reopen(session: Session, window_id: int) -> None:
    """Delete a window's documents, so that it can be collected again.

    Raises `StoreError` if a view or a judgement was made of one of them.
    """
    row = session.get_one(t.Window, window_id, with_for_update=True)
    of_window = sa.select(t.Document.id).filter_by(window_id=window_id)
    items = sa.select(t.EvidenceItem.id).filter_by(window_id=window_id)
    used = {
        "views": t.View.document_id.in_(of_window) & t.View.call_id.is_not(None),
        "judgements": t.Sample.item_id.in_(items),
    }
    made = [
        name
        for name, condition in used.items()
        if session.scalar(sa.select(sa.exists().where(condition)))
    ]
    if made:
        raise StoreError(
            f"Window {row.name or window_id} has {' and '.join(made)}, made from its documents.",
            "Nothing was changed. For new documents, use a window of another name with other "
            "dates, query or max_documents.",
        )
    for table in (t.EvidenceItem, t.Document, t.DroppedDocument):
        session.execute(sa.delete(table).filter_by(window_id=window_id))
    row.collected_at = None


def save_documents(session: Session, window_id: int, rows: Sequence[dict[str, Any]]) -> None:
    """Store the documents of a window and mark it collected, once."""
    window = session.get_one(t.Window, window_id, with_for_update=True)
    if window.collected_at is not None:
        return
    session.execute(sa.insert(t.Document), [{**row, "window_id": window_id} for row in rows])
    window.collected_at = datetime.now(UTC)


def collected_documents(session: Session, window_keys: Collection[str]) -> dict[str, int]:
    """Return window key → documents, of those of these windows that are collected."""
    rows = session.execute(
        sa.select(t.Window.key, sa.func.count(t.Document.id))
        .outerjoin(t.Document, t.Document.window_id == t.Window.id)
        .where(t.Window.key.in_(window_keys), t.Window.collected_at.is_not(None))
        .group_by(t.Window.key)
    )
    return dict(rows.tuples().all())


@dataclass(frozen=True)
class MarkedDocument:
    """A document that was cut, or that is doubtful as evidence."""

    origin: str
    title: str
    characters: int
    cut_from: int | None
    doubt: str


def marked_documents(
    session: Session, window_keys: Collection[str]
) -> dict[str, list[MarkedDocument]]:
    """Return window key → its documents that were cut or are doubtful, in order."""
    columns = (
        t.Document.origin,
        t.Document.title,
        sa.func.length(t.Document.text),
        t.Document.cut_from,
        t.Document.doubt,
    )
    rows = session.execute(
        sa.select(t.Window.key, *columns)
        .join(t.Window, t.Window.id == t.Document.window_id)
        .where(t.Window.key.in_(window_keys))
        .where(t.Document.cut_from.is_not(None) | (t.Document.doubt != ""))
        .order_by(t.Document.position)
    )
    found: dict[str, list[MarkedDocument]] = defaultdict(list)
    for key, *values in rows:
        found[key].append(MarkedDocument(*values))
    return found


def count_views(session: Session, window_key: str, view: str, recipe: str) -> int:
    """Return how many documents of a window have this view of a recipe, or failed."""
    views = (
        sa.select(sa.func.count(sa.distinct(t.View.document_id)))
        .select_from(t.View)
        .join(t.Document)
        .join(t.Window)
    )
    of_view = (t.View.view == view, t.View.recipe == recipe)
    return session.scalar(views.where(t.Window.key == window_key, *of_view)) or 0


@dataclass(frozen=True)
class ViewToMake:
    """A view that is missing, with the text it is made from and the key of its LLM call."""

    document_id: int
    view: EvidenceView
    recipe: str
    source_text: str | None
    """The text of the view before it; None when that one failed."""
    call_key: str
    simulated: bool
    """Whether the simulator served the document."""


def missing_views(session: Session, window_id: int, view: EvidenceView, recipe: str) -> list[int]:
    """Return the documents of a window that lack `view` of this recipe, in order."""
    has_view = _has_view(view, recipe)
    return list(
        session.scalars(
            sa.select(t.Document.id)
            .where(t.Document.window_id == window_id, ~has_view)
            .order_by(t.Document.position)
        )
    )


def _has_view(view: EvidenceView, recipe: str) -> sa.ColumnElement[bool]:
    return VIEW.done(document_id=t.Document.id, view=view, recipe=recipe)


def views_to_make(
    session: Session,
    view: EvidenceView,
    document_ids: Sequence[int],
    recipes: Mapping[str, str],
) -> list[ViewToMake]:
    """Return what is needed to make `view` of these documents, by the recipes of all views.

    Left out are those that have it and those that lack the view it is made from.
    """
    before = VIEWS[VIEWS.index(view) - 1]
    source = sa.orm.aliased(t.View)
    has_view = _has_view(view, recipes[view])
    text: Any = t.Document.text if before == "raw" else source.text
    query = (
        sa.select(
            t.Document.id,
            t.Document.key,
            t.Document.simulated,
            t.Window.key.label("window_key"),
            text.label("text"),
        )
        .join(t.Window, t.Window.id == t.Document.window_id)
        .where(t.Document.id.in_(document_ids), ~has_view)
        .order_by(t.Document.position)
    )
    if before != "raw":
        # A view that is still missing leaves this one missing too; only a failed one fails it.
        query = query.join(
            source,
            sa.and_(
                source.document_id == t.Document.id,
                source.view == before,
                source.recipe == recipes[before],
            ),
        )
    return [
        ViewToMake(
            row.id,
            view,
            recipes[view],
            row.text,
            f"view/{row.window_key}/{row.key}/{view}",
            row.simulated,
        )
        for row in session.execute(query)
    ]


def save_views(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store views that needed no LLM call; one that exists already is kept."""
    if rows:
        session.execute(insert(t.View).on_conflict_do_nothing(), rows)


@dataclass(frozen=True)
class KnownDocument:
    """A document with its text, and the text of a view of it when that has been made."""

    title: str
    text: str
    view: str | None


def known_documents(session: Session, window_key: str, view: str) -> list[KnownDocument]:
    """Return a window's documents with their newest `view`; none when it is not collected."""
    newest = (
        sa.select(t.View.text)
        .where(t.View.document_id == t.Document.id, t.View.view == view, t.View.status == "ready")
        .order_by(t.View.call_id.desc().nulls_last())
        .limit(1)
        .scalar_subquery()
    )
    rows = session.execute(
        sa.select(t.Document.title, t.Document.text, newest)
        .join(t.Window, t.Window.id == t.Document.window_id)
        .where(t.Window.key == window_key)
        .order_by(t.Document.position)
    )
    return [KnownDocument(*row) for row in rows]


@dataclass(frozen=True)
class WindowLine:
    """A window as `evidence list` shows it; `documents` is None before it is collected."""

    id: int
    name: str
    country: str
    dates: str
    source: str
    source_kind: str
    documents: int | None
    dropped: int


@dataclass(frozen=True)
class DocumentLine:
    """A document as `evidence show` shows it."""

    id: int
    published: date | None
    tier: str
    title: str
    characters: int
    views: str
    simulated: bool
    cut_from: int | None
    """Characters before it was cut; None when it is whole."""
    doubt: str
    origin: str


def window_lines(session: Session, experiment_ids: Sequence[int] | None = None) -> list[WindowLine]:
    """Return every window, or those that these experiments read; the oldest first."""
    n_documents = (
        sa.select(sa.func.count()).where(t.Document.window_id == t.Window.id).scalar_subquery()
    )
    n_dropped = (
        sa.select(sa.func.count())
        .where(t.DroppedDocument.window_id == t.Window.id)
        .scalar_subquery()
    )
    query = sa.select(t.Window, n_documents, n_dropped).order_by(t.Window.id)
    if experiment_ids is not None:
        read = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(experiment_ids))
        query = query.where(t.Window.id.in_(read))
    rows = session.execute(query)
    return [
        WindowLine(
            id=window.id,
            name=window.name,
            country=window.country,
            dates=f"{window.start_date or ''}..{window.end_date or ''}".strip("."),
            source=Path(window.source.get("path", window.source["kind"])).name,
            source_kind=window.source["kind"],
            documents=documents if window.collected_at else None,
            dropped=dropped,
        )
        for window, documents, dropped in rows
    ]


def document_lines(session: Session, window_id: int) -> list[DocumentLine]:
    """Return a window's documents with the state of their views."""
    view_names = (
        sa.select(
            sa.func.string_agg(
                sa.distinct(
                    sa.func.concat(
                        t.View.view, sa.case((t.View.status == "failed", " (failed)"), else_="")
                    )
                ),
                sa.literal(", "),
            )
        )
        .where(t.View.document_id == t.Document.id)
        .scalar_subquery()
    )
    rows = session.execute(
        sa.select(t.Document, sa.func.length(t.Document.text), view_names)
        .where(t.Document.window_id == window_id)
        .order_by(t.Document.position)
    )
    return [
        DocumentLine(
            document.id,
            document.published,
            document.tier,
            document.title,
            characters,
            views or "",
            document.simulated,
            document.cut_from,
            document.doubt,
            document.origin,
        )
        for document, characters, views in rows
    ]
