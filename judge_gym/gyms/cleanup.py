"""CleanupGym: does a new learning say what a principle says, so that it is linked to it?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from judge_gym.gyms.base import Candidate, Case, Gym, Output, Text
from judge_gym.gyms.similarity import trigram_similarity, word_overlap
from judge_gym.judges import Item, Judge, JudgeResult, load_judge
from judge_gym.judges.calibrating.judging import Asked, results_of
from judge_gym.judges.use import models_of
from judge_gym.runtime import Runtime
from judge_gym.store.judges import item_costs

LINK, CREATE = "link", "create"
_ALIKE: Mapping[str, Callable[[str, str], float]] = {
    "words": word_overlap,
    "trigrams": trigram_similarity,
}


class CleanupCase(Case):
    """A new learning beside a principle that is kept; `truth` is the right decision, if known."""

    learning: Text
    principle: Text
    truth: Literal["link", "create"] | None = None


class Policy(Candidate):
    """Links from a similarity on, or as a binary judge says."""

    by: Literal["words", "trigrams", "judge"]
    """Overlap of words, similarity of trigrams, or a judge with the verdicts link and create."""
    link_from: float | None = Field(default=None, gt=0, le=1)
    """The least similarity that links."""
    judge: Path | None = None
    """The judge's file, relative to the gym's; it sees the learning, and the principle beside."""

    @property
    def asks(self) -> tuple[str, ...] | None:
        return None if self.judge is None else models_of(load_judge(self.judge))

    @model_validator(mode="after")
    def _has_what_it_decides_by(self) -> Self:
        if (self.by == "judge") != (self.judge is not None):
            raise ValueError("a policy has a `judge` when it is `by: judge`, and only then")
        if (self.by == "judge") == (self.link_from is not None):
            raise ValueError("a policy has `link_from` unless it is `by: judge`")
        return self


class CleanupGym(Gym[CleanupCase, Policy]):
    """Decisions to link or to create; a binary judge and known labels say which are right."""

    kind: Literal["cleanup"] = "cleanup"

    @property
    def labelled(self) -> tuple[str, ...]:
        return ("right by label",)

    @property
    def form(self) -> type[CleanupCase]:
        return CleanupCase

    @property
    def label_field(self) -> str:
        return "truth"

    def judged(
        self, runtime: Runtime, candidate: Policy, cases: Sequence[CleanupCase]
    ) -> Asked | None:
        if candidate.judge is None:
            return None
        return Asked(load_judge(candidate.judge), [_item(case) for case in cases])

    def made(
        self, runtime: Runtime, candidate: Policy, cases: Sequence[CleanupCase]
    ) -> list[Output]:
        judging = self.judged(runtime, candidate, cases)
        if judging is None:
            return [Output(_decision(case, _by_likeness(candidate, case))) for case in cases]
        with runtime.session() as session:
            results = results_of(session, judging.judge, judging.items, 1)
            costs = item_costs(session, judging.judge.record, results)
        return [
            replace(_judged(case, judging.judge, results[item.key]), cost=costs[item.key])
            for case, item in zip(cases, judging.items, strict=True)
        ]

    def context(self, case: CleanupCase) -> str:
        return case.principle

    def measures(self, case: CleanupCase, text: str) -> dict[str, float]:
        if case.truth is None:
            return {}
        return {"right by label": 100.0 * (text == _decision(case, case.truth))}


def _by_likeness(policy: Policy, case: CleanupCase) -> str:
    assert policy.link_from is not None
    alike = _ALIKE[policy.by](case.learning, case.principle)
    return LINK if alike >= policy.link_from else CREATE


def _item(case: CleanupCase) -> Item:
    return Item(id=case.id, text=case.learning, context=case.principle)


def _decision(case: CleanupCase, decision: str) -> str:
    return f"Decision: {decision}\nLearning: {case.learning}"


def _judged(case: CleanupCase, judge: Judge, results: Sequence[JudgeResult]) -> Output:
    if not results:
        return Output(failure="missing: not decided yet")
    [result] = results
    if result.status != "scored":
        return Output(failure=f"{result.status}: {result.failure}", simulated=result.simulated)
    if result.verdict not in (LINK, CREATE):
        failure = f"unusable: {judge.name!r} says {result.verdict!r}, not link or create"
        return Output(failure=failure, simulated=result.simulated)
    return Output(_decision(case, result.verdict), simulated=result.simulated)
