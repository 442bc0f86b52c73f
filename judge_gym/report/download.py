"""Every figure of a run as a CSV file that the page carries in a link."""

import csv
import io
from collections.abc import Iterable
from urllib.parse import quote

from judge_gym.report.remarks import remark_text
from judge_gym.store.results import ResultRow, RunInfo

SCOPE = (
    *("concept", "country", "window", "rubric", "judge", "rival", "pair", "arm"),
    *("axis", "from", "to"),
)
"""Entries of a scope that have a column of their own; `scope` holds all of them."""
_NUMBERS = ("estimate", "lower", "upper", "n", "n_items", "floor", "p", "p_adjusted")
_WORDS = ("unit", "method", "reason")
_MARKS = ("simulated", "imported")
COLUMNS = ("sweep", "run", "metric", *SCOPE, "scope", *_NUMBERS, *_WORDS, *_MARKS)

_FORMULA = ("=", "+", "-", "@")
"""What makes a spreadsheet compute a cell instead of showing it (OWASP, CSV injection)."""


def results_csv(run: RunInfo, rows: Iterable[ResultRow]) -> str:
    """Return a line per figure, in full precision; an empty cell is a missing number.

    Text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in rows:
        words = [run.sweep, str(run.id), row.metric]
        words += [str(row.scope.get(name, "")) for name in SCOPE]
        words.append(row.scope_key)
        numbers = ["" if (one := getattr(row, name)) is None else repr(one) for name in _NUMBERS]
        method = "; ".join(filter(None, (row.method, *map(remark_text, row.remarks))))
        told = [row.unit, method, row.reason]
        marks = [str(getattr(row, name)).lower() for name in _MARKS]
        writer.writerow([*map(_safe, words), *numbers, *map(_safe, told), *marks])
    return out.getvalue()


def data_address(text: str) -> str:
    """Return a text as an address that holds it, for a link that downloads without a server."""
    return f"data:text/csv;charset=utf-8,{quote(text, safe=',:;()[]=!*')}"


def _safe(text: str) -> str:
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
