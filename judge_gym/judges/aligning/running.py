"""An alignment from file to verdict: train, choose on development, look at the test set once."""

from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np

from judge_gym.answers.readability import too_few_readable
from judge_gym.asking.budgeting import Spender
from judge_gym.calibration.checks import Result, two_digits
from judge_gym.calibration.verdict import LEAST_LABELS
from judge_gym.errors import StoreError
from judge_gym.formats import percent
from judge_gym.judges.aligning.candidates import AlignmentCandidate, Trained, trained, with_examples
from judge_gym.judges.aligning.loading import (
    LoadedAlignment,
    examples_of,
    proposals_of,
    too_few,
)
from judge_gym.judges.aligning.proposing import Proposals
from judge_gym.judges.aligning.sealing import SealedSetUse, SealedTexts, opened, sealed_texts
from judge_gym.judges.aligning.splitting import LabelUse
from judge_gym.judges.calibrating.assessing import known_points, points_of
from judge_gym.judges.calibrating.judging import readable_of, results_of
from judge_gym.judges.judging import judge_items
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import EPSILON, Estimate
from judge_gym.metrics.inference import POWER
from judge_gym.metrics.score_agreement import agreement_gain, label_agreement, texts_for_gain
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult
from judge_gym.runtime import Runtime
from judge_gym.store.calls import Paid, cost_of
from judge_gym.store.spending import Scope, spent

Results = dict[str, list[JudgeResult]]
"""Item key → what a judge said of it."""
Ask = Callable[..., Awaitable[object]]
"""Asks what is not stored; given `retry_failed`."""


class AlignmentOutcome(StrEnum):
    """How an alignment ended."""

    SURVIVES = "survives"
    """The gain's interval on the test set lies above 0."""
    WORSE = "worse"
    """It lies below 0."""
    NOT_SHOWN = "not shown"
    """It holds 0, or there is none."""
    LOOKED_AT = "looked at before"
    """Its interval lies above 0, on a test set that was looked at before."""
    UNREADABLE = "unreadable"
    """The candidate scores too few texts of the test set."""
    NO_GAIN = "no gain on development"
    """No candidate does better on development: the test set is not opened."""
    TOO_FEW = "too few labels"
    """A part has too few labels: nothing was judged."""
    USED_UP = "used up"
    """Too few labelled texts of the test have never been looked at: nothing was judged."""


