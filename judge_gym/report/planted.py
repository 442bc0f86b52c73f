"""Planted against recovered: whether the pipeline finds what was built into simulated judges."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.groups import MIXED
from judge_gym.formats import ABSENT, figure, number
from judge_gym.planted.families import Family, planted
from judge_gym.report import recoveries
from judge_gym.report.planted_cases import PlantedSweep, read_planted
from judge_gym.report.recoveries import Expect, Expectation
from judge_gym.report.scopes import group_labels, shared_part, subject_columns
from judge_gym.report.table import Row, Table
from judge_gym.store.results import ResultRow

_ROUNDING = 1e-9
_PARAMETERS = {
    "leaning": "leaning",
    "tone_bias": "tone",
    "noise": "noise",
    "first_bias": "first",
    "label_a_bias": "letter A",
    "subset_width": "width",
    "abstention": "abstains",
    "probe_level": "level",
    "probe_slope": "slope",
    "own_rubric_loyalty": "loyalty",
    "accuracy": "accuracy",
    "malformed": "malformed",
    "fixed_reading": "fixed",
    "obedience": "obeys",
}
"""Planted parameter → its column."""


@dataclass(frozen=True)
class Recovery:
    """A figure that has a planted counterpart, and how its expected value comes about."""

    metric: str
    title: str
    how: str
    expect: Expect
    digits: int = 2


RECOVERIES = (
    Recovery(
        "polarization_pair",
        "Leaning: polarization by pair",
        "Planted: the two leanings. Expected: the mean P of as many verdicts as each judge gave on "
        "each item, drawn from the planted stage probabilities, so with the same noise as found.",
        recoveries.pair_polarization,
    ),
    Recovery(
        "contrast",
        "Tone and display: contrasts of verdicts",
        "Planted: what the axis acts on. Expected: the difference of the mean 0-1 scores that the "
        "planted model gives to the very texts shown, in both settings.",
        recoveries.verdict_contrast,
    ),
    Recovery(
        "swap_sensitivity",
        "Loyalty: confidence under a rival's rubric",
        "Planted: what stated confidence loses under a foreign rubric. Expected: that loss after "
        "clipping to [0, 1].",
        recoveries.confidence_change,
    ),
    Recovery(
        "sham_sensitivity",
        "Loyalty: confidence under a second own rubric",
        "Planted: the same loyalty. Expected: 0, as a second rubric is in the family's own words.",
        recoveries.confidence_change,
    ),
    Recovery(
        "confidence",
        "Confidence",
        "Planted: level and slope of the stated probability. Expected: its mean over the stages "
        "that the judge should choose, less its loyalty where the rubric is not in its own words.",
        recoveries.stated_confidence,
    ),
    Recovery(
        "overconfidence",
        "Overconfidence",
        "Planted: the level of the stated probability. Expected: stated probability less the "
        "probability that another judge chooses the same stage.",
        recoveries.excess_confidence,
    ),
    Recovery(
        "position_bias",
        "Position bias",
        "Planted: the probability of taking the stage shown first. Expected: that times (1 - 1/S).",
        recoveries.display_bias,
    ),
    Recovery(
        "label_bias",
        "Label bias",
        "Planted: the probability of taking the stage lettered A. Expected: that times (1 - 1/S).",
        recoveries.display_bias,
    ),
    Recovery(
        "replicate_variance",
        "Noise: variance over replicates",
        "Planted: the scale of the noise of a reading. Expected: the variance of the 0-1 score "
        "under the planted stage probabilities.",
        recoveries.replicate_variance,
        digits=3,
    ),
    Recovery(
        "subset_width",
        "Subset width",
        "Planted: how likely a stage must be, relative to the likeliest, to be named. Expected: "
        "the mean share of further stages named, over the noise of the reading.",
        recoveries.subset_width,
    ),
    Recovery(
        "abstention_rate",
        "Abstention",
        "Planted: the probability of abstaining on a text with nothing to judge by. Expected: its "
        "mean over the texts shown, by how much each tells.",
        recoveries.abstention_rate,
    ),
    Recovery(
        "accuracy",
        "Accuracy on claims",
        "Planted: the probability of judging a claim rightly. Expected: the same after display "
        "biases, on these claims.",
        recoveries.claim_accuracy,
    ),
)


@dataclass(frozen=True)
class _Comparison:
    """A figure beside what it should be near."""

    row: ResultRow
    expectation: Expectation

    @property
    def inside(self) -> bool | None:
        """Whether the expected value is in the interval; None without an interval."""
        if self.row.lower is None or self.row.upper is None:
            return None
        value = self.expectation.value
        return self.row.lower - _ROUNDING <= value <= self.row.upper + _ROUNDING


@dataclass(frozen=True)
class Planted:
    """Planted values beside recovered ones.

    Of `compared` intervals, `held` hold the value expected from what is planted. The tables are a
    summary, the parameters, and one for each figure.
    """

    tables: Sequence[Table] = ()
    held: int = 0
    compared: int = 0


def compare_planted(session: Session, data: SweepData, rows: Sequence[ResultRow]) -> Planted:
    """Compare the figures of a wholly simulated sweep with what is planted."""
    known = read_planted(session, data)
    compared = {one: _comparisons(known, rows, one) for one in RECOVERIES}
    compared = {one: found for one, found in compared.items() if found}
    families = sorted({judge.family_name for judge in known.judges})
    tables = [_summary(compared), parameter_table(families)]
    tables += [_details(one, found) for one, found in compared.items()]
    inside = [one.inside for found in compared.values() for one in found if one.inside is not None]
    return Planted([table for table in tables if table.rows], sum(inside), len(inside))


def parameter_table(families: Sequence[str]) -> Table:
    """Return the planted parameters of these families of the simulator."""
    about = [f"{name}: {planted()[name].about}" for name in families]
    fields = Family.model_fields
    meanings = [
        f"{heading}: {' '.join((fields[name].description or '').split())}"
        for name, heading in _PARAMETERS.items()
    ]
    return Table(
        "Planted parameters",
        "What is built into each simulated family, from judge_gym/planted/families.toml; a "
        "parameter that no table below mentions is only listed.",
        ("family", *_PARAMETERS.values()),
        tuple(Row((name, *_values(planted()[name]))) for name in families),
        notes=tuple(about),
        methods=tuple(meanings),
        simulated=True,
    )


def _values(family: Family) -> list[str]:
    return [number(getattr(family, name)) for name in _PARAMETERS]


def _comparisons(
    known: PlantedSweep, rows: Sequence[ResultRow], recovery: Recovery
) -> list[_Comparison]:
    figures = [
        row
        for row in rows
        if row.metric.removesuffix(MIXED) == recovery.metric and row.estimate is not None
    ]
    expected = [recovery.expect(known, row) for row in figures]
    return [
        _Comparison(row, expectation)
        for row, expectation in zip(figures, expected, strict=True)
        if expectation is not None
    ]


def _summary(compared: dict[Recovery, list[_Comparison]]) -> Table:
    return Table(
        "Recovery in short",
        "Of the figures with a planted counterpart and an interval, how many intervals hold the "
        "value expected from what is planted; about 95% should.",
        ("figure", "hold it", "of"),
        tuple(
            Row(
                (
                    recovery.title,
                    str(sum(one.inside is True for one in found)),
                    str(sum(one.inside is not None for one in found)),
                )
            )
            for recovery, found in compared.items()
        ),
        simulated=True,
    )


def _details(recovery: Recovery, found: Sequence[_Comparison]) -> Table:
    scopes = [one.row.scope for one in found]
    subjects, shared = subject_columns(scopes), shared_part(scopes)
    cells = [
        ("planted", [one.expectation.planted for one in found]),
        ("expected", [number(one.expectation.value, recovery.digits) for one in found]),
        ("recovered", [figure(one.row, recovery.digits) for one in found]),
        ("inside", [_said(one.inside) for one in found]),
    ]
    columns = [*subjects, *cells]
    texts = zip(*(column for _, column in columns), strict=True)
    return Table(
        f"Recovered: {recovery.title}",
        recovery.how,
        tuple(heading for heading, _ in columns),
        tuple(Row(*row) for row in zip(texts, group_labels(scopes), strict=True)),
        notes=(f"All rows: {shared}.",) if shared else (),
        words=len(subjects),
        simulated=True,
    )


def _said(inside: bool | None) -> str:
    return ABSENT if inside is None else "yes" if inside else "no"
