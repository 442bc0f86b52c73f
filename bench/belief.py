"""The cost of the metrics at 10⁵ and 10⁶ samples: `python -m bench.belief`.

Ten judges, ten replicates, four stages, verdicts of one to three neighbouring stages. Bel, Pl,
BetP, gap and all 45 pairwise conflicts are computed three times: by this library, by plain
dictionaries, and by py_dempster_shafer (on a tenth or a hundredth of the samples, with the time
scaled up). The results must agree. Then every other metric is computed once; those that resample
are listed separately. Times are CPU times, so other load on the machine matters little.
"""

import json
import subprocess
import sys
import time
import venv
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import numpy as np

from bench.place import REPOSITORY
from bench.table import show
from judge_gym.metrics.accuracy import cohens_kappa, share_correct, subset_accuracy
from judge_gym.metrics.agreement import gwet_ac, krippendorff_alpha
from judge_gym.metrics.belief import (
    belief_distance,
    conflict,
    item_conflicts,
    self_conflict,
    stage_support,
    uncertainty_gap,
)
from judge_gym.metrics.cells import IntArray, Probes, Verdicts, mean_scores, scores
from judge_gym.metrics.combining import by_rule, conflict_of_all
from judge_gym.metrics.consistency import replicate_icc, replicate_variance, time_correlation
from judge_gym.metrics.entrenchment import calibration, entrenchment
from judge_gym.metrics.error_correlation import effective_votes
from judge_gym.metrics.facets import (
    ITEM,
    JUDGE,
    WORDING,
    FacetCells,
    FacetTable,
    facet_components,
    next_steps,
    total_error,
)
from judge_gym.metrics.masses import belief, betp, cell_masses, gap, plausibility, singletons
from judge_gym.metrics.polarization import (
    Divergence,
    corrected_polarization,
    measure_polarization,
    polarization_by_pair,
)
from judge_gym.metrics.presentation import (
    Displays,
    label_bias,
    position_bias,
    swap_sensitivity,
    verdict_change,
)
from judge_gym.metrics.subsets import subset_information, subset_width

JUDGES, REPLICATES, STAGES = 10, 10, 4
PACKAGE = REPOSITORY / ".judge-gym" / "bench" / "py-dempster-shafer"
PACKAGE_ROWS = 10_000
Result = TypeVar("Result")


def draw(rows: int) -> Verdicts:
    """Draw verdicts that roughly agree, item by item."""
    rng = np.random.default_rng(rows)
    items = rows // (JUDGES * REPLICATES)
    judge, item, _ = (part.ravel() for part in np.indices((JUDGES, items, REPLICATES)))
    reading = rng.uniform(0, STAGES, items)[item] + rng.normal(0, 0.7, rows)
    low = np.clip(reading, 0, STAGES - 1).astype(np.int64)
    high = np.minimum(low + rng.choice(3, rows, p=[0.6, 0.3, 0.1]), STAGES - 1)
    stages = (1 << (high + 1)) - (1 << low)
    return Verdicts(
        judge=judge, item=item, stages=stages, n_judges=JUDGES, n_items=items, n_stages=STAGES
    )


def by_library(verdicts: Verdicts) -> list[float]:
    """Return sums over cells of Bel, Pl and BetP of stage 1 and of the gap, and over pairs of k."""
    cells = cell_masses(verdicts)
    masses, points = cells.masses, singletons(STAGES)
    low, high, bet = belief(masses, points), plausibility(masses, points), betp(masses)
    sums = [float(value[..., 0].sum()) for value in (low, high, bet)]
    pairs = item_conflicts(cells)[:, *np.triu_indices(JUDGES, k=1)]
    return [*sums, float(gap(masses).sum()), float(pairs.sum())]


def by_dictionary(verdicts: Verdicts) -> list[float]:
    """Return the same sums, with a dictionary from set to mass per cell."""
    cells: dict[tuple[int, int], Counter[frozenset[int]]] = {}
    rows = zip(verdicts.item.tolist(), verdicts.judge.tolist(), stage_sets(verdicts), strict=True)
    for item, judge, chosen in rows:
        cells.setdefault((item, judge), Counter())[chosen] += 1
    masses = {
        cell: {chosen: n / sum(counts.values()) for chosen, n in counts.items()}
        for cell, counts in cells.items()
    }
    sums = [0.0] * 5
    for mass in masses.values():
        low = [sum(m for a, m in mass.items() if a <= {s}) for s in range(STAGES)]
        high = [sum(m for a, m in mass.items() if s in a) for s in range(STAGES)]
        bet = [sum(m / len(a) for a, m in mass.items() if s in a) for s in range(STAGES)]
        for place, value in enumerate((low[0], high[0], bet[0], (sum(high) - sum(low)) / STAGES)):
            sums[place] += value
    for item in range(verdicts.n_items):
        for one, other in combinations(range(JUDGES), 2):
            first, second = masses[item, one], masses[item, other]
            sums[4] += sum(
                m * w for a, m in first.items() for b, w in second.items() if a.isdisjoint(b)
            )
    return sums


