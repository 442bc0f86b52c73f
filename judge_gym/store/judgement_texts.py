"""Judgements with the text of their answers, and the evidence they judge, for reports."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t
from judge_gym.store.bulk import among
from judge_gym.store.sweep_data import ITEM_ORDER
from judge_gym.store.units import JUDGEMENT


@dataclass(frozen=True)
class JudgementText:
    """A judgement with the first characters of its answer and the span its verdict was read from.

    `reasoning` has the first characters of the model's own reasoning, of which nothing was read.
    `messages` and `parameters` are those of its call, empty where there is none; the tokens are
    None where the provider counts none.

    `stages` is a bit set, None unless it is scored; `labels` are the rubric's, stage 1 first.
    """

    experiment_id: int
    model: str
    arm: str
    rubric_owner: str
    """The model that wrote the rubric; empty when it was provided."""
    labels: tuple[str, ...]
    replicate: int
    status: str
    stages: int | None
    failure: str | None
    answer: str
    span_start: int | None
    span_end: int | None
    span: str
    reasoning: str
    messages: Sequence[Mapping[str, str]] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class ReplicateCell:
    """One arm and item with two scored judgements or more, and no stage common to all."""

    arm_id: int
    item_id: int
    scale_size: int
    verdicts: tuple[int, ...]
    """Bit sets of stages."""


@dataclass(frozen=True)
class StoredWindow:
    """A window; `documents` and `dropped` (by reason) are counts."""

    id: int
    name: str
    """Its name, else its key."""
    query: str
    country: str
    start: date | None
    end: date | None
    source: Mapping[str, Any]
    documents: int
    dropped: Mapping[str, int]
    max_documents: int = 0
    collected_at: datetime | None = None
    shareable: bool = True
    licence: str = ""
    key: str = ""


@dataclass(frozen=True)
class StoredView:
    """A view of a document: its text, or why it failed."""

    text: str
    failure: str


@dataclass(frozen=True)
class StoredDocument:
    """A document with the views that were made of it, by name."""

    id: int
    position: int
    title: str
    url: str
    domain: str
    tier: str
    published: date | None
    text: str
    cut_from: int | None
    """Characters before it was cut; None when it is whole."""
    views: Mapping[str, StoredView]


@dataclass(frozen=True)
class LeftOutDocument:
    """A document that a source gave and the window did not take."""

    url: str
    title: str
    reason: str
    detail: str


def windows_of_experiments(session: Session, experiment_ids: Sequence[int]) -> list[StoredWindow]:
    """Return the windows that these experiments read, the oldest first."""
    read = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(experiment_ids))
    windows = session.scalars(
        sa.select(t.Window).where(t.Window.id.in_(read)).order_by(t.Window.id)
    )
    documents = session.execute(
        sa.select(t.Document.window_id, sa.func.count())
        .where(t.Document.window_id.in_(read))
        .group_by(t.Document.window_id)
    )
    documents_by_window = dict(documents.tuples().all())
    dropped: dict[int, dict[str, int]] = defaultdict(dict)
    for window_id, reason, count in session.execute(
        sa.select(t.DroppedDocument.window_id, t.DroppedDocument.reason, sa.func.count())
        .where(t.DroppedDocument.window_id.in_(read))
        .group_by(t.DroppedDocument.window_id, t.DroppedDocument.reason)
        .order_by(t.DroppedDocument.reason)
    ):
        dropped[window_id][reason] = count
    return [
        StoredWindow(
            id=window.id,
            name=window.name or window.key,
            query=window.query,
            country=window.country,
            start=window.start_date,
            end=window.end_date,
            source=window.source,
            documents=documents_by_window.get(window.id, 0),
            dropped=dropped[window.id],
            max_documents=window.max_documents,
            collected_at=window.collected_at,
            shareable=window.shareable,
            licence=window.licence,
            key=window.key,
        )
        for window in windows
    ]


def documents_with_views(session: Session, window_id: int, limit: int) -> list[StoredDocument]:
    """Return the first `limit` documents of a window, in order, with their newest views."""
    documents = session.scalars(
        sa.select(t.Document)
        .where(t.Document.window_id == window_id)
        .order_by(t.Document.position)
        .limit(limit)
    ).all()
    return _with_views(session, documents)


def documents_of_items(
    session: Session, item_ids: Collection[int]
) -> dict[int, list[StoredDocument]]:
    """Return item id → its documents in order, with their newest views."""
    rows = session.execute(
        sa.select(t.ItemDocument.item_id, t.Document)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(t.ItemDocument.item_id.in_(item_ids))
        .order_by(t.ItemDocument.item_id, t.ItemDocument.position)
    ).all()
    stored = _with_views(session, [document for _, document in rows])
    found: dict[int, list[StoredDocument]] = defaultdict(list)
    for (item_id, _), document in zip(rows, stored, strict=True):
        found[item_id].append(document)
    return dict(found)


def _with_views(session: Session, documents: Sequence[t.Document]) -> list[StoredDocument]:
    views: dict[int, dict[str, StoredView]] = defaultdict(dict)
    ids = [document.id for document in documents]
    oldest_first = t.View.call_id.asc().nulls_first()
    for view in session.scalars(
        sa.select(t.View).where(t.View.document_id.in_(ids)).order_by(oldest_first)
    ):
        views[view.document_id][view.view] = StoredView(view.text or "", view.failure or "")
    return [
        StoredDocument(
            id=document.id,
            position=document.position,
            title=document.title,
            url=document.url,
            domain=document.domain,
            tier=document.tier,
            published=document.published,
            text=document.text,
            cut_from=document.cut_from,
            views=views[document.id],
        )
        for document in documents
    ]


def dropped_documents(session: Session, window_id: int) -> list[LeftOutDocument]:
    """Return the documents that a window did not take, by reason."""
    rows = session.execute(
        sa.select(
            t.DroppedDocument.url,
            t.DroppedDocument.title,
            t.DroppedDocument.reason,
            t.DroppedDocument.detail,
        )
        .where(t.DroppedDocument.window_id == window_id)
        .order_by(t.DroppedDocument.reason, t.DroppedDocument.id)
    )
    return [LeftOutDocument(*row) for row in rows]


@dataclass(frozen=True)
class ItemTitle:
    """What an item is called after its first document; `more` counts its other documents."""

    document_id: int
    title: str
    """The document's title, or its number in the window."""
    more: int = 0

    def __str__(self) -> str:
        return self.title + (f" and {self.more} more" if self.more else "")


