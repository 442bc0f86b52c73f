"""The automations that notice flow runs whose process is gone, as their file describes them."""

from prefect.automations import ChangeFlowRunState
from prefect.client.orchestration import PrefectClient, get_client
from prefect.events import AutomationCore
from ruamel.yaml import YAML

from judge_gym.settings import REPOSITORY

FILE = REPOSITORY / "deployments" / "automations" / "lost-runs.yaml"


def described() -> list[AutomationCore]:
    """Return the automations of the file."""
    given = YAML(typ="safe").load(FILE)["automations"]
    return [AutomationCore.model_validate(one) for one in given]


def message() -> str:
    """Return what the state of a run that they have found says."""
    [action] = described()[0].actions
    assert isinstance(action, ChangeFlowRunState)
    return action.message or ""


async def make(client: PrefectClient, automation: AutomationCore) -> bool:
    """Make an automation unless there is one of its name; returns whether it had to be made."""
    if await client.read_automations_by_name(automation.name):
        return False
    await client.create_automation(automation)
    return True


async def begin_anew() -> None:
    """Have the automations that there are forget what they wait for, as they do when they are made.

    After a stop they still wait for heartbeats from before it, and a server that was started anew
    shows them the states that runs are put into only a quarter of an hour later.
    """
    async with get_client() as client:
        for one in described():
            for found in await client.read_automations_by_name(one.name):
                await client.delete_automation(found.id)
                await client.create_automation(AutomationCore(**found.model_dump(exclude={"id"})))
