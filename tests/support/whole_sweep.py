"""A whole sweep of simulated judges on a database: W1 to W6, as its file asks for them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from judge_gym.analysis.running import analyse
from judge_gym.design.sweep import load_sweep
from judge_gym.lab.sweeps import prepare
from judge_gym.simulator.server import serving
from judge_gym.store.experiments import experiments_by_tag
from support.postgres import temporary_database
from support.rig import runtime_at
from support.study import Study, missing_by


async def whole_sweep(url: str, file: Path, **settings: Any) -> list[str]:
    """Run what the sweep lacks, without the analysis; returns the tags of its experiments."""
    sweep = load_sweep(file)
    async with serving() as base_url, runtime_at(url, base_url, **settings) as runtime:
        run = prepare(runtime, sweep)
        experiments = list(missing_by(runtime, experiments_by_tag, run.tags).values())
        study = Study(runtime, *sweep.windows.values())
        await study.collect()
        for view in run.views:
            await study.make(view, run.utility_model)
        for one in run.bundles:
            await study.embed(one.plan, run.utility_model)
        for sham in {False, run.swap is not None and run.swap.sham}:
            await study.write_rubrics(experiments, sham=sham, critic=run.utility_model)
            if run.rubric_embeddings:
                await study.embed_rubrics(experiments, run.rubric_embeddings, sham=sham)
        await study.score(run.tags)
        if run.swap is not None:
            await study.swap(run.tags, run.swap)
        await study.probe(run.tags)
        if run.score_critic:
            await study.mark(run.tags, run.score_critic, run.name)
        return run.tags


@contextmanager
def analysed(server: str, template: str, file: Path) -> Iterator[sa.Engine]:
    """A database of its own with this sweep, run and analysed."""
    with temporary_database(server, template) as url:
        asyncio.run(whole_sweep(url, file))
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        analyse(engine, load_sweep(file).name)
        yield engine