def first_titles(session: Session, item_ids: Iterable[int]) -> dict[int, ItemTitle]:
    """Return item id → its title."""
    rows = session.execute(
        sa.select(
            t.ItemDocument.item_id,
            t.Document.id,
            t.Document.title,
            t.Document.position,
            t.EvidenceItem.bundle_size,
        )
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .join(t.EvidenceItem, t.EvidenceItem.id == t.ItemDocument.item_id)
        .where(t.ItemDocument.item_id.in_(set(item_ids)), t.ItemDocument.position == 0)
    )
    return {
        item: ItemTitle(document, title or f"Document {position + 1}", size - 1)
        for item, document, title, position, size in rows
    }


def judged_items(session: Session, sweep: str) -> Sequence[int]:
    """Return the id of each judged item of a sweep, in the order of the analysis."""
    return session.scalars(
        sa.select(t.EvidenceItem.id)
        .join(t.ItemDocument, t.ItemDocument.item_id == t.EvidenceItem.id)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(t.EvidenceItem.id.in_(JUDGEMENT.rows(t.Sample.item_id, sweep=sweep)))
        .group_by(t.EvidenceItem.id)
        .order_by(*ITEM_ORDER)
    ).all()


def titles_of_judged_items(session: Session, sweep: str) -> list[ItemTitle]:
    """Return the title of each judged item of a sweep, in the order of the analysis."""
    items = judged_items(session, sweep)
    titles = first_titles(session, items)
    return [titles[item_id] for item_id in items]


