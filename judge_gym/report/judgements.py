"""Judgements as they are shown: the answer, with the place its verdict was read from.

Everything here is text from outside: it is shown, never followed or run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy.orm import Session

from judge_gym.records.shown import stages_of
from judge_gym.report.scopes import setting_of
from judge_gym.store.experiments import experiments_by_id
from judge_gym.store.judgement_texts import JudgementText

LONGEST_TEXT = 4_000
"""Characters shown of a text."""
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


Key = TypeVar("Key")


def shown_judgements(
    session: Session, experiment_ids: Sequence[int], stored: Mapping[Key, Sequence[JudgementText]]
) -> dict[Key, list[ShownJudgement]]:
    """Return the stored judgements of these experiments as they are shown."""
    settings = {
        id_: f"{experiment.concept}, {setting_of(experiment)}".rstrip(", ")
        for id_, experiment in experiments_by_id(session, experiment_ids).items()
    }
    return {
        key: [_shown(judgement, settings[judgement.experiment_id]) for judgement in judgements]
        for key, judgements in stored.items()
    }


def _shown(judgement: JudgementText, setting: str) -> ShownJudgement:
    owner = judgement.rubric_owner
    author = f"rubric by {owner}" if owner else "provided rubric"
    rubric = author if judgement.arm == "own" else f"{judgement.arm}: {author}"
    return ShownJudgement(
        judge=judgement.model,
        under=f"{setting}, {rubric}",
        replicate=judgement.replicate + 1,
        outcome=_outcome(judgement),
        **_marked(judgement.answer, judgement.span_start, judgement.span_end, judgement.span),
    )


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


def cut(text: str) -> str:
    """Return as much of a text as is shown, saying where it is cut."""
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + CUT
