"""The base of the gyms: input → candidates → evaluation → table.

A gym defines its cases, what its candidates produce, and the context that the judge sees. Calls,
judging, comparison and the report page are shared by all gyms.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, Self, TypeVar

from pydantic import Field, model_validator

from judge_gym.answers.readability import kind_of
from judge_gym.design.fields import Frozen, Legal, Slug
from judge_gym.evidence.choosing import NamedBy
from judge_gym.evidence.typed_rows import TypedRows, read_typed_rows
from judge_gym.judges import Item
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.judging import judge_missing
from judge_gym.judges.use import Use, joined, use_of_judge
from judge_gym.records.items import LONGEST_TEXT
from judge_gym.runtime import Runtime

Name = Annotated[str, Field(min_length=1, max_length=90)]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, pattern=r"^[^\x00]*$")]


@dataclass(frozen=True)
class Output:
    """A candidate's output for a case: a text, or the failure as `kind: detail`."""

    text: str | None = None
    failure: str = ""
    simulated: bool = False
    """Whether the simulator contributed to it."""
    cost: float = 0.0
    """Cost of its calls in US dollars; NaN if unknown."""

    @property
    def status(self) -> str:
        """`made`, or the kind of the failure; `missing` if it is not produced yet."""
        return kind_of(self.failure) or "made"


class Case(Frozen):
    """One row of the corpus; a gym's own class adds the columns it reads."""

    id: Name


class Candidate(Frozen):
    """One way to do the step; a gym's own class adds the fields that differ."""

    name: Name
    """What it is called in tables."""

    @property
    def asks(self) -> tuple[str, ...] | None:
        """The models it calls; none for a custom judge, None if it asks nobody."""
        return None


C = TypeVar("C", bound=Case)
K = TypeVar("K", bound=Candidate)


class Gym(Frozen, Generic[C, K]):
    """A corpus, candidates and a judge."""

    kind: str
    name: Slug
    """The gym's name: lowercase letters, digits and hyphens."""
    corpus: Path
    """The cases (JSONL or CSV), relative to the gym's file."""
    fields: Annotated[dict[str, str], Legal("a mapping of a case's fields to columns")] = Field(
        default_factory=dict
    )
    """Field of a case → its column in the corpus, such as {truth: decision}."""
    candidates: tuple[K, ...] = Field(min_length=1, max_length=20)
    """The ways of doing the step that are compared."""
    judge: Path
    """File of the judge (of single texts) that evaluates outputs, relative to the gym's file."""

    @property
    def labelled(self) -> tuple[str, ...]:
        """The names of `measures`, compared in addition to the judge's score."""
        return ()

    @property
    def form(self) -> type[C]:
        """The class of a row of the corpus."""
        raise NotImplementedError

    @property
    def label_field(self) -> str:
        """The field of a case with the human label; empty without one."""
        return ""

    def read_corpus(self) -> TypedRows[C]:
        """Read the corpus; raises `EvidenceError` naming the invalid line."""
        return read_typed_rows(
            self.corpus, self.form, fields=self.fields, named_by=NamedBy("the gym's file")
        )

    def judged(self, runtime: Runtime, candidate: K, cases: Sequence[C]) -> Asked | None:
        """Return the judge that a candidate uses, with its items; None if it uses none."""
        return None

    async def ask(
        self, runtime: Runtime, candidate: K, cases: Sequence[C], *, retry_failed: bool = False
    ) -> Counter[str]:
        """Make a candidate's missing calls; return counts by status."""
        judging = await asyncio.to_thread(self.judged, runtime, candidate, cases)
        if judging is None:
            return Counter()
        judged = await judge_missing(
            runtime, judging.judge, judging.items, retry_failed=retry_failed
        )
        return judged.counts

    def plan(self, runtime: Runtime, candidate: K, cases: Sequence[C]) -> Use:
        """Return the estimated use of a candidate's missing calls."""
        judging = self.judged(runtime, candidate, cases)
        if judging is None:
            return Use(candidate.name, None if candidate.asks is None else joined(candidate.asks))
        return use_of_judge(runtime, candidate.name, judging)

    def made(self, runtime: Runtime, candidate: K, cases: Sequence[C]) -> list[Output]:
        """Return a candidate's stored outputs, one for each case; makes no calls."""
        raise NotImplementedError

    def context(self, case: C) -> str:
        """Return the context that the judge sees with a candidate's output."""
        raise NotImplementedError

    def measures(self, case: C, text: str) -> dict[str, float]:
        """Return measures of a text against the labels of its case, from 0 to 100."""
        return {}

    def item(self, case: C, output: Output) -> Item:
        """Return the judge's item; equal texts of a case are one item, judged once."""
        text, context = output.text or "", self.context(case)
        return Item(id=case.id, text=text, context=context, simulated=output.simulated)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = Counter(candidate.name for candidate in self.candidates)
        if twice := [name for name, count in names.items() if count > 1]:
            raise ValueError(f"two candidates are called {twice[0]!r}")
        return self