def newest_sample(session: Session) -> int:
    """Return the id of the newest judgement of this database, 0 if there is none."""
    return session.scalar(sa.select(sa.func.max(t.Sample.id))) or 0


def judgement_after(
    session: Session, sweep: str, sample_id: int, longest: int
) -> tuple[JudgementText, ItemTitle] | None:
    """Return a sweep's first judgement after that of `sample_id`, and the title of its item."""
    later = JUDGEMENT.rows(t.Sample.id, t.Sample.item_id, sweep=sweep)
    first = later.where(t.Sample.id > sample_id).order_by(t.Sample.id).limit(1).subquery()
    texts = _judgement_texts(
        session, sa.select(first.c.id, first.c.item_id.label("about")), longest
    )
    for item_id, [judgement] in texts.items():
        return judgement, first_titles(session, [item_id])[item_id]
    return None


def divided_cells(session: Session, sweep: str) -> tuple[list[ReplicateCell], int]:
    """Return the cells whose scored judgements share no stage, and how many cells have two.

    Over all arms of the sweep.
    """
    repeated = (
        JUDGEMENT.rows(
            t.Sample.arm_id,
            t.Sample.item_id,
            t.Sample.scale_size,
            sa.func.array_agg(t.Sample.stages).label("verdicts"),
            # Where all share a stage no two exclude each other.
            (sa.func.bit_and(t.Sample.stages) == 0).label("divided"),
            sweep=sweep,
        )
        .where(t.Sample.status == "scored")
        .group_by(t.Sample.arm_id, t.Sample.item_id, t.Sample.scale_size)
        .having(sa.func.count() > 1)
        .subquery()
    )
    divided = session.execute(sa.select(repeated).where(repeated.c.divided))
    cells = [
        ReplicateCell(row.arm_id, row.item_id, row.scale_size, tuple(row.verdicts))
        for row in divided
    ]
    return cells, session.scalar(sa.select(sa.func.count()).select_from(repeated)) or 0


def judgements_of_cells(
    session: Session, sweep: str, cells: Sequence[tuple[int, int]], longest: int
) -> dict[tuple[int, int], list[JudgementText]]:
    """Return (arm id, item id) → judgements of the sweep, `longest` characters of each."""
    if not cells:
        return {}
    about: Any = sa.case(
        *(
            (sa.and_(t.Sample.arm_id == arm, t.Sample.item_id == item), index)
            for index, (arm, item) in enumerate(cells)
        ),
        else_=None,
    )
    chosen = JUDGEMENT.rows(t.Sample.id, about.label("about"), sweep=sweep).where(
        sa.tuple_(t.Sample.arm_id, t.Sample.item_id).in_(list(cells))
    )
    texts = _judgement_texts(session, chosen, longest)
    return {cells[index]: judgements for index, judgements in texts.items()}


def judgements_of_documents(
    session: Session,
    sweep: str,
    document_ids: Sequence[int],
    *,
    limit: int,
    longest: int,
) -> dict[int, list[JudgementText]]:
    """Return document id → at most `limit` judgements of the sweep, `longest` characters of each.

    Takes one of each different outcome of a judge first, then a second of each, so that what judges
    said differently is shown. A bundle belongs to its first document.
    """
    repeat = sa.func.row_number().over(
        partition_by=(t.Sample.arm_id, t.Sample.item_id, t.Sample.status, t.Sample.stages),
        order_by=t.Sample.replicate,
    )
    document = t.ItemDocument.document_id.label("about")
    other_arm = (t.Arm.arm != "own").label("other_arm")
    columns = (t.Sample, document, other_arm, repeat.label("repeat"))
    of = _samples_of_documents(columns, sweep, document_ids).subquery()
    rank = sa.func.row_number().over(
        partition_by=of.c.about,
        order_by=(of.c.repeat, of.c.replicate, of.c.other_arm, of.c.arm_id, of.c.item_id),
    )
    ranked = sa.select(of.c.id, of.c.about, rank.label("rank")).subquery()
    chosen = sa.select(ranked.c.id, ranked.c.about).where(ranked.c.rank <= limit)
    return _judgement_texts(session, chosen, longest)


