"""Labels and display order: seeded, fair, every permutation reachable, and independent flags."""

from collections import Counter
from collections.abc import Callable
from math import factorial

import pytest

from judge_gym.design.strategies.bundling import Bundling
from judge_gym.design.strategies.display import Display
from judge_gym.design.strategies.labels import LabelDisplay
from judge_gym.seeds import derive_seed

SEEDS = [derive_seed("sample", "experiment", "item", replicate) for replicate in range(4800)]
DRAWS: dict[str, Callable[[int, int], tuple[object, ...]]] = {
    "labels": lambda stages, seed: LabelDisplay(True, stages).assign(seed),
    "display": lambda stages, seed: Display(True, stages).order(seed),
}
# Quantile 0.9999 of chi-square with (n - 1)^2 degrees of freedom (scipy.stats.chi2.ppf): a fair
# shuffle of these fixed seeds stays below it.
LIMIT = {2: 15.2, 3: 23.6, 4: 33.8, 5: 46.0, 10: 137.1}


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("stages", LIMIT)
def test_each_stage_is_in_each_place_equally_often(kind: str, stages: int) -> None:
    counts = Counter(
        (place, drawn) for seed in SEEDS for place, drawn in enumerate(DRAWS[kind](stages, seed))
    )
    expected = len(SEEDS) / stages
    # Each draw fills one cell of every row and column, so the sum's mean is n (n - 1), not the
    # (n - 1)^2 of a chi-square with that many free cells; the factor makes it one.
    statistic = sum((count - expected) ** 2 / expected for count in counts.values())

    assert len(counts) == stages**2
    assert statistic * (stages - 1) / stages < LIMIT[stages]


@pytest.mark.parametrize("kind", DRAWS)
def test_every_permutation_is_reached_equally_often(kind: str) -> None:
    counts = Counter(DRAWS[kind](4, seed) for seed in SEEDS)
    expected = len(SEEDS) / factorial(4)
    statistic = sum((count - expected) ** 2 / expected for count in counts.values())

    assert len(counts) == factorial(4)
    assert statistic < 57.1  # chi-square quantile 0.9999 at 23 degrees of freedom


def test_labels_and_display_are_drawn_independently() -> None:
    # The letter of stage 1 and the place it is listed at, from the same seeds: 4 x 4 cells of
    # 300 each, 9 free; chi-square quantile 0.9999 at 9 degrees of freedom is 33.7.
    pairs = Counter(
        (LabelDisplay(True, 4).assign(seed)[0], Display(True, 4).order(seed).index(1))
        for seed in SEEDS
    )
    statistic = sum((count - 300) ** 2 / 300 for count in pairs.values())

    assert len(pairs) == 16
    assert statistic < 33.8


@pytest.mark.parametrize(("randomize", "shuffle"), [(a, b) for a in (0, 1) for b in (0, 1)])
def test_the_two_flags_switch_each_its_own(randomize: int, shuffle: int) -> None:
    letters = {LabelDisplay(bool(randomize), 4).assign(seed) for seed in SEEDS[:200]}
    orders = {Display(bool(shuffle), 4).order(seed) for seed in SEEDS[:200]}

    assert len(letters) == (24 if randomize else 1)
    assert len(orders) == (24 if shuffle else 1)
    if not randomize:
        assert letters == {("A", "B", "C", "D")}
    if not shuffle:
        assert orders == {(1, 2, 3, 4)}


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("stages", range(2, 11))
def test_a_draw_is_always_a_permutation(kind: str, stages: int) -> None:
    whole = sorted(DRAWS[kind](stages, 0))  # type: ignore[type-var]

    assert all(sorted(DRAWS[kind](stages, s)) == whole for s in SEEDS[:100])  # type: ignore[type-var]
    assert len(whole) == len(set(whole)) == stages


def test_the_draws_are_the_same_on_every_machine() -> None:
    # Written down once: a change would send other prompts for stored samples.
    assert LabelDisplay(True, 4).assign(0) == ("C", "B", "D", "A")
    assert LabelDisplay(True, 4).assign(1) == ("D", "C", "B", "A")
    assert Display(True, 4).order(0) == (3, 4, 1, 2)
    assert Display(True, 4).order(1) == (4, 1, 3, 2)


def test_bundles_are_the_same_for_every_judge_and_leave_no_rump() -> None:
    documents = [f"d{number}" for number in range(10)]
    bundles = Bundling(3, "window").group(documents)

    assert [len(bundle) for bundle in bundles] == [3, 3, 3]
    assert len({document for bundle in bundles for document in bundle}) == 9
    assert bundles == Bundling(3, "window").group(documents[::-1])
    assert bundles != Bundling(3, "other").group(documents)
    assert Bundling(1, "window").group(documents) == [(document,) for document in documents]


def test_bundles_do_not_follow_the_order_of_the_documents() -> None:
    groups = {tuple(sorted(Bundling(2, f"w{n}").group(["a", "b", "c", "d"])[0])) for n in range(60)}

    assert len(groups) == 6  # every pair of four documents
