"""The calibration flow's task that has a model change texts."""

from prefect import task

from judge_gym.calibration.design import Perturber
from judge_gym.judges.calibrating import perturbing
from judge_gym.judges.calibrating.texts import Rewriting
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="perturb-texts", **WRITING)
async def perturb_texts(units: list[Rewriting], perturber: Perturber) -> dict[str, int]:
    """Have the model change these texts; returns counts by status."""
    async with runtime() as current:
        return dict(await perturbing.perturb(current, perturber, units))
