"""The automations that notice flow runs whose process is gone, as their file describes them."""

from prefect.automations import ChangeFlowRunState
from prefect.client.orchestration import PrefectClient
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
