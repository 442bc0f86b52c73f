"""Export and import: the same experiments in another database, by their natural keys."""

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as parquet
import pytest
import sqlalchemy as sa
from psycopg import sql
from sqlalchemy.orm import Session

from judge_gym.analysis import running as analysis
from judge_gym.design.plans import AnalysisPlan
from judge_gym.errors import StoreError
from judge_gym.formats import cell
from judge_gym.store import tables as t
from judge_gym.store.bulk import (
    begin_copying,
    copy_in,
    copy_out,
    open_csv,
    safe_texts,
    text_as_given,
    texts_as_given,
)
from judge_gym.store.bundle_reading import import_bundle
from judge_gym.store.bundled_tables import BUNDLED
from judge_gym.store.bundles import export
from judge_gym.store.calls import answer_columns
from judge_gym.store.results import register_plan
from support.lab import SWEEP, Lab
from support.postgres import temporary_database
from support.rig import a_full_answer, empty

pytestmark = pytest.mark.slow

TABLES = {name: bundled.table for name, bundled in BUNDLED.items()}
ALPHA, BETA = "acme/alpha-1", "acme/beta-1"
AWKWARD = '=cmd|"x"!A1,\n-1\t"quoted", \\N \\.\nünï €'


@pytest.fixture(scope="module")
def database(postgres_server: str, migrated_template: str) -> Iterator[str]:
    with temporary_database(postgres_server, migrated_template) as url:
        yield url


@pytest.fixture(scope="module")
def other_database(postgres_server: str, migrated_template: str) -> Iterator[str]:
    with temporary_database(postgres_server, migrated_template) as url:
        yield url


@pytest.fixture
def elsewhere(other_database: str) -> sa.Engine:
    """Another database, whose ids have run on."""
    engine = sa.create_engine(empty(other_database), poolclass=sa.NullPool)
    with Session(engine) as session, session.begin():
        for number in range(3):
            session.add(_call(f"before/{number}", None, "x"))
            session.add(
                t.Window(
                    key=f"w{number}", name="", query="", country="", max_documents=1, source={}
                )
            )
    return engine


def _call(key: str, experiment_id: int | None, answer: str) -> t.Call:
    return t.Call(
        key=key,
        workflow="w3-scoring",
        agent="scorer",
        provider="acme",
        model=ALPHA,
        experiment_id=experiment_id,
        messages=[{"role": "user", "content": AWKWARD}],
        template="score",
        template_hash="0",
        parameters={"temperature": 1.0},
        **answer_columns(a_full_answer(answer, cost_usd=0.125, simulated=True)),
    )


@pytest.fixture(scope="module")
def lab(database: str) -> Lab:
    """Two judges with a swap and a sham, probes, a mark, a view, calls, and two analyses."""
    lab = Lab(database)
    lab.documents([0.25, None, None], keys=["c", "a", "b"])
    alpha = lab.own(ALPHA, [[1, 2], [1, "abstained"], [3, "failed"]], probes=[[0.8, 0.7]] * 3)
    lab.own(BETA, [[4, 4], [2, 2], [1, 1]], simulated=True)
    swap = lab.arm(alpha, "swap", BETA)
    lab.samples(swap, [[4], [4], [3]], probes=[[0.5]] * 3)
    lab.samples(lab.arm(alpha, "sham", ALPHA), [[1], [1], [1]])
    lab.view_by_model("neutralized", simulated=True)
    with Session(lab.engine) as session, session.begin():
        window = session.scalars(sa.select(t.Window)).one()
        first_item = session.scalars(
            sa.select(t.EvidenceItem.id).order_by(t.EvidenceItem.id)
        ).first()
        session.get_one(t.Arm, swap).held_out_items = [first_item]
        call = _call("score/1", alpha, AWKWARD)
        session.add(call)
        session.add(_call(f"view/{window.key}/c/neutralized", None, "summary"))
        again = _call("score/2", alpha, AWKWARD)
        session.flush()
        again.cached_from = call.id
        session.add(again)
        session.add(_call("view/of-another-window/c/neutralized", None, "summary"))
        session.flush()
        sample = session.scalars(sa.select(t.Sample).order_by(t.Sample.id)).first()
        sample.call_id = call.id
        session.add(
            t.ScoreMark(
                sample_id=sample.id,
                critic_model=BETA,
                template="0",
                status="no_reasoning",
                simulated=True,
            )
        )
        for url in ("=1+1", "=1+1"):
            session.add(
                t.DroppedDocument(
                    window_id=window.id, url=url, title=AWKWARD, reason="short", detail=""
                )
            )
        register_plan(session, SWEEP, a_plan())
        rubric_id = session.scalars(sa.select(t.Arm.rubric_id).where(t.Arm.arm == "own")).first()
        first, second = [
            stage["label"] for stage in session.get_one(t.Rubric, rubric_id).stages[:2]
        ]
        people = t.AnnotationSet(name="people", source="made up", described={}, rubric_id=rubric_id)
        session.add(people)
        session.flush()
        session.add(
            t.Annotation(
                set_id=people.id,
                item=AWKWARD,
                item_id=first_item,
                annotator="ann",
                kind="person",
                labels=[first, second],
            )
        )
    lab.analyse()
    lab.analyse()
    return lab


