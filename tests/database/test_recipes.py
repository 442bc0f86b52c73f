"""What answers were made with is part of what they are: another recipe starts new cells."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import jinja2
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym import prompts
from judge_gym.analysis import load
from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.finished import finished_parts
from judge_gym.design.experiment import POLITICAL
from judge_gym.design.sweep import load_sweep
from judge_gym.errors import ConfigError, StoreError
from judge_gym.lab.planning import Plan, plan_sweep
from judge_gym.lab.sweeps import check_templates_kept, identities_of
from judge_gym.llm.providers import load_providers
from judge_gym.settings import Settings
from judge_gym.settings import settings as program_settings
from judge_gym.store import tables as t
from judge_gym.store.bundle_reading import import_bundle
from judge_gym.store.bundles import export
from judge_gym.store.spending import spending_scope, spent
from support.command_line import CommandLine, sweep_text
from support.postgres import temporary_database
from support.rig import run
from support.whole_sweep import analysed, whole_sweep

pytestmark = pytest.mark.slow

Change = Callable[[str], str]
SMALL = (("max_documents: 5", "max_documents: 2"), ("replicates: 2", "replicates: 1"))
JUDGEMENTS = 3 * 2 + 2 + 3 * 2
"""Own, swap and sham judgements of three judges about two documents."""
CELLS = JUDGEMENTS
"""Each arm and item is judged once."""
VIEWS = 2 * 2
"""Two documents, cleaned and neutralized."""
RUBRICS = 3 * 2


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Iterator[Change]:
    """Adds a sentence to a template; returns the hash that it had before."""
    loader = prompts._templates

    def add_to(name: str) -> str:
        before = hash_of(name)
        source, _, _ = loader.get_source(jinja2.Environment(), f"{name}.j2")
        changed = source.replace("{% block user %}", "{% block user %}\nTake your time.", 1)
        assert changed != source
        new = jinja2.DictLoader({f"{name}.j2": changed})
        monkeypatch.setattr(prompts, "_templates", jinja2.ChoiceLoader([new, loader]))
        read_again()
        return before

    yield add_to
    monkeypatch.undo()
    read_again()


def read_again() -> None:
    prompts._environment.cache_clear()
    prompts._hash.cache_clear()


def hash_of(template: str) -> str:
    return prompts.template_hash(template, POLITICAL.bound)


@pytest.fixture(scope="module")
def finished(
    postgres_server: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The name of a database with a small sweep, run and analysed; nobody connects to it."""
    file = tmp_path_factory.mktemp("finished") / "quick.yaml"
    file.write_text(sweep_text("quick.yaml", *SMALL))
    with analysed(postgres_server, migrated_template, file) as engine:
        assert engine.url.database is not None
        yield engine.url.database


@pytest.fixture
def engine(postgres_server: str, finished: str) -> Iterator[sa.Engine]:
    """A copy of the finished sweep's database, for one test alone."""
    with temporary_database(postgres_server, finished) as url:
        yield sa.create_engine(url, poolclass=sa.NullPool)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "quick.yaml"
    file.write_text(sweep_text("quick.yaml", *SMALL))
    return file


