"""The `analysis` schema: every view says what it holds, and holds what the tables do."""

from collections.abc import Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.axes import axes
from judge_gym.design.bundles import Bundles
from judge_gym.design.experiment import Experiment
from judge_gym.errors import StoreError
from judge_gym.records.calls import Answer, Request
from judge_gym.store import migrate, views
from judge_gym.store import tables as t
from judge_gym.store.experiments import register_sweep
from judge_gym.store.ledger import Closed, Ledger, Sent, now
from judge_gym.store.rubrics import applied_key, variant_of
from judge_gym.store.spending import spending_scope, spent
from support.command_line import REPOSITORY
from support.lab import SWEEP, Lab, labels, only, rubric
from support.migrations import add_later_migration
from support.postgres import temporary_database
from support.rig import a_call, an_answer, ready_rubric, run, runtime_at
from support.study import UTILITY, Study, corpus, window

ALPHA, BETA = "acme/alpha-1", "acme/beta-1"
COMMON = {"rubric": {"provided": rubric(*labels(4))}}


@pytest.fixture
def lab(database: str) -> Lab:
    return Lab(database)


def query(url: str, text: str, **bound: Any) -> Sequence[Any]:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return connection.execute(sa.text(text), bound).all()


def rows_of(lab: Lab, text: str) -> list[tuple[Any, ...]]:
    with lab.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(text))]


def values(lab: Lab, text: str) -> list[Any]:
    with lab.engine.connect() as connection:
        return list(connection.scalars(sa.text(text)))


def test_every_view_and_every_column_says_what_it_holds(database: str) -> None:
    silent = query(
        database,
        "SELECT c.relname, a.attname FROM pg_class c "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum >= 0 AND NOT a.attisdropped "
        "WHERE c.relnamespace = 'analysis'::regnamespace "
        "AND coalesce(col_description(c.oid, a.attnum), '') = ''",
    )
    mute = query(
        database,
        "SELECT relname FROM pg_class WHERE relnamespace = 'analysis'::regnamespace "
        "AND coalesce(obj_description(oid), '') = ''",
    )
    assert (silent, mute) == ([], [])


def test_each_file_makes_the_view_of_its_name(database: str) -> None:
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.connect() as connection:
        made = views.names(connection)
    assert made == sorted(file.stem.partition("_")[2] for file in views.files())
    assert "samples" in made


def test_databases_learn_of_a_changed_view() -> None:
    """A changed file needs a migration whose VIEWS is the digest of the files."""
    told = [_constant(file, "VIEWS") for file in sorted(migrate.MIGRATIONS.glob("versions/*.py"))]
    newest = [digest for digest in told if digest][-1]
    assert newest == views.digest(), (
        f"add a migration with VIEWS = {views.digest()!r}: a view file has changed"
    )


def _constant(file: Path, name: str) -> Any:
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name, None)


@pytest.fixture
def blank(postgres_server: str) -> Iterator[str]:
    with temporary_database(postgres_server) as url:
        yield url


