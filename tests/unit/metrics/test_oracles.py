"""Reference cases of ../shared/oracles.json: independent packages and published tables.

Each covered category has one function that feeds the case's input to the library and yields
(what it gave, what is expected). Categories without one belong to metrics not built yet.
"""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from judge_gym.metrics.accuracy import both_orders_correct, cohens_kappa, set_utilities
from judge_gym.metrics.cells import Probes, Verdicts, pignistic
from judge_gym.metrics.consistency import replicate_icc, replicate_variance
from judge_gym.metrics.divergence import jensen_shannon, wasserstein
from judge_gym.metrics.entrenchment import calibration, entrenchment
from judge_gym.metrics.inference import benjamini_hochberg, holm, sign_flip_p
from judge_gym.metrics.intervals import resampled_interval, t_interval, t_quantile, wilson
from judge_gym.metrics.swap import swap_sensitivity

SHARED = Path(__file__).resolve().parents[4] / "shared"
RNG = np.random.default_rng(8)


def point_verdicts(rows, n_stages, n_items):
    """Verdicts of point stages from (judge, item, stage) rows."""
    judge, item, stage = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Verdicts(
        judge=judge, item=item, stages=1 << (stage - 1),
        n_judges=int(judge.max()) + 1, n_items=n_items, n_stages=n_stages,
    )  # fmt: skip


def probes(rows, n_items):
    """Probes from (judge, item, stage, probability) rows."""
    judge, item, stage, probability = zip(*rows, strict=True)
    return Probes(
        judge=np.array(judge), item=np.array(item), stages=1 << (np.array(stage) - 1),
        probability=np.array(probability, dtype=float), n_judges=max(judge) + 1, n_items=n_items,
    )  # fmt: skip


def read_csv(name):
    with (SHARED / name).open(newline="") as file:
        return list(csv.DictReader(file))


def item_scores(name):
    """Scores by evidence as an items x samples array."""
    by_item = {}
    for row in read_csv(name):
        by_item.setdefault(row["evidence"], []).append(float(row["score"]))
    return np.array(list(by_item.values()))


def set_valued(given, expected):
    stages = np.array([sum(1 << (s - 1) for s in chosen) for chosen in given["predicted_sets"]])
    earned = set_utilities(stages, np.array(given["truth"]))
    yield earned.discounted, expected["discounted"]
    yield earned.u65, expected["u65"]
    yield earned.u80, expected["u80"]


def jsd(given, expected):
    rows = [
        (judge, 0, stage + 1)
        for judge, counts in enumerate(given["counts"])
        for stage, count in enumerate(counts)
        for _ in range(int(count))
    ]
    p, _ = pignistic(point_verdicts(rows, len(given["counts"][0]), 1))
    yield jensen_shannon(p[0, 0], p[1, 0]), expected["jsd_bits"]


def ordinal(given, expected):
    distance = wasserstein(np.array(given["p"]), np.array(given["q"]))
    yield distance, expected["wasserstein1_normalised"]


def zero_variance(given, expected):
    differences = np.subtract(given["a"], given["b"]).astype(float)
    assert t_interval(differences) is None
    yield sign_flip_p(differences, RNG), expected["sign_flip_p_two_sided"]


def sign_flips(given, expected):
    differences = np.subtract(given["a"], given["b"])
    yield differences.mean(), expected["mean_diff"]
    yield sign_flip_p(differences, RNG), expected["p_two_sided"]


def mcnemar(given, expected):
    (_, first_only), (second_only, _) = given["table"]
    differences = np.repeat([1.0, -1.0], [first_only, second_only])
    yield sign_flip_p(differences, RNG), expected["p"]


def proportion(given, expected):
    yield wilson(given["successes"], given["n"]), expected["ci95"]


def multiplicity(given, expected):
    yield holm(given["p"]), expected["holm"]
    yield benjamini_hochberg(given["p"]), expected["bh"]


def entrenched(given, expected):
    scored, probed = [], []
    for judge, row in enumerate(given["rows"]):
        scored += [(judge, 0, stage) for stage in row["scores"]]
        pairs = zip(row["scores"], row["probs"], strict=True)
        probed += [(judge, 0, stage, p) for stage, p in pairs if p is not None]
    verdicts = point_verdicts(scored, 4, 1)
    estimate = entrenchment(verdicts, probes(probed, 1), RNG, permutations=10)
    yield estimate.estimate, expected["E_by_model"]


def swapped(given, expected):
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
    yield effect.estimate, expected["delta_swap_minus_own"]
    yield effect.n_items, expected["n_pairs"]
    yield (effect.lower, effect.upper), expected["ci95"]


