"""What the library makes of the reference cases on everything but belief functions."""

import numpy as np
import pytest

from judge_gym.metrics.accuracy import both_orders_correct, cohens_kappa, set_utilities
from judge_gym.metrics.agreement import Level, gwet_ac, krippendorff_alpha
from judge_gym.metrics.cells import pignistic, scores
from judge_gym.metrics.consistency import replicate_icc, replicate_variance
from judge_gym.metrics.entrenchment import calibration, entrenchment
from judge_gym.metrics.estimate import resampled_interval, t_interval, t_quantile, wilson
from judge_gym.metrics.expert_labels import prediction_powered_mean
from judge_gym.metrics.facets import ITEM, JUDGE, FacetCells, facet_components
from judge_gym.metrics.inference import (
    benjamini_hochberg,
    equivalence_p,
    holm,
    kendall_tau_b,
    page_trend,
    sign_flip_p,
    standardised_effects,
)
from judge_gym.metrics.polarization import jensen_shannon, wasserstein
from judge_gym.metrics.presentation import swap_sensitivity
from support.homogeneity import g_test
from support.judge_components import judge_icc, rating_scale
from support.references import point_verdicts, probes, read_csv, table_verdicts

RNG = np.random.default_rng(8)


def judge_like(name):
    """Judge, item and score of each row."""
    table = read_csv(name)
    items = sorted({row["evidence"] for row in table})
    rows = [
        (int(row["model_b"]), items.index(row["evidence"]), int(float(row["score"])))
        for row in table
    ]
    return point_verdicts(rows, 4, len(items))


def item_means(name):
    """Mean stage by evidence; every item has as many samples."""
    verdicts = judge_like(name)
    stage = np.log2(verdicts.stages) + 1
    return np.bincount(verdicts.item, stage) / np.bincount(verdicts.item)


def paired(given):
    return np.subtract(given["a"], given["b"]).astype(float)


def set_valued(given):
    stages = np.array([sum(1 << (s - 1) for s in chosen) for chosen in given["predicted_sets"]])
    return vars(set_utilities(stages, np.array(given["truth"])))


def jsd(given):
    counts = np.array(given["counts"], dtype=int)
    rows = [(judge, 0, s + 1) for judge, s in np.argwhere(counts) for _ in range(counts[judge, s])]
    p, _ = pignistic(point_verdicts(rows, counts.shape[1], 1))
    divergence = jensen_shannon(p[0, 0], p[1, 0])
    return {"jsd_bits": divergence, "js_distance": divergence**0.5}


def homogeneity(given):
    counts = np.array(given["counts"])
    found = g_test(counts)
    bits = found.statistic / (2 * counts.sum() * np.log(2))
    return {"G": found.statistic, "df": found.df, "p": found.p, "weighted_jsd_bits": bits}


def ordinal(given):
    distance = wasserstein(np.array(given["p"]), np.array(given["q"]))
    return {
        "wasserstein1_normalised": distance,
        "wasserstein1": distance * (len(given["p"]) - 1),
    }


def zero_variance(given):
    assert t_interval(paired(given)) is None
    assert all(e.estimate is None for e in standardised_effects(np.zeros(4), paired(given)))
    return {"sign_flip_p_two_sided": sign_flip_p(paired(given), RNG)}


def sign_flips(given):
    differences = paired(given)
    return {"mean_diff": differences.mean(), "p_two_sided": sign_flip_p(differences, RNG)}


def effect_sizes(given):
    dz, gz, dav = standardised_effects(np.array(given["b"]), np.array(given["a"]))
    return {
        "d_z": dz.estimate,
        "d_z_ci95": (dz.lower, dz.upper),
        "hedges_gz": gz.estimate,
        "d_av": dav.estimate,
    }


def equivalence(given):
    return {"p": equivalence_p(paired(given), given["low"], given["upp"])}


def trend(given):
    found, p = page_trend(np.array(given["rows_items_cols_dose"], dtype=float))
    return {"L": found, "p": p}


def kendall(given):
    tau, p = kendall_tau_b(np.array(given["a"]), np.array(given["b"]))
    return {"tau_b": tau, "p": p}


def mcnemar(given):
    (_, first_only), (second_only, _) = given["table"]
    return {"p": sign_flip_p(np.repeat([1.0, -1.0], [first_only, second_only]), RNG)}


def proportion(given):
    return {"ci95": wilson(given["successes"], given["n"])}


def multiplicity(given):
    return {"holm": holm(given["p"]), "bh": benjamini_hochberg(given["p"])}


def entrenched(given):
    scored, probed = [], []
    for judge, row in enumerate(given["rows"]):
        scored += [(judge, 0, stage) for stage in row["scores"]]
        pairs = zip(row["scores"], row["probs"], strict=True)
        probed += [(judge, 0, stage, p) for stage, p in pairs if p is not None]
    verdicts, confidence = point_verdicts(scored, 4, 1), probes(probed, 1)
    p, _ = pignistic(verdicts)
    return {
        "P": jensen_shannon(p[0, 0], p[1, 0]),
        "mean_prob_by_model": confidence.confidence().value.mean(),
        "E_by_model": entrenchment(verdicts, confidence, RNG, permutations=10).estimate.estimate,
    }


def swapped(given):
    items = sorted({row["evidence"] for row in given["rows"]})
    own, rival = (
        probes(
            [
                (0, items.index(row["evidence"]), 1, row["p"])
                for row in given["rows"]
                if row["arm"] == arm
            ],
            len(items),
        )
        for arm in ("own", "swap")
    )
    effect = swap_sensitivity(own, rival, RNG)
    return {
        "delta_swap_minus_own": effect.estimate,
        "n_pairs": effect.n_items,
        "ci95": (effect.lower, effect.upper),
    }


