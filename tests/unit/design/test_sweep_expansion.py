"""A sweep's points: the union of its blocks, each once, counted, walked and drawn lazily."""

import subprocess
import sys
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from judge_gym.design.experiment import Experiment
from judge_gym.design.sweep import Sweep, load_sweep
from support.command_line import SWEEPS, sweep_text

VALUES: dict[str, list[Any]] = {
    "concept": ["fascism", "corruption"],
    "model": ["sim/calm-1", "sim/calm-2", "sim/high-1"],
    "family": ["", "calm", "other"],
    "country": ["", "Valmora", "Ostrand"],
    "scale_size": [3, 4, 5],
    "abstain": [True, False],
    "rubric": ["own", {"shared": "sim/calm-1"}],
    "temperature": [0, 0.5, 1],
}
WINDOWS = {"w": {"country": "Valmora", "source": {"kind": "corpus", "path": "w.csv"}}}
DEFAULTS = {"window": "w", "concept": "fascism", "model": "sim/calm-1"}


def a_block() -> st.SearchStrategy[dict[str, Any]]:
    def some(values: list[Any]) -> st.SearchStrategy[list[Any]]:
        written = [value for value in values if value != ""]
        return st.lists(st.sampled_from(written), min_size=1, unique_by=str)

    return st.fixed_dictionaries({}, optional={name: some(v) for name, v in VALUES.items()})


def sweep_of(blocks: list[dict[str, Any]], **rest: Any) -> Sweep:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "w.csv").write_text("text\nThe court sat.\n")
        path = Path(folder) / "sweep.yaml"
        content = {"name": "demo", "windows": WINDOWS, "defaults": DEFAULTS, "blocks": blocks}
        YAML(typ="safe").dump({**content, **rest}, path)
        return load_sweep(path)


def by_hand(block: dict[str, Any]) -> Iterator[Experiment]:
    """Multiply a block out the slow way, through `Experiment` itself."""
    window = next(sweep_of([{}]).experiments()).window
    points: list[dict[str, Any]] = [{**DEFAULTS, "window": window}]
    for name, values in block.items():
        points = [{**point, name: value} for point in points for value in values]
    return (Experiment(**point) for point in points)


@settings(max_examples=25)
@given(st.lists(a_block(), min_size=1, max_size=3))
def test_the_points_are_the_union_of_the_blocks_each_once(blocks: list[dict[str, Any]]) -> None:
    sweep = sweep_of(blocks)
    keys = [experiment.key for experiment in sweep.experiments()]

    assert len(keys) == len(set(keys)) == sweep.count()
    assert set(keys) == {experiment.key for block in blocks for experiment in by_hand(block)}


@settings(max_examples=25)
@given(st.lists(a_block(), min_size=1, max_size=3), st.data())
def test_a_random_draw_takes_that_many_of_the_points_and_the_same_again(
    blocks: list[dict[str, Any]], data: st.DataObject
) -> None:
    everything = {experiment.key for experiment in sweep_of(blocks).experiments()}
    count = data.draw(st.integers(1, len(everything)))
    draw = {"random": count, "seed": data.draw(st.integers(0, 3))}

    first, second = (
        [experiment.key for experiment in sweep_of(blocks, draw=draw).experiments()]
        for _ in range(2)
    )

    assert first == second
    assert len(set(first)) == count == sweep_of(blocks, draw=draw).count()
    assert set(first) <= everything


@settings(max_examples=25)
@given(st.lists(a_block(), min_size=1, max_size=2), st.integers(0, 3))
def test_controlled_pairs_differ_in_their_axis_and_nothing_else(
    blocks: list[dict[str, Any]], seed: int
) -> None:
    varied = {"scale_size": [3, 4, 5], "abstain": [True, False]}
    blocks = [{**block, **varied} for block in blocks]
    sweep = sweep_of(blocks, draw={"controlled": 5, "seed": seed})
    everything = {experiment.key for experiment in sweep_of(blocks).experiments()}

    for pair in sweep.pairs():
        first, second = pair.first.model_dump(), pair.second.model_dump()
        assert [name for name in first if first[name] != second[name]] == [pair.axis]
    ends = [experiment.key for pair in sweep.pairs() for experiment in (pair.first, pair.second)]
    assert len(ends) == 10
    assert set(ends) == {experiment.key for experiment in sweep.experiments()} <= everything
    assert sweep.count() == len(set(ends))