def a_plan() -> AnalysisPlan:
    """A plan of the lab's sweep."""
    return AnalysisPlan(
        name="plan",
        sweep=SWEEP,
        description="What is to be shown.",
        margins=({"hypothesis": "H1", "margin": 0.1, "why": "because"},),
        primary=({"hypothesis": "H1"},),
        confirmatory=("H1",),
    )


@pytest.fixture(scope="module")
def exported(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    export(lab.engine, folder, sweep=SWEEP)
    return folder


@pytest.fixture
def bundle(exported: Path, tmp_path: Path) -> Path:
    """A bundle of the sweep that a test may change."""
    return Path(shutil.copytree(exported, tmp_path / "bundle"))


def contents(engine: sa.Engine) -> dict[str, list[str]]:
    """Every row as text with references written as what they name, so that ids play no part."""
    with engine.connect() as connection:
        rows = {
            name: connection.execute(sa.select(table).order_by(*table.primary_key)).mappings().all()
            for name, table in TABLES.items()
        }
    names: dict[tuple[str, int], str] = {}
    for name in TABLES:
        for row in rows[name]:
            if "id" in row:
                names[name, row["id"]] = _named(name, row, names)
    return {name: sorted(_named(name, row, names) for row in rows[name]) for name in TABLES}


def _named(table: str, row: Any, names: dict[tuple[str, int], str]) -> str:
    said: dict[str, Any] = {}
    for column in TABLES[table].c:
        target = next((key.column for key in column.foreign_keys if key.column.name == "id"), None)
        value = row[column.name]
        if target is not None and value is not None:
            value = names[target.table.name, value]
        elif column.name == "held_out_items":
            value = [names["items", one] for one in value]
        if column.name != "id":
            said[column.name] = value
    return json.dumps(said, default=str, sort_keys=True)


def without_what_was_there(found: dict[str, list[str]]) -> dict[str, list[str]]:
    ours = ('"key": "w', '"key": "before/', "of-another-window")
    return {
        name: [row for row in rows if not any(mark in row for mark in ours)]
        for name, rows in found.items()
    }


def test_a_sweep_comes_over_whole_and_a_second_time_changes_nothing(
    lab: Lab, elsewhere: sa.Engine, bundle: Path
) -> None:
    manifest, new = import_bundle(elsewhere, bundle)
    assert manifest.simulated
    assert new == {name: table.rows for name, table in manifest.tables.items()}
    once = contents(elsewhere)
    assert without_what_was_there(once) == without_what_was_there(contents(lab.engine))
    assert all(once[name] for name in TABLES)
    _, again = import_bundle(elsewhere, bundle)
    assert set(again.values()) == {0}
    assert contents(elsewhere) == once


def test_the_analysis_of_both_databases_is_the_same(
    lab: Lab, elsewhere: sa.Engine, bundle: Path
) -> None:
    import_bundle(elsewhere, bundle)
    analysis.analyse(elsewhere, SWEEP)
    figures = sa.text(
        "SELECT metric, scope::text, estimate, lower, p, reason FROM analysis.results"
    )
    with lab.engine.connect() as here, elsewhere.connect() as there:
        assert sorted(map(str, here.execute(figures))) == sorted(map(str, there.execute(figures)))


def test_equal_rows_make_equal_bundles_and_parquet_holds_them_typed(
    lab: Lab, tmp_path: Path
) -> None:
    one, same = (export(lab.engine, tmp_path / name, sweep=SWEEP) for name in ("one", "same"))
    assert one == same
    assert (tmp_path / "one").stat().st_mode & 0o077 == 0
    calls = parquet.read_table(tmp_path / "one" / "llm_calls.parquet").to_pylist()
    [scored] = [row for row in calls if row["key"] == "score/1"]
    assert scored["answer"] == AWKWARD
    assert json.loads(scored["messages"])[0]["content"] == AWKWARD
    assert float(scored["cost_usd"]) == 0.125
    samples = parquet.read_table(tmp_path / "one" / "samples.parquet").to_pylist()
    assert samples[0]["display_order"] == [1, 2, 3, 4]
    assert {row["failure"] for row in samples} == {None, "as the test says"}
    arms = parquet.read_table(tmp_path / "one" / "arms.parquet").to_pylist()
    assert sorted(len(row["held_out_items"]) for row in arms) == [0, 0, 0, 1]


CELLS = [
    "=1+1",
    "+a",
    "-b",
    "@c",
    "\t=x",
    " =y",
    "'=z",
    "''-5",
    "-5",
    "+1.5e3",
    "plain",
    "",
    "'a",
    None,
]


def test_texts_that_a_spreadsheet_would_compute_stand_after_an_apostrophe(
    elsewhere: sa.Engine, tmp_path: Path
) -> None:
    file, columns = tmp_path / "texts.csv", {"place": "int8", "said": "text"}
    with elsewhere.connect() as connection:
        begin_copying(connection)
        given = sql.SQL("SELECT place, said FROM unnest({}::text[]) WITH ORDINALITY").format(
            sql.Literal(CELLS)
        ) + sql.SQL(" AS given(said, place) ORDER BY place")
        copy_out(connection, safe_texts(given, columns), file)
        with file.open(newline="") as rows:
            written = [row["said"] for row in csv.DictReader(rows)]
        assert written == ["" if text is None else cell(text) for text in CELLS]
        with open_csv(file, columns) as reader:
            typed = [
                text for batch in reader
                for text in texts_as_given(batch, columns)["said"].to_pylist()
            ]  # fmt: skip
        assert typed == CELLS
        connection.exec_driver_sql("CREATE TEMPORARY TABLE texts (place bigint, said text)")
        copy_in(connection, sql.Identifier("texts"), list(columns), file)
        query = sql.SQL("SELECT {} FROM texts ORDER BY place").format(
            text_as_given(sql.Identifier("said"))
        )
        cursor = connection.connection.cursor()
        assert [said for (said,) in cursor.execute(query).fetchall()] == CELLS


def test_a_codebook_says_what_every_column_means(lab: Lab, tmp_path: Path) -> None:
    manifest = export(lab.engine, tmp_path / "bundle", sweep=SWEEP)
    book = pd.read_csv(tmp_path / "bundle" / "codebook.csv", keep_default_na=False)
    listed = set(zip(book["table"], book["column"], strict=True))
    assert listed == {
        (name, column) for name, table in manifest.tables.items() for column in table.columns
    }
    assert not list(book[book["meaning"] == ""]["column"])
    entry = book.set_index(["table", "column"]).loc
    stages = entry["samples", "stages"]
    assert (stages["unit"], stages["view"]) == ("bit set", "analysis.samples.stage_bits")
    assert "bit s-1" in stages["meaning"]
    assert entry["samples", "status"]["values"] == (
        "scored, abstained, unparseable, refused, failed"
    )
    assert entry["llm_calls", "cost_usd"]["unit"] == "US dollars"
    assert entry["probes", "probability"]["view"] == "analysis.probes.probability"


def test_single_experiments_come_without_sweeps_and_without_the_others(
    lab: Lab, elsewhere: sa.Engine, tmp_path: Path
) -> None:
    with Session(lab.engine) as session:
        tag = session.scalars(sa.select(t.Experiment.tag).where(t.Experiment.model == BETA)).one()
    manifest = export(lab.engine, tmp_path / "bundle", tags=[tag])
    assert manifest.experiments == (tag,)
    _, new = import_bundle(elsewhere, tmp_path / "bundle")
    assert (new["experiments"], new["samples"], new["sweeps"], new["analysis_runs"]) == (1, 6, 0, 0)


def test_an_interrupted_run_is_brought_on(elsewhere: sa.Engine, bundle: Path) -> None:
    """What the other database has begun, the bundle completes: replicates, calls, windows."""
    import_bundle(elsewhere, bundle)
    whole = contents(elsewhere)
    with Session(elsewhere) as session, session.begin():
        session.execute(sa.delete(t.Sample))
        session.execute(sa.update(t.Experiment).values(replicates=1))
        session.execute(
            sa.update(t.Call).where(t.Call.key == "score/1").values(status="sent", answer=None)
        )
    import_bundle(elsewhere, bundle)
    assert contents(elsewhere) == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (sa.update(t.Sample).where(t.Sample.status == "scored").values(stages=8), "samples"),
        (sa.update(t.Rubric).values(stages=[{"label": "x"}] * 4), "rubrics"),
        (sa.update(t.View).values(text="another"), "views"),
        (sa.update(t.Call).where(t.Call.key == "score/1").values(answer="another"), "llm_calls"),
        (sa.update(t.Probe).values(probability=0.1), "probes"),
        (sa.update(t.Experiment).values(tag=sa.func.concat("x", t.Experiment.id)), "experiments"),
    ],
)
def test_other_results_of_the_same_work_are_never_mixed(
    elsewhere: sa.Engine, bundle: Path, change: Any, said: str
) -> None:
    import_bundle(elsewhere, bundle)
    with elsewhere.begin() as connection:
        connection.execute(change)
    before = contents(elsewhere)
    with pytest.raises(StoreError, match=f"{said} of the bundle are here with another") as refused:
        import_bundle(elsewhere, bundle)
    assert "JUDGE_GYM_DATABASE_URL" in refused.value.remedy
    assert contents(elsewhere) == before