def url_of(engine: sa.Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def plan(engine: sa.Engine, file: Path) -> Plan:
    configured = Settings()
    with Session(engine) as session:
        return plan_sweep(session, load_sweep(file), load_providers(configured.providers_file))


def left(engine: sa.Engine, file: Path) -> dict[str, int]:
    """Calls that the plan says are to do at most."""
    return {line.what: line.to_do for line in plan(engine, file).lines}


def rows(engine: sa.Engine) -> dict[str, int]:
    with engine.connect() as connection:
        tables = (t.Experiment, t.View, t.Rubric, t.Arm, t.Sample, t.Call)
        return {
            one.__tablename__: connection.scalar(sa.select(sa.func.count()).select_from(one)) or 0
            for one in tables
        }


def answers(engine: sa.Engine, *agents: str) -> dict[str, str]:
    with Session(engine) as session:
        chosen = sa.select(t.Call.key, t.Call.answer).where(t.Call.agent.in_(agents))
        return dict(session.execute(chosen).tuples().all())


@pytest.mark.parametrize(
    ("template", "views", "rubrics"),
    [
        ("score", 0, 0),
        pytest.param("probe", 0, 0, marks=pytest.mark.slow),
        pytest.param("neutralize", 2, 0, marks=pytest.mark.slow),
        ("rubric", 0, RUBRICS),
        pytest.param("rubric_again", 0, RUBRICS, marks=pytest.mark.slow),
        pytest.param("critic", 0, RUBRICS, marks=pytest.mark.slow),
    ],
)
def test_a_changed_template_starts_new_cells_and_keeps_the_old_ones(
    engine: sa.Engine, file: Path, change: Change, template: str, views: int, rubrics: int
) -> None:
    before, old = rows(engine), answers(engine, "scorer", "prober")
    assert (before["views"], before["rubrics"], before["samples"]) == (VIEWS, RUBRICS, JUDGEMENTS)
    change(template)
    planned = plan(engine, file)
    [said] = planned.changed
    assert f"template {template}.j2 changed" in said
    assert f"{CELLS} cells (items of an experiment) are judged again" in said
    to_do = {line.what: line.to_do for line in planned.lines}
    assert (to_do["judgements"], to_do["views"], to_do["rubrics"]) == (6, views, rubrics)
    assert rows(engine) == before  # a plan writes nothing
    assert finished_parts(engine, Settings(), load_sweep(file)) is None
    run(whole_sweep(url_of(engine), file))
    after = rows(engine)
    assert after["experiments"] == 2 * 3
    assert after["samples"] == 2 * JUDGEMENTS
    assert after["views"] == VIEWS + views
    assert after["rubrics"] == RUBRICS + rubrics
    assert old.items() <= answers(engine, "scorer", "prober").items()
    with Session(engine) as session:
        data = load_sweep_data(session, "quick")
        assert len(data.samples.arm) == JUDGEMENTS
        new = {
            call.template_hash
            for call in session.scalars(
                sa.select(t.Call)
                .join(t.SweepExperiment, t.SweepExperiment.experiment_id == t.Call.experiment_id)
                .where(t.Call.template == template)
            )
        }
    assert new <= {hash_of(template)}
    assert not plan(engine, file).changed
    assert left(engine, file)["judgements"] == 0


def test_analysts_see_the_recipe_and_another_setting_for_each(
    engine: sa.Engine, file: Path, change: Change
) -> None:
    old = change("score")
    run(whole_sweep(url_of(engine), file))
    experiments = load("experiments", url=url_of(engine))
    recipes = {recipe["score"] for recipe in map(_read, experiments["recipe"])}
    assert recipes == {old, hash_of("score")}
    assert set(experiments.groupby("point").size()) == {2}
    assert len(set(experiments["setting"])) == 2


def _read(recipe: object) -> dict[str, str]:
    read = json.loads(recipe) if isinstance(recipe, str) else recipe
    assert isinstance(read, dict)
    return read


@pytest.mark.slow
def test_a_template_that_is_put_back_finds_its_old_cells(
    engine: sa.Engine, file: Path, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = prompts._templates
    change("score")
    run(whole_sweep(url_of(engine), file))
    monkeypatch.setattr(prompts, "_templates", kept)
    read_again()
    between = rows(engine)
    assert not plan(engine, file).changed
    run(whole_sweep(url_of(engine), file))
    assert rows(engine) == between


def test_templates_that_are_to_be_kept_refuse_a_changed_one(
    engine: sa.Engine, file: Path, change: Change
) -> None:
    sweep = load_sweep(file)
    with Session(engine) as session:
        check_templates_kept(sweep, identities_of(session, Settings(), sweep).values())
        old = change("score")
        with pytest.raises(ConfigError) as refused:
            check_templates_kept(sweep, identities_of(session, Settings(), sweep).values())
    message = refused.value.message
    for part in (str(file), "score.j2", old, hash_of("score"), f"{CELLS} cells"):
        assert part in message
    assert "\n" not in message


@pytest.mark.parametrize("part", ["plan", "run"])
def test_the_commands_refuse_in_one_line_before_anything_is_spent(
    engine: sa.Engine, file: Path, tmp_path: Path, change: Change, part: str
) -> None:
    before = rows(engine)
    command = CommandLine(tmp_path, {"JUDGE_GYM_DATABASE_URL": url_of(engine)}, in_process=True)
    old = change("score")
    refused = command("sweep", part, file.name, "--keep-templates")
    assert refused.code == 2
    [line] = [one for one in refused.errors.splitlines() if "score.j2" in one]
    for named in (old, hash_of("score"), f"{CELLS} cells"):
        assert named in line
    assert rows(engine) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "settings", "name"),
    [
        ("utility_model: sim/utility-2\n", {}, "utility_model"),
        ("", {"summary_words": 100}, "summary_words"),
    ],
)
def test_another_utility_model_or_setting_makes_new_views_and_cells(
    engine: sa.Engine,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    settings: dict[str, int],
    name: str,
) -> None:
    file.write_text(line + file.read_text())
    for key, value in settings.items():
        monkeypatch.setenv(f"JUDGE_GYM_{key.upper()}", str(value))
    program_settings.cache_clear()
    old = answers(engine, "neutralizer")
    assert any(name in sentence for sentence in plan(engine, file).changed)
    run(whole_sweep(url_of(engine), file, **settings))
    after = answers(engine, "neutralizer")
    assert old.items() < after.items()
    assert len(after) == 2 * len(old)
    assert rows(engine)["samples"] == 2 * JUDGEMENTS
    assert rows(engine)["views"] == VIEWS + 2
    program_settings.cache_clear()


