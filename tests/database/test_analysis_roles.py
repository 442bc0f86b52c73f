"""Who writes the rubric and who scores by it: two numbers, over the whole shape of verdicts."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.figures.roles import OWN, SCORES, WRITES
from judge_gym.analysis.planted_shapes import planted_value
from judge_gym.analysis.recoveries import read_planted
from judge_gym.analysis.running import analyse
from judge_gym.design.sweep import load_sweep
from judge_gym.lab.sweeps import prepare
from judge_gym.report.plots.content import read_plots
from judge_gym.report.tables import result_tables
from judge_gym.simulator.server import serving
from judge_gym.store import tables as t
from judge_gym.store.experiments import experiments_by_tag
from judge_gym.store.results import ResultRow, load_results
from support.command_line import SWEEPS
from support.lab import SWEEP, Lab, only
from support.rig import run, runtime_at
from support.study import Study

ALPHA, BETA, GAMMA = "acme/alpha-1", "bolt/beta-1", "core/gamma-1"
VERDICTS = {
    (ALPHA, ALPHA): [[1], [2]],
    (ALPHA, BETA): [[2], [3]],
    (BETA, ALPHA): [[3], [3]],
    (BETA, BETA): [[4], [4]],
}
"""Judge and writer → the stages of two items, of four."""


def crossed(lab: Lab, cells: dict[tuple[str, str], list], **axes: object) -> None:
    """Each judge under each writer's rubric, confident of its own rubric alone."""
    for (judge, writer), verdicts in cells.items():
        rubric = {"kind": "own"} if judge == writer else {"shared": writer}
        stated = 0.9 if judge == writer else 0.7
        sure = [[] if given == ["abstained"] else [stated] for given in verdicts]
        arm = lab.arm(lab.judge(judge, rubric=rubric, **axes), owner=writer)
        lab.samples(arm, verdicts, probes=sure)


def effect(rows: list[ResultRow], axis: str, figure: str = "") -> ResultRow:
    return only(rows, f"role_effect{figure}", axis=axis)


