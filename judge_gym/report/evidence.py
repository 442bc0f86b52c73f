"""The evidence as the judges saw it, and what they said of it; bounded, so that a page stays one.

Everything here is text from outside: it is shown, never followed or run.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.strategies.view import VIEWS
from judge_gym.report.judgements import ShownJudgement, cut, shown_judgements
from judge_gym.store import tables as t

MAX_DOCUMENTS = 60
"""Documents shown of all windows together."""
MAX_JUDGEMENTS = 40
"""Judgements shown of one document: every judge's first replicate, then the second, and so on."""
MAX_DROPPED = 100


@dataclass(frozen=True)
class ShownView:
    """One of a document's four texts, or why there is none."""

    name: str
    text: str
    missing: str


@dataclass(frozen=True)
class ShownDocument:
    """A document, its views side by side, and the judgements it got."""

    id: int
    title: str
    url: str
    """Empty unless it is a web address."""
    facts: str
    views: tuple[ShownView, ...]
    judgements: tuple[ShownJudgement, ...]
    more: int
    """Judgements that are not shown."""


@dataclass(frozen=True)
class ShownWindow:
    """A window's documents, and what was kept out of it: (reason, title, detail)."""

    name: str
    documents: tuple[ShownDocument, ...]
    more: int
    """Documents that are not shown."""
    dropped: tuple[tuple[str, str, str], ...]
    more_dropped: int


def shown_evidence(session: Session, experiment_ids: Sequence[int]) -> list[ShownWindow]:
    """Return the evidence of these experiments, window by window."""
    windows = session.scalars(
        sa.select(t.Window)
        .join(t.Experiment, t.Experiment.window_id == t.Window.id)
        .where(t.Experiment.id.in_(experiment_ids))
        .distinct()
        .order_by(t.Window.id)
    ).all()
    room = MAX_DOCUMENTS // max(1, len(windows))
    shown = []
    for window in windows:
        documents = session.scalars(
            sa.select(t.Document)
            .where(t.Document.window_id == window.id)
            .order_by(t.Document.position)
        ).all()
        taken = documents[:room]
        ids = [document.id for document in taken]
        views, judgements = _views(session, ids), _judgements(session, experiment_ids, ids)
        counts = _counts(session, experiment_ids, ids)
        dropped = _dropped(session, window.id)
        shown.append(
            ShownWindow(
                name=window.name or window.key,
                documents=tuple(
                    _document(one, views[one.id], judgements[one.id], counts.get(one.id, 0))
                    for one in taken
                ),
                more=len(documents) - len(taken),
                dropped=tuple(dropped[:MAX_DROPPED]),
                more_dropped=max(0, len(dropped) - MAX_DROPPED),
            )
        )
    return shown


def _document(
    document: t.Document,
    views: Mapping[str, t.View],
    judgements: Sequence[ShownJudgement],
    count: int,
) -> ShownDocument:
    raw = cut(document.text)
    if document.cut_from:
        raw += f" (kept of {document.cut_from:,} characters)"
    made = (_view(name, views.get(name)) for name in VIEWS[1:])
    parts = [str(document.published or ""), document.domain, document.tier.replace("_", " ")]
    return ShownDocument(
        id=document.id,
        title=document.title or f"Document {document.position + 1}",
        url=document.url if urlsplit(document.url).scheme in ("http", "https") else "",
        facts=", ".join(filter(None, parts)),
        views=(ShownView("raw", raw, "" if raw else "no text"), *filter(None, made)),
        judgements=tuple(judgements),
        more=count - len(judgements),
    )


def _view(name: str, view: t.View | None) -> ShownView | None:
    if view is None:
        return ShownView(name, "", "not asked for")
    return ShownView(name, cut(view.text or ""), view.failure or "")


def _views(session: Session, ids: Sequence[int]) -> Mapping[int, Mapping[str, t.View]]:
    found: dict[int, dict[str, t.View]] = defaultdict(dict)
    for view in session.scalars(sa.select(t.View).where(t.View.document_id.in_(ids))):
        found[view.document_id][view.view] = view
    return found


def _of_documents(columns: Iterable[Any], experiment_ids: Sequence[int], ids: Sequence[int]) -> Any:
    """Select samples of these experiments by document; a bundle's belong to its first one."""
    return (
        sa.select(*columns)
        .select_from(t.Sample)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(
            t.ItemDocument,
            sa.and_(t.ItemDocument.item_id == t.Sample.item_id, t.ItemDocument.position == 0),
        )
        .where(t.Arm.experiment_id.in_(experiment_ids), t.ItemDocument.document_id.in_(ids))
    )


def _counts(
    session: Session, experiment_ids: Sequence[int], ids: Sequence[int]
) -> Mapping[int, int]:
    columns = (t.ItemDocument.document_id, sa.func.count())
    query = _of_documents(columns, experiment_ids, ids).group_by(t.ItemDocument.document_id)
    return dict(session.execute(query).tuples().all())


def _judgements(
    session: Session, experiment_ids: Sequence[int], ids: Sequence[int]
) -> Mapping[int, list[ShownJudgement]]:
    place = sa.func.row_number().over(
        partition_by=t.ItemDocument.document_id,
        order_by=(t.Sample.replicate, t.Arm.arm != "own", t.Sample.arm_id, t.Sample.item_id),
    )
    columns = (t.Sample.id, t.ItemDocument.document_id.label("about"), place.label("place"))
    placed = _of_documents(columns, experiment_ids, ids).subquery()
    chosen = sa.select(placed.c.id, placed.c.about).where(placed.c.place <= MAX_JUDGEMENTS)
    return shown_judgements(session, experiment_ids, chosen)


def _dropped(session: Session, window_id: int) -> list[tuple[str, str, str]]:
    rows = session.scalars(
        sa.select(t.DroppedDocument)
        .where(t.DroppedDocument.window_id == window_id)
        .order_by(t.DroppedDocument.reason, t.DroppedDocument.id)
    )
    return [(one.reason.replace("_", " "), one.title or one.url, one.detail) for one in rows]
