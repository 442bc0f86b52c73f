"""Cells whose own replicates exclude each other, worst first, for a person to look at."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from judge_gym.metrics.consistency import FAR_APART, ReplicateConflict, replicate_conflict
from judge_gym.report.judgements import LONGEST_TEXT, ShownJudgement, shown_judgements
from judge_gym.store.judgement_texts import divided_cells, first_titles, judgements_of_cells

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
    divided, repeated = divided_cells(session, experiment_ids)
    conflicts = [
        (replicate_conflict(cell.verdicts, cell.scale_size), cell.arm_id, cell.item_id)
        for cell in divided
    ]
    worst = sorted(
        (one for one in conflicts if one[0].widest >= FAR_APART),
        key=lambda one: (-one[0].widest, -one[0].share, one[1:]),
    )
    return Review(
        cells=tuple(_shown(session, experiment_ids, worst[:MAX_CELLS])),
        flagged=len(worst),
        repeated=repeated,
    )


def _shown(
    session: Session,
    experiment_ids: Sequence[int],
    cells: Sequence[tuple[ReplicateConflict, int, int]],
) -> list[FlaggedCell]:
    titles = first_titles(session, {item for _, _, item in cells})
    pairs = [(arm, item) for _, arm, item in cells]
    judgements = shown_judgements(
        session, experiment_ids, judgements_of_cells(session, pairs, LONGEST_TEXT)
    )
    return [
        FlaggedCell(titles[item], conflict, tuple(judgements[arm, item]))
        for conflict, arm, item in cells
    ]
