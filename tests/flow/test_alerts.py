"""Every alert that is shipped: created on a Prefect server, fired by what it is about."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import StateType
from prefect.states import Scheduled, State
from ruamel.yaml import YAML

from flows.gate import gate
from flows.resume import ABANDONED, resume
from flows.sweep import sweep
from support.alerting import posting
from support.command_line import REPOSITORY
from support.flow_runs import run_flow
from support.receiver import Receiver
from support.sweeps import scoring_sweep
from support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("place")]
FILE = REPOSITORY / "deployments" / "automations" / "alerts.yaml"
ALERTS = YAML(typ="safe").load(FILE)["automations"]
SOON_S = 10
"""The least that Prefect lets a proactive trigger wait."""
TEXT = f"harbour {uuid4().hex}"
"""Of the items here: no other test's post has it by chance."""


def named(words: str) -> str:
    [name] = [one["name"] for one in ALERTS if words in one["name"]]
    return str(name)


@pytest.fixture(scope="module")
def told() -> Iterator[Receiver]:
    """What the alerts have posted; those about time wait ten seconds, where they wait hours."""

    soon = json.loads(json.dumps(ALERTS))  # without what the file shares among alerts
    for one in soon:
        if one["trigger"]["within"]:
            one["trigger"]["within"] = SOON_S
    with posting(soon) as kept:
        yield kept


def posted(told: Receiver, words: str, **payload: Any) -> list[dict[str, Any]]:
    """The posts of an alert, those with this payload."""
    return [
        one
        for one in told.posted
        if one["alert"] == named(words)
        and payload.items() <= dict(one.get("payload") or {}).items()
    ]


def of(state: State[Any]) -> str:
    """The run that ended so; other tests fail runs on the same server."""
    return str(state.state_details.flow_run_id)


def fires(told: Receiver, words: str, **payload: Any) -> dict[str, Any]:
    return until(lambda: posted(told, words, **payload), f"the alert {words!r}")[0]


def test_a_sweep_that_fails_is_told_with_the_remedy(told: Receiver, tmp_path: Path) -> None:
    file = tmp_path / "alerted.yaml"
    file.write_text(scoring_sweep("alerted", "sim/calm-1").replace("replicates", "replicants"))
    run = of(run_flow(sweep, file))
    payload = fires(told, "a run has failed", flow="sweep", flow_run_id=run)["payload"]
    assert "replicants" in payload["message"]
    assert payload["remedy"]
    assert not posted(told, "a gate was not passed", flow_run_id=run)


def test_a_run_of_another_flow_that_fails_is_told(told: Receiver) -> None:
    lost = run_flow(resume, uuid4())
    assert lost.is_failed()
    fires(told, "a run has failed", flow="resume", flow_run_id=of(lost))


def test_a_budget_that_is_used_up_is_told(told: Receiver, tmp_path: Path) -> None:
    file = tmp_path / "spent.yaml"
    file.write_text(scoring_sweep("spent", "sim/calm-1", more="budget: {max_calls: 1}"))
    run = of(run_flow(sweep, file, settings={"chunk_size": 4, "workers": 1}))
    payload = fires(told, "a budget is used up", sweep="spent", flow_run_id=run)["payload"]
    assert "max_calls is 1" in payload["message"]


def test_a_gate_that_is_not_passed_is_told(told: Receiver, tmp_path: Path) -> None:
    module = f"alerting_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text("def graded(asked):\n    return 50\n")
    (tmp_path / "judge.yaml").write_text(
        f"kind: callable\nname: alerting\nfunction: {module}:graded\n"
        "gate: {items: items.jsonl, agreement: 0.9, readable: 0.5}\n"
    )
    items = [
        {"id": str(number), "text": f"{TEXT} {number}", "label": 10 * (number % 10)}
        for number in range(40)
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    ended = run_flow(gate, [tmp_path / "judge.yaml"])
    assert ended.is_failed()
    payload = fires(told, "a gate was not passed", flow="gate", flow_run_id=of(ended))["payload"]
    assert "alerting" in payload["message"]
    assert not posted(told, "a run has failed", flow_run_id=of(ended))
    assert TEXT not in json.dumps(told.posted)


def test_a_run_that_crashed_too_often_is_told(told: Receiver) -> None:
    async def abandon() -> str:
        async with get_client() as client:
            run = await client.create_flow_run(sweep, parameters={"file": "none.yaml"})
            crashed: State[Any] = State(type=StateType.CRASHED, name=ABANDONED)
            await client.set_flow_run_state(run.id, crashed, force=True)
            return run.name

    name = asyncio.run(abandon())
    until(
        lambda: [one for one in posted(told, "crashed too often") if one["about"] == name],
        "the alert",
    )


def test_a_run_that_waits_and_a_time_without_runs_are_told(told: Receiver) -> None:
    async def wait() -> tuple[str, UUID]:
        async with get_client() as client:
            await client.create_work_pool(WorkPoolCreate(name="alerts", type="process"))
            flow = await client.create_flow(sweep)
            deployment = await client.create_deployment(
                flow, "alerts", work_pool_name="alerts", tags=["judge-gym"]
            )
            due: State[Any] = Scheduled(scheduled_time=datetime.now(UTC) - timedelta(minutes=5))
            run = await client.create_flow_run_from_deployment(
                deployment, parameters={"file": "none.yaml"}, state=due
            )
            return str(run.id), deployment

    async def remove() -> None:
        async with get_client() as client:
            await client.delete_deployment(deployment)
            await client.delete_work_pool("alerts")

    run, deployment = asyncio.run(wait())
    try:
        waits = until(
            lambda: [
                one for one in posted(told, "waited for an hour") if run in json.dumps(one["about"])
            ],
            "the alert about a run that waits",
        )
        assert waits[0]["about"] == {"prefect.resource.id": f"prefect.flow-run.{run}"}
        fires(told, "nothing has run for a day")
    finally:
        asyncio.run(remove())


def test_every_alert_has_a_test() -> None:
    tested = (
        "a run has failed", "a budget is used up", "a gate was not passed", "crashed too often",
        "nothing has run for a day", "waited for an hour",
    )  # fmt: skip
    assert sorted(map(named, tested)) == sorted(one["name"] for one in ALERTS)
