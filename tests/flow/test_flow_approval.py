"""Approval before spending: a deployment's run suspends, and what a person decides is kept."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from prefect import Flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.events.related import tags_as_related_resources
from prefect.states import Running
from typer.testing import CliRunner

from deployments.bootstrap import lost_run_automations
from deployments.cli.app import app
from flows.approving import Approval, ApprovalRequiredError
from flows.benchmark import benchmark
from flows.calibration import calibration
from flows.certificate import certificate
from flows.gym import gym
from flows.judge_review import judge_review
from flows.sweep import sweep
from judge_gym.settings import settings
from judge_gym.shipped import DEPLOYMENTS
from support.flow_runs import Deployed, error_of, run_flow
from support.postgres import selected
from support.simulation import Simulator
from support.sweeps import scoring_sweep
from support.waiting import until
from tasks.slots import DEPLOYED

pytestmark = pytest.mark.slow
# Models of a provider that bills: what the simulator answers under its own names is free.
PROVIDERS = """
[sim]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
[acme]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
prices."calm-1" = {prompt = 100, completion = 400}
prices."good-1" = {prompt = 100, completion = 400}
"""
JUDGE = """
kind: rubric
name: billed
model: acme/good-1
task: Mark a note.
criteria: [{name: clarity, description: It is clear.}]
"""
PAIRWISE = "kind: pairwise\nname: billed\nmodel: acme/good-1\ntask: Which is right?\n"


@pytest.fixture
def file(place: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "providers.toml").write_text(PROVIDERS)
    place.setenv("JUDGE_GYM_PROVIDERS_FILE", str(tmp_path / "providers.toml"))
    settings.cache_clear()
    path = tmp_path / "billed.yaml"
    path.write_text(scoring_sweep("billed", "acme/calm-1", documents=2, replicates=1))
    return path


def decisions(database: str) -> list[tuple[Any, ...]]:
    statement = "SELECT subject, decision, person, reason, details FROM analysis.decisions"
    return selected(database, f"{statement} ORDER BY 1, 2")


def test_a_run_waits_spends_nothing_and_goes_on_when_it_is_approved(
    file: Path, database: str, simulator: Simulator
) -> None:
    run = Deployed(sweep, file=str(file), approve_over_usd=0.01)
    before = simulator.answered()
    suspended = run.work()
    assert (suspended.type.value, suspended.name) == ("PAUSED", "Suspended")
    assert simulator.answered() == before
    keys = suspended.state_details.run_input_keyset
    assert keys is not None
    shown = run.form(keys["description"])
    assert "approve\\_over\\_usd is 0.01" in shown
    assert "acme/calm-1" in shown
    assert "w3-scoring" in shown
    # A decision without a name is refused by the server, and the run waits on.
    assert run.answer(decision="approve") == "REJECT"
    assert run.answer(decision="perhaps", name="Ada") == "REJECT"
    assert decisions(database) == []
    assert run.answer(decision="approve", name="Ada", reason="within the grant") == "ACCEPT"
    assert run.work().is_completed()
    assert simulator.answered() > before
    [(subject, decision, person, reason, details)] = decisions(database)
    assert (subject, decision, person, reason) == ("billed", "approve", "Ada", "within the grant")
    assert details["flow_run"] == str(run.id)
    assert details["cost_usd"] > 0.01
    # Two judgements; a probe each, and one more for one in ten.
    assert details["calls"] == 4


T = TypeVar("T")


def at_prefect(ask: Callable[[PrefectClient], Awaitable[T]]) -> T:
    async def asked() -> T:
        async with get_client() as client:
            return await ask(client)

    return asyncio.run(asked())


@pytest.fixture
def silence_is_loss() -> Iterator[None]:
    """The automation that ends silent runs, after 45 seconds: a heartbeat and a half."""
    [silent, *_] = lost_run_automations()
    trigger = silent.trigger.model_copy(update={"within": timedelta(seconds=45)})
    mine = silent.model_copy(update={"name": f"lost {uuid4()}", "trigger": trigger})
    made = at_prefect(lambda client: client.create_automation(mine))
    yield
    at_prefect(lambda client: client.delete_automation(made))


def test_a_run_that_waits_is_not_lost_for_a_heartbeat_after_it_was_suspended(
    file: Path, database: str, silence_is_loss: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del database, silence_is_loss
    given = {"file": str(file), "approve_over_usd": 0.01}
    waits, silent = (Deployed(sweep, DEPLOYED, **given) for _ in range(2))
    saved = Approval.asave.__func__  # type: ignore[attr-defined]

    async def late(form: type[Approval], *arguments: Any, **more: Any) -> None:
        # The server has suspended the run, whose process has not ended.
        await saved(form, *arguments, **more)
        emit_event(
            "prefect.flow-run.heartbeat",
            resource={"prefect.resource.id": f"prefect.flow-run.{waits.id}"},
            related=tags_as_related_resources([DEPLOYED]),
        )

    def state(run: Deployed) -> State[Any]:
        found = at_prefect(lambda client: client.read_flow_run(run.id)).state
        assert found is not None
        return found

    monkeypatch.setattr(Approval, "asave", classmethod(late))
    assert waits.work().is_paused()
    # It begins later, so that the other would be found lost before it.
    at_prefect(lambda client: client.set_flow_run_state(silent.id, Running(), force=True))
    until(lambda: state(silent).is_crashed(), "the silent run to be lost", 900, 1)
    assert state(waits).is_paused()
    assert waits.answer(decision="approve", name="Ada") == "ACCEPT"


def test_a_refused_run_ends_cancelled_with_the_name_and_spends_nothing(
    file: Path, database: str, simulator: Simulator
) -> None:
    # The bound of the file is lower than that of the run, so it applies.
    file.write_text(f"{file.read_text()}\napprove_over_usd: 0.01\n")
    run = Deployed(sweep, file=str(file), approve_over_usd=1000)
    before = simulator.answered()
    assert run.work().is_paused()
    assert run.answer(decision="refuse", name="Ben", reason="ask in May") == "ACCEPT"
    state = run.work()
    assert state.is_cancelled()
    assert str(state.message).startswith("Refused by Ben: ask in May. Nothing was spent.")
    assert simulator.answered() == before
    assert [row[1:4] for row in decisions(database)] == [("refuse", "Ben", "ask in May")]


def test_a_refusal_counts_when_another_run_has_done_the_work(file: Path, database: str) -> None:
    run = Deployed(sweep, file=str(file), approve_over_usd=0.01)
    assert run.work().is_paused()
    assert Deployed(sweep, file=str(file), approve_over_usd=1000).work().is_completed()
    assert run.answer(decision="refuse", name="Ben") == "ACCEPT"
    assert run.work().is_cancelled()
    assert [row[1:3] for row in decisions(database)] == [("refuse", "Ben")]


def test_what_was_approved_covers_a_rerun_and_what_a_file_adds_needs_more(
    file: Path,
) -> None:
    text = file.read_text()
    file.write_text(f"{text}\nbudget: {{max_calls: 1}}\n")
    run = Deployed(sweep, file=str(file), approve_over_usd=0.01)
    assert run.work().is_paused()
    run.answer(decision="approve", name="Ada")
    assert run.work().is_failed()
    file.write_text(text)
    # What is left was approved, so that a rerun does not ask.
    again = Deployed(sweep, file=str(file), approve_over_usd=0.01)
    assert again.work().is_completed()
    file.write_text(text.replace("replicates: 1", "replicates: 30"))
    more = Deployed(sweep, file=str(file), approve_over_usd=0.01)
    assert more.work().is_paused()


def test_a_run_without_a_page_says_what_it_would_cost(file: Path, simulator: Simulator) -> None:
    before = simulator.answered()
    error = error_of(run_flow(sweep, file, approve_over_usd=0.01))
    assert isinstance(error, ApprovalRequiredError)
    assert "Sweep billed is expected to cost" in error.message
    assert "--approved-by NAME" in error.remedy
    assert simulator.answered() == before


def test_a_sum_that_does_not_suffice_is_asked_about_again(file: Path, database: str) -> None:
    run = Deployed(sweep, file=str(file), approve_over_usd=0.01)
    assert run.work().is_paused()
    assert run.answer(decision="approve", name="Ada", up_to_usd=0.1) == "ACCEPT"
    assert run.work().is_paused()
    assert run.answer(decision="approve", name="Ben", up_to_usd=50) == "ACCEPT"
    assert run.work().is_completed()
    assert {row[2] for row in decisions(database)} == {"Ada", "Ben"}
    # What is left was approved with room, so more of it needs nobody.
    file.write_text(file.read_text().replace("replicates: 1", "replicates: 3"))
    assert Deployed(sweep, file=str(file), approve_over_usd=0.01).work().is_completed()


def test_a_command_names_who_approves(place: pytest.MonkeyPatch, file: Path, database: str) -> None:
    # It would set what this process, and the tests after this one, read.
    place.setattr("deployments.cli.sweep.prepare_environment", lambda *_, **__: None)
    file.write_text(f"{file.read_text()}\napprove_over_usd: 0.01\n")
    refused = CliRunner().invoke(app, ["sweep", "run", str(file)])
    assert isinstance(refused.exception, ApprovalRequiredError)
    assert decisions(database) == []
    ended = CliRunner().invoke(app, ["sweep", "run", str(file), "--approved-by", "Ada"])
    assert ended.exit_code == 0, ended.output
    assert [row[:3] for row in decisions(database)] == [("billed", "approve", "Ada")]


def test_a_cheap_run_is_not_held(file: Path) -> None:
    run = Deployed(sweep, file=str(file), approve_over_usd=1000)
    assert run.work().is_completed()


def a_calibration(folder: Path) -> tuple[Flow[..., Any], dict[str, Any]]:
    (folder / "study.yaml").write_text(
        "name: billed\njudges: [judge.yaml]\nitems: items.jsonl\nrepeats: 1\n"
        "perturbations: [vague_ify]\nseverities: [1.0]\n"
    )
    return calibration, {"file": str(folder / "study.yaml")}


def a_review(folder: Path) -> tuple[Flow[..., Any], dict[str, Any]]:
    (folder / "study.yaml").write_text(
        "name: billed\ntime_zone: Asia/Tokyo\n"
        "reviews:\n  - judge: judge.yaml\n    items: items.jsonl\n"
        "    decision: Chosen.\n    alternatives: [judge: other.yaml]\n"
    )
    other = JUDGE.replace("name: billed", "name: other").replace("is clear", "is short")
    (folder / "other.yaml").write_text(other)
    return judge_review, {"file": str(folder / "study.yaml"), "day": "2026-01-05"}


def a_benchmark(folder: Path) -> tuple[Flow[..., Any], dict[str, Any]]:
    (folder / "pairs.yaml").write_text(PAIRWISE)
    rows = [
        {"id": n, "subset": "sums", "prompt": "Which?", "chosen": f"Claim: {n} + 4 = {n + 4}",
         "rejected": f"Claim: {n} + 4 = {n + 5}"}
        for n in range(3)
    ]  # fmt: skip
    (folder / "set.jsonl").write_text("\n".join(map(json.dumps, rows)))
    mapping = DEPLOYMENTS / "benchmarks" / "chosen-rejected.yaml"
    given = {"judges": [str(folder / "pairs.yaml")], "items": str(folder / "set.jsonl")}
    return benchmark, {**given, "mapping": str(mapping)}


def a_gym(folder: Path) -> tuple[Flow[..., Any], dict[str, Any]]:
    shipped = DEPLOYMENTS / "gyms"
    for name in ("abstract.yaml", "abstract-judge.yaml"):
        text = (shipped / name).read_text().replace("sim/", "acme/").replace("good-2", "good-1")
        (folder / name).write_text(text)
    for beside in (*shipped.glob("abstract*.jsonl"), *shipped.glob("*.jsonl")):
        (folder / beside.name).write_bytes(beside.read_bytes())
    return gym, {"file": str(folder / "abstract.yaml")}


def a_certificate(folder: Path) -> tuple[Flow[..., Any], dict[str, Any]]:
    (folder / "certified.yaml").write_text(
        "kind: binary\nname: billed\nmodel: acme/good-1\ntask: Decide whether it is clear.\n"
        "verdicts: [{name: keep, description: It is.}, {name: drop, description: It is not.}]\n"
        "certify: {sensitivity: 0.8, specificity: 0.8, items: labelled.jsonl}\n"
    )
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    rows = [item | {"truth": ("keep", "drop")[n % 2]} for n, item in enumerate(items)]
    (folder / "labelled.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return certificate, {"file": str(folder / "certified.yaml")}


@pytest.mark.parametrize("study", [a_calibration, a_review, a_benchmark, a_gym, a_certificate])
@pytest.mark.usefixtures("file")
def test_studies_of_judges_wait_for_approval_too(
    study: Callable[[Path], tuple[Flow[..., Any], dict[str, Any]]],
    tmp_path: Path,
    database: str,
    simulator: Simulator,
) -> None:
    (tmp_path / "judge.yaml").write_text(JUDGE)
    texts = [f"In 20{n}0 there were {'7' * n} ships{' again' * n}." for n in range(1, 5)]
    lines = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(texts)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    flow, parameters = study(tmp_path)
    before = simulator.answered()
    run = Deployed(flow, **parameters, approve_over_usd=0.0001)
    suspended = run.work()
    assert suspended.is_paused(), suspended
    assert simulator.answered() == before
    keys = suspended.state_details.run_input_keyset
    assert keys is not None
    assert "acme/good-1" in run.form(keys["description"])
    assert run.answer(decision="approve", name="Ada", up_to_usd=50) == "ACCEPT"
    assert run.work().is_completed()
    assert simulator.answered() > before
    [(subject, decision, person, _, details)] = decisions(database)
    assert subject.endswith(("billed", "chosen-rejected", "abstract-sample"))
    assert (decision, person) == ("approve", "Ada")
    assert details["cost_usd"] > 0.0001
    # Done: nothing is left to approve.
    assert Deployed(flow, **parameters, approve_over_usd=0.0001).work().is_completed()
    assert len(decisions(database)) == 1