def clustered_error(given):
    means = item_means(given["csv"])
    lower, upper = t_interval(means)
    error = (upper - lower) / 2 / t_quantile(len(means) - 1)
    return {"mean": (lower + upper) / 2, "stderr_clustered": error}


def resampled(given):
    means = item_means(given["csv"])
    n = len(means)
    lower, upper = resampled_interval(lambda weights: weights @ means / n, n, RNG)
    # our standard error carries sqrt(n/(n-1)); the reference does not
    error = (upper - lower) / 2 / t_quantile(n - 1) * ((n - 1) / n) ** 0.5
    return {"mean": (lower + upper) / 2, "boot_se": error, "boot_se_closed_form": error}


def icc(given):
    ratings = given["targets_by_raters"]
    forms = judge_icc(table_verdicts(ratings, 10), RNG)
    names = ("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k")
    rows = [(0, item, stage) for item, stages in enumerate(ratings) for stage in stages]
    replicates = replicate_icc(point_verdicts(rows, 10, len(ratings)), RNG)
    assert replicates.estimate == pytest.approx(forms[0].estimate)
    return dict(zip(names, (form.estimate for form in forms), strict=True))


def components(given):
    verdicts = judge_like(given["csv"])
    cells = FacetCells.of((ITEM, JUDGE), (verdicts.item, verdicts.judge), scores(verdicts))
    found, _ = facet_components(cells)
    names = ("evidence", "m", "evidence:m", "Residual")
    return {name: one.estimate * 3**2 for name, one in zip(names, found, strict=True)}


def within(given):
    mean = replicate_variance(judge_like(given["csv"])).estimate * 3**2
    return {"mean_s2": mean, "pooled": mean}


def brier(given):
    n = len(given["p"])
    scored = [(0, item, 1) for item in range(n)]
    scored += [(1, item, 1 if agree else 2) for item, agree in enumerate(given["agree"])]
    probed = [(0, item, 1, p) for item, p in enumerate(given["p"])]
    probed += [(1, item, 1, 0.5) for item in range(n)]
    result = calibration(point_verdicts(scored, 4, n), probes(probed, n))
    return {
        "overconfidence_gap": result.overconfidence_by_judge[0].estimate,
        "brier": result.brier_by_judge[0].estimate,
    }


def kappa(given):
    n, truth = len(given["a"]), np.array(given["b"])
    verdicts = point_verdicts([(0, item, s) for item, s in enumerate(given["a"])], 4, n)
    quadratic = cohens_kappa(verdicts, truth, RNG, quadratic=True)
    plain = cohens_kappa(verdicts, truth, RNG)
    return {"kappa": plain.estimate, "kappa_quadratic": quadratic.estimate}


def alpha(given):
    verdicts = table_verdicts(list(zip(*given["raters_by_units"], strict=True)), 5)
    return {f"alpha.{level}": krippendorff_alpha(verdicts, RNG, level).estimate for level in Level}


def gwet(given):
    verdicts = table_verdicts(given["units_by_raters"], 5)
    return {
        "ac1": gwet_ac(verdicts, RNG).estimate,
        "ac2_quadratic": gwet_ac(verdicts, RNG, Level.INTERVAL).estimate,
        "krippendorff_nominal": krippendorff_alpha(verdicts, RNG, Level.NOMINAL).estimate,
    }


def severities(given):
    stages = np.array([[int(v) + 1 for v in row.values()] for row in read_csv(given["csv"])])
    found = rating_scale(stages, 4)
    severity = np.array([one.estimate for one in found.severity])
    return {
        "cml_eta": np.concatenate([severity[1:], found.steps[2:]]),
        "cml_beta_easiness": (-np.outer(severity, [1, 2, 3]) - found.steps[1:]).ravel(),
        "loglik": found.log_likelihood,
    }


def prediction_powered(given):
    slices = [np.array(given[name]) for name in ("y_labelled", "yhat_labelled", "yhat_unlabelled")]
    plain = prediction_powered_mean(*slices, tuned=False, published=True)
    tuned = prediction_powered_mean(*slices, published=True)
    return {
        "lambda1.estimate": plain.estimate,
        "lambda1.ci": (plain.lower, plain.upper),
        "tuned.estimate": tuned.estimate,
        "tuned.ci": (tuned.lower, tuned.upper),
    }


def judgebench(given):
    flipped = {"A>B": "B>A", "B>A": "A>B"}
    votes = {}
    for row in read_csv(given["csv"]):
        item, label = row["pair_id"], row["label"]
        # Judges of one order have an empty column, which counts as an answer without a verdict.
        decisions = [row["decision_AB"], flipped.get(row["decision_BA_as_shown"], "A=B")]
        for place, decision in enumerate(decisions):
            vote = 1 if decision == label else -1 if decision == flipped[label] else 0
            votes.setdefault(row["judge_model"], []).append((item, vote, place == 0))
    return {f"accuracy_percent.{judge}": share_of(pairs) for judge, pairs in votes.items()}


def share_of(votes):
    """Percent of items that are right over both orders."""
    items, vote, listed = (np.array(column) for column in zip(*votes, strict=True))
    _, number = np.unique(items, return_inverse=True)
    share = both_orders_correct(number, vote, listed, number.max() + 1)
    return 100 * share.estimate
