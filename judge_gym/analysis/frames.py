"""For notebooks: the views of the schema `analysis` as tidy DataFrames.

    from judge_gym.analysis import load
    samples = load("samples", sweep="demo")

What each view and column holds is in its comment: `\\d+ analysis.samples` in psql, or `describe`.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge_gym.store.bulk import Columns, open_csv
from judge_gym.store.views import is_nested, view_reader

if TYPE_CHECKING:
    import pandas as pd

_NAMES = """
    actors agent arm axis category concept country domain evidence_view experiment experiment_a
    experiment_b family family_a family_b finish_reason judge metric model model_a model_b
    owner_family owner_model pair probe_window prompt_order provider rival route rubric
    rubric_family rubric_owner scoring_method source status sweep task_type template tier unit
    version window_name wording workflow
"""
CATEGORIES = frozenset(_NAMES.split())
"""Columns of text that names one of few things."""


def load(
    view: str,
    *,
    sweep: str | None = None,
    experiment: str | None = None,
    columns: Sequence[str] | None = None,
    url: str | None = None,
) -> "pd.DataFrame":
    """Return the rows of a view, all or those of a sweep or of an experiment (its tag).

    Names are categories, whole numbers and truth values may be missing (`Int64`, `boolean`),
    times are UTC, arrays and JSON are lists and dicts (equal ones shared: copy before changing).
    `columns` takes some of them. `url` is a database, else it is the one in the settings.

    Raises `StoreError` naming what exists, for a view, column, sweep or experiment that does not.
    """
    with view_reader(url) as reader, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        types = reader.copy(view, file, sweep=sweep, experiment=experiment, columns=columns)
        return _frame(file, types)


def describe(view: str | None = None, *, url: str | None = None) -> "pd.DataFrame":
    """Return what every view holds, or what every column of a view does."""
    import pandas as pd

    with view_reader(url) as reader:
        if view is None:
            views = reader.comments()
            return pd.DataFrame({"view": list(views), "holds": list(views.values())})
        comments = reader.column_comments(view)
        return pd.DataFrame({"column": list(comments), "holds": list(comments.values())})


def _frame(file: Path, columns: Columns) -> "pd.DataFrame":
    import pandas as pd
    import pyarrow as pa

    read = {
        name: "float8" if kind == "numeric" else "text" if is_nested(kind) else kind
        for name, kind in columns.items()
    }
    table = open_csv(file, read, categories=CATEGORIES & read.keys()).read_all()
    kinds = {
        pa.int16(): pd.Int64Dtype(),
        pa.int32(): pd.Int64Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    frame = table.unify_dictionaries().to_pandas(
        types_mapper=kinds.get, date_as_object=False, self_destruct=True
    )
    for name, kind in columns.items():
        if is_nested(kind):
            frame[name] = _parsed(frame[name])
    return frame


def _parsed(texts: "pd.Series[str]") -> list[Any]:
    # Many rows share few values: each is parsed once.
    parsed = {text: json.loads(text) for text in texts.dropna().unique()}
    return [parsed.get(text) for text in texts]
