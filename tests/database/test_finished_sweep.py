"""When a sweep counts as finished, and everything for which it does not."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from deployments.cli.estimates import show_plan
from judge_gym.analysis.finished import Finished, finished_parts
from judge_gym.analysis.running import analyse
from judge_gym.design.plans import Budget
from judge_gym.design.sweep import load_sweep
from judge_gym.lab.planning import plan_sweep
from judge_gym.lab.status import sweep_status
from judge_gym.llm.providers import load_providers
from judge_gym.settings import Settings
from judge_gym.store import tables as t
from judge_gym.store.recipes import rows_by_point
from support.command_line import sweep_text
from support.postgres import temporary_database
from support.tiers import rest_slow
from support.whole_sweep import analysed

pytestmark = pytest.mark.slow

SWAPS = "swap:\n  pairs:\n    - [sim/high-1, sim/low-1]\n  sham: true\n"


@pytest.fixture(scope="module")
def done(
    postgres_server: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The name of a database that holds quick.yaml, run and analysed; nobody connects to it."""
    file = tmp_path_factory.mktemp("done") / "quick.yaml"
    file.write_text(sweep_text("quick.yaml"))
    with analysed(postgres_server, migrated_template, file) as engine:
        assert engine.url.database is not None
        yield engine.url.database


@pytest.fixture
def engine(postgres_server: str, done: str) -> Iterator[sa.Engine]:
    """A copy of the finished sweep's database, for one test alone."""
    with temporary_database(postgres_server, done) as url:
        yield sa.create_engine(url, poolclass=sa.NullPool)


@pytest.fixture
def found(engine: sa.Engine, tmp_path: Path) -> Callable[..., int | None]:
    """The run that quick.yaml, so changed, is found to be finished with."""

    def run(*changes: tuple[str, str]) -> int | None:
        file = tmp_path / "quick.yaml"
        file.write_text(sweep_text("quick.yaml", *changes))
        finished = finished_parts(engine, Settings(), load_sweep(file))
        return finished and finished.run_id

    return run


Found = Callable[..., int | None]


def change(engine: sa.Engine, statement: str) -> None:
    """Change exactly the rows that a statement names; there have to be some."""
    with engine.begin() as connection:
        assert connection.execute(sa.text(statement)).rowcount > 0, statement


def test_a_finished_sweep_is_found_and_nothing_is_changed(engine: sa.Engine, found: Found) -> None:
    def rows() -> list[int]:
        with engine.connect() as connection:
            tables = t.Base.metadata.sorted_tables
            return [connection.scalar(sa.select(sa.func.count()).select_from(x)) for x in tables]

    before = rows()
    assert found() == found() == 1
    assert rows() == before
    analyse(engine, "quick")
    assert found() == 2


@pytest.mark.parametrize(
    "statement",
    rest_slow(
        [
            "DELETE FROM probes WHERE replicate = 0 AND id = (SELECT min(id) FROM probes)",
            "DELETE FROM probes WHERE id = (SELECT min(id) FROM probes WHERE replicate = 1)",
            "DELETE FROM samples WHERE id = (SELECT max(s.id) FROM samples s "
            "JOIN arms a ON a.id = s.arm_id WHERE a.arm = 'own')",
            "DELETE FROM samples WHERE id = (SELECT max(s.id) FROM samples s "
            "JOIN arms a ON a.id = s.arm_id WHERE a.arm = 'swap')",
            "DELETE FROM arms WHERE arm = 'sham'",
            "DELETE FROM views WHERE view = 'neutralized' "
            "AND document_id = (SELECT min(id) FROM documents)",
            "UPDATE windows SET collected_at = NULL",
            "UPDATE rubrics SET status = 'refused', failure = 'flagged' WHERE variant = 0",
            "UPDATE rubrics SET key = 'another' WHERE id = (SELECT min(id) FROM rubrics)",
            "UPDATE samples SET stages = 8 WHERE id = (SELECT min(id) FROM samples "
            "WHERE status = 'scored' AND stages < 8)",
            "UPDATE probes SET probability = 0.123 WHERE id = (SELECT min(id) FROM probes)",
            "UPDATE analysis_runs SET version = '0.0.9'",
            "UPDATE analysis_runs SET data_digest = ''",
            "DELETE FROM analysis_runs",
        ],
        5,
    ),
)
def test_a_gap_or_other_figures_make_it_unfinished(
    engine: sa.Engine, found: Found, statement: str
) -> None:
    change(engine, statement)
    assert found() is None


