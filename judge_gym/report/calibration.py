"""The page of a calibration: one HTML file, and the tables behind it as CSV."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from judge_gym.calibration.checks import Check, span
from judge_gym.calibration.design import CalibrationDesign
from judge_gym.calibration.escalating import PolicyFigures, sufficient, undecided
from judge_gym.calibration.verdict import Verdict
from judge_gym.design.experiment import family_of
from judge_gym.formats import dollars
from judge_gym.judges import ModelJudge
from judge_gym.judges.calibrating.assessing import Assessment, Case
from judge_gym.judges.calibrating.texts import Texts
from judge_gym.report.plots.plot import Kind
from judge_gym.report.plots.svg import draw
from judge_gym.report.writing import ENVIRONMENT, csv_of, figures_of, put_in_place

LONGEST_SHOWN = 6000
"""Characters of a text that are shown of a case, on either side."""
_BAR = 5


@dataclass(frozen=True)
class CalibrationReport:
    """What the page shows. `chosen` is the place of the recommended judge, None without one;
    `why` says why."""

    design: CalibrationDesign
    texts: Texts
    assessments: Sequence[Assessment]
    together: Sequence[Check]
    policies: Sequence[PolicyFigures]
    costs: Sequence[float]
    chosen: int | None
    why: str
    written: datetime

    @property
    def asking(self) -> str:
        """Which way to ask is cheap beside the best of these judges; empty without one to name.

        And which cheaper one may be, with what would decide it.
        """
        margin = self.design.margins.accuracy_loss
        enough, maybe = sufficient(self.policies, margin), undecided(self.policies, margin)
        best = next((one for one in self.policies if one.is_best), None)
        if enough is None or best is None:
            return ""
        if all(one.decision.verdict is Verdict.DO_NOT_USE for one in self.assessments):
            return "None of these judges is recommended, so neither is a way to ask them."
        little = f"less than {100 * margin:g} in 100 right scores"
        labels = best.accuracy.n_items
        met = f"{round((best.accuracy.estimate or 0.0) * labels)} of {labels}"
        said = (
            f"{best.name.removesuffix(' alone')} meets most labels of these judges, {met}. "
            f"Compared with it, not with the labels, {enough.name} is the cheapest way to ask that "
            f"is shown to lose {little}."
        )
        if maybe:
            other, decides = maybe
            said += (
                f" {other.name} costs {dollars(other.cost.estimate)} USD a text in place of "
                f"{dollars(enough.cost.estimate)} and loses {other.loss.estimate:.3g} here, but "
                f"it is not shown to lose {little}. {decides}"
            )
        if not any(one.cost.estimate for one in self.policies):
            why = "Simulated judges cost nothing" if self.simulated else "No cost is known here"
            said += f" {why}: the first judge of the file stands for the cheap one."
        return said

    @property
    def gap(self) -> str:
        """What is not judged yet, in words; empty when everything is."""
        each = len(self.texts.items) * self.design.repeats
        missing = sum(each - one.statuses.total() for one in self.assessments)
        if not missing:
            return ""
        return (
            f"{missing} of {each * len(self.assessments)} judgements are missing: what is said "
            "here rests on the others."
        )

    @property
    def warning(self) -> str:
        """What speaks against the texts that a judge's own family changed; empty without any."""
        perturber = self.design.perturber
        if perturber is None:
            return ""
        family = family_of(perturber.model)
        related = [
            one.judge.name
            for one in self.assessments
            if isinstance(one.judge, ModelJudge) and family_of(one.judge.model) == family
        ]
        if not related:
            return ""
        return (
            f"{perturber.model}, which changed some of the texts, is of the same family as "
            f"{', '.join(related)}: a judge may know the hand of its own family, or prefer it. "
            "Have a model of another family change them."
        )

    @property
    def simulated(self) -> bool:
        """Whether a score is of a simulated judge."""
        return any(one.simulated for one in self.assessments)


@dataclass(frozen=True)
class Piece:
    """A stretch of a shown text; `changed` marks what the other side has not."""

    text: str
    changed: bool


def save_calibration(report: CalibrationReport, folder: Path) -> Path:
    """Write `calibration-<name>.html` and the tables beside it; returns the page's path.

    `calibration-<name>-checks.csv` has a row per check, `-cases.csv` one per surprising case.
    Raises `ReportError` when the folder cannot be written to.
    """
    page = page_path(report.design, folder)
    put_in_place(
        {
            page.with_name(f"{page.stem}-checks.csv"): csv_of(_check_rows(report)),
            page.with_name(f"{page.stem}-cases.csv"): csv_of(_case_rows(report)),
            page: calibration_page(report),
        }
    )
    return page