@settings(max_examples=60)
@given(st.lists(a_block(), min_size=1, max_size=3), st.data())
def test_groups_hold_every_experiment_once(
    blocks: list[dict[str, Any]], data: st.DataObject
) -> None:
    blocks = [{**block, "replicates": data.draw(st.integers(1, 2))} for block in blocks]
    count = sweep_of(blocks).count()
    draw = (
        {"draw": {"random": data.draw(st.integers(1, count))}} if data.draw(st.booleans()) else {}
    )
    sweep = sweep_of(blocks, **draw)
    experiments = list(sweep.experiments())
    peers = Counter(experiment.peers_key for experiment in experiments)
    dimensions = data.draw(st.lists(st.sampled_from(["model", "scale_size", "rubric", "abstain"])))
    apart = {one.key: one for one in experiments if data.draw(st.booleans())}

    groups = sweep.alike(dimensions, apart.values())

    def values(one: Experiment, in_each: int) -> str:
        return repr([[getattr(one, name) for name in dimensions], one.replicates, in_each])

    rest = [group for group in groups if group.experiment.key not in apart]
    found: Counter[str] = Counter()
    for group in rest:
        found[values(group.experiment, group.peers)] += group.count
    assert found == Counter(
        values(one, peers[one.peers_key]) for one in experiments if one.key not in apart
    )
    alone = {group.experiment.key: group for group in groups if group.experiment.key in apart}
    assert len(alone) == len(groups) - len(rest) == len(apart)
    assert all(
        one.count == 1 and one.peers == peers[apart[key].peers_key] for key, one in alone.items()
    )
    by_key = {one.key: one for one in experiments}
    assert all(by_key[group.experiment.key] == group.experiment for group in groups)


@settings(max_examples=25)
@given(st.lists(a_block(), min_size=1, max_size=2), a_block())
def test_a_sweep_finds_its_own_experiment_for_another(
    blocks: list[dict[str, Any]], others: dict[str, Any]
) -> None:
    sweep = sweep_of(blocks)
    own = {experiment.key: experiment for experiment in sweep.experiments()}

    for one in (*own.values(), *by_hand(others)):
        stored = Experiment.model_validate(one.model_dump(mode="json"))
        assert sweep.own(stored) == own.get(one.key)


def test_another_seed_and_another_sweep_draw_other_points() -> None:
    blocks = [{"scale_size": [2, 3, 4, 5, 6, 7, 8, 9], "bundle_size": list(range(1, 21))}]

    def drawn(**sweep: Any) -> set[str]:
        return {experiment.key for experiment in sweep_of(blocks, **sweep).experiments()}

    one = drawn(draw={"random": 20, "seed": 1})
    assert one != drawn(draw={"random": 20, "seed": 2})
    assert one != drawn(draw={"random": 20, "seed": 1}, name="another")


def test_pairs_spread_evenly_over_the_axes_that_have_them() -> None:
    # abstain: 1 pair for each of 3 scale sizes = 3; scale_size: 3 pairs for each gate = 6.
    # Of 8, an even share is 4 each; abstain has only 3, so scale_size gives 5.
    blocks = [{"scale_size": [3, 4, 5], "abstain": [True, False]}]
    axes = [pair.axis for pair in sweep_of(blocks, draw={"controlled": 8}).pairs()]

    assert sorted(axes) == ["abstain"] * 3 + ["scale_size"] * 5