@pytest.mark.parametrize(
    ("part", "statement"),
    [
        (
            "w3-scoring",
            "DELETE FROM samples WHERE id = (SELECT max(s.id) FROM samples s "
            "JOIN arms a ON a.id = s.arm_id WHERE a.arm = 'own')",
        ),
        ("w5-probe", "DELETE FROM probes WHERE replicate = 0"),
        ("w1-evidence", "UPDATE windows SET collected_at = NULL"),
    ],
)
def test_parts_are_finished_by_themselves(
    engine: sa.Engine, tmp_path: Path, part: str, statement: str
) -> None:
    file = tmp_path / "quick.yaml"
    file.write_text(sweep_text("quick.yaml"))
    sweep = load_sweep(file)
    change(engine, "DELETE FROM analysis_runs")
    assert finished_parts(engine, Settings(), sweep) is None
    assert finished_parts(engine, Settings(), sweep, [part]) == Finished(None)
    change(engine, statement)
    assert finished_parts(engine, Settings(), sweep, [part]) is None
    others = {"w1-evidence", "w2-rubric", "w3-scoring"} - {part}
    assert finished_parts(engine, Settings(), sweep, others) == Finished(None)


def test_without_figures_of_all_its_judgements_the_analysis_is_pending(
    engine: sa.Engine,
) -> None:
    def state() -> str:
        with Session(engine) as session:
            return sweep_status(session, "quick").state

    assert state() == "finished"
    change(engine, "UPDATE probes SET created_at = now() WHERE id = (SELECT min(id) FROM probes)")
    assert state() == "analysis pending"
    analyse(engine, "quick")
    assert state() == "finished"
    change(engine, "DELETE FROM analysis_runs")
    assert state() == "analysis pending"


def test_a_finished_sweep_has_no_call_left_in_its_plan(engine: sa.Engine, tmp_path: Path) -> None:
    """Abstentions are not probed: once judged, they are no longer counted as probes to come."""
    file = tmp_path / "quick.yaml"
    file.write_text(sweep_text("quick.yaml"))
    with Session(engine) as session:
        plan = plan_sweep(session, load_sweep(file), load_providers(Settings().providers_file))
        probes = session.scalar(sa.select(sa.func.count()).select_from(t.Probe))
    [line] = [line for line in plan.lines if line.workflow == "w5-probe"]
    assert (line.calls, line.done, line.to_do) == (probes, probes, 0)
    assert sum(line.to_do for line in plan.lines) == 0
    assert sum(line.failed for line in plan.lines) == 0