_RESULTS = {AlignmentOutcome.SURVIVES: Result.PASSES, AlignmentOutcome.WORSE: Result.FAILS}


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Two judges on the same labelled texts."""

    gain: Estimate
    before: Estimate
    after: Estimate
    apart: tuple[float, float]
    """Mean distance from the label in points of 100, before and after; of verdicts the percentage
    that differ."""
    needed: int | None
    """Texts of which 80% of draws would show such a gain; None without an interval."""
    covered: float
    """Share of the texts with a score of the judge before that have one of the other, too."""

    @property
    def texts(self) -> int:
        """Texts with a label and a score of both."""
        return self.gain.n_items


@dataclass(frozen=True, eq=False)
class Tried:
    """A candidate, and what development says of it; None for one that could not be made."""

    candidate: AlignmentCandidate
    development: SideBySide | None = None
    cost_usd: float | None = None
    """US dollars of its judgements; None if a price is unknown."""


@dataclass(frozen=True, eq=False)
class AlignmentReport:
    """What came of an alignment."""

    loaded: LoadedAlignment
    outcome: AlignmentOutcome
    tried: tuple[Tried, ...] = ()
    chosen: Tried | None = None
    look: SealedSetUse | None = None
    test: SideBySide | None = None
    test_costs: tuple[float | None, float | None] = (None, None)
    """US dollars of the test, before and after; None if a price is unknown."""
    cost_usd: float | None = 0.0
    """US dollars of all calls; None if a price is unknown."""
    calls: int = 0
    sealed: SealedTexts | None = None
    """What was looked at of the test before this alignment; None before that is read."""

    @property
    def result(self) -> Result:
        return _RESULTS.get(self.outcome, Result.CANNOT_TELL)

    @property
    def more(self) -> str:
        """How many labels would show the gain, as a sentence; empty without an interval."""
        test = self.test
        if test is None or test.needed is None or self.outcome is not AlignmentOutcome.NOT_SHOWN:
            return ""
        return (
            f"Use more labelled texts in the test: about {two_digits(test.needed):,} would show "
            f"such a gain in {percent(POWER)} of draws, you have {test.texts}."
        )


async def align(
    runtime: Runtime,
    loaded: LoadedAlignment,
    *,
    retry_failed: bool = False,
    look_again: bool = False,
    progress: Callable[[int], Awaitable[None]] | None = None,
) -> AlignmentReport:
    """Do what is not done yet, and say what came of it; a rerun costs nothing.

    `progress` is given how many steps have ended. Raises as `judge_items`, `BudgetExceededError` of
    the alignment's budget among it, and `TooFewReadableError` if fewer than half the answers of the
    judge before can be read.
    """
    work = _Work(runtime, loaded)
    for number, ask in enumerate(work.steps(look_again=look_again), 1):
        await ask(retry_failed=retry_failed)
        if progress:
            await progress(number)
    return work.report


def read_alignment(
    runtime: Runtime, loaded: LoadedAlignment, *, look_again: bool = False
) -> AlignmentReport:
    """Return what `align` came to; asks nobody.

    Raises `StoreError` where an answer is missing, else as `align`.
    """
    work = _Work(runtime, loaded)
    for _ in work.steps(look_again=look_again):
        pass  # what it would ask is stored
    return work.report


def most_steps(loaded: LoadedAlignment) -> int:
    """Return how many steps an alignment has at most."""
    examples, rubrics = loaded.design.candidates.examples, loaded.design.candidates.rubrics
    candidates = bool(examples) + rubrics + bool(examples and rubrics)
    return 1 + bool(rubrics) + candidates + 2


def side_by_side(
    judge: ModelJudge, texts: Sequence[Item], before: Results, after: Results
) -> SideBySide:
    """Return how two judges of one scale agree with the labels of the texts that both score."""
    own, other = _means(judge, texts, before), _means(judge, texts, after)
    labels = np.array([known_points(judge, item) for item in texts], dtype=np.float64)
    scored, both = ~np.isnan(own), ~np.isnan(own) & ~np.isnan(other)
    labels, own, other = labels[both], own[both], other[both]
    apart = [
        float(np.abs(labels - judged).mean()) if len(labels) else 0.0 for judged in (own, other)
    ]
    return SideBySide(
        agreement_gain(labels, own, other),
        label_agreement(labels, own),
        label_agreement(labels, other),
        (apart[0], apart[1]),
        texts_for_gain(labels, own, other),
        float(both.sum() / scored.sum()) if scored.any() else 0.0,
    )


def best_of(tried: Sequence[Tried], readable: float) -> Tried | None:
    """Return the candidate with the largest gain on development; None where none has any.

    A tie goes to the judge before, then to the shorter prompt. One that scores less than a share
    `readable` of what the judge before does is out.
    """
    gaining = [
        (one.development.gain.estimate, one)
        for one in tried
        if one.development is not None
        and one.development.covered >= readable
        and (one.development.gain.estimate or 0.0) > EPSILON
    ]
    ranked = sorted(gaining, key=lambda pair: (-round(pair[0] or 0.0, 9), _length(pair[1])))
    return ranked[0][1] if ranked else None


def _length(tried: Tried) -> int:
    judge = tried.candidate.judge
    return len(judge.model_dump_json()) if judge else 0


def _outcome(test: SideBySide, readable: float, *, looked_before: bool) -> AlignmentOutcome:
    gain = test.gain
    if test.covered < readable:
        return AlignmentOutcome.UNREADABLE
    if gain.lower is None or gain.upper is None or test.texts < LEAST_LABELS:
        return AlignmentOutcome.NOT_SHOWN
    if gain.upper < 0:
        return AlignmentOutcome.WORSE
    if gain.lower <= 0:
        return AlignmentOutcome.NOT_SHOWN
    return AlignmentOutcome.LOOKED_AT if looked_before else AlignmentOutcome.SURVIVES


def _means(judge: ModelJudge, texts: Sequence[Item], results: Results) -> FloatArray:
    points = [points_of(judge, results.get(item.key, ())) for item in texts]
    means = [float(np.mean(given)) if given else float("nan") for given in points]
    return np.array(means, dtype=np.float64)


class _Work:
    """What is asked for an alignment, in steps, what comes of it, and what it costs."""

    def __init__(self, runtime: Runtime, loaded: LoadedAlignment) -> None:
        self._runtime, self._loaded = runtime, loaded
        self._proposals: Proposals | None = None
        self._keys: list[str] = []
        self._calls: set[int] = set()
        self.report = AlignmentReport(loaded, AlignmentOutcome.TOO_FEW)

    @property
    def budget(self) -> Spender:
        """The alignment as a spender, over every run."""
        return self._loaded.spender(self._keys)

    def steps(self, *, look_again: bool) -> Iterator[Ask]:
        """Yield what is to be asked, each after the answers to the one before are stored.

        At the end `report` says what came of it.
        """
        loaded, parts = self._loaded, self._loaded.parts
        sealed = sealed_texts(self._runtime, loaded)
        self.report = replace(self.report, sealed=sealed)
        if too_few(loaded):
            return
        self.report = replace(self.report, outcome=AlignmentOutcome.USED_UP)
        if sealed.is_used_up and not look_again:
            return
        training, development = parts.texts[LabelUse.TRAINING], parts.texts[LabelUse.DEVELOPMENT]
        before = yield from self._judged(loaded.judge, [*training, *development])
        every = [result for results in before.values() for result in results]
        if error := too_few_readable([readable_of(loaded.judge, every)]):
            raise error
        texts = trained(loaded.judge, loaded.items, training, before)
        tried = yield from self._try_all(texts, before)
        chosen = best_of(tried, loaded.design.readable)
        self._end(AlignmentOutcome.NO_GAIN, tried=tuple(tried), chosen=chosen)
        if chosen is None or chosen.candidate.judge is None:
            return
        look = opened(self._runtime, loaded, chosen.candidate.judge, look_again=look_again)
        if look is None:
            self._end(AlignmentOutcome.USED_UP)
            return
        own = yield from self._judged(loaded.judge, look.items)
        after = yield from self._judged(chosen.candidate.judge, look.items, within=True)
        test = side_by_side(loaded.judge, look.items, own, after)
        outcome = _outcome(test, loaded.design.readable, looked_before=bool(look.earlier))
        costs = self.cost(own), self.cost(after)
        self._end(outcome, look=look, test=test, test_costs=costs)

    def _end(self, outcome: AlignmentOutcome, **changes: Any) -> None:
        """Report an outcome, with what all calls so far cost."""
        self.report = self.paid(replace(self.report, outcome=outcome, **changes))

    def _judged(
        self, judge: ModelJudge, texts: Sequence[Item], *, within: bool = False
    ) -> Generator[Ask, None, Results]:
        """Return the results of a judge on texts; `within` the budget, or that of its own file."""
        repeats = self._loaded.design.repeats
        budget = self.budget if within else None
        yield partial(judge_items, self._runtime, judge, texts, repeats=repeats, budget=budget)
        with self._runtime.session() as session:
            results = results_of(session, judge, texts, repeats)
        if any(len(some) < repeats for some in results.values()):
            raise StoreError(f"{judge.called} has not judged every text of the alignment.")
        self._calls |= _calls_of(results)
        return results

    def _try_all(
        self, texts: Sequence[Trained], before: Results
    ) -> Generator[Ask, None, list[Tried]]:
        """Make the candidates, and judge development with each."""
        loaded = self._loaded
        self._proposals = proposals_of(loaded, texts)
        candidates = examples_of(loaded, texts)
        self._keys += [one.judge.key for one in candidates if one.judge]
        if self._proposals is not None:
            self._keys.append(self._proposals.key)
            yield partial(self._proposals.ask, self._runtime, self.budget)
            proposed = self._proposals.read(self._runtime)
            self._keys += [one.judge.key for one in proposed if one.judge]
            candidates += proposed
        tried = []
        for candidate in candidates:
            tried.append((yield from self._try(candidate, before)))
        both = both_of(loaded, texts, tried)
        if both is not None:
            self._keys += [both.judge.key] if both.judge else []
            tried.append((yield from self._try(both, before)))
        return tried

    def _try(self, candidate: AlignmentCandidate, before: Results) -> Generator[Ask, None, Tried]:
        if candidate.judge is None:
            return Tried(candidate)
        texts = self._loaded.parts.texts[LabelUse.DEVELOPMENT]
        results = yield from self._judged(candidate.judge, texts, within=True)
        side = side_by_side(self._loaded.judge, texts, before, results)
        return Tried(candidate, side, self.cost(results))

    def cost(self, results: Results) -> float | None:
        """Return the US dollars of a judge's results; None if the price of a call is unknown."""
        paid = self._cost(_calls_of(results))
        return None if paid.unknown else paid.usd

    def paid(self, report: AlignmentReport) -> AlignmentReport:
        """Return the report with what all calls behind it cost."""
        paid = self._cost(self._calls)
        cost, unknown = paid.usd, paid.unknown
        calls = len(self._calls)
        if self._proposals is not None:
            with self._runtime.session() as session:
                used = spent(session, Scope("", (self._proposals.key,)))
            cost, unknown, calls = (
                cost + used.cost_usd, unknown + used.unpriced, calls + used.calls
            )  # fmt: skip
        return replace(report, cost_usd=None if unknown else cost, calls=calls)

    def _cost(self, calls: set[int]) -> Paid:
        with self._runtime.session() as session:
            return cost_of(session, calls)


def _calls_of(results: Results) -> set[int]:
    return {call for some in results.values() for one in some for call in one.call_ids}


def both_of(
    loaded: LoadedAlignment, texts: Sequence[Trained], tried: Sequence[Tried]
) -> AlignmentCandidate | None:
    """Return the best rubric on development with the examples; None without one of the two."""
    gains = [
        (one.development.gain.estimate, one.candidate)
        for one in tried
        if one.candidate.is_rubric
        and one.development is not None
        and one.development.gain.estimate is not None
    ]
    number = loaded.design.candidates.examples
    if not gains or not number:
        return None
    best = max(gains, key=lambda pair: pair[0])[1]
    assert best.judge is not None
    both = with_examples(best.judge, texts, number)
    return None if both.judge is None else replace(both, name=f"{best.name}, {both.name}")
