"""Tables of planted against recovered: whether the pipeline finds what is planted in judges."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from judge_gym.analysis.groups import MIXED
from judge_gym.formats import ABSENT, figure, number
from judge_gym.metrics.class_rates import exact_p
from judge_gym.metrics.estimate import LEVEL
from judge_gym.planted.families import Family, family_named, parameters_of
from judge_gym.report.scopes import group_labels, shared_part, subject_columns
from judge_gym.report.table import Row, Table
from judge_gym.store.results import ResultRow

_PARAMETERS = {
    "leaning": "leaning",
    "tone_bias": "tone",
    "noise": "noise",
    "wording_sd": "wording",
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
    "compliance": "obeys",
}
"""Planted parameter → its column."""


@dataclass(frozen=True)
class RecoveryTable:
    """The table of a figure with a planted counterpart; `how` explains its expected value."""

    metric: str
    title: str
    how: str
    digits: int = 2


RECOVERIES = (
    RecoveryTable(
        "polarization_pair",
        "Leaning: polarization by pair",
        "Planted: the two leanings. Expected: the mean P of as many verdicts as each judge gave on "
        "each item, drawn from the planted stage probabilities, so with the same noise as found.",
    ),
    RecoveryTable(
        "contrast",
        "Tone and display: contrasts of verdicts",
        "Planted: what the axis acts on. Expected: the difference of the mean 0-1 scores that the "
        "planted model gives to the very texts shown, in both settings.",
    ),
    RecoveryTable(
        "swap_sensitivity",
        "Loyalty: confidence under a rival's rubric",
        "Planted: what stated confidence loses under a foreign rubric. Expected: that loss after "
        "clipping to [0, 1].",
    ),
    RecoveryTable(
        "sham_sensitivity",
        "Loyalty: confidence under a second own rubric",
        "Planted: the same loyalty. Expected: 0, as a second rubric is in the family's own words.",
    ),
    RecoveryTable(
        "confidence",
        "Confidence",
        "Planted: level and slope of the stated probability. Expected: its mean over the stages "
        "that the judge should choose, less its loyalty where the rubric is not in its own words.",
    ),
    RecoveryTable(
        "overconfidence",
        "Overconfidence",
        "Planted: the level of the stated probability. Expected: stated probability less the "
        "probability that another judge chooses the same stage.",
    ),
    RecoveryTable(
        "position_bias",
        "Position bias",
        "Planted: the probability of taking the stage shown first. Expected: that times (1 - 1/S).",
    ),
    RecoveryTable(
        "label_bias",
        "Label bias",
        "Planted: the probability of taking the stage lettered A. Expected: that times (1 - 1/S).",
    ),
    RecoveryTable(
        "replicate_variance",
        "Noise: variance over replicates",
        "Planted: the scale of the noise of a reading. Expected: the variance of the 0-1 score "
        "under the planted stage probabilities.",
        digits=3,
    ),
    RecoveryTable(
        "subset_width",
        "Subset width",
        "Planted: how likely a stage must be, relative to the likeliest, to be named. Expected: "
        "the mean share of further stages named, over the noise of the reading.",
    ),
    RecoveryTable(
        "abstention_rate",
        "Abstention",
        "Planted: the probability of abstaining on a text with nothing to judge by. Expected: its "
        "mean over the texts shown, by how much each tells.",
    ),
    RecoveryTable(
        "accuracy",
        "Accuracy on claims",
        "Planted: the probability of judging a claim rightly. Expected: the same after display "
        "biases, on these claims.",
    ),
    RecoveryTable(
        "letter_overconfidence",
        "Token probability of the letter: overconfidence on claims",
        "Planted: the probability of judging a claim rightly. Expected: the mean over verdicts of "
        "their own planted probability, less the share right.",
    ),
    RecoveryTable(
        "letter_brier_score",
        "Token probability of the letter: Brier score on claims",
        "Planted: the same. Expected: the mean squared distance of that probability from 1 where "
        "the verdict is right, else from 0.",
    ),
)


@dataclass(frozen=True)
class Planted:
    """Planted values beside recovered ones.

    Of `compared` intervals, `held` hold the value expected from what is planted. The tables are a
    summary, the parameters, and one for each figure.
    """

    tables: Sequence[Table] = ()
    held: int = 0
    compared: int = 0

    @property
    def fails(self) -> bool:
        """Whether so few or fewer would hold by chance in at most 2.5% of runs, if 95% should.

        Exact binomial, as if intervals were independent.
        """
        p = exact_p(self.compared - self.held, self.compared, 1 - LEVEL)
        return float(p) <= (1 - LEVEL) / 2


def compare_planted(rows: Sequence[ResultRow], models: Iterable[str]) -> Planted:
    """Compare the figures of a wholly simulated sweep with what is planted in its models."""
    families = sorted({name for model in models if (name := family_named(model))})
    by_metric: dict[str, list[ResultRow]] = {}
    for row in rows:
        if row.expected is not None:
            by_metric.setdefault(row.metric.removesuffix(MIXED), []).append(row)
    compared = {
        layout: by_metric[layout.metric] for layout in RECOVERIES if layout.metric in by_metric
    }
    tables = [_summary(compared), parameter_table(families)]
    tables += [_details(layout, of_layout) for layout, of_layout in compared.items()]
    held = [row.holds_expected for of_layout in compared.values() for row in of_layout]
    return Planted(
        [table for table in tables if table.rows],
        sum(one is True for one in held),
        sum(one is not None for one in held),
    )


def parameter_table(families: Sequence[str]) -> Table:
    """Return the planted parameters of these families of the simulator."""
    about = [f"{name}: {parameters_of(name).about}" for name in families]
    fields = Family.model_fields
    meanings = [
        f"{heading}: {' '.join((fields[name].description or '').split())}"
        for name, heading in _PARAMETERS.items()
    ]
    return Table(
        "Planted parameters",
        "What is built into each simulated family, from judge_gym/planted/families.toml. "
        "Parameters that no table below mentions are listed only.",
        ("family", *_PARAMETERS.values()),
        tuple(Row((name, *_values(parameters_of(name)))) for name in families),
        notes=tuple(about),
        methods=tuple(meanings),
        simulated=True,
    )


def _values(family: Family) -> list[str]:
    return [number(getattr(family, name)) for name in _PARAMETERS]


def _summary(compared: Mapping[RecoveryTable, Sequence[ResultRow]]) -> Table:
    return Table(
        "Recovery in short",
        "Of the figures with a planted counterpart and an interval, how many intervals hold the "
        "value expected from what is planted; about 95% should.",
        ("figure", "hold it", "of"),
        tuple(
            Row(
                (
                    layout.title,
                    str(sum(row.holds_expected is True for row in rows)),
                    str(sum(row.holds_expected is not None for row in rows)),
                )
            )
            for layout, rows in compared.items()
        ),
        simulated=True,
    )


def _details(layout: RecoveryTable, rows: Sequence[ResultRow]) -> Table:
    scopes = [row.scope for row in rows]
    subjects, shared = subject_columns(scopes), shared_part(scopes)
    cells = [
        ("planted", [row.planted for row in rows]),
        ("expected", [number(row.expected, layout.digits) for row in rows]),
        ("recovered", [figure(row, layout.digits) for row in rows]),
        ("inside", [_yes_or_no(row.holds_expected) for row in rows]),
    ]
    columns = [*subjects, *cells]
    texts = zip(*(column for _, column in columns), strict=True)
    return Table(
        f"Recovered: {layout.title}",
        layout.how,
        tuple(heading for heading, _ in columns),
        tuple(Row(*row) for row in zip(texts, group_labels(scopes), strict=True)),
        notes=(f"All rows: {shared}.",) if shared else (),
        words=len(subjects),
        simulated=True,
    )


def _yes_or_no(inside: bool | None) -> str:
    return ABSENT if inside is None else "yes" if inside else "no"
