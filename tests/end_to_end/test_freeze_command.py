"""`judge-gym sweep freeze`: what is frozen, and when an outcome may be called planned."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.frozen import FrozenPlan, frozen_file, load_frozen
from judge_gym.design.plans import Standing
from judge_gym.design.rubric import load_rubric
from judge_gym.design.sweep import load_sweep
from judge_gym.errors import ConfigError
from judge_gym.lab.freezing import design_of
from judge_gym.lab.sweeps import recipes_of, register
from judge_gym.settings import Settings
from judge_gym.store import tables as t
from judge_gym.store.results import planned
from support.command_line import SWEEPS, CommandLine
from support.postgres import temporary_database
from support.study import corpus

pytestmark = pytest.mark.slow

SWEEP = """
name: small
plan: plan.yaml
windows: {week: {country: Valmora, query: courts, source: {kind: corpus, path: corpus.jsonl}}}
blocks:
  - concept: fascism
    window: week
    model: [sim/calm-1, sim/high-1]
    rubric: {shared: sim/calm-1}
    replicates: 5
budget: {max_calls: 500}
"""
PLAN = """
name: small
sweep: small
description: Simulated judges.
margins: [{hypothesis: H1, margin: 0.05, why: Less is noise.}]
primary: [{hypothesis: H1, scope: {concept: fascism}}]
confirmatory: [H1]
"""


def written(folder: Path) -> Path:
    """Write the sweep's file and those that it names."""
    corpus(folder, 4)
    (folder / "plan.yaml").write_text(PLAN)
    file = folder / "small.yaml"
    file.write_text(SWEEP)
    return file


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture(scope="module")
def frozen_text(
    postgres_server: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """The plan of the sweep, frozen once: its power takes seconds to simulate."""
    file = written(tmp_path_factory.mktemp("frozen"))
    with temporary_database(postgres_server, migrated_template) as url:
        command = CommandLine(file.parent, {"JUDGE_GYM_DATABASE_URL": url}, in_process=True)
        command("sweep", "freeze", str(file), "--seeds", "20").fine()
    return frozen_file(file).read_text()


@pytest.fixture
def typed(database: str, tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, {"JUDGE_GYM_DATABASE_URL": database}, in_process=True)


@pytest.fixture
def frozen(frozen_text: str, sweep_file: Path) -> FrozenPlan:
    frozen_file(sweep_file).write_text(frozen_text)
    return load_frozen(frozen_file(sweep_file))


def run(database: str, sweep_file: Path, judged_at: datetime | None = None) -> Standing:
    """Store the sweep as a run does, and a judgement of it; return what its outcomes are."""
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with Session(engine) as session, session.begin():
        register(session, Settings(), load_sweep(sweep_file))
    with Session(engine) as session, session.begin():
        if not session.scalar(sa.select(sa.func.count()).select_from(t.Sample)):
            session.add(_judgement(session, judged_at))
        return planned(session, "small").standing


def _judgement(session: Session, judged_at: datetime | None) -> t.Sample:
    experiment = session.scalars(sa.select(t.Experiment)).first()
    rubric = t.Rubric(
        key="r", source="provided", owner_model="", owner_family="", concept="fascism",
        country="Valmora", scale_size=experiment.scale_size, variant=0, status="ready",
        stages=[{}] * experiment.scale_size,
    )  # fmt: skip
    item = t.EvidenceItem(key="i", window_id=experiment.window_id, bundle_size=1)
    session.add_all((rubric, item))
    session.flush()
    arm = t.Arm(
        experiment_id=experiment.id, rubric_id=rubric.id, scale_size=rubric.scale_size, arm="own"
    )
    session.add(arm)
    session.flush()
    size = rubric.scale_size
    return t.Sample(
        arm_id=arm.id, item_id=item.id, replicate=0, scale_size=size, seed=1,
        letters="ABCDEFGHIJ"[:size], display_order=list(range(1, size + 1)), status="scored",
        stages=1, created_at=judged_at or datetime.now(UTC) + timedelta(seconds=5),
    )  # fmt: skip


def test_the_plan_has_what_a_reader_needs_to_hold_a_study_to_it(frozen: FrozenPlan) -> None:
    assert frozen.design["judges"] == ["sim/calm-1", "sim/high-1"]
    assert frozen.design["axes"] == {"rubric": ["shared by sim/calm-1"]}
    assert frozen.design["replicates"] == [5]
    assert [one["primary"] for one in frozen.estimands] == [[{"concept": "fascism"}]]
    assert frozen.estimands[0]["margin"] == 0.05
    assert "max_calls: 500" in frozen.stopping
    assert frozen.exclusions
    assert {row["hypothesis"] for row in frozen.power} == {"H1"}
    assert frozen.judgements_before == 0


def test_contrasts_are_frozen_with_what_they_would_find(
    typed: CommandLine, database: str, sweep_file: Path
) -> None:
    contrast = (
        "{axis: temperature, levels: [0.0, 1.0], figure: middle_mass, direction: above, "
        "margin: 0.1, why: because}"
    )
    (sweep_file.parent / "plan.yaml").write_text(
        f"name: small\nsweep: small\ndescription: Simulated.\ncontrasts: [{contrast}]\n"
    )
    varied = "replicates: 5\n    temperature: [0.0, 1.0]"
    sweep_file.write_text(SWEEP.replace("replicates: 5", varied))
    done = typed("sweep", "freeze", str(sweep_file)).fine()
    assert "1 primary outcome" in done.output
    plan = load_frozen(frozen_file(sweep_file))
    (estimand,) = plan.estimands
    assert (estimand["hypothesis"], estimand["metric"]) == (
        "C1.middle_mass",
        "contrast_middle_mass",
    )
    assert estimand["primary"] == [{"axis": "temperature", "levels": [0.0, 1.0]}]
    (power,) = plan.power
    assert (power["items"], power["tests"]) == (4, 2)
    shown = typed("sweep", "power", str(sweep_file)).fine().output
    assert f"{power['detectable']:.2g}" in shown
    assert "temperature: 0.0 → 1.0" in shown
    # Stored with the sweep before the first judgement.
    assert run(database, sweep_file).frozen == plan.sha256
    (row,) = json.loads(typed("sweep", "power", str(sweep_file), "--json").fine().output)
    assert row == power
    planned = json.loads(typed("sweep", "plan", str(sweep_file), "--json").fine().output)
    assert planned["contrasts"] == [power]


def test_a_plan_after_the_first_judgement_is_named_by_sweep_plan(
    typed: CommandLine, database: str, sweep_file: Path
) -> None:
    run(database, sweep_file)
    assert "new or changed" not in typed("sweep", "plan", str(sweep_file)).fine().output
    text = (sweep_file.parent / "plan.yaml").read_text()
    (sweep_file.parent / "plan.yaml").write_text(text.replace("0.05", "0.06"))
    warned = " ".join(typed("sweep", "plan", str(sweep_file)).fine().output.split())
    assert "The plan small is new or changed, and 1 judgement exists" in warned


def test_frozen_before_the_first_judgement_is_planned(
    frozen: FrozenPlan, database: str, sweep_file: Path
) -> None:
    found = run(database, sweep_file)
    assert (found.confirmatory, found.frozen) == (True, frozen.sha256)
    assert frozen.sha256 in found.reason


def test_an_edited_sweep_is_not_planned_and_says_what_changed(
    frozen: FrozenPlan, typed: CommandLine, database: str, sweep_file: Path
) -> None:
    sweep_file.write_text(f"# a comment changes nothing\n{SWEEP}")
    assert run(database, sweep_file).frozen == frozen.sha256
    sweep_file.write_text(SWEEP.replace("replicates: 5", "replicates: 6"))
    found = run(database, sweep_file)
    assert (found.confirmatory, found.frozen) == (False, "")
    assert "changed since: replicates: [5] became [6]" in found.reason
    again = typed("sweep", "freeze", str(sweep_file))
    assert (again.code, "replicates: [5] became [6]" in again.errors) == (2, True)
    sweep_file.write_text(SWEEP)
    (sweep_file.parent / "plan.yaml").write_text(PLAN.replace("0.05", "0.01"))
    assert "margin" in run(database, sweep_file).reason
    (sweep_file.parent / "plan.yaml").write_text(PLAN)
    assert run(database, sweep_file).frozen == frozen.sha256


RUBRIC = (SWEEPS / "rubrics" / "backsliding.yaml").read_text()
PROVIDED = SWEEP.replace("{shared: sim/calm-1}", "{provided: rubrics/mine.yaml}")
ACTORS = "name: rivals\nswap: [[Valmora, Sylvania]]\n"


def frozen_by_hand(database: str, file: Path) -> None:
    """Write the frozen plan of a sweep without the power, which takes seconds."""
    sweep = load_sweep(file)
    recipes = recipes_of(Settings(), sweep, list(sweep.experiments()))
    plan = FrozenPlan(
        sweep=sweep.name, frozen_at=datetime.now(UTC), judge_gym="0", judgements_before=0,
        design=json.loads(json.dumps(design_of(sweep, recipes))), estimands=(), exclusions=(),
        stopping=(), power=(),
    )  # fmt: skip
    frozen_file(file).write_text(plan.sealed().text())


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("rubrics/mine.yaml", None, None, "rubrics.rubrics/mine.yaml.stages.2.label"),
        ("actors.yaml", "Sylvania", "Ruritania", "actors.rivals.swap"),
        ("corpus.jsonl", "three", "3", "windows.week.source.digest"),
    ],
)
def test_a_file_that_was_changed_after_freezing_is_named_by_plan_freeze_and_run(
    typed: CommandLine, database: str, sweep_file: Path, file: str, old: str, new: str, told: str
) -> None:
    folder = sweep_file.parent
    (folder / "rubrics").mkdir()
    (folder / "rubrics" / "mine.yaml").write_text(RUBRIC)
    (folder / "actors.yaml").write_text(ACTORS)
    sweep_file.write_text(f"{PROVIDED}".replace(
        "    replicates: 5", "    actors: {swapped: actors.yaml}\n    replicates: 5"))  # fmt: skip
    frozen_by_hand(database, sweep_file)
    assert "frozen on" not in typed("sweep", "plan", str(sweep_file)).fine().output
    text = (folder / file).read_text()
    if old is None:
        label = load_rubric(folder / file).stages[1].label
        text = text.replace(label, f"{label} now")
    elif old in text:
        text = text.replace(old, new)
    else:
        text += '{"title": "One more", "text": "' + "The court sat again. " * 20 + '"}\n'
    (folder / file).write_text(text)
    said = " ".join(typed("sweep", "plan", str(sweep_file)).fine().output.split())
    assert told in said
    assert told in " ".join(typed("sweep", "freeze", str(sweep_file)).errors.split())
    assert told in run(database, sweep_file).reason


