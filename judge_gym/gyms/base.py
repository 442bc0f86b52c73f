"""The base of the gyms: input → candidates → evaluation → table.

A gym says what a case is, what its candidates make of one and what the judge is shown beside it.
Asking, judging, comparing and the page are the same for all.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, Self, TypeVar

from pydantic import Field, model_validator

from judge_gym.design.fields import Frozen, Legal
from judge_gym.evidence.rows import TypedRows, read_typed_rows
from judge_gym.gyms.use import Use, use_of_judge
from judge_gym.judges import Item
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.judging import judge_missing
from judge_gym.records.items import LONGEST_TEXT
from judge_gym.runtime import Runtime

Name = Annotated[str, Field(min_length=1, max_length=90)]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, pattern=r"^[^\x00]*$")]


@dataclass(frozen=True)
class Output:
    """What a candidate made of a case: a text, or why there is none, as `kind: detail`."""

    text: str | None = None
    failure: str = ""
    simulated: bool = False
    """Whether the simulator had a part in it."""
    cost: float = 0.0
    """US dollars of the calls that it took; NaN where that is not known."""

    @property
    def status(self) -> str:
        """`made`, or the kind of the failure; `missing` is what may still come."""
        return self.failure.partition(":")[0] or "made"


class Case(Frozen):
    """One row of the corpus; a gym's own class adds the columns it reads."""

    id: Name


class Candidate(Frozen):
    """One way to do it; a gym's own class adds what tells its candidates apart."""

    name: Name

    @property
    def asks(self) -> str | None:
        """The model it asks, empty for a judge of one's own; None when it asks nobody."""
        return None


C = TypeVar("C", bound=Case)
K = TypeVar("K", bound=Candidate)


class Gym(Frozen, Generic[C, K]):
    """A corpus, candidates and a judge."""

    kind: str
    name: Annotated[str, Legal("small letters, digits and hyphens")] = Field(
        pattern=r"^[a-z0-9-]{1,80}$"
    )
    """What it is called: small letters, digits and hyphens."""
    corpus: Path
    """The cases (JSONL or CSV), relative to the gym's file."""
    fields: Annotated[dict[str, str], Legal("a mapping of a case's fields to columns")] = Field(
        default_factory=dict
    )
    """Field of a case → the column of the corpus it stands in, such as {truth: decision}."""
    candidates: tuple[K, ...] = Field(min_length=1, max_length=20)
    judge: Path
    """The judge of single texts that evaluates what candidates make, relative to the file."""

    @property
    def labelled(self) -> tuple[str, ...]:
        """The names of `measures`; candidates are compared by them beside the judge's score."""
        return ()

    @property
    def form(self) -> type[C]:
        """What a row of the corpus is."""
        raise NotImplementedError

    @property
    def label_field(self) -> str:
        """The field of a case that holds what people say of it; empty without one."""
        return ""

    def read_corpus(self) -> TypedRows[C]:
        """Read the corpus; raises `EvidenceError` naming the line that is wrong."""
        return read_typed_rows(self.corpus, self.form, fields=self.fields)

    def judged(self, runtime: Runtime, candidate: K, cases: Sequence[C]) -> Asked | None:
        """Return the judge that a candidate asks, and about what; None when it asks none."""
        return None

    async def ask(
        self, runtime: Runtime, candidate: K, cases: Sequence[C], *, retry_failed: bool = False
    ) -> Counter[str]:
        """Have done what a candidate asks for and is not kept yet; counts by status."""
        asked = await asyncio.to_thread(self.judged, runtime, candidate, cases)
        if asked is None:
            return Counter()
        return await judge_missing(runtime, asked.judge, asked.items, retry_failed=retry_failed)

    def plan(self, runtime: Runtime, candidate: K, cases: Sequence[C]) -> Use:
        """Return what a candidate's calls will use, but for what is kept."""
        asked = self.judged(runtime, candidate, cases)
        if asked is None:
            return Use(candidate.name, candidate.asks)
        return use_of_judge(runtime, candidate.name, asked)

    def made(self, runtime: Runtime, candidate: K, cases: Sequence[C]) -> list[Output]:
        """Return what a candidate made of each case, as far as it is there; asks nobody."""
        raise NotImplementedError

    def context(self, case: C) -> str:
        """Return what the judge sees beside what a candidate made of a case."""
        raise NotImplementedError

    def measures(self, case: C, text: str) -> dict[str, float]:
        """Return what is computed of a text against the labels of its case, in points of 100."""
        return {}

    def item(self, case: C, output: Output) -> Item:
        """Return what the judge is given; equal texts of a case are one item, judged once."""
        text, context = output.text or "", self.context(case)
        return Item(id=case.id, text=text, context=context, simulated=output.simulated)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = Counter(one.name for one in self.candidates)
        if twice := [name for name, count in names.items() if count > 1]:
            raise ValueError(f"two candidates are called {twice[0]!r}")
        return self
