"""Every reference case of ../shared/oracles.json: independent packages and published tables.

`MEASURED` maps a case's category to the function that feeds its input to the library and returns
figures by the names the case expects. A category without one fails, and so does an expected
figure that is neither measured nor in `NOT_OURS`.
"""

import pytest

from support import belief_references as beliefs
from support import metric_references as metrics
from support import regression_references as regressions
from support.references import assert_close, flatten, load_cases

MEASURED = {
    "accuracy.benchmark": metrics.judgebench,
    "accuracy.set_valued": metrics.set_valued,
    "agreement.gwet": metrics.gwet,
    "agreement.kappa": metrics.kappa,
    "bootstrap.cluster": metrics.resampled,
    "calibration.brier": metrics.brier,
    "ci.clustered_sem": metrics.clustered_error,
    "ci.proportion": metrics.proportion,
    "dst.combine": beliefs.combine,
    "dst.conflict": beliefs.conflicts,
    "dst.discount": beliefs.discounted,
    "dst.distance": beliefs.distance,
    "dst.measures": beliefs.measures,
    "entrenchment": metrics.entrenched,
    "irt.rasch": metrics.severities,
    "jsd": metrics.jsd,
    "jsd.test": metrics.homogeneity,
    "krippendorff": metrics.alpha,
    "multiplicity": metrics.multiplicity,
    "ordinal_divergence": metrics.ordinal,
    "paired.cohens_d": metrics.effect_sizes,
    "paired.equivalence": metrics.equivalence,
    "paired.mcnemar": metrics.mcnemar,
    "paired.permutation": metrics.sign_flips,
    "paired.ttest": metrics.zero_variance,
    "ppi": metrics.prediction_powered,
    "rank.kendall": metrics.kendall,
    "regression.cluster": regressions.clustered,
    "regression.mixed": regressions.mixed,
    "regression.ordinal": regressions.ordinal,
    "reliability.gtheory": metrics.components,
    "reliability.icc": metrics.icc,
    "reliability.within": metrics.within,
    "swap": metrics.swapped,
    "trend.page": metrics.trend,
}

NOT_OURS = {
    "agreement.gwet": {"fleiss": "no figure uses it"},
    "bootstrap.cluster": {"ci95": "percentile limits, which cover too little at 15 items"},
    "ci.clustered_sem": {"stderr_naive": "ignores that replicates share an item"},
    "entrenchment": {
        "E_pooled": "weights judges by the probes they answered",
        "mean_prob_pooled": "weights judges by the probes they answered",
    },
    "krippendorff": {"alpha.ratio": "stages have no zero"},
    "ordinal_divergence": {"energy_distance": "Wasserstein-1 is the ordinal distance here"},
    "paired.equivalence": {"t_low": "within p", "t_upp": "within p"},
    "paired.ttest": {"t": "undefined", "p": "undefined", "note": "text"},
    "regression.cluster": {
        "ols": "assumes independent samples",
        "hc0": "assumes independent samples",
        "hc1": "assumes independent samples",
        "cl_both": "clusters are items alone",
    },
    "regression.ordinal": {
        **{f"clm.{edge}": "thresholds are not reported" for edge in ("1|2", "2|3", "3|4", "4|5")},
        **{
            f"clmm.{name}": "judges are fixed effects here"
            for name in ("1|2", "2|3", "3|4", "4|5", "tempwarm", "contactyes")
        },
        "clm_ll": "not reported",
        "clmm_ll": "judges are fixed effects here",
        "clmm_judge_var": "judges are fixed effects here",
    },
    "regression.mixed": {"reml": "not reported"},
    "trend.page": {"method": "text"},
    "swap": {
        "t": "within the interval",
        "p": "sign flips give ours",
        "unpaired_delta_wrong": "unpaired",
    },
}


def parameters():
    cases = load_cases()
    if not cases:
        skip = pytest.mark.skip(reason="no ../shared/oracles.json beside this repository")
        return [pytest.param(None, id="oracles", marks=skip)]
    return [pytest.param(case, id=case["id"]) for case in cases]


@pytest.mark.parametrize("case", parameters())
def test_reference_case(case):
    category, expected = case["category"], flatten(case["expected"])
    assert category in MEASURED, f"nothing measures {category}"
    given = flatten(MEASURED[category](case["input"]))
    unmeasured = set(expected) - set(given) - set(NOT_OURS.get(category, {}))
    assert not unmeasured, f"expected and not measured: {sorted(unmeasured)}"
    for name in set(expected) & set(given):
        assert_close(given[name], expected[name], case["tolerance"])