def test_a_migration_to_the_newest_schema_makes_the_views_anew(
    blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate.upgrade(blank)
    # PostgreSQL refuses this while a view reads the column.
    add_later_migration(monkeypatch, tmp_path, "ALTER TABLE samples ALTER seed TYPE numeric")
    migrate.upgrade(blank)
    made = query(blank, "SELECT relname FROM pg_class WHERE relname = 'samples'")
    assert len(made) == 2  # the table and the view
    assert query(blank, "SELECT * FROM analysis.samples") == []


def test_what_others_built_on_the_views_is_never_dropped(blank: str) -> None:
    migrate.upgrade(blank)
    engine = sa.create_engine(blank, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE VIEW mine AS SELECT sample_id FROM analysis.samples")
    with pytest.raises(StoreError, match="view mine depends on view") as refused:
        migrate.downgrade(blank, "base")
    assert refused.value.remedy
    assert query(blank, "SELECT * FROM mine") == []


def test_every_axis_is_a_column_with_the_value_of_the_experiment(lab: Lab) -> None:
    given: dict[str, Any] = {
        "scoring_method": "subset",
        "scale_size": 5,
        "randomize_labels": False,
        "shuffle_order": False,
        "evidence_view": "abstracted",
        "prompt_order": "evidence_first",
        "abstain": False,
        "probe_window": "same",
        "bundle_size": 2,
        "rubric": {"shared": BETA},
        "replicates": 3,
        "temperature": 0.25,
        "top_p": 0.5,
        "max_tokens": 99,
        "reasoning_effort": "low",
        "logprobs": True,
        "rubric_draw": 1,
    }
    lab.documents([None] * 2)
    lab.judge(ALPHA, **given)
    with lab.engine.connect() as connection:
        row = connection.execute(sa.text("SELECT * FROM analysis.experiments")).one()._mapping
    assert {name: row[name] for name in given} == given | {"rubric": f"shared by {BETA}"}
    assert {axis.name for axis in axes()} <= row.keys() | row["config"].keys()
    assert (row["window_name"], row["model"], row["family"]) == ("spring", ALPHA, "alpha")


NOT_OF_ONE_POINT = {"answers", "calls", "declared_replicates", "failures", "sweeps"}
"""Views with rows of W1 and W2, of no experiment, or whose own columns have the names of axes."""


def test_every_view_of_judgements_has_every_axis_as_a_column(database: str) -> None:
    """So that no grouping of its rows pools what a study varies, however many axes there are."""
    columns: dict[str, set[str]] = {}
    for view, column in query(
        database,
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "AND a.attnum > 0 WHERE c.relnamespace = 'analysis'::regnamespace",
    ):
        columns.setdefault(view, set()).add(column)
    of_experiments = {
        view for view, names in columns.items() if names & {"experiment_id", "experiment_id_a"}
    } - NOT_OF_ONE_POINT
    assert {"experiments", "samples", "probes", "distributions"} <= of_experiments
    lacking = {
        view: sorted({axis.name for axis in axes()} - columns[view]) for view in of_experiments
    }
    assert not {view: names for view, names in lacking.items() if names}


def test_a_study_of_actors_is_told_apart_in_every_view(lab: Lab) -> None:
    swapped = {"swapped": {"name": "rivals", "swap": [["Freedonia", "Sylvania"]]}}
    lab.documents([None])
    for model in (ALPHA, BETA):
        lab.own(model, [[1, 2]], probes=[[0.5]], **COMMON)
        lab.own(model, [[3, 3]], probes=[[0.9]], actors=swapped, **COMMON)
    for view in ("samples", "probes", "distributions", "item_pairs"):
        levels = values(lab, f"SELECT DISTINCT actors FROM analysis.{view} ORDER BY 1")  # noqa: S608
        assert levels == ["as_found", "swapped rivals"], view


def test_bundle_plans_are_told_apart_by_all_that_they_differ_in(lab: Lab) -> None:
    lab.documents([None])
    plans = (
        {},
        {"by": "similar", "size": 3},
        {"by": "similar", "size": 3, "seed": 2},
        {"by": "similar", "size": 3, "view": "neutralized"},
        {"by": "similar", "size": 3, "embeddings": "acme/embed-1"},
        {"by": "similar", "size": 3, "seed": 2, "view": "raw", "embeddings": "acme/embed-1"},
    )
    for plan in plans:
        lab.judge(ALPHA, bundles=plan)
    shown = values(lab, "SELECT bundles FROM analysis.experiments ORDER BY experiment_id")
    # As tables and contrasts name them.
    assert shown == [str(Bundles(**plan)) for plan in plans]
    assert len(set(shown)) == len(plans)


def test_two_provided_rubrics_are_two_levels_of_the_axis(lab: Lab) -> None:
    lab.documents([None])
    for file in ("strict.yaml", "mild.yaml"):
        names = [f"{file} {label}" for label in labels(4)]
        source = {"kind": "provided", "rubric": rubric(*names), "name": file}
        lab.own(ALPHA, [[1]], rubric=source)
    found = values(lab, "SELECT DISTINCT rubric FROM analysis.samples ORDER BY 1")
    assert found == ["provided mild.yaml", "provided strict.yaml"]


def test_the_file_of_a_rubric_is_no_part_of_an_identity(lab: Lab) -> None:
    given = rubric(*labels(4))
    keys = {
        (experiment := Experiment(concept="order", window=lab.window, model=ALPHA,
                                  rubric={"kind": "provided", "rubric": given, "name": name})).key
        for name in ("", "a.yaml", "b/a.yaml")
    }  # fmt: skip
    assert len(keys) == 1
    assert experiment.stored_config()["rubric"]["name"] == "b/a.yaml"


def test_judges_in_the_same_setting_share_its_digest_and_no_others(lab: Lab) -> None:
    lab.documents([None])
    named = {"kind": "provided", "rubric": rubric(*labels(4)), "name": "a.yaml"}
    for model, more in (
        (ALPHA, {"tag": "a", "replicates": 2, "rubric": named}),
        (BETA, COMMON),
        (BETA, {"top_p": 0.5, **COMMON}),
    ):
        lab.judge(model, **more)
    with lab.engine.connect() as connection:
        one, same, other = connection.scalars(
            sa.text("SELECT setting FROM analysis.experiments ORDER BY experiment_id")
        )
    assert one == same != other


def test_a_sample_is_one_row_with_its_verdict_in_every_unit(lab: Lab) -> None:
    lab.documents([0.25, 0.75])
    shown = [("CADB", (2, 4, 3, 1)), ("ABCD", (1, 2, 3, 4))]
    lab.own(
        ALPHA,
        [[3, (1, 2)], ["abstained", "failed"]],
        probes=[[0.8, 0.6], []],
        shown=shown,
        scoring_method="subset",
        task_type="control",
        ground_truth={"source": "index", "per_item": True},
    )
    with lab.engine.connect() as connection:
        rows = connection.execute(
            sa.text("SELECT * FROM analysis.samples ORDER BY titles, replicate")
        ).all()
    point, pair, abstained, failed = rows
    assert (point.stage_bits, point.stages, point.stage) == (4, [3], 3)
    assert point.score == pytest.approx(2 / 3)
    assert (point.subset_width, point.subset_information) == (0, 0)
    assert (point.letter, point.place) == ("D", 3)
    assert (point.first_probability, point.second_probability) == (0.8, 0.6)
    assert (pair.stage_bits, pair.stages, pair.stage, pair.letter) == (3, [1, 2], None, None)
    assert pair.score == pytest.approx(1 / 6)
    assert pair.subset_width == pytest.approx(1 / 3)
    assert pair.subset_information == pytest.approx(1 / 2)
    assert (pair.first_probability, pair.titles, pair.truth_value) == (None, ["Document 0"], 0.25)
    assert (abstained.status, abstained.stages, abstained.score) == ("abstained", None, None)
    assert (failed.status, failed.failure, failed.truth_value) == (
        "failed",
        "as the test says",
        0.75,
    )
    assert not any(row.simulated for row in rows)


@pytest.mark.parametrize("behind", ["sample", "rubric", "evidence"])
def test_whatever_is_simulated_behind_a_sample_marks_it(lab: Lab, behind: str) -> None:
    lab.documents([None])
    experiment = lab.judge(ALPHA, evidence_view="neutralized")
    arm = lab.arm(experiment, owner=ALPHA, simulated=behind == "rubric")
    lab.samples(arm, [[1]], simulated=behind == "sample")
    lab.view_by_model("cleaned", simulated=True)  # which this judge does not read
    lab.view_by_model("neutralized", simulated=behind == "evidence")
    assert values(lab, "SELECT simulated FROM analysis.samples") == [True]


def test_evidence_that_the_judge_does_not_read_marks_nothing(lab: Lab) -> None:
    lab.documents([None])
    lab.own(ALPHA, [[1]], evidence_view="neutralized")
    lab.view_by_model("cleaned", simulated=True)
    assert values(lab, "SELECT simulated FROM analysis.samples") == [False]


def test_pairs_of_judges_agree_with_the_polarization_of_the_analysis(lab: Lab) -> None:
    lab.documents([None] * 3)
    lab.own(ALPHA, [[1, 1, 2] * 2, [2] * 6, [1, 3, 4] * 2], **COMMON)
    lab.own(BETA, [[4, 4, 1] * 2, [2] * 6, [3, 3, 4] * 2], **COMMON)
    rows = lab.analyse()
    divergence = values(lab, "SELECT divergence FROM analysis.item_pairs ORDER BY item_id")
    distance = values(lab, "SELECT distance FROM analysis.item_pairs ORDER BY item_id")
    assert divergence[1] == distance[1] == 0
    assert sum(divergence) / 3 == pytest.approx(only(rows, "polarization").estimate)
    assert sum(distance) / 3 == pytest.approx(only(rows, "polarization_ordinal").estimate)
    assert values(lab, "SELECT polarization FROM analysis.polarization WHERE pair IS NULL") == [
        pytest.approx(sum(divergence) / 3)
    ]


def test_distributions_share_a_set_among_its_stages(lab: Lab) -> None:
    lab.documents([None])
    lab.own(ALPHA, [[(1, 2), 2, "abstained"]], scoring_method="subset")
    weights = values(lab, "SELECT weight FROM analysis.distributions ORDER BY stage")
    assert weights == pytest.approx([0.25, 0.75, 0, 0])
    cumulative = "SELECT cumulative_weight FROM analysis.distributions ORDER BY stage"
    assert values(lab, cumulative) == pytest.approx([0.25, 1, 1, 1])


def test_judges_with_rubrics_of_their_own_are_never_paired(lab: Lab) -> None:
    lab.documents([None])
    lab.own(ALPHA, [[1]])
    lab.own(BETA, [[4]])
    assert values(lab, "SELECT count(*) FROM analysis.item_pairs") == [0]


def test_swap_pairs_agree_with_the_analysis(lab: Lab) -> None:
    lab.documents([None] * 3)
    alpha = lab.own(ALPHA, [[1, 2], [1, 1], [1, 1]], probes=[[0.8, 0.6], [0.8], []])
    lab.samples(lab.arm(alpha, "swap", BETA), [[4], [4], [4]], probes=[[0.5], [0.6], [0.7]])
    lab.samples(lab.arm(alpha, "sham", ALPHA), [[1], ["failed"], [4]], probes=[[0.8], [], [0.7]])
    rows = lab.analyse()
    found = rows_of(
        lab,
        "SELECT arm, rubric_owner, own_n, own_score, other_score, probability_difference "
        "FROM analysis.swap_pairs ORDER BY arm DESC, item_id",
    )
    first, second, third, sham, last = found
    # One of two own verdicts is stage 2 of four; the first sample was probed twice.
    assert first[:2] == ("swap", BETA)
    assert first[2:] == (2, pytest.approx(1 / 6), 1, pytest.approx(0.5 - 0.7))
    assert second[5] == pytest.approx(0.6 - 0.8)
    assert third[5] is None
    assert sham[:2] == ("sham", ALPHA)
    assert sham[5] == pytest.approx(0.1)
    assert last[4] == 1
    sensitivity = rows_of(lab, "SELECT swap, sham FROM analysis.swap_sensitivity")
    assert sensitivity == [(pytest.approx(-0.2), pytest.approx(0.1))]
    assert only(rows, "swap_sensitivity").estimate == pytest.approx(-0.2)


def test_a_sample_that_was_probed_twice_counts_once_in_swap_pairs(lab: Lab) -> None:
    """Own samples with 0.8 and 0.6, and with 0.2: (0.7 + 0.2) / 2, where probes have 1.6 / 3."""
    lab.documents([None])
    alpha = lab.own(ALPHA, [[1, 2]], probes=[[0.8, 0.6]])
    with Session(lab.engine) as session, session.begin():
        other = session.scalars(sa.select(t.Sample).where(t.Sample.replicate == 1)).one()
        session.add(t.Probe(sample_id=other.id, replicate=0, status="answered", probability=0.2))
    lab.samples(lab.arm(alpha, "swap", BETA), [[4]], probes=[[0.5]])
    rows = lab.analyse()
    [(own, change)] = rows_of(
        lab, "SELECT own_probability, probability_difference FROM analysis.swap_pairs"
    )
    assert (own, change) == (pytest.approx(0.45), pytest.approx(0.05))
    assert only(rows, "swap_sensitivity").estimate == pytest.approx(0.05)


def test_results_are_those_of_the_latest_run_and_history_keeps_all(lab: Lab) -> None:
    lab.documents([None])
    lab.own(ALPHA, [[1, 1, 1]])
    lab.analyse()
    once = rows_of(lab, "SELECT metric, scope::text, estimate FROM analysis.results ORDER BY 1, 2")
    lab.analyse()
    again = rows_of(lab, "SELECT metric, scope::text, estimate FROM analysis.results ORDER BY 1, 2")
    assert once == again != []
    assert values(lab, "SELECT count(*) FROM analysis.result_history") == [2 * len(once)]
    assert values(lab, "SELECT count(DISTINCT run_id) FROM analysis.results") == [1]
    assert values(lab, "SELECT DISTINCT judge FROM analysis.results WHERE judge IS NOT NULL") == [
        ALPHA
    ]


def test_failures_are_counted_by_arm_with_the_shares_of_the_analysis(lab: Lab) -> None:
    lab.documents([None] * 2)
    lab.own(ALPHA, [[1, "abstained", "refused"], [2, 3, "unparseable"]])
    counted = rows_of(
        lab,
        "SELECT samples, scored, abstained, refused, failed, abstained_share, unparseable_share "
        "FROM analysis.failures",
    )
    assert counted == [(6, 3, 1, 1, 0, 0.25, pytest.approx(1 / 6))]


def test_the_kind_of_a_failure_is_a_column_of_every_view_with_failures(
    lab: Lab,
) -> None:
    lab.documents([None] * 2)
    lab.own(ALPHA, [[1, "refused"], [2, "unparseable"]])
    for place, failure in enumerate(("timeout: after 60 s", "Gone: see the log")):
        with lab.engine.begin() as connection:
            connection.execute(
                sa.text(
                    "UPDATE samples SET failure = :failure WHERE id = (SELECT id FROM samples "
                    "WHERE failure IS NOT NULL ORDER BY id OFFSET :place LIMIT 1)"
                ),
                {"failure": failure, "place": place},
            )
    failed = rows_of(
        lab, "SELECT failure, failure_kind FROM analysis.samples WHERE failure IS NOT NULL"
    )
    assert set(failed) == {("timeout: after 60 s", "timeout"), ("Gone: see the log", "other")}
    without = rows_of(
        lab,
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'analysis' "
        "GROUP BY table_name HAVING bool_or(column_name = 'failure') "
        "AND NOT bool_or(column_name = 'failure_kind')",
    )
    assert without == []


def test_an_experiment_of_two_sweeps_stands_in_both(lab: Lab) -> None:
    lab.documents([None])
    experiment = lab.judge(ALPHA)
    with Session(lab.engine) as session, session.begin():
        other = t.Sweep(name="other", description="", swap=None)
        session.add(other)
        session.flush()
        session.add(t.SweepExperiment(sweep_id=other.id, experiment_id=experiment, replicates=1))
    bridge = rows_of(lab, "SELECT sweep, experiment_id FROM analysis.sweeps ORDER BY sweep")
    assert bridge == [("other", experiment), (SWEEP, experiment)]


def test_spending_of_a_sweep_is_what_its_budget_counts(database: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with runtime_at(database, "http://127.0.0.1:9") as runtime:
            study = Study(runtime, window(corpus(tmp_path, 1)))
            one = study.experiment("real/one")
            study.change(lambda session: register_sweep(session, "mine", "", None, [one]))
            study.change(lambda session: register_sweep(session, "twin", "", None, [one]))
            [mine] = study.ids([one.name])
            paid = an_answer(cost_usd=1.5)
            await _answered(study, "score/1", paid, experiment_id=mine)
            await _answered(study, f"view/{one.window.key}/d/neutralized", paid, model=UTILITY)
            await _answered(study, "score/other", paid)
            await _answered(study, "score/2", an_answer(cost_usd=None), experiment_id=mine)
            used = study.change(lambda session: spent(session, spending_scope(session, "mine")))
        rows = query(
            database,
            "SELECT sum(cost_usd), sum(calls), sum(unpriced) FROM analysis.spending "
            "WHERE sweep = :sweep",
            sweep="mine",
        )
        assert rows == [(used.cost_usd, used.calls, used.unpriced)]
        assert used.cost_usd == 1.5 * 2 + 0.25 * 3
        # The documented query has calls of no sweep, too: three of 1.5, four first answers.
        page = (REPOSITORY / "docs" / "how-to" / "notebooks.md").read_text()
        documented = page.partition("```sql\n")[2].partition("```")[0]
        rows = query(database, documented)
        assert sum(row[-1] for row in rows) == 1.5 * 3 + 0.25 * 4
        assert sum(row[2] for row in rows) == 4

    run(work())


def test_spending_counts_the_rubrics_of_the_draws_that_a_sweep_has(
    database: str, tmp_path: Path
) -> None:
    """Of draws 0, 1 and 2, a sweep of the first two has paid for two rubrics."""

    async def work() -> None:
        async with runtime_at(database, "http://127.0.0.1:9") as runtime:
            study = Study(runtime, window(corpus(tmp_path, 1)))
            draws = [
                study.experiment("real/one", rubric_draw=draw, scale_size=2) for draw in (0, 1, 2)
            ]
            study.change(lambda session: register_sweep(session, "drawn", "", None, draws[:2]))
            for experiment in draws:
                key = applied_key(experiment)
                call_id = await _answered(study, f"rubric/{key}/0", an_answer(cost_usd=1.0))
                about = {
                    "owner_model": experiment.model,
                    "owner_family": experiment.family,
                    "concept": experiment.concept,
                    "country": experiment.country,
                    "scale_size": experiment.scale_size,
                    "variant": variant_of(experiment.rubric_draw),
                }
                made = ready_rubric(key, call_id).values | about
                study.change(
                    lambda session, row=made: session.execute(sa.insert(t.Rubric).values(row))
                )
            used = study.change(lambda session: spent(session, spending_scope(session, "drawn")))
        [(calls, cost)] = query(
            database,
            "SELECT sum(calls), sum(cost_usd) FROM analysis.spending WHERE sweep = 'drawn'",
        )
        # Each has a discarded first answer, for a quarter of a dollar.
        assert (calls, cost) == (used.calls, used.cost_usd) == (4, 2.5)

    run(work())


async def _answered(study: Study, key: str, answer: Answer, **call: Any) -> int:
    """The id of a call whose first answer was discarded, for a quarter of a dollar."""
    ledger = Ledger(study.runtime.engine)
    (opened,) = await ledger.open([a_call(key, **call)], "real")
    await ledger.write(Sent(opened.id, now(), Request({"max_tokens": 50})))
    discarded = {"kind": "cut", "answer": "so far", "cost_usd": 0.25}
    await ledger.write(Closed(opened.id, answer, [discarded], (), now()))
    return opened.id


def test_every_view_with_the_simulated_mark_has_the_imported_mark(database: str) -> None:
    marks = query(
        database,
        "SELECT c.relname, array_agg(a.attname::text ORDER BY a.attname) FROM pg_class AS c "
        "JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname IN ('simulated', 'imported') "
        "WHERE c.relnamespace = 'analysis'::regnamespace GROUP BY c.relname",
    )
    assert len(marks) > 15
    assert [view for view, names in marks if list(names) != ["imported", "simulated"]] == []


def test_imported_judgements_mark_every_summary_of_them(lab: Lab) -> None:
    lab.documents([0.0, 1.0])
    control = {"task_type": "control", "ground_truth": {"source": "index", "per_item": True}}
    for model in (ALPHA, BETA):
        lab.own(model, [[1] * 5, [4] * 5], probes=[[0.5], [0.5]], **COMMON, **control)
    with lab.engine.begin() as connection:
        connection.execute(sa.update(t.Sample).values(imported=True))
    lab.analyse()
    for view in (
        *("samples", "probes", "failures", "distributions", "item_pairs"),
        *("results", "polarization", "accuracy"),
    ):
        rows = "WHERE scope <> '{}'" if view == "results" else ""
        marks = values(lab, f"SELECT imported FROM analysis.{view} {rows}")  # noqa: S608
        assert marks, view
        assert all(marks), view
