"""Cells whose own replicates exclude each other, worst first, for a person to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.metrics.consistency import FAR_APART, ReplicateConflict, replicate_conflict
from judge_gym.report.judgements import ShownJudgement, shown_judgements
from judge_gym.store import tables as t

MAX_CELLS = 20


@dataclass(frozen=True)
class FlaggedCell:
    """One judge, item and rubric, with all that was answered there."""

    title: str
    """Of the item's first document."""
    conflict: ReplicateConflict
    judgements: tuple[ShownJudgement, ...]


@dataclass(frozen=True)
class Review:
    """The worst cells; `flagged` counts all like them, `repeated` those with two verdicts."""

    cells: tuple[FlaggedCell, ...]
    flagged: int
    repeated: int


def cells_to_review(session: Session, experiment_ids: Sequence[int]) -> Review:
    """Return the cells with two verdicts that share no stage and lie half the scale apart.

    Of all arms of these experiments. The widest first, then those where more pairs conflict.
    """
    repeated = (
        sa.select(
            t.Sample.arm_id,
            t.Sample.item_id,
            t.Sample.scale_size,
            sa.func.array_agg(t.Sample.stages).label("verdicts"),
            # Where all share a stage no two exclude each other.
            (sa.func.bit_and(t.Sample.stages) == 0).label("divided"),
        )
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .where(t.Arm.experiment_id.in_(experiment_ids), t.Sample.status == "scored")
        .group_by(t.Sample.arm_id, t.Sample.item_id, t.Sample.scale_size)
        .having(sa.func.count() > 1)
        .subquery()
    )
    divided = session.execute(sa.select(repeated).where(repeated.c.divided))
    found = [
        (replicate_conflict(row.verdicts, row.scale_size), row.arm_id, row.item_id)
        for row in divided
    ]
    worst = sorted(
        (one for one in found if one[0].widest >= FAR_APART),
        key=lambda one: (-one[0].widest, -one[0].share, one[1:]),
    )
    return Review(
        cells=tuple(_shown(session, experiment_ids, worst[:MAX_CELLS])),
        flagged=len(worst),
        repeated=session.scalar(sa.select(sa.func.count()).select_from(repeated)) or 0,
    )


def _shown(
    session: Session,
    experiment_ids: Sequence[int],
    cells: Sequence[tuple[ReplicateConflict, int, int]],
) -> list[FlaggedCell]:
    titles = _titles(session, {item for _, _, item in cells})
    places = {(arm, item): place for place, (_, arm, item) in enumerate(cells)}
    about: Any = sa.case(
        *(
            (sa.and_(t.Sample.arm_id == arm, t.Sample.item_id == item), place)
            for (arm, item), place in places.items()
        ),
        else_=None,
    )
    chosen = sa.select(t.Sample.id, about.label("about")).where(
        sa.tuple_(t.Sample.arm_id, t.Sample.item_id).in_(list(places))
    )
    judgements = shown_judgements(session, experiment_ids, chosen) if cells else {}
    return [
        FlaggedCell(titles[item], conflict, tuple(judgements[places[arm, item]]))
        for conflict, arm, item in cells
    ]


def _titles(session: Session, items: set[int]) -> dict[int, str]:
    rows = session.execute(
        sa.select(t.ItemDocument.item_id, t.Document.title, t.Document.position)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(t.ItemDocument.item_id.in_(items), t.ItemDocument.position == 0)
    )
    return {item: title or f"Document {position + 1}" for item, title, position in rows}
