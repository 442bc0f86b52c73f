"""The doctor on automations of a real Prefect server: blocks that do not exist, and doubles."""

import asyncio
from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import get_client
from prefect.events import AutomationCore
from pydantic import SecretStr
from ruamel.yaml import YAML

from deployments.cli.doctor_lines import DoctorLine, State
from deployments.cli.doctor_server import server_lines
from support.command_line import REPOSITORY

ALERTS = YAML(typ="safe").load(
    (REPOSITORY / "deployments" / "automations" / "alerts.yaml").read_text()
)["automations"]
NOWHERE = UUID(int=0)
"""The id in the file as it is shipped."""


async def alert(name: str, block: UUID, *, enabled: bool = True) -> UUID:
    """Create the first alert of the file under another name, with this block."""
    action = ALERTS[0]["actions"][0] | {"block_document_id": str(block)}
    described = ALERTS[0] | {"name": name, "actions": [action], "enabled": enabled}
    async with get_client() as client:
        return await client.create_automation(AutomationCore.model_validate(described))


@pytest.fixture
def block() -> Iterator[UUID]:
    """A webhook that exists."""
    name = f"doctor-{uuid4().hex[:8]}"
    made = asyncio.run(Webhook(url=SecretStr("http://127.0.0.1:9/")).asave(name))
    yield made
    asyncio.run(Webhook.adelete(name))


def lines_of(*alerts: tuple[str, UUID, bool]) -> tuple[list[DoctorLine], list[UUID]]:
    """What the doctor says of these automations, and their ids; deletes them."""

    async def read() -> tuple[list[DoctorLine], list[UUID]]:
        made = [await alert(name, block, enabled=on) for name, block, on in alerts]
        try:
            lines = [line async for line in server_lines()]
        finally:
            async with get_client() as client:
                for one in made:
                    await client.delete_automation(one)
        subjects = {f"automation {name}" for name, _, _ in alerts}
        return [line for line in lines if line.subject in subjects], made

    return asyncio.run(read())


def test_one_whose_block_does_not_exist_is_a_problem(block: UUID) -> None:
    lines, made = lines_of(
        ("judge-gym alert: nowhere", NOWHERE, True),
        ("judge-gym alert: somewhere", block, True),
        ("judge-gym alert: off", NOWHERE, False),
        ("of others", NOWHERE, True),
    )
    [line] = lines
    assert (line.subject, line.state) == ("automation judge-gym alert: nowhere", State.BROKEN)
    assert str(NOWHERE) in line.detail
    assert f"prefect automation delete --id {made[0]}" in line.remedy


def test_one_that_exists_twice_is_named_with_the_id_to_delete(block: UUID) -> None:
    name = "judge-gym alert: twice"
    lines, made = lines_of((name, block, True), (name, block, True), ("judge-gym: b", block, True))
    [line] = lines
    assert (line.subject, line.state) == (f"automation {name}", State.MISSING)
    assert line.detail == "exists 2 times, and acts as often"
    assert sum(str(one) in line.remedy for one in made) == 1