def test_writers_and_judges_have_an_effect_each(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    crossed(lab, VERDICTS)
    rows = lab.analyse()
    writes, scores, own = (effect(rows, axis) for axis in (WRITES, SCORES, OWN))
    # Beta's rubric adds a stage of three; beta itself adds two to the first item, one to the other.
    assert (writes.estimate, scores.estimate) == pytest.approx((1 / 3, 1 / 2))
    assert own.estimate == pytest.approx(0)
    assert (writes.scope["from"], writes.scope["to"]) == (ALPHA, BETA)
    assert "rubric" not in writes.scope
    assert (writes.n, writes.n_items) == (8, 2)
    assert writes.lower is None  # the same for both items
    assert scores.lower is not None
    assert scores.p_adjusted is not None
    assert effect(rows, OWN, "_confidence").estimate == pytest.approx(0.2)
    assert effect(rows, WRITES, "_confidence").estimate == pytest.approx(0)
    [table] = [one for one in result_tables(rows) if one.title == "Who writes and who scores"]
    assert len(table.rows) == 3
    with Session(lab.engine) as session:
        plots = read_plots(session, SWEEP, load_sweep_data(session, SWEEP), rows)
    moves = next(plot for plot in plots if plot.kind == "effects_map")
    named = {row["change"].partition(",")[0] for row in moves.panels[0].rows}
    assert f"{WRITES}: {ALPHA} → {BETA}" in named


def test_rubrics_of_swaps_are_crossed_like_shared_ones(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    for judge, rival in ((ALPHA, BETA), (BETA, ALPHA)):
        experiment = lab.own(judge, VERDICTS[judge, judge])
        lab.samples(lab.arm(experiment, "swap", owner=rival), VERDICTS[judge, rival])
        lab.samples(lab.arm(experiment, "sham", owner=judge), [[4], [1]])
    rows = lab.analyse()
    assert effect(rows, WRITES).estimate == pytest.approx(1 / 3)
    assert effect(rows, SCORES).estimate == pytest.approx(1 / 2)


def test_draws_of_a_rubric_are_pooled_and_the_shape_is_compared_too(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    # Alpha abstains on one draw of two under its own rubric.
    of_draw = [
        VERDICTS,
        {**VERDICTS, (ALPHA, ALPHA): [["abstained"], ["abstained"]]},
    ]
    for draw, cells in enumerate(of_draw):
        crossed(lab, cells, rubric_draw=draw, abstain=True)
    rows = lab.analyse()
    assert effect(rows, WRITES, "_abstain_share").estimate == pytest.approx(-1 / 4)
    assert effect(rows, SCORES, "_abstain_share").estimate == pytest.approx(-1 / 4)
    assert effect(rows, OWN, "_abstain_share").estimate == pytest.approx(1 / 4)
    assert "rubric_draw" not in effect(rows, WRITES).scope


def test_the_largest_complete_crossing_is_compared(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    # Gamma judges by its own rubric alone: it crosses nothing.
    crossed(lab, {**VERDICTS, (GAMMA, GAMMA): [[4], [4]]})
    assert effect(lab.analyse(), WRITES).estimate == pytest.approx(1 / 3)


def test_without_a_crossing_the_figure_says_what_it_needs(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    crossed(lab, {cell: VERDICTS[cell] for cell in VERDICTS if cell != (ALPHA, BETA)})
    row = only(lab.analyse(), "role_effect")
    assert row.estimate is None
    assert "two writers" in row.because


PLANTED = f"""
name: roles
utility_model: sim/utility-1
on_unsupported: mark
windows:
  orlen:
    query: institutions of Orlen
    country: Orlen
    max_documents: 24
    source: {{kind: corpus, path: {SWEEPS}/corpora/orlen.jsonl}}
defaults:
  {{window: orlen, concept: fascism, scoring_method: subset, evidence_view: raw, replicates: 4}}
blocks:
  - {{model: [sim/like-gpt-4.1, sim/like-gpt-5.2], rubric: own}}
  - {{model: sim/like-gpt-5.2, rubric: {{shared: sim/like-gpt-4.1}}}}
  - {{model: sim/like-gpt-4.1, rubric: {{shared: sim/like-gpt-5.2}}}}
"""


@pytest.mark.slow
def test_planted_effects_of_writers_and_judges_are_recovered(database: str, tmp_path: Path) -> None:
    file = tmp_path / "roles.yaml"
    file.write_text(PLANTED)
    sweep = load_sweep(file)
    window = next(iter(sweep.experiments())).window

    async def work() -> None:
        async with serving() as url, runtime_at(database, url) as runtime:
            study = Study(runtime, window)
            prepare(runtime, sweep)
            tags = study.all(sa.select(t.Experiment.tag))
            with runtime.session() as session:
                stored = list(experiments_by_tag(session, tags).values())
            await study.collect()
            assert set(await study.write_rubrics(stored)) == {"ready"}
            await study.score(tags)
            await study.probe(tags)
            run_id = analyse(runtime.engine, sweep.name)
            with Session(runtime.engine) as session:
                rows = load_results(session, run_id)
                data = load_sweep_data(session, sweep.name)
                planted = read_planted(session, sweep.name, data)
        found = {
            (row.scope["axis"], row.metric): (planted_value(planted, row), row)
            for row in rows
            if row.metric.startswith("role_effect") and row.scope
        }
        known = {key: value for key, (value, _) in found.items()}
        # The second is stricter as a writer, leans more as a judge, and abstains by its own rubric.
        assert known[WRITES, "role_effect"] is not None
        assert known[WRITES, "role_effect"] < -0.02
        assert known[SCORES, "role_effect"] > 0.02
        assert known[OWN, "role_effect_abstain_share"] > 0.01
        held = [
            row.lower <= value <= row.upper
            for value, row in found.values()
            if value is not None and row.lower is not None and row.upper is not None
        ]
        assert len(held) >= 12
        # 95% should; a change that misses one in ten or more is a fault.
        assert sum(held) >= len(held) - 2, {k: (v, r.estimate) for k, (v, r) in found.items()}

    run(work())
