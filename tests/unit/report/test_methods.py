"""The methods of a report follow from the specs of its tables."""

from judge_gym.analysis.running import NEEDS, UNITS
from judge_gym.report.page import decisions
from judge_gym.report.tables import SPECS


def test_every_table_has_formulas_and_says_what_it_needs() -> None:
    silent = [spec.title for spec in SPECS if not spec.formulas]
    # Pooling over settings takes whatever contrasts there are.
    needless = [spec.title for spec in SPECS if not spec.needs]
    assert (silent, needless) == ([], ["Axes over the grid"])


def test_every_metric_has_one_table_and_a_reason_to_be_absent() -> None:
    shown = [metric for spec in SPECS for metric in spec.metrics]
    assert len(set(shown)) == len(shown)
    missing = [metric for metrics in NEEDS.values() for metric in metrics]
    assert sorted(missing) == sorted(shown)
    in_units = [metric for metrics in UNITS.values() for metric in metrics.split()]
    assert sorted(in_units) == sorted(shown)


def test_every_hypothesis_says_what_decides_it() -> None:
    by_key = {one.key: one for one in decisions()}
    assert by_key["H3"].claim.endswith("below -0.05 unless the plan says otherwise")
    assert "0.95 for Norway" in by_key["V1.reference"].replaces
