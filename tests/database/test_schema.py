"""The schema: migrations and tables agree, migrating is safe, and each constraint refuses."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.orm import Session

from judge_gym.errors import NewerSchemaError, StoreError
from judge_gym.settings import Settings
from judge_gym.store import migrate
from judge_gym.store import tables as t
from judge_gym.store.engine import connect
from judge_gym.store.ledger import Closed, Ledger, now
from support.postgres import temporary_database
from support.rig import a_call, an_answer, calls, run


@pytest.fixture
def blank(postgres_server: str) -> Iterator[str]:
    with temporary_database(postgres_server) as url:
        yield url


def inspected(url: str) -> dict[str, Any]:
    """What PostgreSQL itself says of the schema, as text, without column order."""
    queries = {
        "columns": "SELECT table_name, column_name, data_type, numeric_precision, numeric_scale, "
        "is_nullable, column_default, identity_generation FROM information_schema.columns "
        "WHERE table_schema = 'public'",
        "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) "
        "FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
        "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    }
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return {
            name: sorted(
                tuple(row) for row in connection.exec_driver_sql(query) if "alembic" not in str(row)
            )
            for name, query in queries.items()
        }


def test_migrations_build_what_the_tables_say(blank: str, own_database: str) -> None:
    """Every column, default, constraint and index, in PostgreSQL's own words."""
    engine = sa.create_engine(blank, poolclass=sa.NullPool)
    t.Base.metadata.create_all(engine)
    assert inspected(own_database) == inspected(blank)


def test_alembic_finds_nothing_to_migrate(own_database: str) -> None:
    engine = sa.create_engine(own_database, poolclass=sa.NullPool)
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, t.Base.metadata) == []


@pytest.mark.slow
def test_up_twice_down_and_up_again(blank: str) -> None:
    engine = sa.create_engine(blank, poolclass=sa.NullPool)
    assert migrate.revisions(engine)[0] is None
    migrate.upgrade(blank)
    once = inspected(blank)
    migrate.upgrade(blank)
    current, newest = migrate.revisions(engine)
    assert current == newest is not None
    migrate.downgrade(blank, "base")
    assert inspected(blank) == {"columns": [], "constraints": [], "indexes": []}
    assert migrate.revisions(engine)[0] is None
    migrate.upgrade(blank)
    assert inspected(blank) == once