def stage_sets(verdicts: Verdicts) -> list[frozenset[int]]:
    """The verdicts as sets of stages from 0."""
    sets = {
        mask: frozenset(s for s in range(STAGES) if mask >> s & 1) for mask in range(1 << STAGES)
    }
    return [sets[mask] for mask in verdicts.stages.tolist()]


def by_package(verdicts: Verdicts) -> tuple[float, list[float]] | None:
    """Return seconds and sums of py_dempster_shafer, or None if it cannot be installed."""
    python = PACKAGE / "bin" / "python"
    if not python.exists():
        venv.create(PACKAGE, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "py_dempster_shafer"]
    if subprocess.run(install, check=False).returncode:
        return None
    items: list[list[list[list[int]]]] = [
        [[] for _ in range(JUDGES)] for _ in range(verdicts.n_items)
    ]
    rows = zip(verdicts.item.tolist(), verdicts.judge.tolist(), stage_sets(verdicts), strict=True)
    for item, judge, chosen in rows:
        items[item][judge].append(sorted(chosen))
    script = Path(__file__).with_name("belief_package.py")
    done = subprocess.run(
        [str(python), str(script), str(STAGES)],
        input="\n".join(map(json.dumps, items)),
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    return told["seconds"], told["sums"]


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the CPU seconds of the work, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def compare(rows: int) -> None:
    """Print the three methods side by side; AssertionError if their results differ."""
    verdicts, few = draw(rows), draw(PACKAGE_ROWS)
    by_library(few)
    # Milliseconds: the least of a few.
    measured = {"judge-gym": min(timed(lambda: by_library(verdicts)) for _ in range(5))}
    measured["dictionaries"] = timed(lambda: by_dictionary(verdicts))
    assert np.allclose(measured["judge-gym"][1], measured["dictionaries"][1])
    package = by_package(few)
    lines = [(name, rows, seconds) for name, (seconds, _) in measured.items()]
    if package is None:
        print("py_dempster_shafer could not be installed, and is left out.")
    else:
        assert np.allclose(package[1], by_library(few))
        lines.append(("py_dempster_shafer", PACKAGE_ROWS, package[0]))
    ours = lines[0][2] / rows
    show(
        f"Bel, Pl, BetP, gap and 45 pairs of k, {rows:,} samples",
        ["by", "samples measured", "CPU s for all", "times judge-gym"],
        [
            (name, f"{held:,}", f"{s / held * rows:.3f}", f"{s / held / ours:,.0f}")
            for name, held, s in lines
        ],
    )


def plain(verdicts: Verdicts, truth: IntArray) -> list[tuple[str, Callable[[], object]]]:
    """Every metric that does not resample."""
    cells = cell_masses(verdicts)
    probes = draw_probes(verdicts)
    point = points(verdicts)
    return [
        ("cells", lambda: cell_masses(verdicts)),
        ("conflict, 45 pairs", lambda: conflict(cells)),
        ("self-conflict", lambda: self_conflict(cells)),
        ("belief distance, 45 pairs", lambda: belief_distance(cells)),
        ("uncertainty gap", lambda: uncertainty_gap(cells)),
        ("Bel, BetP, Pl", lambda: stage_support(cells)),
        ("combinations", lambda: (conflict_of_all(cells), list(by_rule(cells)))),
        ("subset width", lambda: (subset_width(verdicts), subset_information(verdicts))),
        ("subset accuracy", lambda: subset_accuracy(verdicts, truth)),
        ("accuracy", lambda: share_correct(point, truth)),
        ("replicate variance", lambda: replicate_variance(verdicts)),
        ("polarization, corrected", lambda: corrected_polarization(verdicts)),
        ("variance by facet", lambda: by_facet(verdicts)),
        ("total error, 8 wordings", lambda: total_error(over_wordings(verdicts))),
        ("overconfidence, Brier", lambda: calibration(verdicts, probes)),
    ]


def resampling(verdicts: Verdicts, truth: IntArray) -> list[tuple[str, Callable[[], object]]]:
    """Every metric with a permutation null or resampled items."""
    rng = np.random.default_rng(1)
    probes, point = draw_probes(verdicts), points(verdicts)
    errors = point.means((point.stages != 1).astype(np.float64)).value.T
    time_of = np.arange(float(len(verdicts)))
    first, probes_again, shown = verdicts.of_judges([0]), draw_probes(verdicts, 4), displays(point)
    return [
        *(
            (
                f"polarization, {kind.value}",
                partial(measure_polarization, verdicts, rng, divergence=kind),
            )
            for kind in Divergence
        ),
        ("polarization, 45 pairs", lambda: polarization_by_pair(verdicts, rng)),
        ("entrenchment", lambda: entrenchment(verdicts, probes, rng)),
        ("Krippendorff's alpha", lambda: krippendorff_alpha(verdicts, rng)),
        ("Gwet's AC", lambda: gwet_ac(verdicts, rng)),
        ("Cohen's kappa", lambda: cohens_kappa(point, truth, rng)),
        ("ICC of replicates", lambda: replicate_icc(first, rng)),
        ("effective votes", lambda: effective_votes(errors, np.zeros(len(errors)), rng)),
        ("correlation in time", lambda: time_correlation(verdicts, time_of, rng)),
        ("change of verdicts", lambda: verdict_change(verdicts, turned(verdicts), rng)),
        ("change of confidence", lambda: swap_sensitivity(probes, probes_again, rng)),
        ("position and label bias", lambda: (position_bias(shown, rng), label_bias(shown, rng))),
    ]


def by_facet(verdicts: Verdicts) -> object:
    """The variance of scores by facet, and the next steps."""
    cells = FacetCells.of((ITEM, JUDGE), (verdicts.item, verdicts.judge), scores(verdicts))
    _, variances = facet_components(cells)
    return variances and next_steps(variances, 0.001)


def over_wordings(verdicts: Verdicts) -> FacetTable:
    """Mean scores with the judges as wordings."""
    return FacetTable((ITEM, WORDING), mean_scores(verdicts).value.T)


def points(verdicts: Verdicts) -> Verdicts:
    """The lowest stage of each verdict alone."""
    return replace(verdicts, stages=verdicts.stages & -verdicts.stages)


def turned(verdicts: Verdicts) -> Verdicts:
    """Return the same cells under another rubric, with the verdicts of other items."""
    return replace(verdicts, stages=np.roll(verdicts.stages, JUDGES * REPLICATES))


def displays(point: Verdicts) -> Displays:
    """Point verdicts, each shown in a random order under random letters."""
    first, lettered = np.random.default_rng(5).integers(1, STAGES + 1, size=(2, len(point)))
    return Displays(
        judge=point.judge,
        item=point.item,
        n_judges=JUDGES,
        n_items=point.n_items,
        stage=np.bitwise_count(point.stages - 1).astype(np.int64) + 1,
        shown_first=first,
        lettered_a=lettered,
        n_stages=STAGES,
    )


def draw_probes(verdicts: Verdicts, seed: int = 2) -> Probes:
    """One probe per verdict."""
    rng = np.random.default_rng(seed)
    return Probes(
        judge=verdicts.judge,
        item=verdicts.item,
        stages=verdicts.stages,
        probability=rng.uniform(size=len(verdicts)),
        n_judges=verdicts.n_judges,
        n_items=verdicts.n_items,
    )


def each(rows: int) -> None:
    """Print the seconds of every metric."""
    verdicts = draw(rows)
    truth = 1 + np.random.default_rng(3).integers(0, STAGES, verdicts.n_items)
    for title, works in (
        ("without resampling", plain(verdicts, truth)),
        ("with resampling", resampling(verdicts, truth)),
    ):
        lines = [(name, timed(work)[0]) for name, work in works]
        lines.append(("together", sum(seconds for _, seconds in lines)))
        table = [(name, f"{seconds:.2f}") for name, seconds in lines]
        show(f"{rows:,} samples, {title}", ["metric", "CPU s"], table)


if __name__ == "__main__":
    for size in map(int, sys.argv[1:] or ("100000", "1000000")):
        compare(size)
        each(size)
