"""What stands beside figures on an axis whose value a model did not take."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from judge_gym.analysis.data import Judge
from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.store.results import ResultRow


def cautioned(row: ResultRow, judges: Iterable[Judge]) -> ResultRow:
    """Return the row, with a remark on the models that did not apply a value of its axes."""
    remarks = [
        Remark(RemarkKind.NOT_APPLIED, names=(axis, *models))
        for axis, values in _axes(row.scope)
        if (models := _models(row, axis, values, judges))
    ]
    return replace(row, remarks=(*row.remarks, *remarks))


def _axes(scope: dict[str, Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the sampling axes that a figure is about, with the values of them."""
    for axis in ("temperature", "top_p"):
        if scope.get("axis") == axis:
            yield axis, [scope[end] for end in ("from", "to", "level") if end in scope]
        elif axis in scope:
            yield axis, [scope[axis]]


def _models(row: ResultRow, axis: str, values: Sequence[Any], judges: Iterable[Judge]) -> list[str]:
    # Levels of an axis over the grid stand in scopes as text.
    of = {row.scope[part] for part in ("judge", "rival") if part in row.scope}
    return sorted(
        {
            one.model
            for one in judges
            if axis in one.not_applied
            and str(getattr(one.experiment, axis)) in map(str, values)
            and (not of or one.model in of)
        }
    )