def count_judgements_of_documents(
    session: Session, sweep: str, document_ids: Sequence[int]
) -> dict[int, int]:
    """Return document id → how many judgements the sweep has of it."""
    columns = (t.ItemDocument.document_id, sa.func.count())
    query = _samples_of_documents(columns, sweep, document_ids)
    return dict(session.execute(query.group_by(t.ItemDocument.document_id)).tuples().all())


def _samples_of_documents(
    columns: Iterable[Any], sweep: str, document_ids: Sequence[int]
) -> sa.Select[Any]:
    """Select the sweep's samples by document; a bundle belongs to its first document."""
    return (
        JUDGEMENT.rows(*columns, sweep=sweep)
        .join(
            t.ItemDocument,
            sa.and_(t.ItemDocument.item_id == t.Sample.item_id, t.ItemDocument.position == 0),
        )
        .where(t.ItemDocument.document_id.in_(document_ids))
    )


def _judgement_texts(
    session: Session, chosen: sa.Select[Any], longest: int
) -> dict[int, list[JudgementText]]:
    """Return judgements by what they are `about`, by judge, arm and replicate.

    `chosen` selects the `id` of each sample and an integer `about`.
    """
    selected = chosen.subquery()
    span_length = sa.func.least(t.Sample.span_end - t.Sample.span_start, longest)
    stored = {
        "experiment_id": t.Experiment.id,
        "model": t.Experiment.model,
        "arm": t.Arm.arm,
        "rubric_owner": sa.func.coalesce(t.Rubric.owner_model, ""),
        "replicate": t.Sample.replicate,
        "status": t.Sample.status,
        "stages": t.Sample.stages,
        "failure": t.Sample.failure,
        "answer": sa.func.coalesce(sa.func.left(t.Call.answer, longest + 1), ""),
        "span_start": t.Sample.span_start,
        "span_end": t.Sample.span_end,
        "span": sa.func.coalesce(
            sa.func.substring(t.Call.answer, t.Sample.span_start + 1, span_length), ""
        ),
        "reasoning": sa.func.coalesce(sa.func.left(t.Call.reasoning, longest + 1), ""),
        "messages": t.Call.messages,
        "parameters": sa.func.coalesce(t.Call.sent_parameters, t.Call.parameters),
        "prompt_tokens": t.Call.prompt_tokens,
        "completion_tokens": t.Call.completion_tokens,
    }
    rows = session.execute(
        sa.select(selected.c.about, t.Arm.rubric_id, *stored.values())
        .join(t.Sample, t.Sample.id == selected.c.id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .join(t.Rubric, t.Rubric.id == t.Arm.rubric_id)
        .outerjoin(t.Call, t.Call.id == t.Sample.call_id)
        .order_by(selected.c.about, t.Experiment.model, t.Arm.id, t.Sample.replicate)
    ).all()
    labels = _labels_of_rubrics(session, {rubric for _, rubric, *_ in rows})
    judgements: dict[int, list[JudgementText]] = defaultdict(list)
    for about, rubric, *values in rows:
        one = dict(zip(stored, values, strict=True))
        one["messages"] = one["messages"] or ()
        one["parameters"] = one["parameters"] or {}
        judgements[about].append(JudgementText(labels=labels[rubric], **one))
    return judgements


def _labels_of_rubrics(session: Session, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return rubric id → the labels of its stages, read once for all of its judgements."""
    rows = session.execute(sa.select(t.Rubric.id, t.Rubric.stages).where(among(t.Rubric.id, ids)))
    return {rubric: tuple(stage["label"] for stage in stages or ()) for rubric, stages in rows}
