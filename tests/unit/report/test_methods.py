"""The methods of a report follow from the tables' specs and the metrics' docstrings."""

from judge_gym.analysis.running import NEEDS
from judge_gym.report.page import decisions, methods
from judge_gym.report.spec import Cell, Spec
from judge_gym.report.tables import SPECS


def an_estimator() -> None:
    """Return the mean of something; `n` is how many.

    Averaged as Miller et al. 2020 do. Needs one cell of
    2 samples; 30 items advised. `rng` needs a seed.
    Interval: t.
    """


def test_needs_and_sources_are_read_from_the_docstring() -> None:
    spec = Spec("T", "What it is.", (Cell("m", "m"),), ("m = 1",), (an_estimator, an_estimator))
    [method] = methods([spec])
    assert (method.title, method.what, method.formulas) == ("T", "What it is.", ("m = 1",))
    assert method.needs == ("Needs one cell of 2 samples; 30 items advised.",)
    assert method.sources == ("Averaged as Miller et al. 2020 do.",)


def test_every_table_has_formulas_and_says_what_it_needs() -> None:
    silent = [one.title for one in methods() if not one.formulas]
    # Pooling over settings takes whatever contrasts there are.
    needless = [one.title for one in methods() if not one.needs]
    assert (silent, needless) == ([], ["Axes over the grid"])


def test_every_metric_has_one_table_and_a_reason_to_be_absent() -> None:
    shown = [metric for spec in SPECS for metric in spec.metrics]
    assert len(set(shown)) == len(shown)
    missing = [metric for metrics in NEEDS.values() for metric in metrics]
    assert sorted(missing) == sorted(shown)


def test_every_hypothesis_says_what_decides_it() -> None:
    by_key = {one.key: one for one in decisions()}
    assert by_key["H3"].claim.endswith("below -0.05 unless the plan says otherwise")
    assert "0.95 for Norway" in by_key["V1.reference"].replaces