def test_a_window_collected_otherwise_is_refused(elsewhere: sa.Engine, bundle: Path) -> None:
    import_bundle(elsewhere, bundle)
    with elsewhere.begin() as connection:
        connection.execute(
            sa.update(t.Document).where(t.Document.key == "c").values(key="d", position=7)
        )
    with pytest.raises(StoreError, match="documents of the bundle's window are not those here"):
        import_bundle(elsewhere, bundle)


def test_a_sweep_may_have_grown_since_but_not_be_another(
    elsewhere: sa.Engine, bundle: Path
) -> None:
    import_bundle(elsewhere, bundle)
    with elsewhere.begin() as connection:
        first = sa.select(sa.func.min(t.Experiment.id)).scalar_subquery()
        one = sa.delete(t.SweepExperiment).where(t.SweepExperiment.experiment_id == first)
        connection.execute(one)
    _, new = import_bundle(elsewhere, bundle)
    assert new["sweep_experiments"] == 1
    with elsewhere.begin() as connection:
        connection.execute(sa.text("UPDATE experiments SET key = key || 'x', tag = tag || 'x'"))
    with pytest.raises(StoreError, match="sweep_experiments of the bundle's sweep"):
        import_bundle(elsewhere, bundle)


def test_a_tag_that_names_another_point_is_refused(elsewhere: sa.Engine, bundle: Path) -> None:
    import_bundle(elsewhere, bundle)
    with elsewhere.begin() as connection:
        connection.execute(sa.delete(t.Arm))
        connection.execute(sa.update(t.Experiment).values(key=sa.func.reverse(t.Experiment.key)))
    with pytest.raises(StoreError, match=r"Key \(tag\)"):
        import_bundle(elsewhere, bundle)