def clustered_error(given, expected):
    means = item_scores(given["csv"]).mean(axis=1)
    lower, upper = t_interval(means)
    yield (lower + upper) / 2, expected["mean"]
    yield (upper - lower) / 2 / t_quantile(len(means) - 1), expected["stderr_clustered"]


def resampled(given, expected):
    means = item_scores(given["csv"]).mean(axis=1)
    n = len(means)
    lower, upper = resampled_interval(lambda weights: weights @ means / n, n, RNG)
    yield (lower + upper) / 2, expected["mean"]
    # our standard error carries sqrt(n/(n-1)); the reference does not
    error = (upper - lower) / 2 / t_quantile(n - 1) * ((n - 1) / n) ** 0.5
    yield error, expected["boot_se"]


def icc(given, expected):
    ratings = given["targets_by_raters"]
    rows = [(0, item, stage) for item, stages in enumerate(ratings) for stage in stages]
    estimate = replicate_icc(point_verdicts(rows, 10, len(ratings)), RNG)
    yield estimate.estimate, expected["ICC1"]


def within(given, expected):
    table = read_csv(given["csv"])
    items = sorted({row["evidence"] for row in table})
    rows = [
        (int(row["model_b"]), items.index(row["evidence"]), int(float(row["score"])))
        for row in table
    ]
    estimate = replicate_variance(point_verdicts(rows, 4, len(items)))
    yield estimate.estimate * 3**2, expected["mean_s2"]


def brier(given, expected):
    n = len(given["p"])
    scored = [(0, item, 1) for item in range(n)]
    scored += [(1, item, 1 if agree else 2) for item, agree in enumerate(given["agree"])]
    probed = [(0, item, 1, p) for item, p in enumerate(given["p"])]
    probed += [(1, item, 1, 0.5) for item in range(n)]
    result = calibration(point_verdicts(scored, 4, n), probes(probed, n))
    yield result.overconfidence_by_judge[0].estimate, expected["overconfidence_gap"]
    yield result.brier_by_judge[0].estimate, expected["brier"]


def kappa(given, expected):
    n, truth = len(given["a"]), np.array(given["b"])
    verdicts = point_verdicts([(0, item, s) for item, s in enumerate(given["a"])], 4, n)
    yield cohens_kappa(verdicts, truth, RNG).estimate, expected["kappa"]
    quadratic = cohens_kappa(verdicts, truth, RNG, quadratic=True)
    yield quadratic.estimate, expected["kappa_quadratic"]


def judgebench(given, expected):
    flipped = {"A>B": "B>A", "B>A": "A>B"}
    votes = {}
    for row in read_csv(given["csv"]):
        item, label = row["pair_id"], row["label"]
        decisions = [row["decision_AB"]]
        if row["decision_BA_as_shown"]:
            decisions.append(flipped.get(row["decision_BA_as_shown"], "A=B"))
        for decision in decisions:
            vote = 1 if decision == label else -1 if decision == flipped[label] else 0
            votes.setdefault(row["judge_model"], []).append((item, vote))
    assert set(votes) == set(expected["accuracy_percent"])
    for judge, pairs in votes.items():
        items = sorted({item for item, _ in pairs})
        number = {item: position for position, item in enumerate(items)}
        share = both_orders_correct(
            np.array([number[item] for item, _ in pairs]),
            np.array([vote for _, vote in pairs]),
            len(items),
        )
        yield 100 * share.estimate, expected["accuracy_percent"][judge]


COVERED = {
    "accuracy.set_valued": set_valued,
    "accuracy.benchmark": judgebench,
    "agreement.kappa": kappa,
    "bootstrap.cluster": resampled,
    "calibration.brier": brier,
    "ci.clustered_sem": clustered_error,
    "ci.proportion": proportion,
    "entrenchment": entrenched,
    "jsd": jsd,
    "multiplicity": multiplicity,
    "ordinal_divergence": ordinal,
    "paired.mcnemar": mcnemar,
    "paired.permutation": sign_flips,
    "paired.ttest": zero_variance,
    "reliability.icc": icc,
    "reliability.within": within,
    "swap": swapped,
}


def cases():
    path = SHARED / "oracles.json"
    if not path.exists():
        skip = pytest.mark.skip(reason="no ../shared/oracles.json beside this repository")
        return [pytest.param(None, id="oracles", marks=skip)]
    covered = [c for c in json.loads(path.read_text())["cases"] if c["category"] in COVERED]
    return [pytest.param(case, id=case["id"]) for case in covered]


@pytest.mark.parametrize("case", cases())
def test_reference_case(case):
    compared = list(COVERED[case["category"]](case["input"], case["expected"]))
    assert compared
    for given, expected in compared:
        assert np.asarray(given) == pytest.approx(np.asarray(expected), abs=case["tolerance"])