def test_a_rubric_file_may_be_renamed_after_freezing(
    typed: CommandLine, database: str, sweep_file: Path
) -> None:
    folder = sweep_file.parent / "rubrics"
    folder.mkdir()
    (folder / "mine.yaml").write_text(RUBRIC)
    sweep_file.write_text(PROVIDED)
    frozen_by_hand(database, sweep_file)
    (folder / "mine.yaml").rename(folder / "ours.yaml")
    sweep_file.write_text(PROVIDED.replace("mine.yaml", "ours.yaml"))
    assert "frozen on" not in typed("sweep", "plan", str(sweep_file)).fine().output


def test_a_plan_frozen_after_data_is_not_planned(
    typed: CommandLine, database: str, sweep_file: Path
) -> None:
    before = run(database, sweep_file, datetime(2026, 1, 1, tzinfo=UTC))
    assert "planned" not in before.reason
    ended = typed("sweep", "freeze", str(sweep_file), "--seeds", "20").fine()
    assert "1 judgement exists already" in ended.output
    found = run(database, sweep_file)
    assert (found.confirmatory, found.frozen) == (False, "")
    assert "when 1 of its judgements existed" in found.reason
    # nor is one that says it was frozen earlier than this database first saw it
    plan = load_frozen(frozen_file(sweep_file))
    earlier = plan.model_copy(
        update={"judgements_before": 0, "frozen_at": datetime(2025, 1, 1, tzinfo=UTC)}
    )
    frozen_file(sweep_file).write_text(earlier.sealed().text())
    assert "when judging had begun" in run(database, sweep_file).reason