@pytest.mark.parametrize("file", ["samples.csv", "samples.parquet"])
@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_bundle_is_refused_whole(
    elsewhere: sa.Engine, bundle: Path, file: str, damage: str
) -> None:
    damaged = bundle / file
    content = damaged.read_bytes()
    damaged.unlink()
    if damage == "changed":
        damaged.write_bytes(content[:-2] + b"7\n")
    before = contents(elsewhere)
    with pytest.raises(StoreError, match=file):
        import_bundle(elsewhere, bundle)
    assert contents(elsewhere) == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": 2}, "format"),
        ({"migration": "r9999"}, "r9999"),
        ({"migration": "0056"}, "development version"),
        ({"unheard": 1}, "unheard"),
        ({"tables": {"../../etc/passwd": None}}, "cannot be read"),
    ],
)
def test_a_newer_or_foreign_manifest_is_refused(
    elsewhere: sa.Engine, bundle: Path, changes: dict[str, Any], said: str
) -> None:
    manifest = bundle / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | changes))
    with pytest.raises(StoreError, match=said) as refused:
        import_bundle(elsewhere, bundle)
    assert refused.value.remedy


def test_a_table_or_a_column_that_is_unknown_here_is_refused(
    elsewhere: sa.Engine, bundle: Path
) -> None:
    manifest = bundle / "manifest.json"
    given = json.loads(manifest.read_text())
    for where, said in (
        ({"tables": given["tables"] | {"../x": given["tables"]["arms"]}}, "tables"),
        (
            {
                "tables": given["tables"]
                | {"arms": given["tables"]["arms"] | {"columns": {"id = id": "int8"}}}
            },
            "columns",
        ),
    ):
        manifest.write_text(json.dumps(given | where))
        with pytest.raises(StoreError, match=said):
            import_bundle(elsewhere, bundle)