def test_pairs_are_found_across_blocks() -> None:
    blocks = [{"scoring_method": "single"}, {"scoring_method": "subset"}]
    (pair,) = sweep_of(blocks, draw={"controlled": 1}).pairs()

    assert {pair.first.scoring_method, pair.second.scoring_method} == {"single", "subset"}


def test_a_point_of_two_blocks_gets_the_most_replicates_and_the_tag() -> None:
    blocks = [{"scale_size": [3, 4], "replicates": 5}, {"replicates": 9, "tag": "pilot"}]
    found = {e.scale_size: (e.replicates, e.tag) for e in sweep_of(blocks).experiments()}

    assert found == {3: (5, ""), 4: (9, "pilot")}


def test_a_country_written_out_is_the_window_s_own() -> None:
    assert sweep_of([{}, {"country": "Valmora"}]).count() == 1
    assert sweep_of([{}, {"country": "Ostrand"}]).count() == 2


def test_families_come_from_the_sweep_before_the_model_s_name() -> None:
    sweep = sweep_of([{"model": ["sim/calm-1", "sim/high-1"]}], families={"sim/high-1": "calm"})

    assert [experiment.family for experiment in sweep.experiments()] == ["calm", "calm"]


def test_a_concept_says_as_whom_its_judges_are_addressed() -> None:
    sweep = sweep_of(
        [{"concept": ["fascism", "haiku"]}, {"concept": "haiku", "persona": "poet"}],
        concepts={"haiku": {"persona": "literary critic", "domain": "poetry"}},
    )

    assert [(one.concept, one.expertise.bound["a persona"]) for one in sweep.experiments()] == [
        ("fascism", "a political scientist"),
        ("haiku", "a literary critic"),
        ("haiku", "a poet"),
    ]
    assert {one.expertise.domain for one in sweep.experiments() if one.concept == "haiku"} == {
        "poetry"
    }


def test_rubric_draws_are_those_of_rubrics_that_models_write() -> None:
    rubrics = ["own", {"shared": "sim/high-1"}]
    sweep = sweep_of([{"rubric": rubrics}], rubric_draws=2)

    assert [(one.rubric.kind, one.rubric_draw) for one in sweep.experiments()] == [
        ("own", 0), ("own", 1), ("shared", 0), ("shared", 1)
    ]  # fmt: skip
    assert [one.rubric_draw for one in sweep_of([{"rubric_draw": [0, 4]}]).experiments()] == [0, 4]
    assert sweep_of([{"rubric": rubrics}]).count() == 2


def test_a_rubric_for_each_sample_is_a_draw_for_each_replicate() -> None:
    sweep = sweep_of([{"rubric_per_sample": True, "replicates": 3}])

    assert [(one.rubric_draw, one.replicates) for one in sweep.experiments()] == [
        (0, 1), (1, 1), (2, 1)
    ]  # fmt: skip


def test_a_plan_that_confirms_a_claim_about_rubrics_has_three_of_each_judge(
    tmp_path: Path,
) -> None:
    plan = ("plans/demo.yaml", f"{SWEEPS}/plans/demo.yaml")
    text = sweep_text("demo.yaml", plan)
    own = [one for one in load_sweep(_written(tmp_path, text)).experiments() if _is_own(one)]
    drawn = load_sweep(_written(tmp_path, text.replace("rubric_draws: 1\n", "")))

    assert {one.rubric_draw for one in own} == {0}
    assert len([one for one in drawn.experiments() if _is_own(one)]) == 3 * len(own)
    assert {one.rubric_draw for one in drawn.experiments() if not _is_own(one)} == {0}


def _is_own(experiment: Experiment) -> bool:
    return experiment.rubric.kind == "own"


def _written(folder: Path, text: str) -> Path:
    file = folder / "sweep.yaml"
    file.write_text(text)
    return file