def test_failed_calls_are_no_judgements_that_were_seen_before_the_freeze(
    typed: CommandLine, database: str, sweep_file: Path
) -> None:
    run(database, sweep_file, datetime(2026, 1, 1, tzinfo=UTC))
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        failed = {"status": "failed", "failure": "bad_request: no", "stages": None}
        connection.execute(sa.update(t.Sample).values(failed))
    ended = typed("sweep", "freeze", str(sweep_file), "--seeds", "20").fine()
    assert "already" not in ended.output
    assert run(database, sweep_file).frozen == load_frozen(frozen_file(sweep_file)).sha256


def test_a_value_that_a_judge_does_not_apply_is_refused_before_it_is_frozen(
    typed: CommandLine, sweep_file: Path
) -> None:
    """A plan was frozen, and then spent on a run of which every call failed."""
    judges = "[sim/calm-1, sim/like-gpt-5.2]\n    temperature: 0.5"
    sweep_file.write_text(SWEEP.replace("[sim/calm-1, sim/high-1]", judges))
    for name in ("plan", "freeze"):
        refused = typed("sweep", name, str(sweep_file))
        assert refused.code == 2
        assert "small.yaml: sim/like-gpt-5.2 does not apply temperature 0.5" in refused.errors
        assert "on_unsupported: mark" in refused.errors
    assert not frozen_file(sweep_file).exists()
    sweep_file.write_text(sweep_file.read_text() + "on_unsupported: mark\n")
    marked = typed("sweep", "freeze", str(sweep_file), "--seeds", "20").fine()
    assert "Warning: sim/like-gpt-5.2 does not apply temperature 0.5" in marked.output