def test_a_finished_sweep_is_not_warned_of_its_budget(
    engine: sa.Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "quick.yaml"
    file.write_text(sweep_text("quick.yaml"))
    providers, budget = load_providers(Settings().providers_file), Budget(max_calls=1)
    for warned, changes in ((False, ""), (True, "DELETE FROM probes")):
        if changes:
            change(engine, changes)
        with Session(engine) as session:
            show_plan(plan_sweep(session, load_sweep(file), providers), providers, budget)
        said = capsys.readouterr()
        assert ("more than max_calls" in said.out + said.err) is warned


def test_experiments_planned_together_leave_out_what_is_judged(
    engine: sa.Engine, tmp_path: Path
) -> None:
    """Points that differ in their temperature are counted together; one of them is done."""
    file = tmp_path / "quick.yaml"
    file.write_text(
        sweep_text("quick.yaml", ("replicates: 2", "temperature: [1, 0.5]\n    replicates: 2"))
    )
    with Session(engine) as session:
        plan = plan_sweep(session, load_sweep(file), load_providers(Settings().providers_file))
    lines = {line.what: line for line in plan.lines}
    judgements, swaps = lines["judgements"], lines["swaps and shams"]
    assert (judgements.calls, judgements.done, judgements.to_do) == (60, 30, 30)
    assert (swaps.calls, swaps.done, swaps.to_do) == (80, 40, 40)
    # Only the second rubric of a judge is drawn at the temperature at which it judges.
    assert (lines["rubrics"].calls, lines["rubrics"].done) == (9, 6)


def test_more_points_than_a_statement_takes_parameters(engine: sa.Engine) -> None:
    points = [f"{number:016x}" for number in range(70_000)]
    with Session(engine) as session:
        assert not rows_by_point(session, points)


def test_the_plan_says_what_making_failures_again_takes(engine: sa.Engine, tmp_path: Path) -> None:
    file = tmp_path / "quick.yaml"
    file.write_text(sweep_text("quick.yaml"))
    change(
        engine,
        "DELETE FROM probes WHERE sample_id IN (SELECT id FROM samples ORDER BY id LIMIT 10)",
    )
    change(
        engine,
        "UPDATE samples SET status = 'failed', failure = 'output_limit: of 1024 tokens', "
        "stages = NULL WHERE id IN (SELECT id FROM samples ORDER BY id LIMIT 10)",
    )
    change(
        engine,
        "UPDATE probes SET status = 'failed', failure = 'timeout: ', probability = NULL "
        "WHERE id IN (SELECT id FROM probes ORDER BY id LIMIT 2)",
    )
    with Session(engine) as session:
        plan = plan_sweep(session, load_sweep(file), load_providers(Settings().providers_file))
    lines = {line.workflow: line for line in plan.lines}
    # Ten judgements with a probe each, and by the plan one of them a second time.
    assert (lines["w3-scoring"].failed, lines["w5-probe"].failed) == (10, 13)
    with engine.connect() as connection:
        prompts = connection.scalars(
            sa.select(t.Call.messages).where(t.Call.workflow == "w3-scoring")
        ).all()
    each = sum(len(one["content"]) for prompt in prompts for one in prompt) / 4 / len(prompts)
    assert lines["w3-scoring"].retry.prompt_tokens == pytest.approx(10 * each, rel=0.02)


@pytest.mark.parametrize(
    "amended",
    rest_slow(
        [
            ("replicates: 2", "replicates: 3"),
            ("sim/low-1]\n    rep", "sim/low-1, sim/sure-1]\n    rep"),
            ("model: [sim/calm-1, sim/high-1, sim/low-1]", "model: [sim/high-1, sim/low-1]"),
            ("concept: democratic backsliding", "concept: fascism"),
            ("max_documents: 5", "max_documents: 6"),
            ("- [sim/high-1, sim/low-1]", "- [sim/low-1, sim/high-1]"),
            ("sham: true", "sham: false"),
            (SWAPS, ""),
        ],
        3,
    ),
)
def test_an_amended_file_is_unfinished(
    engine: sa.Engine, found: Found, amended: tuple[str, str]
) -> None:
    assert found(amended) is None
    # Looking has registered nothing: the file as it was is still what is stored.
    assert found() == 1


def test_what_failed_for_good_is_not_missing(engine: sa.Engine, found: Found) -> None:
    change(
        engine,
        "UPDATE samples SET status = 'failed', stages = NULL, failure = 'no answer' "
        "WHERE id = (SELECT min(id) FROM samples WHERE status = 'scored')",
    )
    change(
        engine,
        "DELETE FROM probes WHERE sample_id IN (SELECT id FROM samples WHERE stages IS NULL)",
    )
    assert found() is None  # its figures are of other data
    analyse(engine, "quick")
    assert found() == 2


def test_a_judge_with_fewer_than_half_its_answers_readable_leaves_it_unfinished(
    engine: sa.Engine, found: Found
) -> None:
    """Rerun, the sweep is to say so again, and not that nothing was missing."""
    change(
        engine,
        "UPDATE probes SET status = 'unparseable', probability = NULL, failure = 'no_number: none' "
        "WHERE sample_id IN (SELECT s.id FROM samples s JOIN arms a ON a.id = s.arm_id "
        "JOIN experiments e ON e.id = a.experiment_id WHERE e.model = 'sim/high-1')",
    )
    analyse(engine, "quick")
    assert found() is None
