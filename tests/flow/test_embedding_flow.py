"""W1 embeds what plans of bundles compare, once, within the sweep's budget."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from flows.sweep import sweep
from flows.w1_evidence import w1_evidence
from judge_gym.store import tables as t
from support.flow_runs import configured, prepared, run_flow
from support.postgres import temporary_database
from support.simulation import Simulator
from support.study import corpus


def sweep_file(folder: Path, top: str = "") -> Path:
    corpus(folder, 6)
    file = folder / "sweep.yaml"
    file.write_text(
        f"name: embedded\n{top}"
        "windows:\n  week: {query: q, country: Valmora, max_documents: 6, "
        "source: {kind: corpus, path: corpus.jsonl}}\n"
        "blocks:\n  - {window: week, concept: order, model: sim/calm-1, replicates: 1, "
        "evidence_view: raw, bundles: [{by: similar, size: 2, embeddings: sim/low-1}, "
        "{by: spread, size: 3, embeddings: sim/low-1}]}\n"
    )
    return file


def embedded(url: str) -> int:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with Session(engine) as session:
        answered = (t.Call.agent == "embedder") & (t.Call.status == "succeeded")
        return session.scalars(sa.select(sa.func.count()).select_from(t.Call).where(answered)).one()


def test_two_plans_of_one_model_are_embedded_once_and_a_rerun_asks_nothing(
    postgres_server: str, migrated_template: str, simulator: Simulator, tmp_path: Path
) -> None:
    with (
        temporary_database(postgres_server, migrated_template) as url,
        configured(tmp_path, JUDGE_GYM_DATABASE_URL=url, JUDGE_GYM_SIMULATOR_URL=simulator.url),
    ):
        file = sweep_file(tmp_path)
        state = run_flow(sweep, file)
        assert state.is_completed(), state.message
        assert embedded(url) == 6
        asked = simulator.answered()
        again = run_flow(sweep, file)
        assert again.is_completed(), again.message
        assert simulator.answered() == asked


@pytest.mark.parametrize(("bound", "made"), [(4, 4), (100, 6)])
def test_embeddings_stop_at_the_budget(
    postgres_server: str,
    migrated_template: str,
    simulator: Simulator,
    tmp_path: Path,
    bound: int,
    made: int,
) -> None:
    with (
        temporary_database(postgres_server, migrated_template) as url,
        configured(tmp_path, JUDGE_GYM_DATABASE_URL=url, JUDGE_GYM_SIMULATOR_URL=simulator.url),
    ):
        run = prepared(sweep_file(tmp_path, f"budget: {{max_calls: {bound}}}\n"))
        state = run_flow(
            w1_evidence, run.windows, run.views, run.utility_model,
            budget=run.budget, bundles=run.bundles,
        )  # fmt: skip
        assert embedded(url) == made
        assert state.is_completed() == (made == 6)
        if made < 6:
            assert "max_calls is 4" in str(state.message)


RUBRICS = """\
name: embedded
rubric_embeddings: sim/low-1
windows:
  week: {query: q, country: Valmora, max_documents: 3, source: {kind: corpus, path: corpus.jsonl}}
blocks:
  - {window: week, concept: order, model: [sim/calm-1, sim/high-1], replicates: 1, scale_size: 4,
     evidence_view: raw}
"""


@pytest.mark.slow
def test_rubrics_are_embedded_whole_and_by_stage_once(
    postgres_server: str, migrated_template: str, simulator: Simulator, tmp_path: Path
) -> None:
    with (
        temporary_database(postgres_server, migrated_template) as url,
        configured(tmp_path, JUDGE_GYM_DATABASE_URL=url, JUDGE_GYM_SIMULATOR_URL=simulator.url),
    ):
        corpus(tmp_path, 3)
        file = tmp_path / "sweep.yaml"
        file.write_text(RUBRICS)
        state = run_flow(sweep, file)
        assert state.is_completed(), state.message
        # Two rubrics of four stages.
        assert embedded(url) == 2 * (1 + 4)
        asked = simulator.answered()
        assert run_flow(sweep, file).is_completed()
        assert simulator.answered() == asked
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with Session(engine) as session:
            [row] = session.execute(
                sa.text(
                    "SELECT estimate, method, unit FROM analysis.results "
                    "WHERE metric = 'rubric_similarity' AND scope ->> 'part' = 'families'"
                )
            )
            cost = session.scalars(
                sa.select(t.Call.workflow).where(t.Call.agent == "embedder").distinct()
            ).all()
        assert cost == ["w2-rubric"]
        assert "embeddings of sim/low-1" in row.method
        assert -1 <= row.estimate <= 1
        # The model is a part of what is analysed, and its words are compared without it.
        file.write_text(RUBRICS.replace("rubric_embeddings: sim/low-1\n", ""))
        assert run_flow(sweep, file).is_completed()
        with Session(engine) as session:
            [method] = session.scalars(
                sa.text(
                    "SELECT method FROM analysis.results "
                    "WHERE metric = 'rubric_similarity' AND scope ->> 'part' = 'families'"
                )
            )
        assert "TF-IDF" in method
