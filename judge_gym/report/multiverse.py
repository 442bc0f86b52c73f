"""Specification curves as people see them: which claims hold over all choices, and a picture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judge_gym.analysis.figures.interactions import EFFECTS
from judge_gym.analysis.figures.multiverse import CELL, CURVE, MEDIAN, QUESTION
from judge_gym.analysis.groups import MIXED
from judge_gym.counting import counted
from judge_gym.formats import figure, p_value, percent, side_of_0
from judge_gym.model_names import members_of, recorded_name
from judge_gym.report.findings import stands
from judge_gym.report.plots.plot import Plot, PlotPanel, Rows
from judge_gym.report.scopes import behind, evidence_link, group_labels
from judge_gym.report.table import Table, plain_table
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

MAX_CURVES = 3
"""Curves of the picture."""
MAX_CELLS = 160
MAX_LEVELS = 24
_ALPHA = 0.05
HOLDS, REVERSES, OPEN = "holds", "reverses", "open"
IN_WORDS = {
    HOLDS: "the same sign in every cell, and the median is off 0",
    REVERSES: "significant on either side, as cells choose",
    OPEN: "neither",
}
_NAMES = ("claim", "pair", *QUESTION)
_PLOT = Plot(
    "specification_curve",
    "Specification curve",
    "Above: the claim in every cell of the design, sorted, with its 95% interval; a filled point "
    "is significant. Below: the choices that make the cell; each has a dot in one row of every "
    "axis. A conclusion that holds stays on one side of the line whatever was chosen.",
    "Specification curves",
    missing="no claim has two cells in which the same judges applied a common rubric",
)


@dataclass(frozen=True)
class SpecificationCurve:
    """One claim with its cells, ascending by estimate, and the figures of its curve by metric."""

    scope: dict[str, Any]
    cells: Sequence[ResultRow]
    figures: dict[str, ResultRow]

    @property
    def label(self) -> str:
        """What is claimed of what, in words."""
        return f"{self.scope['claim']}: {self.judges}, {self.scope['concept']}"

    @property
    def judges(self) -> str:
        """The judges compared, the first less the second, or all of them."""
        pair = str(self.scope.get("pair", ""))
        return " less ".join(members_of(recorded_name(pair))) if pair else "all judges"

    @property
    def verdict(self) -> str:
        """`HOLDS`, `REVERSES` or `OPEN`; see `IN_WORDS`."""
        if self.share("specification_against") and self.share("specification_significant"):
            return REVERSES
        p = self.figures[MEDIAN].p_adjusted
        same = self.share("specification_same_sign") == 1
        return HOLDS if same and p is not None and p < _ALPHA else OPEN

    def share(self, metric: str) -> float:
        """Return one of the shares of the curve; 0 where it is missing."""
        return self.figures[metric].estimate or 0.0

    @property
    def choices(self) -> dict[str, list[str]]:
        """Axis → its levels, of the axes that differ between the cells."""
        levels: dict[str, dict[str, None]] = {}
        for cell in self.cells:
            for name, value in cell.scope.items():
                if name not in _NAMES:
                    levels.setdefault(name, {})[str(value)] = None
        return {name: sorted(values) for name, values in levels.items() if len(values) > 1}


def curves_of(rows: Sequence[ResultRow]) -> list[SpecificationCurve]:
    """Return the curves among these figures that have a median, in their order."""
    cells: dict[str, list[ResultRow]] = {}
    figures: dict[str, dict[str, ResultRow]] = {}
    for row in rows:
        key = canonical_json({name: row.scope[name] for name in _NAMES if name in row.scope})
        if row.metric == CELL and row.estimate is not None:
            cells.setdefault(key, []).append(row)
        elif row.metric in CURVE and row.scope:
            figures.setdefault(key, {})[row.metric] = row
    return [
        SpecificationCurve(
            of_claim[MEDIAN].scope,
            sorted(cells[key], key=lambda row: row.estimate or 0.0),
            of_claim,
        )
        for key, of_claim in figures.items()
        if of_claim[MEDIAN].estimate is not None
    ]


def least_settled(curves: Sequence[SpecificationCurve]) -> list[SpecificationCurve]:
    """Return the curves whose conclusion depends most on the choices first."""
    order = (REVERSES, OPEN, HOLDS)
    return sorted(
        curves,
        key=lambda curve: (
            order.index(curve.verdict),
            -curve.share("specification_against"),
            curve.share("specification_same_sign"),
        ),
    )


def specification_plot(rows: Sequence[ResultRow]) -> Plot:
    """Return the picture: the curves that depend most on the choices, and a note on the others."""
    curves = curves_of(rows)
    if not curves:
        return _PLOT
    shown = least_settled(curves)[:MAX_CURVES]
    panels = tuple(PlotPanel(curve.label, _drawn(curve), _in_short(curve)) for curve in shown)
    notes = []
    if len(curves) > len(shown):
        which = f"the {len(shown)} of {len(curves)} claims that depend most on the choices"
        notes.append(f"Shown: {which}.")
    if any(len(curve.cells) > MAX_CELLS for curve in shown):
        notes.append(f"Of more than {MAX_CELLS} cells, every second or third is drawn.")
    drawn = [row for curve in shown for row in curve.figures.values()]
    return replace(
        _PLOT,
        panels=panels,
        notes=tuple(notes),
        simulated=any(row.simulated for row in drawn),
        imported=any(row.imported for row in drawn),
        missing="",
    )


def _in_short(curve: SpecificationCurve) -> str:
    median = curve.figures[MEDIAN]
    share = percent(curve.share("specification_same_sign"))
    return (
        f"{curve.verdict}: median {figure(median)}, p {p_value(median.p_adjusted)}; {share} of "
        f"{len(curve.cells)} cells of one sign"
    )


def _drawn(curve: SpecificationCurve) -> Rows:
    """Return a row per cell drawn, with its levels as `axis: level`."""
    step = -(-len(curve.cells) // MAX_CELLS)
    choices = curve.choices
    levels = [f"{_words(axis)}: {level}" for axis, of in choices.items() for level in of]
    return [
        {
            "place": place,
            "estimate": cell.estimate,
            "lower": cell.lower,
            "upper": cell.upper,
            "significant": side_of_0(cell) != 0,
            "unit": cell.unit,
            "choices": [
                f"{_words(axis)}: {cell.scope[axis]}" for axis in choices if axis in cell.scope
            ],
            "levels": levels[:MAX_LEVELS],
            "link": evidence_link(behind([cell.scope])),
        }
        for place, cell in enumerate(curve.cells[::step], start=1)
    ]


def _words(axis: str) -> str:
    return axis.replace("_", " ")


def claims_table(curves: Sequence[SpecificationCurve], most: int) -> Table:
    """Return a line per claim, at most `most` of them, those that depend on choices first."""
    ordered = least_settled(curves)
    shared = len({(curve.scope["claim"], curve.scope["concept"]) for curve in curves}) == 1

    def one_line(curve: SpecificationCurve) -> str:
        return curve.judges if shared else curve.label

    about = f": {curves[0].scope['claim']}, {curves[0].scope['concept']}" if shared else ""
    table = plain_table(
        f"Claims over all cells{about}",
        (
            "claim",
            "over cells",
            "median",
            "p (Holm)",
            "same sign",
            "significant",
            "against",
            "cells",
        ),
        [
            (
                *(one_line(curve), curve.verdict, figure(curve.figures[MEDIAN])),
                p_value(curve.figures[MEDIAN].p_adjusted),
                *(
                    _beside_chance(curve.figures[metric])
                    for metric in ("specification_same_sign", "specification_significant")
                ),
                percent(curve.share("specification_against")),
                len(curve.cells),
            )
            for curve in ordered[:most]
        ],
        words=2,
    )
    rest = f"{counted(len(ordered) - most, 'more claim')}. " if len(ordered) > most else ""
    words = "; ".join(f"{name}: {text}" for name, text in IN_WORDS.items())
    return replace(
        table,
        notes=(
            f"{rest}In brackets after a share: by chance. A cell of exactly 0 is of no sign. "
            f"{words[0].upper()}{words[1:]}.",
        ),
        simulated=any(row.simulated for curve in curves for row in curve.figures.values()),
        imported=any(row.imported for curve in curves for row in curve.figures.values()),
    )


def _beside_chance(row: ResultRow) -> str:
    chance = "" if row.floor is None else f" ({percent(row.floor)})"
    return f"{percent(row.estimate)}{chance}"


def cells_table(curve: SpecificationCurve, most: int) -> Table:
    """Return the cells of one claim, ascending; of more than `most` those at both ends."""
    axes = list(curve.choices)
    rows = [
        (
            *(str(cell.scope.get(axis, "")) for axis in axes),
            figure(cell),
            "yes" if side_of_0(cell) else "",
            cell.n_items,
        )
        for cell in curve.cells
    ]
    left_out = max(0, len(rows) - most)
    if left_out:
        half = most // 2
        rows = [*rows[:half], *rows[-(most - half) :]]
    table = plain_table(
        f"Cells of {curve.label} ({curve.figures[MEDIAN].unit})",
        (*map(_words, axes), "estimate", "significant", "items"),
        rows,
        words=len(axes),
    )
    return replace(table, notes=tuple(_notes(left_out)))


def _notes(left_out: int) -> Iterator[str]:
    if left_out:
        yield f"{counted(left_out, 'cell')} between these: see the HTML report."


_MOST_CHANGES = 2


def sign_change_cautions(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield the effects of axes that change sign with another axis, beyond their uncertainty."""
    figures: dict[str, dict[str, ResultRow]] = {}
    for row in rows:
        if row.metric in EFFECTS:
            figures.setdefault(row.scope_key, {})[row.metric] = row
    turning = sorted(
        (p, key)
        for key, of_change in figures.items()
        if (p := of_change[EFFECTS[0]].p_adjusted) is not None and p < _ALPHA
    )
    for p, key in turning[:_MOST_CHANGES]:
        scope = figures[key][EFFECTS[0]].scope
        low, high = (figures[key][metric] for metric in EFFECTS[1:])
        yield (
            f"The effect of {_words(scope['axis'])} {scope['from']} → {scope['to']} changes sign "
            f"with {_words(scope['moderator'])}: {figure(low)} at {scope['lowest_at']}, "
            f"{figure(high)} at {scope['highest_at']} (p {p_value(p)})."
        )
    more = len(turning) - _MOST_CHANGES
    if more > 0:
        yield f"{counted(more, 'more effect')} of axes change sign; see Effects that change sign."


