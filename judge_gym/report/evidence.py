"""The evidence as the judges saw it, and their answers.

Everything here is text from outside: it is shown, never followed or run. It is bounded, so that
a page stays readable."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies.view import VIEWS
from judge_gym.records.shown import stages_of
from judge_gym.report.scopes import setting_of
from judge_gym.store.experiments import experiments_by_id
from judge_gym.store.judgement_texts import (
    JudgementText,
    StoredDocument,
    StoredView,
    count_judgements_of_documents,
    documents_with_views,
    dropped_documents,
    judgement_after,
    judgements_of_documents,
    windows_of_experiments,
)

LONGEST_TEXT = 4_000
"""Characters shown of a text."""
LONGEST_REASONING = 1_000
"""Characters shown of a model's reasoning, which is often longer than its answer."""
LONGEST_PROMPT = 20_000
CUT = " […]"


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
    reasoning: str
    """The model's own, where its provider gives it."""
    family: str
    concept: str
    status: str
    prompt: str
    """The messages and parameters of its call; empty where it was judged elsewhere."""
    tokens: str


Key = TypeVar("Key")


def shown_judgements(
    session: Session, experiment_ids: Sequence[int], stored: Mapping[Key, Sequence[JudgementText]]
) -> dict[Key, list[ShownJudgement]]:
    """Return the stored judgements of these experiments as they are shown."""
    experiments = {
        id_: (experiment, f"{experiment.concept}, {setting_of(experiment)}".rstrip(", "))
        for id_, experiment in experiments_by_id(session, experiment_ids).items()
    }
    return {
        key: [_shown(judgement, *experiments[judgement.experiment_id]) for judgement in judgements]
        for key, judgements in stored.items()
    }


def first_answer(session: Session, sweep: str, after: int) -> str:
    """Return who judged what, and how, in a sweep's first judgement after sample `after`, or ""."""
    found = judgement_after(session, sweep, after, LONGEST_TEXT)
    if found is None:
        return ""
    judgement, item = found
    [experiment] = experiments_by_id(session, [judgement.experiment_id]).values()
    about = f"{judgement.model} on {experiment.concept}, {cut(item.title, 60)!r}"
    return f"{about}: {_outcome(judgement)}."


def _shown(judgement: JudgementText, experiment: Experiment, setting: str) -> ShownJudgement:
    owner = judgement.rubric_owner
    author = f"rubric by {owner}" if owner else "provided rubric"
    rubric = author if judgement.arm == "own" else f"{judgement.arm}: {author}"
    return ShownJudgement(
        judge=judgement.model,
        under=f"{setting}, {rubric}",
        replicate=judgement.replicate + 1,
        outcome=_outcome(judgement),
        reasoning=cut(judgement.reasoning, LONGEST_REASONING),
        family=experiment.family,
        concept=experiment.concept,
        status=judgement.status,
        prompt=_prompt(judgement),
        tokens=_tokens(judgement),
        **_marked(judgement.answer, judgement.span_start, judgement.span_end, judgement.span),
    )


def _prompt(judgement: JudgementText) -> str:
    """Return the messages below their roles, then the parameters."""
    parts = [f"[{message['role']}]\n{message['content']}" for message in judgement.messages]
    if judgement.parameters:
        values = (f"{name}: {value}" for name, value in sorted(judgement.parameters.items()))
        parts.append(f"[parameters]\n{', '.join(values)}")
    return cut("\n\n".join(parts), LONGEST_PROMPT) if judgement.messages else ""


def _tokens(judgement: JudgementText) -> str:
    counts = ((judgement.prompt_tokens, "in"), (judgement.completion_tokens, "out"))
    return ", ".join(f"{count:,} tokens {way}" for count, way in counts if count is not None)


def _outcome(judgement: JudgementText) -> str:
    if judgement.stages is None:
        return ": ".join(filter(None, (judgement.status, judgement.failure)))
    return "; ".join(
        f"stage {stage}, {judgement.labels[stage - 1]}" for stage in stages_of(judgement.stages)
    )


