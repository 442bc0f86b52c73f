"""Result rows as tables, for the terminal and the page."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judge_gym.analysis import registry
from judge_gym.analysis.facets import averaged
from judge_gym.analysis.groups import MIXED
from judge_gym.analysis.registry import Column, FigureTable, Part
from judge_gym.counting import counted
from judge_gym.formats import figure, number, p_value
from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.report.remarks import remark_text, remark_texts
from judge_gym.report.scopes import (
    Scope,
    behind,
    group_labels,
    shared_part,
    short_label,
    subject_columns,
)
from judge_gym.report.table import Row, Table, without_empty
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

Columns = list[tuple[str, list[str]]]
"""(heading, a text per line)"""

_SETTLED = frozenset({RemarkKind.REFERENCES})
"""Remarks that are no caution."""
_LISTED = 3

_PARTS: Mapping[Part, Callable[[ResultRow, int], str]] = {
    "figure": figure,
    "small": lambda row, _: figure(row, significant=True),
    "floor": lambda row, digits: number(row.floor, digits),
    "p": lambda row, _: p_value(row.p),
    "adjusted": lambda row, _: p_value(row.p_adjusted),
    "items": lambda row, _: str(row.n_items),
    "n": lambda row, _: str(row.n),
}


@dataclass(frozen=True)
class _Line:
    """The figures of one scope, by metric."""

    scope: Scope
    figures: dict[str, ResultRow] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        return any(row.simulated for row in self.figures.values())

    @property
    def imported(self) -> bool:
        return any(row.imported for row in self.figures.values())

    @property
    def source(self) -> str:
        marks = {"simulated": self.simulated, "imported": self.imported}
        return " and ".join(word for word, holds in marks.items() if holds) or "real"

    @property
    def estimable(self) -> bool:
        return any(row.estimate is not None for row in self.figures.values())

    def cell(self, cell: Column) -> str:
        row = self.figures.get(cell.figure)
        if row is None or row.estimate is None:
            return number(None)
        return _PARTS[cell.part](row, cell.digits)


def result_tables(rows: Sequence[ResultRow]) -> list[Table]:
    """Return the tables of these figures, the headline first; tables without a figure are left out.

    Comparisons under a common rubric come first, those under own rubrics apart, then what could
    not be estimated, with the reasons. Where wordings or rubric draws vary, means over items are
    those over all of them, with their total error. A metric that no table knows is listed.
    """
    rows = averaged(rows)
    plain = [replace(row, metric=row.metric.removesuffix(MIXED)) for row in rows]
    mixes = [_mixes(row) for row in rows]
    common = [row for row, mixed in zip(plain, mixes, strict=True) if not mixed]
    mixed = [row for row, mixed in zip(plain, mixes, strict=True) if mixed]
    across = [kind for kind in registry.tables() if kind.across]
    tables = [_table(kind, common) for kind in across]
    tables += [_table(under_own_rubrics(kind), mixed) for kind in across]
    tables += [_table(kind, plain) for kind in registry.tables() if not kind.across]
    tables += [_others(plain), _reasons(rows)]
    return [table for table in map(without_empty, tables) if table.rows]


def _mixes(row: ResultRow) -> bool:
    return row.metric.endswith(MIXED) or row.scope.get("rubric") == "own"


def _table(kind: FigureTable, rows: Sequence[ResultRow]) -> Table:
    lines = _lines(kind, rows)
    used = [row for line in lines for row in line.figures.values()]
    cells = [(cell.heading, [line.cell(cell) for line in lines]) for cell in kind.columns]
    table = _assembled(lines, cells)
    return replace(
        table,
        title=kind.title,
        explanation=kind.explanation,
        brief=kind.in_terminal
        and not (kind.only_if_nonzero and not any(row.estimate for row in used)),
        notes=(*table.notes, *_notes(used)),
        methods=_methods(used),
    )


def _assembled(lines: Sequence[_Line], cells: Columns) -> Table:
    """Return a table without words: who each line is about, then the cells.

    Groups are headings over their judges; a table without judges has them as its first column.
    """
    scopes = [line.scope for line in lines]
    labels, subjects = group_labels(scopes), subject_columns(scopes)
    if not subjects:
        shown = labels if len(set(labels)) > 1 else [short_label(scope) for scope in scopes]
        subjects, labels = [("group", shown)], [""] * len(lines)
    if len({line.source for line in lines}) > 1:
        subjects = [*subjects, ("source", [line.source for line in lines])]
    columns = [*subjects, *cells]
    texts = zip(*(column for _, column in columns), strict=True)
    shared = shared_part(scopes)
    return Table(
        title="",
        explanation="",
        columns=tuple(heading for heading, _ in columns),
        rows=tuple(
            Row(cells, label, about=behind([scope]))
            for cells, label, scope in zip(texts, labels, scopes, strict=True)
        ),
        notes=(f"All rows: {shared}.",) if shared else (),
        words=len(subjects),
        simulated=any(line.simulated for line in lines),
        imported=any(line.imported for line in lines),
    )


def _lines(table: FigureTable, rows: Iterable[ResultRow]) -> list[_Line]:
    """Return the lines that hold an estimate, in the order of their first figure."""
    lines: dict[str, _Line] = {}
    metrics = frozenset(table.names)
    for row in rows:
        if row.metric in metrics:
            lines.setdefault(row.scope_key, _Line(row.scope)).figures[row.metric] = row
    joined = _joined(lines, table.joined_on) if table.joined_on else list(lines.values())
    return [line for line in joined if line.estimable]


def _joined(lines: Mapping[str, _Line], beside: str) -> list[_Line]:
    """Put the figures of a scope without `beside` into every line that has the rest of it."""
    merged = set()
    for line in lines.values():
        if beside in line.scope:
            rest = canonical_json(
                {key: value for key, value in line.scope.items() if key != beside}
            )
            if rest in lines:
                line.figures.update(lines[rest].figures)
                merged.add(rest)
    return [line for key, line in lines.items() if key not in merged]


def _notes(used: Sequence[ResultRow]) -> Iterator[str]:
    without = Counter(row.reason for row in used if row.estimate is not None and row.because)
    for reason, count in without.items():
        yield f"{counted(count, 'figure')} {'has' if count == 1 else 'have'} {reason}."
    compared = (
        f"{row.scope['regression'].replace('_', ' ')}: {remark_text(remark)}."
        for row in used
        for remark in row.remarks
        if remark.kind is RemarkKind.REFERENCES
    )
    yield from dict.fromkeys(compared)
    if cautions := _cautions(used):
        yield f"Caution: {'; '.join(cautions)}."


def _cautions(used: Sequence[ResultRow]) -> list[str]:
    """Return the cautions of a table, each with the figures it is of unless that is all of them."""
    remarks: dict[str, list[Remark]] = {}
    for row in used:
        if row.estimate is not None:
            of_figure = remarks.setdefault(row.metric.replace("_", " "), [])
            of_figure += [one for one in row.remarks if one.kind not in _SETTLED]
    figures: dict[str, list[str]] = {}
    for name, of in remarks.items():
        for text in remark_texts(of):
            figures.setdefault(text, []).append(name)
    return [
        text if len(names) == len(remarks) else f"{' and '.join(names)}: {text}"
        for text, names in figures.items()
    ]


def _methods(used: Iterable[ResultRow]) -> tuple[str, ...]:
    """Return each metric with the ways its figures came about."""
    methods: dict[str, dict[str, None]] = {}
    for row in used:
        if row.method:
            methods.setdefault(row.metric.replace("_", " "), {})[row.method] = None
    return tuple(f"{metric}: {', or '.join(texts)}" for metric, texts in methods.items())


def _others(rows: Iterable[ResultRow]) -> Table:
    tabulated = registry.figures()
    unknown = [row for row in rows if row.metric not in tabulated and row.estimate is not None]
    cells = [
        ("metric", [row.metric.replace("_", " ") for row in unknown]),
        ("figure", [figure(row) for row in unknown]),
        ("unit", [row.unit for row in unknown]),
        ("items", [str(row.n_items) for row in unknown]),
    ]
    table = _assembled([_Line(row.scope, {row.metric: row}) for row in unknown], cells)
    explanation = "Figures that no table above holds, each with its unit."
    return replace(table, title="Other figures", explanation=explanation)


def _reasons(rows: Iterable[ResultRow]) -> Table:
    grouped: dict[str, list[ResultRow]] = {}
    for row in rows:
        if row.estimate is None:
            grouped.setdefault(row.because, []).append(row)
    return Table(
        "Not estimable",
        "Figures that these data cannot give, by reason; a missing figure is not zero.",
        ("because", "figures", "of", "count"),
        tuple(
            Row(
                (
                    reason,
                    "; ".join(dict.fromkeys(row.metric.replace("_", " ") for row in group)),
                    _few(short_label(row.scope) for row in group),
                    str(len(group)),
                )
            )
            for reason, group in grouped.items()
        ),
        words=3,
        simulated=any(row.simulated for group in grouped.values() for row in group),
        imported=any(row.imported for group in grouped.values() for row in group),
    )


def _few(texts: Iterable[str]) -> str:
    """Return the first distinct texts, and how many more there are."""
    distinct = list(dict.fromkeys(texts))
    rest = len(distinct) - _LISTED
    return "; ".join(distinct[:_LISTED] + ([f"{rest} more"] if rest > 0 else []))


MIXED_TITLE = "own rubrics"
_MIXED_NOTE = (
    "Each judge has a rubric of its own here, so a difference is of rubric and judgement at once."
)


def under_own_rubrics(table: FigureTable) -> FigureTable:
    """Return the table of the same figures where each judge has a rubric of its own."""
    title, explanation = f"{table.title}: {MIXED_TITLE}", f"{table.explanation} {_MIXED_NOTE}"
    return replace(table, title=title, explanation=explanation)
