"""Judgements as they are shown: the answer, with the place its verdict was read from.

Everything here is text from outside: it is shown, never followed or run.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.records.shown import stages_of
from judge_gym.report.scopes import setting_of
from judge_gym.store import tables as t
from judge_gym.store.experiments import experiments_by_id

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


def shown_judgements(
    session: Session, experiment_ids: Sequence[int], chosen: Any
) -> Mapping[int, list[ShownJudgement]]:
    """Return judgements by what they are `about`, by judge, arm and replicate.

    `chosen` selects the `id` of each sample and an integer `about`; the samples are of these
    experiments.
    """
    settings = {
        one: f"{experiment.concept}, {setting_of(experiment)}".rstrip(", ")
        for one, experiment in experiments_by_id(session, experiment_ids).items()
    }
    found: dict[int, list[ShownJudgement]] = defaultdict(list)
    rows = session.execute(_answered(chosen.subquery()))
    for about, sample, model, experiment_id, arm, owner, stages, answer, span in rows:
        by = f"rubric by {owner}" if owner else "provided rubric"
        rubric = by if arm == "own" else f"{arm}: {by}"
        labels = [stage["label"] for stage in stages or ()]
        found[about].append(
            ShownJudgement(
                judge=model,
                under=f"{settings[experiment_id]}, {rubric}",
                replicate=sample.replicate + 1,
                outcome=_outcome(sample, labels),
                **_marked(answer or "", sample.span_start, sample.span_end, span or ""),
            )
        )
    return found


def _answered(chosen: Any) -> Any:
    """Select the samples with as much of their answers as is shown."""
    span_length = sa.func.least(t.Sample.span_end - t.Sample.span_start, LONGEST_TEXT)
    return (
        sa.select(
            chosen.c.about,
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
        .order_by(chosen.c.about, t.Experiment.model, t.Arm.id, t.Sample.replicate)
    )


def _outcome(sample: t.Sample, labels: Sequence[str]) -> str:
    if sample.stages is None:
        return f"{sample.status}: {sample.failure}" if sample.failure else sample.status
    return "; ".join(f"stage {stage}, {labels[stage - 1]}" for stage in stages_of(sample.stages))


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