def _marked(answer: str, start: int | None, end: int | None, span: str) -> dict[str, str]:
    """Split an answer at the span of its verdict, which stays whole when the rest is cut."""
    if start is None or end is None:
        return {"before": cut(answer), "span": "", "after": ""}
    if end > LONGEST_TEXT:
        return {"before": answer[: min(start, LONGEST_TEXT)] + CUT + " ", "span": span, "after": ""}
    return {"before": answer[:start], "span": answer[start:end], "after": cut(answer)[end:]}


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return as much of a text as is shown, saying where it is cut."""
    return text if len(text) <= longest else text[:longest].rstrip() + CUT


MAX_ON_PAGE = 60
"""Documents that stand on the report's own page; of more, each has a page of its own."""
MAX_DOCUMENTS = 500
"""Documents shown of all windows together."""
MAX_JUDGEMENTS = 40
"""Judgements shown of one document: one of each outcome of a judge, then a second, and so on."""
MAX_DROPPED = 100


@dataclass(frozen=True)
class ShownView:
    """One of a document's four texts, or why there is none."""

    name: str
    text: str
    missing: str


@dataclass(frozen=True)
class EvidenceDocument:
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

    def outcomes(self) -> list[tuple[ShownJudgement, int]]:
        """Return a judgement of each judge, concept and status, and how many are like it."""
        first: dict[tuple[str, str, str], ShownJudgement] = {}
        counts: Counter[tuple[str, str, str]] = Counter()
        for judgement in self.judgements:
            key = (judgement.judge, judgement.concept, judgement.status)
            first.setdefault(key, judgement)
            counts[key] += 1
        return [(judgement, counts[key]) for key, judgement in first.items()]


@dataclass(frozen=True)
class ShownWindow:
    """A window's documents, and what was kept out of it: (reason, title, detail)."""

    name: str
    documents: tuple[EvidenceDocument, ...]
    more: int
    """Documents that are not shown."""
    dropped: tuple[tuple[str, str, str], ...]
    more_dropped: int


def shown_evidence(
    session: Session, sweep: str, experiment_ids: Sequence[int]
) -> list[ShownWindow]:
    """Return the evidence of a sweep's experiments, window by window."""
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
                session, sweep, ids, limit=MAX_JUDGEMENTS, longest=LONGEST_TEXT
            ),
        )
        counts = count_judgements_of_documents(session, sweep, ids)
        dropped = [
            (document.reason.replace("_", " "), document.title or document.url, document.detail)
            for document in dropped_documents(session, window.id)
        ]
        shown.append(
            ShownWindow(
                name=window.name,
                documents=tuple(
                    _document(document, judgements.get(document.id, ()), counts.get(document.id, 0))
                    for document in documents
                ),
                more=window.documents - len(documents),
                dropped=tuple(dropped[:MAX_DROPPED]),
                more_dropped=max(0, len(dropped) - MAX_DROPPED),
            )
        )
    return shown


def _document(
    document: StoredDocument, judgements: Sequence[ShownJudgement], count: int
) -> EvidenceDocument:
    raw = cut(document.text)
    if document.cut_from:
        raw += f" (kept of {document.cut_from:,} characters)"
    edited = (_view(name, document.views.get(name)) for name in VIEWS[1:])
    parts = [str(document.published or ""), document.domain, document.tier.replace("_", " ")]
    return EvidenceDocument(
        id=document.id,
        title=document.title or f"Document {document.position + 1}",
        url=document.url if urlsplit(document.url).scheme in ("http", "https") else "",
        facts=", ".join(filter(None, parts)),
        views=(ShownView("raw", raw, "" if raw else "no text"), *edited),
        judgements=tuple(judgements),
        more=count - len(judgements),
    )


def _view(name: str, view: StoredView | None) -> ShownView:
    if view is None:
        return ShownView(name, "", "not asked for")
    return ShownView(name, cut(view.text), view.failure)