def page_path(design: CalibrationDesign, folder: Path) -> Path:
    """Return where the page of a calibration is."""
    return folder / f"calibration-{design.name}.html"


def calibration_page(report: CalibrationReport) -> str:
    """Return the whole page; equal reports give equal text."""
    template = ENVIRONMENT.get_template("calibration.html.j2")
    return template.render(
        report=report, span=span, before=before, after=after, histogram=_histogram,
        forest=_forest, curves=_curves, dollars=dollars,
    )  # fmt: skip


def before(case: Case) -> list[Piece]:
    """Return the original with what was changed in it."""
    pieces, at, original = [], 0, case.original.text
    for edit in case.changed.edits:
        pieces += [
            Piece(original[at : edit.start], False),
            Piece(original[edit.start : edit.end], True),
        ]
        at = edit.end
    return _cut([*pieces, Piece(original[at:], False)])


def after(case: Case) -> list[Piece]:
    """Return the variant with what is new in it."""
    pieces, at, original = [], 0, case.original.text
    for edit in case.changed.edits:
        pieces += [Piece(original[at : edit.start], False), Piece(edit.text, True)]
        at = edit.end
    return _cut([*pieces, Piece(original[at:], False)])


def _cut(pieces: Sequence[Piece]) -> list[Piece]:
    left = LONGEST_SHOWN
    kept: list[Piece] = []
    for piece in filter(lambda one: one.text, pieces):
        if left <= 0:
            return [*kept, Piece(" …", False)]
        kept.append(Piece(piece.text[:left], piece.changed))
        left -= len(piece.text)
    return kept


def _histogram(one: Assessment) -> str:
    counts, edges = np.histogram(one.scores.points, bins=100 // _BAR, range=(0, 100))
    rows = [{"points": float(edge), "scores": int(count)}
            for edge, count in zip(edges[:-1], counts, strict=True)]  # fmt: skip
    return _drawn("histogram", one, rows, f"How often {one.judge.name} gave each score")


def _forest(one: Assessment) -> str:
    rows = [
        {"change": _effect_of(check), "effect": found.estimate, "lower": found.lower,
         "upper": found.upper, "unit": "points"}
        for check in one.checks
        if (found := check.estimate).metric.startswith("score_") and found.unit == "points"
        and found.estimate is not None
    ]  # fmt: skip
    if not rows:
        return ""
    return _drawn("forest", one, rows, f"What each perturbation does to scores of {one.judge.name}")


def _effect_of(check: Check) -> str:
    return f"{check.perturbation} ({check.name.partition(':')[0]})"


def _curves(one: Assessment) -> Iterator[tuple[str, str]]:
    """Yield perturbation and drawing of those judged at two severities or more."""
    for name, points in one.curves.items():
        known = [(severity, found) for severity, found in points if found.estimate is not None]
        if len(known) > 2:
            rows = [
                {"severity": severity, "points": found.estimate, "lower": found.lower,
                 "upper": found.upper}
                for severity, found in known
            ]  # fmt: skip
            yield name, _drawn("severity_curve", one, rows, f"{one.judge.name}: {name}", name)


def _drawn(
    kind: Kind, one: Assessment, rows: Sequence[Mapping[str, Any]], label: str, part: str = ""
) -> str:
    name = "-".join(filter(None, (kind, part, one.judge.key))).replace("_", "-")
    said = f"SIMULATED. {label}" if one.simulated else label
    return draw(kind, rows, name, said)


def _check_rows(report: CalibrationReport) -> Iterator[dict[str, Any]]:
    some = [(one.judge.name, one.simulated, check) for one in report.assessments
            for check in one.checks]  # fmt: skip
    some += [("", report.simulated, check) for check in report.together]
    for judge, simulated, check in some:
        yield {
            "judge": judge, "check": check.name, "result": check.result,
            **figures_of(check.estimate), "p_adjusted": check.p_adjusted, "reason": check.reason,
            "action": check.action, "simulated": simulated,
        }  # fmt: skip


def _case_rows(report: CalibrationReport) -> Iterator[dict[str, Any]]:
    for one in report.assessments:
        for case in one.cases:
            yield {
                "judge": one.judge.name, "item": case.original.id,
                "perturbation": case.perturbation, "expected": case.expectation,
                "severity": case.severity, "perturber": case.changed.perturber,
                "before": case.before, "after": case.after, "simulated": one.simulated,
            }  # fmt: skip