def test_an_edited_or_missing_plan_is_not_planned(
    frozen: FrozenPlan, database: str, sweep_file: Path
) -> None:
    assert run(database, sweep_file).frozen == frozen.sha256
    file = frozen_file(sweep_file)
    content = json.loads(file.read_text())
    content["estimands"][0]["margin"] = 0.0
    file.write_text(json.dumps(content))
    with pytest.raises(ConfigError, match="changed after it was frozen"):
        load_frozen(file)
    assert "it was changed after it was frozen" in run(database, sweep_file).reason
    file.unlink()
    assert "is missing" in run(database, sweep_file).reason


def test_freezing_again_changes_nothing(
    frozen: FrozenPlan, typed: CommandLine, sweep_file: Path
) -> None:
    text = frozen_file(sweep_file).read_text()
    assert "unchanged" in typed("sweep", "freeze", str(sweep_file)).fine().output
    assert frozen_file(sweep_file).read_text() == text


def test_freezing_warns_of_outcomes_that_cannot_be_tested(
    typed: CommandLine, sweep_file: Path
) -> None:
    given = "margins: [{hypothesis: H1, margin: 0.05, why: Less is noise.}"
    plan = PLAN.replace(given, f"{given}, {{hypothesis: H3, margin: 0.05, why: Less is noise.}}")
    plan = plan.replace("primary: [", "primary: [{hypothesis: H3}, ").replace("[H1]", "[H1, H3]")
    (sweep_file.parent / "plan.yaml").write_text(plan)
    sweep_file.write_text(SWEEP.replace("replicates: 5", "replicates: 4"))
    told = typed("sweep", "freeze", str(sweep_file), "--seeds", "20").fine().output
    assert "no figure for H3, a primary outcome of its plan: it needs a swap" in told
    assert "(H1) on fascism" in told
    assert "With 4, it cannot be tested: raise replicates" in told


def test_a_sweep_without_a_plan_has_nothing_to_freeze(typed: CommandLine) -> None:
    ended = typed("sweep", "freeze", str(SWEEPS / "quick.yaml"))
    assert (ended.code, "add `plan: FILE`" in ended.errors) == (2, True)
