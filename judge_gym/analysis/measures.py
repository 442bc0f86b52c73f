"""What two settings are compared in: the verdict, stated confidence, and the shape of verdicts."""

from collections.abc import Callable
from dataclasses import dataclass

from judge_gym.analysis.data import Arms, SweepData
from judge_gym.metrics.cells import CellMeans, IntArray, mean_scores
from judge_gym.metrics.shape import ADJACENT_SHARE, COMPARED, Share, jitter_cells, share_of


@dataclass(frozen=True)
class Measure:
    """One figure per item: `cells` maps arms, items and the scale's length to values in [0, 1].

    `suffix` ends the names of its metrics; `of_sets` says that verdicts must name sets.
    """

    suffix: str
    unit: str
    cells: Callable[[SweepData, Arms, IntArray, int], CellMeans]
    of_sets: bool = False


def _scores(data: SweepData, arms: Arms, items: IntArray, n_stages: int) -> CellMeans:
    return mean_scores(data.verdicts(arms, items, n_stages))


def _confidences(data: SweepData, arms: Arms, items: IntArray, _: int) -> CellMeans:
    return data.answered(arms, items).confidence()


def _shape(share: Share) -> Measure:
    def cells(data: SweepData, arms: Arms, items: IntArray, n_stages: int) -> CellMeans:
        return share_of(share, data.readable(arms, items, n_stages))

    return Measure(f"_{share.name}", share.unit, cells, share.of_sets)


def _jitter(data: SweepData, arms: Arms, items: IntArray, n_stages: int) -> CellMeans:
    cells = jitter_cells(data.verdicts(arms, items, n_stages))
    return CellMeans(cells.value / (n_stages - 1), cells.n)


SCORE = Measure("", "0-1 scale", _scores)
CONFIDENCE = Measure("_confidence", "probability", _confidences)
SHAPE = tuple(map(_shape, COMPARED))
SPREAD = (_shape(ADJACENT_SHARE), Measure("_jitter", "0-1 scale", _jitter))
"""Of some items alone: those with sets of several stages, and with several verdicts."""
HEADINGS = {
    "abstain_share": "abstains",
    "middle_mass": "middle",
    "singleton_share": "one stage",
    "set_width": "width",
}
"""Figure of the shape → the heading of its column."""
