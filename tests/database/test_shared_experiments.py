"""A sweep uses the replicates that its file declares, whatever other sweeps add."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis import load
from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.running import run_in_force
from judge_gym.lab.probing import plan_probing
from judge_gym.lab.scoring import plan_scoring
from judge_gym.lab.status import sweep_status
from judge_gym.report.page import read_report
from judge_gym.store import tables as t
from judge_gym.store.bundles import export
from judge_gym.store.cleaning import kept_failures
from judge_gym.store.experiments import experiments_of_sweep, register_sweep
from judge_gym.store.progress import judgements_by_kind
from judge_gym.store.readability import judgement_answers
from judge_gym.store.results import latest_run
from judge_gym.store.selecting import chosen
from support.judged import fail, judged
from support.lab import SWEEP, Lab, labels, rubric
from support.study import Study, missing_by

pytestmark = pytest.mark.slow

ALPHA, BETA = "acme/alpha-1", "acme/beta-1"
COMMON = {"rubric": {"provided": rubric(*labels(4))}, "replicates": 2}
JUDGED = ("samples", "probes", "failures", "distributions", "item_pairs", "swap_pairs")


@pytest.fixture
def lab(database: str) -> Lab:
    lab = Lab(database)
    lab.documents([None, None])
    lab.own(ALPHA, [[1, 2], [2, 2]], probes=[[0.75], [0.5]], **COMMON)
    lab.own(BETA, [[4, 4], [3, "failed"]], probes=[[0.5], [0.25]], **COMMON)
    own = lab.own("acme/gamma-1", [[1, 1], [2, 2]], probes=[[0.5], [0.5]], replicates=2)
    lab.samples(lab.arm(own, "sham", "acme/gamma-1"), [[2, 2], [3, 3]], probes=[[0.25], [0.75]])
    return lab


def add_replicates(lab: Lab) -> None:
    """Let another sweep judge the same experiments four times, with other verdicts."""
    with Session(lab.engine) as session, session.begin():
        more = {"replicates": 4}
        mine = experiments_of_sweep(session, SWEEP).values()
        register_sweep(session, "later", "", None, [one.model_copy(update=more) for one in mine])
        session.execute(
            sa.text(
                "WITH added AS (INSERT INTO samples (arm_id, item_id, replicate, scale_size, seed, "
                "letters, display_order, status, stages, failure) SELECT arm_id, item_id, "
                "replicate + 2, scale_size, seed + 9, letters, display_order, "
                "CASE item_id % 2 WHEN 0 THEN 'failed' ELSE 'scored' END, "
                "CASE item_id % 2 WHEN 0 THEN NULL ELSE 8 END, "
                "CASE item_id % 2 WHEN 0 THEN 'server: down' END "
                "FROM samples RETURNING id, status) "
                "INSERT INTO probes (sample_id, replicate, status, probability) "
                "SELECT id, 0, 'answered', 0.125 FROM added WHERE status = 'scored'"
            )
        )


def read(lab: Lab, sweep: str) -> dict[str, pd.DataFrame]:
    url = lab.engine.url.render_as_string(hide_password=False)
    return {view: load(view, sweep=sweep, url=url) for view in JUDGED}


def test_figures_and_views_of_a_sweep_stay_when_another_adds_replicates(lab: Lab) -> None:
    before = lab.analyse()
    with Session(lab.engine) as session:
        digest = load_sweep_data(session, SWEEP).digest()
    views = read(lab, SWEEP)
    assert len(views["samples"]) == 16
    assert len(views["item_pairs"]) == 2
    add_replicates(lab)
    with Session(lab.engine) as session:
        assert load_sweep_data(session, SWEEP).digest() == digest
        assert len(load_sweep_data(session, "later").samples.arm) == 32
    with Session(lab.engine) as session:
        assert sweep_status(session, SWEEP).analysed
    assert lab.analyse() == before
    for view, frame in read(lab, SWEEP).items():
        pd.testing.assert_frame_equal(frame, views[view], obj=view)
    later = read(lab, "later")
    assert len(later["samples"]) == 32
    assert later["failures"]["samples"].sum() == 32
    # One judge has 2 + 2 and 2 + 0 scored verdicts on its items; failed ones have no distribution.
    assert set(later["distributions"].query("model == @ALPHA")["n"]) == {2, 4}


def test_an_analysis_of_the_same_answers_judged_anew_is_the_newest(lab: Lab) -> None:
    lab.analyse()
    with Session(lab.engine) as session, session.begin():
        assert run_in_force(session, SWEEP) is not None
        session.execute(sa.update(t.Sample).values(created_at=sa.func.clock_timestamp()))
        assert not sweep_status(session, SWEEP).analysed
        assert run_in_force(session, SWEEP) is None
    lab.analyse()
    with Session(lab.engine) as session:
        assert sweep_status(session, SWEEP).analysed


def test_the_report_of_a_sweep_counts_its_own_replicates(lab: Lab) -> None:
    add_replicates(lab)
    lab.analyse()
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        report = read_report(session, run.id)
    assert {row.cells[-1] for row in report.facts.experiments.rows} == {"2"}
    assert ("judgements", "16") in [row.cells for row in report.facts.provenance.rows]
    assert {len(one.judgements) for one in report.evidence[0].documents} == {8}
    assert report.cases.repeated == 7  # 8 cells, one of them with a failure


def test_work_of_another_sweep_is_neither_planned_nor_counted(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        more = [
            study.experiment(model, replicates=4).model_copy(update={"tag": tag})
            for model, tag in zip(("sim/calm-1", "sim/high-1"), tags, strict=True)
        ]
        study.change(lambda session: register_sweep(session, "more", "", None, more))
        missing = {
            sweep: sum(
                map(len, missing_by(study.runtime, plan_scoring, tags, sweep)[0].by_model.values())
            )
            for sweep in ("both", "more")
        }
        assert missing == {"both": 0, "more": 8}  # 2 judges, 2 items, 2 further replicates
        before = parts(study, "both")
        await study.score(tags)
        assert parts(study, "both") == before
        assert missing_by(study.runtime, plan_probing, tags, "both") == {}
        assert len(missing_by(study.runtime, plan_probing, tags, "more")) == 2
        keys = [one.key for one in more]
        assert judged_of(study, dict.fromkeys(keys, 2)) == 8
        assert judged_of(study, dict.fromkeys(keys, 4)) == 16
        added = study.all(sa.select(t.Sample.id).where(t.Sample.replicate > 1))
        fail(study, t.Sample, added, "server")
        assert judged_of(study, dict.fromkeys(keys, 2), failed=True) == 0
        assert judged_of(study, dict.fromkeys(keys, 4), failed=True) == 8
        answers = study.change(lambda session: judgement_answers(session, tags, ["own"], "both"))
        assert [one.too_few for one in answers] == [False, False]
        kept = {
            name: sum(
                one.count
                for one in study.change(
                    lambda session, name=name: kept_failures(
                        session, chosen(session, name).selection()
                    )
                )
            )
            for name in ("both", "more")
        }
        assert kept == {"both": 0, "more": 8}

    judged(database, tmp_path, work)


def parts(study: Study, sweep: str) -> Any:
    return study.change(lambda session: sweep_status(session, sweep)).workflows


def judged_of(study: Study, replicates: dict[str, int], *, failed: bool = False) -> int:
    done = study.change(lambda session: judgements_by_kind(session, replicates, failed=failed))
    return sum(count for (workflow, *_), count in done.items() if workflow == "w3-scoring")


def test_a_bundle_carries_what_each_sweep_declares(lab: Lab, tmp_path: Path) -> None:
    add_replicates(lab)
    export(lab.engine, tmp_path / "bundle", sweep=SWEEP)
    declared = pd.read_csv(tmp_path / "bundle" / "sweep_experiments.csv")["replicates"]
    assert set(declared) == {2}
