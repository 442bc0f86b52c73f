"""Rows of the view `samples` as input of the metrics, to recompute a figure in a notebook.

    group = group_of(load("samples", sweep="demo"), scope)    # the scope of a stored figure
    measure_polarization(group.verdicts, generator, family=group.family)

The arrays of `metrics.cells` hold no names; a `JudgeGroup` holds both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from judge_gym.errors import StoreError
from judge_gym.metrics.cells import FloatArray, IntArray, Probes, Verdicts
from judge_gym.metrics.facets import FacetTable, complete_table
from judge_gym.seeds import canonical_json

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = {"window": "window_name"}
_FACETS = ["wording", "rubric_draw"]
"""What a figure is of all levels of, where its scope names none."""
_PROBABILITIES = ["first_probability", "second_probability"]


@dataclass(frozen=True, eq=False)
class JudgeGroup:
    """The scored samples of the judges in one comparison, in their own arms.

    `judges` (models) and `items` (ids) are in the order in which `verdicts` and `probes` number
    them; `family` holds a number per judge, `experiments` the id of each experiment.
    """

    experiments: tuple[int, ...]
    judges: tuple[str, ...]
    items: tuple[int, ...]
    family: IntArray
    verdicts: Verdicts
    probes: Probes


def group_of(samples: "pd.DataFrame", scope: Mapping[str, Any]) -> JudgeGroup:
    """Return the group of a figure, from rows of the view `samples` with all columns.

    Entries of the scope that are no axis, such as a judge, are ignored, because a group is always
    complete. Without a wording or a draw of the rubric in the scope, it holds the samples of all,
    as the figure does. Raises `StoreError` if the scope matches no group, or several.
    """
    chosen = samples[(samples["arm"] == "own") & (samples["status"] == "scored")]
    for entry, value in scope.items():
        column = _COLUMNS.get(entry, entry)
        if column == "rubric" and value.startswith("provided"):
            chosen = chosen[_is_provided(chosen["rubric"], value)]
        elif column in chosen and column != "arm":
            chosen = chosen[chosen[column] == value]
    if "wording" not in scope:
        chosen = _at_shared_wordings(chosen)
    by_level = chosen.groupby(_FACETS)["setting"].nunique()
    if (settings := by_level.max() if len(by_level) else 0) != 1:
        raise StoreError(
            f"The scope {dict(scope)} fits samples of {settings} groups of judges.",
            "Give one group's samples: those of a group share the value of the column 'setting'.",
        )
    return _group(chosen)


def over_levels(figures: "pd.DataFrame") -> "pd.DataFrame":
    """Return figures without those of one wording or draw whose figure over all of them is there.

    `figures` are rows of a view with a column `scope`, and `metric` where there are several.
    """
    metrics = figures["metric"] if "metric" in figures else [""] * len(figures)
    whole = {
        (metric, canonical_json(scope))
        for metric, scope in zip(metrics, figures["scope"], strict=True)
    }

    def is_whole(metric: str, scope: Mapping[str, Any]) -> bool:
        rest = {name: value for name, value in scope.items() if name not in _FACETS}
        return rest == scope or (metric, canonical_json(rest)) not in whole

    kept = [is_whole(*of) for of in zip(metrics, figures["scope"], strict=True)]
    return figures[np.array(kept, dtype=np.bool_)]


def item_values(rows: "pd.DataFrame", column: str) -> FloatArray:
    """Return a value for each item, its mean over wordings and rubric draws.

    Of the items, wordings and draws that have all values, as the figure over levels. `rows` have
    one value for each item, wording and draw.
    """
    names = ("item_id", *_FACETS)
    numbers = [np.unique(rows[name].astype(str), return_inverse=True) for name in names]
    table = np.full([len(levels) for levels, _ in numbers], np.nan)
    table[tuple(number for _, number in numbers)] = rows[column].to_numpy(np.float64)
    block, _ = complete_table(FacetTable(names, table))
    return np.asarray(block.values.mean(axis=(1, 2)))


def _at_shared_wordings(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows under wordings that all judges have."""
    judges = rows.groupby("wording", observed=True)["model"].nunique()
    shared = judges.index[judges == rows["model"].nunique()]
    return rows[rows["wording"].isin(shared)]


def _is_provided(rubrics: "pd.Series[Any]", scope: str) -> "pd.Series[Any]":
    """Return which rubrics of the view a scope means: its file, or the last part of its path.

    A scope names no file where a sweep has one provided rubric, and a digest where files are not
    known; then every provided one fits, and other entries of the scope tell groups apart.
    """
    texts = rubrics.astype(str)
    name = scope.removeprefix("provided").strip()
    named = texts.isin([scope]) | (
        texts.str.startswith("provided ") & texts.str.endswith(f"/{name}")
    )
    return named if name and named.any() else texts.str.startswith("provided")


def _group(rows: "pd.DataFrame") -> JudgeGroup:
    judges, judge = np.unique(rows["model"].astype(str), return_inverse=True)
    items, item = np.unique(rows["item_id"].to_numpy(np.int64), return_inverse=True)
    stages = rows["stage_bits"].to_numpy(np.int64)
    probability = rows[_PROBABILITIES].to_numpy(np.float64)
    times = np.isfinite(probability).sum(axis=1)
    probed = np.flatnonzero(times)
    mean = np.nansum(probability, axis=1)[probed] / times[probed]
    n_judges, n_items = len(judges), len(items)
    family_of = dict(zip(rows["model"], rows["family"], strict=True))
    _, family = np.unique([family_of[name] for name in judges], return_inverse=True)
    return JudgeGroup(
        experiments=tuple(rows["experiment_id"].unique().tolist()),
        judges=tuple(judges.tolist()),
        items=tuple(items.tolist()),
        family=family,
        verdicts=Verdicts(
            judge=judge,
            item=item,
            stages=stages,
            n_stages=int(rows["scale_size"].iloc[0]),
            n_judges=n_judges,
            n_items=n_items,
        ),
        probes=Probes(
            judge=judge[probed],
            item=item[probed],
            stages=stages[probed],
            probability=mean,
            n_judges=n_judges,
            n_items=n_items,
        ),
    )