# 2 concepts x 3 models x 3 methods x 9 scales x 2 x 2 flags x 4 views x 2 orders x 2 gates
# x 2 probe windows x 16 temperatures = 331776; of the second block's two points one is new.
LARGE = [
    {
        "concept": ["fascism", "corruption"],
        "model": ["sim/calm-1", "sim/calm-2", "sim/high-1"],
        "scoring_method": ["single", "subset", "structured_json"],
        "scale_size": list(range(2, 11)),
        "randomize_labels": [True, False],
        "shuffle_order": [True, False],
        "evidence_view": ["raw", "cleaned", "neutralized", "abstracted"],
        "prompt_order": ["rubric_first", "evidence_first"],
        "abstain": [True, False],
        "probe_window": ["fresh", "same"],
        "temperature": [step / 10 for step in range(16)],
    },
    {"temperature": [0, 2]},
]


@pytest.mark.slow
def test_a_third_of_a_million_points_are_counted_and_drawn_without_being_held() -> None:
    sweep = sweep_of(LARGE, draw={"random": 50, "seed": 1})
    tracemalloc.start()
    try:
        assert sweep_of(LARGE).count() == 331_776 + 1
        assert sum(1 for _ in sweep.experiments()) == 50
        assert sum(1 for _ in islice(sweep_of(LARGE).points(), 20_000)) == 20_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Twenty thousand points held at once would take far more.
    assert peak < 8_000_000


def test_a_third_of_a_million_points_are_grouped_without_being_walked() -> None:
    sweep = sweep_of(LARGE)
    tracemalloc.start()
    try:
        groups = sweep.alike(["model", "scale_size"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(group.count for group in groups) == 331_776 + 1
    assert peak < 8_000_000


def test_windows_and_corpora_are_read_once_and_known_by_contents(
    write_blocks: Callable[[str], Path], tmp_path: Path
) -> None:
    path = write_blocks("blocks:\n  - scale_size: [3, 4]\n")
    first, second = load_sweep(path).experiments()
    assert first.window is second.window
    assert first.window.name == "valmora-week"

    (tmp_path / "corpora" / "valmora.jsonl").write_text('{"text": "The court fell."}\n')
    assert next(load_sweep(path).experiments()).key != first.key


def test_a_moved_sweep_stands_for_the_same_experiments(
    write_blocks: Callable[[str], Path], tmp_path: Path
) -> None:
    path = write_blocks("blocks:\n  - rubric: [own, {provided: rubric.yaml}]\n")
    before = [experiment.key for experiment in load_sweep(path).experiments()]
    moved = tmp_path.rename(tmp_path.with_name(f"{tmp_path.name}-moved"))

    assert [e.key for e in load_sweep(moved / path.name).experiments()] == before


@pytest.mark.parametrize(
    ("written", "pairs", "sham"),
    [
        ("{}", "all", False),
        ("{pairs: all, sham: true}", "all", True),
        ("{pairs: [[calm, high]]}", (("calm", "high"),), False),
        ("{pairs: [], sham: true}", (), True),
    ],
)
def test_swap_plans(
    write_blocks: Callable[[str], Path], written: str, pairs: object, sham: bool
) -> None:
    swap = load_sweep(write_blocks(f"blocks: [{{}}]\nswap: {written}\n")).swap

    assert swap is not None
    assert (swap.pairs, swap.sham) == (pairs, sham)


def test_the_most_divergent_pairs_are_chosen_on_half_of_the_items_by_default(
    write_blocks: Callable[[str], Path],
) -> None:
    swap = load_sweep(write_blocks("blocks: [{}]\nswap: {pairs: {most_divergent: 2}}\n")).swap

    assert swap is not None
    assert swap.pairs.most_divergent == 2  # type: ignore[union-attr]
    assert swap.pairs.held_out == 0.5  # type: ignore[union-attr]


def test_reading_a_sweep_imports_nothing_heavy() -> None:
    heavy = ("pandas", "scipy", "numpy", "litellm", "sqlalchemy", "prefect", "jinja2", "aiohttp")
    code = f"import sys, judge_gym.design.sweep; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
