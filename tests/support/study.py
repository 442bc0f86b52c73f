"""A tiny study: a corpus in a temporary folder, experiments on it, and the workflows run on them.

The provider is a real HTTP server, the simulator unless a test says otherwise.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.bundles import Bundles
from judge_gym.design.experiment import Experiment
from judge_gym.design.plans import SwapPlan
from judge_gym.design.window import CorpusSource, Window
from judge_gym.lab import (
    embedding,
    evidence,
    judging,
    probing,
    rubrics,
    score_critics,
    scoring,
    swapping,
)
from judge_gym.lab.evidence import utility_of
from judge_gym.records.recipes import recipe_of
from judge_gym.runtime import Runtime
from judge_gym.store import tables as t
from judge_gym.store.experiments import register_experiment
from judge_gym.store.recipes import identities
from judge_gym.store.samples import Missing
from judge_gym.store.windows import missing_views, register_window

UTILITY = "sim/calm-1"
TEXTS = (
    "The court in Valmora sat on Monday and heard the complaint of two newspapers. {n} people "
    "spoke. The minister answered every question of the members in a public session that lasted "
    "until the evening, and the record was printed the next day.",
    "Police in Valmora closed the office of a newspaper and arrested {n} members of the "
    "opposition. The government postponed the election and dissolved the court that had ruled "
    "against it. Demonstrators were beaten in front of the assembly.",
)


def corpus(folder: Path, count: int, name: str = "corpus.jsonl") -> Path:
    """Write a corpus of `count` articles, mild and harsh by turns."""
    path = folder / name
    rows = (
        {
            "title": f"Report {number}",
            "url": f"https://valmora.example/{name}/{number}",
            "date": f"2026-01-{number + 1:02}",
            "text": TEXTS[number % 2].format(n=number + 3),
        }
        for number in range(count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def window(path: Path, name: str = "week", **changes: Any) -> Window:
    """A window on a corpus file."""
    given: dict[str, Any] = {"country": "Valmora", "query": "courts", "max_documents": 50}
    source = CorpusSource(path=path, digest=path.read_text())
    return Window(name=name, source=source, **(given | changes))


def missing_by(runtime: Runtime, planner: Callable[..., Any], *arguments: Any) -> Any:
    """What `planner(session, *arguments)` finds missing, in a transaction of its own."""
    with runtime.session() as session:
        return planner(session, *arguments)


class Study:
    """Experiments in a database, and the workflows in order."""

    def __init__(self, runtime: Runtime, window: Window) -> None:
        self.runtime = runtime
        self.window = window

    def experiment(self, model: str, **changes: Any) -> Experiment:
        """An experiment on the study's window: raw evidence, two replicates, unless changed."""
        given: dict[str, Any] = {
            "concept": "democratic backsliding",
            "window": self.window,
            "evidence_view": "raw",
            "replicates": 2,
            "scale_size": 4,
        }
        return Experiment(model=model, **(given | changes))

    def register(self, *experiments: Experiment, utility_model: str = UTILITY) -> list[str]:
        """Store experiments; returns their tags."""
        utility = utility_of(self.runtime.settings, utility_model)
        recipes = {one.key: recipe_of(one, utility) for one in experiments}
        with self.runtime.session() as session:
            stored = identities(session, experiments, recipes)
            for one in experiments:
                register_experiment(session, one, stored[one.key])
        return [stored[one.key].name for one in experiments]

    async def collect(self) -> dict[str, int]:
        """W1's first half."""
        with self.runtime.session() as session:
            window_id = register_window(session, self.window)
        return await evidence.collect_window(self.runtime, window_id)

    async def make(self, view: Any, model: str = UTILITY) -> Any:
        """One view of every document that lacks it."""
        window_id = self.all(sa.select(t.Window.id).where(t.Window.key == self.window.key))[0]
        recipe = evidence.recipes_of_views(self.runtime.settings, model)[view]
        missing = missing_by(self.runtime, missing_views, window_id, view, recipe)
        return await evidence.make_views(self.runtime, view, missing, model)

    async def embed(self, plan: Bundles, model: str = UTILITY) -> Any:
        """What a plan of bundles compares and lacks; returns the outcomes counted."""
        window_id = self.all(sa.select(t.Window.id).where(t.Window.key == self.window.key))[0]
        recipe = evidence.recipes_of_views(self.runtime.settings, model).get(plan.view, "")
        missing = missing_by(self.runtime, embedding.missing_embeddings, window_id, plan, recipe)
        return await embedding.embed(self.runtime, missing, window_id, plan, recipe)

    async def write_rubrics(
        self, experiments: Sequence[Experiment], *, sham: bool = False, critic: str = UTILITY
    ) -> list[str]:
        """W2; returns the status of each rubric written."""
        with self.runtime.session() as session:
            missing = rubrics.missing_rubrics(session, experiments, sham=sham)
        return [
            status
            for one in missing
            for status in await rubrics.write_rubrics(self.runtime, [one], critic)
        ]

    async def embed_rubrics(
        self, experiments: Sequence[Experiment], model: str, *, sham: bool = False
    ) -> Any:
        """What rubrics lack of a model's embeddings; returns the outcomes counted."""
        with self.runtime.session() as session:
            missing = embedding.missing_rubric_embeddings(session, experiments, model, sham=sham)
        return await embedding.embed_rubrics(self.runtime, missing, model)

    async def score(self, tags: Sequence[str]) -> Any:
        """W3; returns the outcomes counted."""
        missing, _ = missing_by(self.runtime, scoring.plan_scoring, tags)
        return await self._judge(missing)

    async def swap(self, tags: Sequence[str], plan: SwapPlan) -> Any:
        """W4; returns the outcomes counted."""
        return await self._judge(missing_by(self.runtime, swapping.plan_swaps, tags, plan))

    async def probe(self, tags: Sequence[str]) -> Any:
        """W5; returns the outcomes counted."""
        by_model = missing_by(self.runtime, probing.plan_probing, tags)
        units = [unit for units in by_model.values() for unit in units]
        return await probing.probe(self.runtime, units)

    async def mark(self, tags: Sequence[str], critic: str, sweep: str | None = None) -> Any:
        """W6; returns the outcomes counted."""
        missing = missing_by(self.runtime, score_critics.plan_marking, tags, critic, sweep)
        return await score_critics.mark_reasoning(self.runtime, missing.get(critic, []), critic)

    async def up_to_scores(self, *experiments: Experiment, sham: bool = False) -> list[str]:
        """W1 (raw) to W3 of these experiments; returns their tags."""
        tags = self.register(*experiments)
        await self.collect()
        await self.write_rubrics(experiments)
        if sham:
            await self.write_rubrics(experiments, sham=True)
        await self.score(tags)
        return tags

    async def _judge(self, missing: Missing) -> Any:
        units = [unit for units in missing.by_model.values() for unit in units]
        return await judging.judge(self.runtime, units)

    def all(self, query: Any) -> list[Any]:
        """Every row of a query; its single column, when it has one."""
        with Session(self.runtime.engine, expire_on_commit=False) as session:
            rows = session.execute(query).all()
        return [row[0] if len(row) == 1 else row for row in rows]

    def ids(self, tags: Sequence[str]) -> list[int]:
        """The ids of experiments, in the order of their tags."""
        by_tag = dict(self.all(sa.select(t.Experiment.tag, t.Experiment.id)))
        return [by_tag[tag] for tag in tags]

    def change(self, work: Any) -> Any:
        """Do something to the database in a transaction: `work(session)`."""
        with Session(self.runtime.engine) as session, session.begin():
            return work(session)