def test_only_a_finished_bundle_is_read_and_only_a_new_folder_written(
    lab: Lab, elsewhere: sa.Engine, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match=r"no manifest\.json"):
        import_bundle(elsewhere, tmp_path)
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(StoreError, match="not empty"):
        export(lab.engine, tmp_path, sweep=SWEEP)
    with pytest.raises(StoreError, match="no sweep 'other'"):
        export(lab.engine, tmp_path / "new", sweep="other")
    with pytest.raises(StoreError, match="no experiment nobody"):
        export(lab.engine, tmp_path / "new", tags=["nobody"])


SENT_FROM_HERE = {
    "decisions",
    "former_sweep_experiments",
    "gate_changes",
    "llm_batches",
    "study_points",
    "sweep_runs",
}
OF_PRODUCTS = {
    "alignment_looks",
    "calibration_checks",
    "judge_items",
    "judge_results",
    "judge_reviews",
    "judges",
    "panel_consensus",
    "panel_documents",
    "panel_reviews",
    "panels",
    "perturbed_texts",
    "rechecks",
}


def test_every_table_of_experiments_is_in_bundles() -> None:
    assert t.Base.metadata.tables.keys() - SENT_FROM_HERE - OF_PRODUCTS == BUNDLED.keys()


def test_rows_are_known_elsewhere_by_no_id_of_this_database() -> None:
    ids = {name: bundled.key for name, bundled in BUNDLED.items() if "id" in bundled.key}
    assert not ids
