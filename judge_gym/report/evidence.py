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

from judge_gym.agents.shown import stages_of
from judge_gym.design.strategies.view import VIEWS
from judge_gym.report.scopes import setting_of
from judge_gym.store import tables as t
from judge_gym.store.experiments import experiments_by_id

MAX_DOCUMENTS = 60
"""Documents shown of all windows together."""
MAX_JUDGEMENTS = 40
"""Judgements shown of one document: every judge's first replicate, then the second, and so on."""
MAX_DROPPED = 100
LONGEST_TEXT = 4_000
"""Characters shown of a view, and of an answer."""
CUT = " […]"


@dataclass(frozen=True)
class ShownView:
    """One of a document's four texts, or why there is none."""

    name: str
    text: str
    missing: str


@dataclass(frozen=True)
class ShownJudgement:
    """One answer with the place its verdict was read from."""

    judge: str
    under: str
    """The concept, the rubric and what is not at its default."""
    replicate: int
    outcome: str
    """The stages by number and label, or what became of it."""
    before: str
    span: str
    after: str


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
    raw = _cut(document.text)
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
    return ShownView(name, _cut(view.text or ""), view.failure or "")


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
    return dict(session.execute(query).all())


def _judgements(
    session: Session, experiment_ids: Sequence[int], ids: Sequence[int]
) -> Mapping[int, list[ShownJudgement]]:
    settings = {
        one: f"{experiment.concept}, {setting_of(experiment)}".rstrip(", ")
        for one, experiment in experiments_by_id(session, experiment_ids).items()
    }
    rows = session.execute(_answered(experiment_ids, ids))
    found: dict[int, list[ShownJudgement]] = defaultdict(list)
    for document_id, sample, model, experiment_id, arm, owner, stages, answer, span in rows:
        rubric = f"{arm} rubric" + (f" by {owner}" if owner else "")
        labels = [stage["label"] for stage in stages or ()]
        found[document_id].append(
            ShownJudgement(
                judge=model,
                under=f"{settings[experiment_id]}, {rubric}",
                replicate=sample.replicate + 1,
                outcome=_outcome(sample, labels),
                **_marked(answer or "", sample.span_start, sample.span_end, span or ""),
            )
        )
    return found


def _answered(experiment_ids: Sequence[int], ids: Sequence[int]) -> Any:
    """Select the judgements shown of each document, with as much of the answers as is shown."""
    place = sa.func.row_number().over(
        partition_by=t.ItemDocument.document_id,
        order_by=(t.Sample.replicate, t.Arm.arm != "own", t.Sample.arm_id, t.Sample.item_id),
    )
    columns = (t.Sample.id, t.ItemDocument.document_id, place.label("place"))
    chosen = _of_documents(columns, experiment_ids, ids).subquery()
    span_length = sa.func.least(t.Sample.span_end - t.Sample.span_start, LONGEST_TEXT)
    return (
        sa.select(
            chosen.c.document_id,
            t.Sample,
            t.Experiment.model,
            t.Experiment.id,
            t.Arm.arm,
            t.Rubric.owner_model,
            t.Rubric.stages,
            sa.func.left(t.Call.answer, LONGEST_TEXT + 1),
            sa.func.substring(t.Call.answer, t.Sample.span_start + 1, span_length),
        )
        .join(t.Sample, t.Sample.id == chosen.c.id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .join(t.Rubric, t.Rubric.id == t.Arm.rubric_id)
        .outerjoin(t.Call, t.Call.id == t.Sample.call_id)
        .where(chosen.c.place <= MAX_JUDGEMENTS)
        .order_by(chosen.c.document_id, t.Experiment.model, t.Arm.id, t.Sample.replicate)
    )


def _outcome(sample: t.Sample, labels: Sequence[str]) -> str:
    if sample.stages is None:
        return f"{sample.status}: {sample.failure}" if sample.failure else sample.status
    return "; ".join(f"stage {stage}, {labels[stage - 1]}" for stage in stages_of(sample.stages))


def _marked(answer: str, start: int | None, end: int | None, span: str) -> dict[str, str]:
    """Split an answer at the span of its verdict, which stays whole when the rest is cut."""
    if start is None or end is None:
        return {"before": _cut(answer), "span": "", "after": ""}
    if end > LONGEST_TEXT:
        return {"before": answer[: min(start, LONGEST_TEXT)] + CUT + " ", "span": span, "after": ""}
    return {"before": answer[:start], "span": answer[start:end], "after": _cut(answer)[end:]}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + CUT


def _dropped(session: Session, window_id: int) -> list[tuple[str, str, str]]:
    rows = session.scalars(
        sa.select(t.DroppedDocument)
        .where(t.DroppedDocument.window_id == window_id)
        .order_by(t.DroppedDocument.reason, t.DroppedDocument.id)
    )
    return [(one.reason.replace("_", " "), one.title or one.url, one.detail) for one in rows]
