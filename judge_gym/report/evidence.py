"""The evidence as the judges saw it, and what they said of it; bounded, so that a page stays one.

Everything here is text from outside: it is shown, never followed or run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from sqlalchemy.orm import Session

from judge_gym.design.strategies.view import VIEWS
from judge_gym.report.judgements import LONGEST_TEXT, ShownJudgement, cut, shown_judgements
from judge_gym.store.judgement_texts import (
    StoredDocument,
    StoredView,
    count_judgements_of_documents,
    documents_with_views,
    dropped_documents,
    judgements_of_documents,
    windows_of_experiments,
)

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
    windows = windows_of_experiments(session, experiment_ids)
    documents_each = MAX_DOCUMENTS // max(1, len(windows))
    shown = []
    for window in windows:
        documents = documents_with_views(session, window.id, documents_each)
        ids = [document.id for document in documents]
        judgements = shown_judgements(
            session,
            experiment_ids,
            judgements_of_documents(
                session, experiment_ids, ids, limit=MAX_JUDGEMENTS, longest=LONGEST_TEXT
            ),
        )
        counts = count_judgements_of_documents(session, experiment_ids, ids)
        dropped = [
            (document.reason.replace("_", " "), document.title or document.url, document.detail)
            for document in dropped_documents(session, window.id)
        ]
        shown.append(
            ShownWindow(
                name=window.name,
                documents=tuple(
                    _document(one, judgements.get(one.id, ()), counts.get(one.id, 0))
                    for one in documents
                ),
                more=window.documents - len(documents),
                dropped=tuple(dropped[:MAX_DROPPED]),
                more_dropped=max(0, len(dropped) - MAX_DROPPED),
            )
        )
    return shown


def _document(
    document: StoredDocument, judgements: Sequence[ShownJudgement], count: int
) -> ShownDocument:
    raw = cut(document.text)
    if document.cut_from:
        raw += f" (kept of {document.cut_from:,} characters)"
    made = (_view(name, document.views.get(name)) for name in VIEWS[1:])
    parts = [str(document.published or ""), document.domain, document.tier.replace("_", " ")]
    return ShownDocument(
        id=document.id,
        title=document.title or f"Document {document.position + 1}",
        url=document.url if urlsplit(document.url).scheme in ("http", "https") else "",
        facts=", ".join(filter(None, parts)),
        views=(ShownView("raw", raw, "" if raw else "no text"), *made),
        judgements=tuple(judgements),
        more=count - len(judgements),
    )


def _view(name: str, view: StoredView | None) -> ShownView:
    if view is None:
        return ShownView(name, "", "not asked for")
    return ShownView(name, cut(view.text), view.failure)