@pytest.mark.slow
def test_two_processes_migrate_at_once(blank: str, own_database: str) -> None:
    program = "import sys; from judge_gym.store.migrate import upgrade; upgrade(sys.argv[1])"
    running = [
        subprocess.Popen([sys.executable, "-c", program, blank], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ends = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], ends
    assert inspected(blank) == inspected(own_database)


def settings_with(url: str) -> Settings:
    return Settings.model_validate({"database_url": url})


def test_connecting_migrates(blank: str, own_database: str) -> None:
    engine = connect(settings_with(blank.replace("postgresql+psycopg://", "postgresql://")))
    current, newest = migrate.revisions(engine)
    engine.dispose()
    assert current == newest
    assert inspected(blank) == inspected(own_database)


def test_a_database_of_a_newer_judge_gym_is_left_alone(blank: str) -> None:
    migrate.upgrade(blank)
    engine = sa.create_engine(blank, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'r9999'")
    with pytest.raises(StoreError, match="r9999") as refused:
        connect(settings_with(blank))
    assert "upgrade judge-gym" in refused.value.remedy


def test_a_call_is_not_opened_in_a_database_that_was_upgraded_meanwhile(own_database: str) -> None:
    engine = sa.create_engine(own_database, poolclass=sa.NullPool)
    ledger = Ledger(engine)
    opened = run(ledger.open([a_call("before")], "real"))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'r9999'")
    with pytest.raises(NewerSchemaError, match="r9999"):
        run(ledger.open([a_call("after")], "real"))
    assert calls(engine).keys() == {"before"}
    # What was sent before is stored: it is paid for.
    answer = an_answer()
    run(ledger.write(Closed(opened[0].id, answer, [], (), now())))
    assert calls(engine)["before"].answer == answer.text


@pytest.mark.parametrize("revision", ["0001", "0056"])
def test_a_database_of_a_development_version_is_refused_and_left_alone(
    blank: str, revision: str
) -> None:
    engine = sa.create_engine(blank, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num varchar(32))")
        connection.execute(sa.text("INSERT INTO alembic_version VALUES (:it)"), {"it": revision})
        connection.exec_driver_sql("CREATE TABLE sweeps (name text)")
    before = inspected(blank)
    with pytest.raises(StoreError, match=f"{revision}, from a development version") as refused:
        connect(settings_with(blank))
    assert "judge-gym data export" in refused.value.remedy
    assert "JUDGE_GYM_DATA_DIR" in refused.value.remedy
    assert (inspected(blank), migrate.revisions(engine)[0]) == (before, revision)


def test_a_server_that_is_not_there_is_one_clear_line() -> None:
    with pytest.raises(StoreError) as refused:
        connect(settings_with("postgresql://someone:planted-secret@127.0.0.1:9/nothing"))
    assert "127.0.0.1:9" in refused.value.message
    assert "planted-secret" not in str(refused.value)
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("url", ["sqlite:///x.db", "not a url", "mysql://h/x"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(StoreError, match="JUDGE_GYM_DATABASE_URL"):
        connect(settings_with(url))


# One good row of each table; every test below changes it into a bad one.
STAGES = [{"label": label, "criteria": ["a", "b", "c"]} for label in ("few", "some", "most")]
GOOD: dict[Any, dict[str, Any]] = {
    t.Window: {
        "id": 1,
        "key": "w",
        "name": "",
        "query": "",
        "country": "Freedonia",
        "max_documents": 5,
        "source": {},
        "collected_at": datetime(2020, 1, 1, tzinfo=UTC),
    },
    t.Document: {
        "id": 1,
        "window_id": 1,
        "position": 0,
        "key": "d",
        "url": "",
        "canonical_url": "corpus:d",
        "domain": "",
        "tier": "other",
        "tier_weight": 0.1,
        "title": "",
        "text": "text",
    },
    t.Experiment: {
        "id": 1,
        "key": "e",
        "tag": "tag",
        "task_type": "ecc",
        "concept": "order",
        "country": "Freedonia",
        "window_id": 1,
        "model": "m",
        "family": "f",
        "scale_size": 3,
        "replicates": 2,
        "config": {},
    },
    t.EvidenceItem: {"id": 1, "key": "i", "window_id": 1, "bundle_size": 1},
    t.ItemDocument: {"item_id": 1, "position": 0, "document_id": 1},
    t.ExperimentItem: {"experiment_id": 1, "item_id": 1, "position": 0},
    t.Call: {
        "id": 1,
        "key": "c",
        "workflow": "w3-scoring",
        "agent": "scorer",
        "provider": "p",
        "model": "m",
        "messages": [],
        "template": "score",
        "template_hash": "h",
        "parameters": {},
        "status": "planned",
    },
    t.View: {
        "document_id": 1,
        "view": "cleaned",
        "status": "ready",
        "text": "text",
        "method": "library",
    },
    t.Rubric: {
        "id": 1,
        "key": "r",
        "source": "generated",
        "owner_model": "m",
        "owner_family": "f",
        "concept": "order",
        "country": "Freedonia",
        "scale_size": 3,
        "variant": 0,
        "status": "ready",
        "stages": STAGES,
    },
    t.Arm: {"id": 1, "experiment_id": 1, "rubric_id": 1, "scale_size": 3, "arm": "own"},
    t.Sample: {
        "id": 1,
        "arm_id": 1,
        "item_id": 1,
        "replicate": 0,
        "scale_size": 3,
        "seed": 5,
        "letters": "ABC",
        "display_order": [1, 2, 3],
        "status": "scored",
        "stages": 0b101,
    },
    t.Probe: {
        "id": 1,
        "sample_id": 1,
        "replicate": 0,
        "status": "answered",
        "probability": 0.5,
    },
    t.Sweep: {"id": 1, "name": "s", "description": ""},
    t.SweepExperiment: {"sweep_id": 1, "experiment_id": 1, "replicates": 2},
    t.FormerSweepExperiment: {"sweep_id": 1, "experiment_id": 1},
    t.Judge: {"id": 1, "key": "j", "kind": "rubric", "name": "", "model": "m", "config": {}},
    t.PerturbedText: {
        "key": "p",
        "perturbation": "tone",
        "severity": 0.5,
        "seed": 0,
        "model": "m/n",
        "status": "changed",
        "text": "x",
        "call_ids": [],
    },
    t.JudgeItem: {"id": 1, "key": "i", "corpus": "", "name": "1", "text": "x", "context": ""},
    t.JudgeResult: {
        "id": 1,
        "judge_id": 1,
        "item_id": 1,
        "repeat": 0,
        "status": "scored",
        "score": 0.0,
        "subscores": {},
        "reason": "",
        "call_ids": [],
    },
    t.CalibrationCheck: {
        "id": 1,
        "judge_id": 1,
        "corpus": "",
        "calibration": "",
        "name": "band",
        "question": "",
        "result": "passes",
        "reason": "",
        "action": "",
        "metric": "",
        "n": 1,
        "n_items": 1,
        "unit": "",
        "method": "",
        "beside": [],
    },
    t.JudgeReview: {
        "id": 1,
        "review": "notes",
        "reviewed_on": date(2020, 1, 1),
        "judge_id": 1,
        "corpus": "",
        "decision": "",
        "figures": {},
        "recommendation": "keep",
        "reason": "",
    },
    t.AlignmentLook: {
        "id": 1,
        "alignment": "notes",
        "before_id": 1,
        "chosen_id": 1,
        "test_digest": "",
        "items_digest": "",
        "item_keys": ["k"],
    },
    t.GateRecheck: {"id": 1, "judge_id": 1, "texts_digest": "", "review_day": "gate"},
    t.AnalysisRun: {"id": 1, "sweep_id": 1, "version": "0", "simulated": True},
    t.AnnotationSet: {"id": 1, "name": "people", "source": "", "described": {}},
    t.Annotation: {
        "id": 1,
        "set_id": 1,
        "item": "i",
        "annotator": "ann",
        "kind": "person",
        "labels": ["a"],
    },
}


@pytest.fixture(scope="module")
def filled_database(postgres_server: str, migrated_template: str) -> Iterator[sa.Engine]:
    with temporary_database(postgres_server, migrated_template) as url:
        engine = sa.create_engine(url)
        with Session(engine) as session, session.begin():
            for table, row in GOOD.items():
                insert_with_id(session, table, row)
        yield engine
        engine.dispose()


@pytest.fixture
def filled(filled_database: sa.Engine) -> Iterator[Session]:
    """A session on a database that holds one good row of each table; it is never committed."""
    with Session(filled_database) as session:
        yield session


def insert_with_id(session: Session, table: Any, row: dict[str, Any]) -> None:
    """Insert a row whose id the test chooses, which only tests may."""
    names = ", ".join(row)
    values = {name: sa.bindparam(name, value, table.__table__.c[name].type)
              for name, value in row.items()}  # fmt: skip
    statement = sa.text(
        f"INSERT INTO {table.__tablename__} ({names}) OVERRIDING SYSTEM VALUE "  # noqa: S608
        f"VALUES ({', '.join(':' + name for name in row)})"
    ).bindparams(*values.values())
    session.execute(statement)


def renumbered(table: Any) -> dict[str, Any]:
    """The good row of a table under another id, if it has one."""
    row: dict[str, Any] = GOOD[table]
    return row | {"id": 99} if "id" in row else row


FAILED_SAMPLE = {"status": "failed", "stages": None, "failure": "boom"}
OTHER = {"id": 2, "key": "2"}

REFUSED = [
    (t.Call, {"status": "done"}, "ck_llm_calls_status_known"),
    (t.Call, {"status": "succeeded"}, "ck_llm_calls_answer_when_succeeded"),
    (t.Call, {"answer": "x"}, "ck_llm_calls_answer_when_succeeded"),
    (t.Call, {"attempts": -1}, "ck_llm_calls_attempts_not_negative"),
    (t.Document, {"position": 1}, "uq_documents_window_id_key"),
    (t.Document, {"key": "e"}, "uq_documents_window_id_position"),
    (t.Document, {"key": "e", "position": 1, "tier_weight": 1.1}, "ck_documents_tier_weight_range"),
    (t.Document, {"key": "e", "position": 1, "truth_value": -0.1},
     "ck_documents_truth_value_range"),
    (t.View, {}, "pk_views"),
    (t.View, {"view": "raw"}, "ck_views_view_known"),
    (t.View, {"view": "abstracted", "status": "made"}, "ck_views_status_known"),
    (t.View, {"view": "abstracted", "text": None}, "ck_views_text_when_ready"),
    (t.View, {"view": "abstracted", "status": "failed", "text": None},
     "ck_views_failure_when_failed"),
    (t.View, {"view": "abstracted", "failure": "x"}, "ck_views_failure_when_failed"),
    (t.Rubric, {"key": "2", "source": "found"}, "ck_rubrics_source_known"),
    (t.Rubric, {"key": "2", "status": "good", "failure": "x"}, "ck_rubrics_status_known"),
    (t.Rubric, {"key": "2", "scale_size": 11}, "ck_rubrics_scale_size_range"),
    (t.Rubric, {"key": "2", "scale_size": 1, "stages": STAGES[:1]}, "ck_rubrics_scale_size_range"),
    (t.Rubric, {"key": "2", "observability": 1.01}, "ck_rubrics_observability_range"),
    (t.Rubric, {"key": "2", "discriminability": -0.01}, "ck_rubrics_discriminability_range"),
    (t.Rubric, {"key": "2", "stages": STAGES[:2]}, "ck_rubrics_stages_fit_scale"),
    (t.Rubric, {"key": "2", "stages": None}, "ck_rubrics_stages_fit_scale"),
    (t.Rubric, {"key": "2", "status": "failed"}, "ck_rubrics_failure_unless_ready"),
    (t.Rubric, {"key": "2", "failure": "x"}, "ck_rubrics_failure_unless_ready"),
    (t.Experiment, {"key": "2"}, "uq_experiments_tag"),
    (t.Experiment, {"tag": "2"}, "uq_experiments_key"),
    (t.Experiment, {"key": "2", "tag": "2", "task_type": "guess"},
     "ck_experiments_task_type_known"),
    (t.Experiment, {"key": "2", "tag": "2", "scale_size": 1}, "ck_experiments_scale_size_range"),
    (t.Experiment, {"key": "2", "tag": "2", "replicates": 0}, "ck_experiments_replicates_positive"),
    (t.Experiment, {"key": "2", "tag": "2", "window_id": 7}, "fk_experiments_window_id"),
    (t.EvidenceItem, {}, "uq_items_key"),
    (t.ItemDocument, {}, "pk_item_documents"),
    (t.ExperimentItem, {"position": 1}, "pk_experiment_items"),
    (t.Arm, {"arm": "rival"}, "ck_arms_arm_known"),
    (t.Arm, {"arm": "swap", "scale_size": 4}, "fk_arms_experiment_id_scale_size"),
    (t.Arm, {}, "uq_arms"),
    (t.Arm, {"rubric_id": 2}, "uq_arms_one_own"),
    (t.Sample, {}, "uq_samples_arm_id_item_id_replicate"),
    (t.Sample, {"replicate": -1}, "ck_samples_replicate_not_negative"),
    (t.Sample, {"replicate": 1, "status": "guessed"}, "ck_samples"),
    (t.Sample, {"replicate": 1, "stages": None}, "ck_samples_stages_when_scored"),
    (t.Sample, {"replicate": 1, "status": "abstained"}, "ck_samples_stages_when_scored"),
    (t.Sample, {"replicate": 1, "stages": 0b1000}, "ck_samples_stages_within_scale"),
    (t.Sample, {"replicate": 1, "stages": 0}, "ck_samples_stages_within_scale"),
    (t.Sample, {"replicate": 1} | FAILED_SAMPLE | {"failure": None},
     "ck_samples_failure_when_not_judged"),
    (t.Sample, {"replicate": 1, "status": "unparseable", "stages": None},
     "ck_samples_failure_when_not_judged"),
    (t.Sample, {"replicate": 1, "status": "refused", "stages": None},
     "ck_samples_failure_when_not_judged"),
    (t.Sample, {"replicate": 1, "failure": "x"}, "ck_samples_failure_when_not_judged"),
    (t.Sample, {"replicate": 1, "letters": "AB"}, "ck_samples_presentation_fits_scale"),
    (t.Sample, {"replicate": 1, "display_order": [1, 2]}, "ck_samples_presentation_fits_scale"),
    (t.Sample, {"replicate": 1, "scale_size": 4, "letters": "ABCD", "display_order": [1, 2, 3, 4]},
     "fk_samples_arm_id_scale_size"),
    (t.Sample, {"replicate": 1, "item_id": 9}, "fk_samples_item_id"),
    (t.Probe, {}, "uq_probes_sample_id_replicate"),
    (t.Probe, {"replicate": 1, "probability": 1.2}, "ck_probes_probability_range"),
    (t.Probe, {"replicate": 1, "probability": -0.1}, "ck_probes_probability_range"),
    (t.Probe, {"replicate": 1, "probability": None}, "ck_probes_probability_when_answered"),
    (t.Probe, {"replicate": 1, "status": "unparseable", "failure": "x"},
     "ck_probes_probability_when_answered"),
    (t.Probe, {"replicate": 1, "status": "failed", "probability": None},
     "ck_probes_failure_when_missing"),
    (t.Probe, {"replicate": 1, "status": "late"}, "ck_probes"),
    (t.Sweep, {}, "uq_sweeps_name"),
    (t.SweepExperiment, {}, "pk_sweep_experiments"),
    (t.FormerSweepExperiment, {}, "pk_former_sweep_experiments"),
    (
        t.SweepExperiment,
        {"experiment_id": 2, "replicates": 0},
        "ck_sweep_experiments_replicates_positive",
    ),
    (t.AnnotationSet, {}, "uq_annotation_sets_name"),
    (t.AnnotationSet, {"name": ""}, "ck_annotation_sets_name_not_empty"),
    (t.AnnotationSet, {"name": "2", "rubric_id": 9}, "fk_annotation_sets_rubric_id"),
    (t.Annotation, {}, "uq_annotations_set_id_item_annotator_kind"),
    (t.Annotation, {"item": "j", "kind": "robot"}, "ck_annotations_kind_known"),
    (t.Annotation, {"item": "j", "labels": []}, "ck_annotations_has_label"),
    (t.Annotation, {"item": "j", "kind": "judge", "item_id": 1}, "ck_annotations_items_of_people"),
    (t.Annotation, {"item": "j", "set_id": 9}, "fk_annotations_set_id"),
    (t.Annotation, {"item": "j", "item_id": 9}, "fk_annotations_item_id"),
    (t.Judge, {}, "uq_judges_key"),
    (t.Judge, {"key": "2", "kind": "an Oracle"}, "ck_judges_kind_word"),
    (t.JudgeItem, {}, "uq_judge_items_key"),
    (t.JudgeItem, {"key": "2", "perturbation": "tone", "severity": 2.0, "seed": 1},
     "ck_judge_items_severity_range"),
    (t.JudgeItem, {"key": "2", "severity": 0.5}, "ck_judge_items_variant_whole"),
    (t.JudgeItem, {"key": "2", "perturbation": "tone", "severity": 0.5},
     "ck_judge_items_variant_whole"),
    (t.PerturbedText, {}, "pk_perturbed_texts"),
    (t.PerturbedText, {"key": "2", "severity": 0.0}, "ck_perturbed_texts_severity_range"),
    (t.PerturbedText, {"key": "2", "status": "guessed", "text": None, "failure": "x"},
     "ck_perturbed_texts_status_known"),
    (t.PerturbedText, {"key": "2", "text": None}, "ck_perturbed_texts_text_when_changed"),
    (t.PerturbedText, {"key": "2", "failure": "x"}, "ck_perturbed_texts_failure_when_not_changed"),
    (t.JudgeResult, {}, "uq_judge_results_judge_id_item_id_repeat_review_day"),
    (t.JudgeResult, {"repeat": -1}, "ck_judge_results_repeat_not_negative"),
    (t.JudgeResult, {"repeat": 1, "status": "tied", "score": None},
     "ck_judge_results_status_known"),
    (t.JudgeResult, {"repeat": 1, "score": None}, "ck_judge_results_score_when_scored"),
    (t.JudgeResult, {"repeat": 1, "score": float("nan")}, "ck_judge_results_score_finite"),
    (t.JudgeResult, {"repeat": 1, "status": "inconsistent"}, "ck_judge_results_score_when_scored"),
    (t.JudgeResult, {"repeat": 1, "status": "failed", "score": None},
     "ck_judge_results_failure_when_not_judged"),
    (t.JudgeResult, {"repeat": 1, "failure": "x"}, "ck_judge_results_failure_when_not_judged"),
    (t.JudgeResult, {"repeat": 1, "item_id": 9}, "fk_judge_results_item_id"),
    (t.CalibrationCheck, {}, "uq_calibration_checks_judge_id_corpus_name"),
    (t.CalibrationCheck, {"name": "2", "result": "holds"}, "ck_calibration_checks_result_known"),
    (t.CalibrationCheck, {"name": "2", "p": 2.0}, "ck_calibration_checks_p_range"),
    (t.CalibrationCheck, {"name": "2", "p_adjusted": -1.0},
     "ck_calibration_checks_p_adjusted_range"),
    (t.JudgeReview, {}, "uq_judge_reviews_one_a_day"),
    (t.JudgeReview, {"review": "2", "recommendation": "replace"},
     "ck_judge_reviews_recommendation_known"),
    (t.AlignmentLook, {}, "uq_alignment_looks_once"),
    (t.AlignmentLook, {"items_digest": "2", "item_keys": []},
     "ck_alignment_looks_item_keys_present"),
    (t.GateRecheck, {}, "uq_rechecks_judge_id_review_day"),
    (t.GateRecheck, {"review_day": "2", "number": 0}, "ck_rechecks_number_positive"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "change", "constraint"), REFUSED)
def test_a_bad_row_is_refused(
    filled: Session, table: Any, change: dict[str, Any], constraint: str
) -> None:
    insert_with_id(filled, t.Rubric, GOOD[t.Rubric] | OTHER)
    bad = renumbered(table) | change
    with pytest.raises(sa.exc.IntegrityError, match=f'"{constraint}'):
        insert_with_id(filled, table, {key: v for key, v in bad.items() if v is not None})


@pytest.mark.parametrize(
    ("table", "change"),
    [
        (t.Sample, {"replicate": 1, "stages": 0b111}),
        (t.Sample, {"replicate": 1, "status": "abstained", "stages": None}),
        (t.Sample, {"replicate": 1} | FAILED_SAMPLE),
        (t.Probe, {"replicate": 1, "probability": 0.0}),
        (t.Probe, {"replicate": 1, "probability": 1.0}),
        (t.Probe, {"replicate": 1, "status": "refused", "probability": None, "failure": "x"}),
        (t.Arm, {"arm": "swap"}),
        (t.Arm, {"arm": "sham", "rubric_id": 2}),
        (t.View, {"view": "abstracted", "status": "failed", "text": None, "failure": "x"}),
        (t.Rubric, {"key": "3", "status": "failed", "stages": None, "failure": "x"}),
        (t.Rubric, {"key": "3", "status": "refused", "failure": "x", "observability": 0.0}),
        (t.Call, {"key": "2", "status": "succeeded", "answer": ""}),
        (t.JudgeItem, {"key": "2", "perturbation": "tone", "severity": 0.0, "seed": 0}),
        (t.JudgeResult, {"repeat": 1, "status": "inconsistent", "score": None}),
        (t.JudgeResult, {"review_day": "2020-01-01"}),
        (t.JudgeReview, {"alternative_id": 1}),
        (t.JudgeResult, {"repeat": 1, "status": "failed", "score": None, "failure": "x"}),
    ],
)
def test_a_good_row_is_taken(filled: Session, table: Any, change: dict[str, Any]) -> None:
    insert_with_id(filled, t.Rubric, GOOD[t.Rubric] | OTHER)
    good = renumbered(table) | change
    insert_with_id(filled, table, {key: v for key, v in good.items() if v is not None})


def test_what_stands_and_falls_together(filled: Session) -> None:
    """A ledger row can go without the verdict; an arm takes its samples and their probes along."""
    for table in (t.Sample, t.Probe, t.View, t.Rubric):
        filled.execute(sa.update(table).values(call_id=1))
    filled.execute(sa.delete(t.Call))
    kept = filled.scalars(sa.select(t.Sample.call_id)).all()
    assert list(kept) == [None]
    filled.execute(sa.delete(t.Arm))
    for table in (t.Sample, t.Probe):
        assert filled.scalar(sa.select(sa.func.count()).select_from(table)) == 0
    assert filled.scalar(sa.select(sa.func.count()).select_from(t.EvidenceItem)) == 1


@pytest.mark.parametrize("table", [t.Window, t.EvidenceItem, t.JudgeItem])
def test_evidence_in_use_cannot_be_deleted(filled: Session, table: Any) -> None:
    with pytest.raises(sa.exc.IntegrityError):
        filled.execute(sa.delete(table))


def test_an_absent_json_value_is_null(filled: Session) -> None:
    """Analysts write `swap IS NULL`; a JSON null would not be found by it."""
    filled.execute(sa.delete(t.Sweep))
    filled.execute(sa.insert(t.Sweep).values(name="other", description="", swap=None))
    assert filled.scalar(sa.text("SELECT count(*) FROM sweeps WHERE swap IS NULL")) == 1