@pytest.mark.slow
def test_a_budget_counts_the_calls_of_earlier_recipes_and_none_of_another_sweeps_views(
    engine: sa.Engine, file: Path, tmp_path: Path
) -> None:
    """Three recipes of one sweep, then another sweep of the window, which reads other views."""
    assert used(engine, "quick") == rows(engine)["llm_calls"]
    for words in (100, 60):
        before = used(engine, "quick")
        run(whole_sweep(url_of(engine), file, summary_words=words))
        assert used(engine, "quick") == rows(engine)["llm_calls"]
        assert used(engine, "quick") >= before + JUDGEMENTS + 2
    total = used(engine, "quick")

    other = tmp_path / "other.yaml"
    text, _, _ = sweep_text("quick.yaml", *SMALL).partition("\nswap:")
    text = text.replace("name: quick", "name: other")
    other.write_text(text.replace("[sim/calm-1, sim/high-1, sim/low-1]", "sim/calm-2"))
    run(whole_sweep(url_of(engine), other, summary_words=40))
    assert used(engine, "quick") == total
    # It applies a rubric of its own judge: nothing is shared.
    assert used(engine, "other") == rows(engine)["llm_calls"] - total

    # An earlier recipe is current again, and an experiment that leaves the file still counts.
    file.write_text(file.read_text().replace("[sim/calm-1, ", "["))
    run(whole_sweep(url_of(engine), file, summary_words=100))
    assert used(engine, "quick") == rows(engine)["llm_calls"] - used(engine, "other")


def used(engine: sa.Engine, sweep: str) -> int:
    """The calls that count in the sweep's budget; the view for analysts agrees."""
    with Session(engine) as session:
        calls = spent(session, spending_scope(session, sweep)).calls
    spending = load("spending", url=url_of(engine))
    assert spending.loc[spending["sweep"] == sweep, "calls"].sum() == calls
    return calls


@pytest.fixture
def elsewhere(postgres_server: str, migrated_template: str) -> Iterator[sa.Engine]:
    with temporary_database(postgres_server, migrated_template) as url:
        yield sa.create_engine(url, poolclass=sa.NullPool)


def exported(engine: sa.Engine, folder: Path) -> Path:
    export(engine, folder, sweep="quick")
    return folder


@pytest.mark.slow
def test_a_bundle_carries_the_recipe(
    engine: sa.Engine, elsewhere: sa.Engine, file: Path, tmp_path: Path, change: Change
) -> None:
    change("neutralize")
    run(whole_sweep(url_of(engine), file))
    folder = exported(engine, tmp_path / "bundle")
    import_bundle(elsewhere, folder)
    assert rows(elsewhere)["samples"] == JUDGEMENTS
    assert not plan(elsewhere, file).changed
    there = rows(elsewhere)
    run(whole_sweep(url_of(elsewhere), file))
    assert rows(elsewhere) == there


@pytest.mark.slow
def test_answers_of_another_recipe_do_not_join_an_experiment(
    engine: sa.Engine, elsewhere: sa.Engine, file: Path, tmp_path: Path, change: Change
) -> None:
    bundle = exported(engine, tmp_path / "bundle")
    change("score")
    run(whole_sweep(url_of(elsewhere), file))
    with Session(elsewhere) as session, session.begin():
        # Nothing contradicts then but the template.
        session.execute(sa.delete(t.Call).where(t.Call.agent.in_(("scorer", "prober"))))
        session.execute(sa.delete(t.Sample))
    with pytest.raises(StoreError, match=r"recipe|score\.j2"):
        import_bundle(elsewhere, bundle)
