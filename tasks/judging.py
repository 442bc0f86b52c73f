"""The tasks of W3, W4 and W5: a chunk of judgements or probes of one provider."""

from prefect import task

from judge_gym.lab import judging, probing
from judge_gym.store.samples import ProbeUnit, SampleUnit
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="judge", **WRITING)
async def judge(units: list[SampleUnit]) -> dict[str, int]:
    """Make these judgements; returns counts by sample status."""
    async with runtime() as current:
        return dict(await judging.judge(current, units))


@task(name="probe", **WRITING)
async def probe(units: list[ProbeUnit]) -> dict[str, int]:
    """Make these probes; returns counts by probe status."""
    async with runtime() as current:
        return dict(await probing.probe(current, units))