def rule_cautions(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield how many changes of the panel's verdict only some rules of combination support."""
    panel: dict[tuple[str, str], dict[str, ResultRow]] = {}
    for row in rows:
        metric = row.metric.removesuffix(MIXED)
        if metric in _PANEL:
            mixed = row.metric[len(metric) :]
            panel.setdefault((row.scope_key, mixed), {})[metric] = row
    supported = [of for of in panel.values() if len(of) == len(_PANEL) and stands(of[_PANEL[0]])]
    hanging = sorted(
        (of for of in supported if (of[_PANEL[2]].estimate or 0.0) < 1),
        key=lambda of: (of[_PANEL[2]].estimate or 0.0, -abs(of[_PANEL[0]].estimate or 0.0)),
    )
    if hanging:
        named = hanging[:_MOST_CHANGES]
        labels = group_labels([of[_PANEL[0]].scope for of in named])
        told = "; ".join(map(_kept, named, labels))
        yield (
            f"The rule that combines the judges decides {len(hanging)} of "
            f"{counted(len(supported), 'change')} that the linear pool supports: {told}. See "
            "Contrasts of the panel, by how many rules."
        )


_PANEL = ("panel_contrast", "panel_contrast_same_sign", "panel_contrast_supported")


def _kept(of_change: dict[str, ResultRow], label: str) -> str:
    rules = of_change[_PANEL[1]].n
    same, supported = (round((of_change[name].estimate or 0.0) * rules) for name in _PANEL[1:])
    return (
        f"{label} keeps its sign under {same} of {counted(rules, 'rule')}, "
        f"its support under {supported}"
    )
