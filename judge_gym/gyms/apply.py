"""ApplyGym: which learnings a coder is reminded of, by different searches over a store of them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field

from judge_gym.evidence.typed_rows import read_typed
from judge_gym.gyms.base import Candidate, Case, Gym, Output, Text
from judge_gym.gyms.searching import SEARCHES, Ranking, Unavailable, fused
from judge_gym.judges import Item, JudgeResult, load_judge
from judge_gym.judges.calibrating.judging import Asked, results_of
from judge_gym.judges.use import models_of
from judge_gym.runtime import Runtime
from judge_gym.store.judges import item_costs

Rankings = list[Ranking] | Unavailable
_NOTHING = "(no learning was found)"


class CodingContext(Case):
    """Where a coder is: the file, what was asked for, and the task it belongs to."""

    file: Text
    prompt: Text
    task: Text

    @property
    def shown(self) -> str:
        return f"File: {self.file}\nPrompt: {self.prompt}\nTask: {self.task}"


class Learning(Case):
    """Something learnt before."""

    text: Text


class Strategy(Candidate):
    """One search, or several fused by reciprocal rank, re-ranked by a judge or not.

    What it searches by stands here alone: a search that cannot be made is never replaced.
    """

    search: tuple[Literal["full_text", "trigram", "embedding"], ...] = Field(min_length=1)
    """Its searches; several are combined by reciprocal rank fusion."""
    rerank: Path | None = None
    """The file of a judge of single texts, relative to the gym's; it sees learning and context."""
    depth: int = Field(default=10, ge=1, le=1000)
    """Learnings from the top of the ranking that are ranked again."""

    @property
    def asks(self) -> tuple[str, ...] | None:
        return None if self.rerank is None else models_of(load_judge(self.rerank))


class ApplyGym(Gym[CodingContext, Strategy]):
    """What searches find for a coding context; the judge marks relevance, use and noise."""

    kind: Literal["apply"] = "apply"
    learnings: Path
    """The store (JSONL or CSV of `id` and `text`), relative to the gym's file."""
    shown: int = Field(default=3, ge=1, le=100)
    """Learnings that a coder is shown, and the judge."""

    @cached_property
    def store(self) -> tuple[Learning, ...]:
        """The learnings; raises `EvidenceError` naming the line that is wrong."""
        return read_typed(self.learnings, Learning, named_by=None)

    @property
    def form(self) -> type[CodingContext]:
        return CodingContext

    def judged(
        self, runtime: Runtime, candidate: Strategy, cases: Sequence[CodingContext]
    ) -> Asked | None:
        if candidate.rerank is None:
            return None
        rankings = self._ranked(runtime, candidate, cases)
        if isinstance(rankings, Unavailable):
            return None
        items = [item for row in self._items(candidate, cases, rankings) for item in row]
        return Asked(load_judge(candidate.rerank), items)

    def made(
        self, runtime: Runtime, candidate: Strategy, cases: Sequence[CodingContext]
    ) -> list[Output]:
        rankings = self._ranked(runtime, candidate, cases)
        if isinstance(rankings, Unavailable):
            return [Output(failure=f"unavailable: {rankings}")] * len(cases)
        if candidate.rerank is None:
            texts = [[self.store[place].text for place in ranking] for ranking in rankings]
            return [Output(_listed(some[: self.shown])) for some in texts]
        judge, items = load_judge(candidate.rerank), self._items(candidate, cases, rankings)
        with runtime.session() as session:
            results = results_of(session, judge, [item for row in items for item in row], 1)
            costs = item_costs(session, judge.record, results)
        return [
            replace(
                self._again(row, [results[item.key] for item in row]),
                cost=sum(costs[item.key] for item in row),
            )
            for row in items
        ]

    def context(self, case: CodingContext) -> str:
        return case.shown

    def _ranked(
        self, runtime: Runtime, strategy: Strategy, cases: Sequence[CodingContext]
    ) -> Rankings:
        """Return a ranking of the store for each case."""
        queries, texts = [case.shown for case in cases], [document.text for document in self.store]
        try:
            with runtime.session() as session:
                matches = [SEARCHES[name](session, queries, texts) for name in strategy.search]
        except Unavailable as unavailable:
            return unavailable
        return [fused(rankings) for rankings in zip(*matches, strict=True)]

    def _items(
        self, strategy: Strategy, cases: Sequence[CodingContext], rankings: list[Ranking]
    ) -> list[list[Item]]:
        """Return, by case, the learnings to rank again, the best first."""
        return [
            [_item(case, self.store[place]) for place in ranking[: strategy.depth]]
            for case, ranking in zip(cases, rankings, strict=True)
        ]

    def _again(self, items: Sequence[Item], judged: Sequence[Sequence[JudgeResult]]) -> Output:
        """Return the items by the judge's scores; equal ones stay in their order.

        Where a score is missing the order is not known, and there is no output.
        """
        simulated = any(result.simulated for results in judged for result in results)
        if not all(judged):
            return Output(failure="missing: not ranked again yet", simulated=simulated)
        scores = [results[0].score for results in judged]
        present = [score for score in scores if score is not None]
        if len(present) < len(scores):
            failure = f"unranked: {len(scores) - len(present)} of {len(scores)} have no score"
            return Output(failure=failure, simulated=simulated)
        order = sorted(range(len(present)), key=lambda place: -present[place])
        return Output(_listed([items[place].text for place in order[: self.shown]]), "", simulated)


def _item(case: CodingContext, learning: Learning) -> Item:
    return Item(id=f"{case.id}/{learning.id}", text=learning.text, context=case.shown)


def _listed(texts: Sequence[str]) -> str:
    return "\n".join(f"{rank}. {text}" for rank, text in enumerate(texts, 1)) or _NOTHING
