"""Running a panel: the raters, then the arbiter, and a state after every step; no Prefect here.

Raters are asked one after the other, although they do not depend on each other: a person who
watches sees one at work at a time, the states come in the panel's order, and a provider meets one
request. The setting `panel_parallel` asks all at once; every state is whole and numbered then, too.
A panel that escalates asks its first raters so, and the others only where those disagree.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from judge_gym.asking.budgeting import Spender, check_priced, check_spent, own_spender
from judge_gym.asking.engine import all_of, ask_all
from judge_gym.asking.questions import Question
from judge_gym.model_names import is_simulated_model
from judge_gym.panel import questions
from judge_gym.panel.agreement import agreement_of, item_agreements
from judge_gym.panel.document import ReviewedDocument
from judge_gym.panel.judge_raters import judged_review
from judge_gym.panel.panel import JudgeRater, Panel
from judge_gym.panel.questions import Attempt, Ended
from judge_gym.panel.state import (
    CONSENSUS,
    DONE,
    ERROR,
    IDLE,
    TOGETHER,
    ArbiterVerdict,
    ConsensusState,
    PanelState,
    RaterState,
    Review,
    Step,
)
from judge_gym.records.calls import DerivedRow
from judge_gym.records.panels import StoredConsensus, StoredReview
from judge_gym.runtime import Runtime
from judge_gym.seeds import digest
from judge_gym.store import panels as store
from judge_gym.store.locks import locked

V = TypeVar("V")
Emit = Callable[[PanelState], Awaitable[None] | None]
"""Is given each state in order, and awaited before the run continues."""
LEAST = 2
"""Reviews without which there is no consensus."""
IN_A_BATCH = "its call is in a batch that has not ended"
_log = logging.getLogger(__name__)


async def run_panel(
    runtime: Runtime, panel: Panel, document: ReviewedDocument, *, emit: Emit
) -> PanelState:
    """Review a document and return the last state, whose phase is `done` or `error`.

    Stored reviews are shown again without a call; raters that failed are asked again. Only one run
    at a time works on the same document with the same panel: another one waits in phase `idle`, and
    finds what the first has done.

    Cancelled, it leaves rows of status `cancelled`, and emits nothing more. Raises `ConfigError`
    before anything is emitted when a model, its price or its key is missing, `BudgetExceededError`
    when the panel's budget is used up; an error of `emit` ends the run, too.
    """
    await check_panel(runtime, panel)
    review = PanelProgress(runtime, panel, document)
    run = _LiveRun(runtime, panel, review, emit)
    await run.begin()

    def waiting() -> None:
        _log.info("Another run of panel %s reviews %s: waiting for it.", panel.name, document.id)

    async with locked(runtime.engine, {"panels": [review.key]}, waiting):
        try:
            return await run.go()
        except asyncio.CancelledError:
            review.cancelled()
            raise


async def review_document(
    runtime: Runtime, panel: Panel, document: ReviewedDocument, repeat: int, review_day: str
) -> PanelState:
    """Review a document as `run_panel` does, unwatched; a `repeat` or day has its own reviews.

    It takes no lock: the judgement that it is a part of may be locked, and names share locks.
    """
    await check_panel(runtime, panel)
    review = PanelProgress(runtime, panel, document, repeat, review_day)
    try:
        return await _LiveRun(runtime, panel, review, lambda _: None).go()
    except asyncio.CancelledError:
        review.cancelled()
        raise


async def check_panel(runtime: Runtime, panel: Panel) -> None:
    """Raise what would keep a panel from being asked at all; see `run_panel`."""
    await check_models(runtime, panel)
    check_spent(runtime, spender_of_panel(panel))


async def check_models(runtime: Runtime, panel: Panel) -> None:
    """Raise `ConfigError` when a model of the panel, its price or its key is missing."""
    runtime.providers.check(panel.models)
    check_priced(runtime.providers, spender_of_panel(panel))
    for model in sorted(panel.models):
        await runtime.keys.of(runtime.providers.of(model))


def spender_of_panel(panel: Panel) -> Spender:
    """Return the panel as a spender."""
    models = frozenset(panel.models)
    return own_spender(f"Panel {panel.name!r}", models, panel.budget, panel.key)


class PanelProgress:
    """A document before a panel: the questions that are missing, and the state so far.

    It makes no calls: whoever asks the questions gives it their ends.
    """

    def __init__(
        self,
        runtime: Runtime,
        panel: Panel,
        document: ReviewedDocument,
        repeat: int = 0,
        review_day: str = "",
    ) -> None:
        self._runtime, self._panel = runtime, panel
        self._repeat, self._review_day = repeat, review_day
        # Calls of the first review are as before there were others.
        self._turn = f"{review_day}/{repeat}/" if repeat or review_day else ""
        if self._turn:
            named = f"{document.id[:40]}-{digest('turn', self._turn)}"
            document = document.model_copy(update={"id": named})
        self._document = document
        with runtime.session() as session:
            self._place = store.place_of(session, panel.record, document.record)
        self._before: Mapping[str, store.Before[StoredReview]] = {}
        self._consensus_before: store.Before[StoredConsensus] = store.Before()
        self.state = first_state(panel, document)
        self.key = f"panel/{panel.key}/{document.key}"

    def load(self) -> None:
        """Read what earlier runs have stored."""
        with self._runtime.session() as session:
            self._before = store.reviews_before(session, self._place)
            self._consensus_before = store.consensus_before(session, self._place)

    def change(self, **changes: Any) -> PanelState:
        """Go on to the next state, and return it."""
        number = self.state.sequence + 1
        self.state = self.state.model_copy(update={**changes, "sequence": number})
        return self.state

    def rater_changes(self, index: int, **changes: Any) -> tuple[RaterState, ...]:
        """Return the raters with these changes of one of them."""
        raters = list(self.state.raters)
        raters[index] = raters[index].model_copy(update=changes)
        return tuple(raters)

    def stored_review(self, index: int) -> dict[str, Any] | None:
        """Return what the state says of a stored review; None without one."""
        done = self._rater_before(index).done
        if done is None:
            return None
        return questions.kept(done) | {"review": questions.kept_review(done)}

    def rater_question(self, index: int) -> Question[Ended[Review]]:
        """Return the question to a rater without a stored review."""
        panel, before = self._panel, self._rater_before(index)
        rater, state = panel.raters[index], self.state.raters[index]
        # Raters that are alike give independent answers, also where answers are reused.
        twin = panel.raters[:index].count(rater)
        attempt: Attempt[Review] = Attempt(
            f"{self.key}/{state.name}/{before.errors}",
            f"{self._turn}{twin}/{before.errors}",
            lambda ended: questions.review_row(self._place, state, before.attempts, ended),
        )
        return questions.rater_question(self._runtime, panel, index, self._document, attempt)

    def is_judge(self, index: int) -> bool:
        """Whether the rater with this index is a judge, which has no question of the panel."""
        return isinstance(self._panel.raters[index], JudgeRater)

    async def review_by_judge(self, index: int) -> Ended[Review]:
        """Have the judge with this index judge the document, and store its review."""
        rater, before = self._panel.raters[index], self._rater_before(index)
        assert isinstance(rater, JudgeRater)
        ended = await judged_review(
            self._runtime,
            rater,
            self._document,
            repeat=self._repeat,
            review_day=self._review_day,
            retry_failed=before.errors > 0,
        )
        state = self.state.raters[index]
        with self._runtime.session() as session:
            store.save(session, questions.review_row(self._place, state, before.attempts, ended))
        return ended

    def prepare_consensus(self) -> bool:
        """Prepare the consensus; returns whether there are enough reviews for one."""
        reviews = [rater.review for rater in self.state.raters if rater.review]
        if len(reviews) < LEAST:
            n_reviews, n_raters = len(reviews), len(self._panel.raters)
            why = f"{n_reviews} of {n_raters} raters gave a review, and a consensus needs {LEAST}"
            self._save_end("error", why)
            self.change(phase=ERROR, error=why)
            return False
        scale = self._panel.rubric.scale
        self.change(
            phase=CONSENSUS,
            agreement=agreement_of([review.overall_score for review in reviews], scale),
            item_agreement=item_agreements(reviews, scale),
            consensus=self.state.consensus.model_copy(update={"status": "running"}),
        )
        return True

    def stored_verdict(self) -> dict[str, Any] | None:
        """Return what the state says of a stored consensus on these reviews; None without one."""
        done = self._consensus_before.done
        if done is None or list(done.review_ids) != self._review_ids():
            return None
        return questions.kept(done) | {"verdict": questions.kept_verdict(done)}

    def arbiter_question(self) -> Question[Ended[ArbiterVerdict]]:
        """Return the question to the arbiter about the reviews there are."""
        raters, errors = self.state.raters, self._consensus_before.errors
        reviews = [rater.model_dump(include={"name", "review"}) for rater in raters]
        review_ids = self._review_ids()
        attempt: Attempt[ArbiterVerdict] = Attempt(
            f"{self.key}/arbiter/{digest(reviews)}/{errors}",
            f"{self._turn}0/{errors}",
            lambda ended: self._consensus_row(review_ids, ended),
        )
        return questions.arbiter_question(self._runtime, self._panel, raters, attempt)

    def conclude_as_stored(self, *, failed: bool = False) -> bool:
        """Go to the last state if earlier runs have stored every answer; whether they have.

        With `failed`, an answer may also be a failure, which stands in the state.
        """
        befores = [self._rater_before(index) for index in range(len(self._panel.raters))]
        stored = [
            self.stored_review(index) or (_failed(before) if failed else None)
            for index, before in enumerate(befores)
        ]
        verdict = self.stored_verdict() or (_failed(self._consensus_before) if failed else None)
        if verdict is None or None in stored:
            return False
        for index, changes in enumerate(stored):
            self.change(raters=self.rater_changes(index, **(changes or {})))
        if len(self.state.reviewed) >= LEAST:
            self.prepare_consensus()
        self.conclude(verdict)
        return True

    def conclude(self, changes: Mapping[str, Any]) -> PanelState:
        """End with what the arbiter said; returns the last state."""
        consensus = self.state.consensus.model_copy(update=changes)
        verdict = consensus.verdict
        _log_end("arbiter", consensus, verdict.final_score if verdict else None)
        if verdict is not None:
            return self.change(phase=DONE, consensus=consensus)
        asked = self.state.agreement is not None
        why = f"The arbiter gave no consensus: {consensus.error}" if asked else consensus.error
        return self.change(phase=ERROR, consensus=consensus, error=why)

    def cancelled(self) -> None:
        """Store that the run was stopped, unless it has come to its end before."""
        if not self.state.has_ended:
            self._save_end("cancelled", "cancelled: the run was stopped from outside")

    def _rater_before(self, index: int) -> store.Before[StoredReview]:
        return self._before.get(self._panel.names[index], store.Before())

    def _save_end(self, status: Literal["error", "cancelled"], why: str) -> None:
        """Store that the run ended before the arbiter was asked."""
        ended: Ended[ArbiterVerdict] = Ended(
            status, None, None, why, None, (), self.state.simulated
        )
        review_ids = self._review_ids()
        with self._runtime.session() as session:
            store.save(session, self._consensus_row(review_ids, ended))

    def _review_ids(self) -> list[int]:
        with self._runtime.session() as session:
            return store.review_ids(session, self._place)

    def _consensus_row(self, review_ids: list[int], ended: Ended[ArbiterVerdict]) -> DerivedRow:
        # One row a run, whatever ends it: the first of them stays.
        return questions.consensus_row(
            self._place,
            self._consensus_before.attempts,
            ended,
            model=self._panel.arbiter.model,
            review_ids=review_ids,
            agreement=self.state.agreement,
        )


class _LiveRun:
    """A run that somebody watches: every state is emitted, after all that came before."""

    def __init__(self, runtime: Runtime, panel: Panel, review: PanelProgress, emit: Emit) -> None:
        self._runtime, self._panel, self._review, self._emit = runtime, panel, review, emit
        self._turn = asyncio.Lock()

    async def begin(self) -> None:
        """Emit the first state."""
        await self._emitted(self._review.state)

    async def go(self) -> PanelState:
        """Ask raters and arbiter; returns the last state."""
        review = self._review
        review.load()
        escalate, indices = self._panel.escalate, range(len(self._panel.raters))
        first = len(indices) if escalate is None else escalate.first
        await self._rate_all(indices[:first])
        if escalate is not None and self._scores_agree(escalate.within):
            await self._spare(indices[first:])
        else:
            await self._rate_all(indices[first:])
        enough = review.prepare_consensus()
        await self._emitted(review.state)
        if not enough:
            return review.state
        changes = review.stored_verdict()
        if changes is None:
            ended = await self._ask(review.arbiter_question())
            changes = ended.changes | {"verdict": ended.value}
        state = review.conclude(changes)
        await self._emitted(state)
        return state

    def _scores_agree(self, within: int) -> bool:
        """Whether all raters that were asked gave a review, and near enough overall scores."""
        raters = [rater for rater in self._review.state.raters if rater.status != "waiting"]
        scores = [rater.review.overall_score for rater in raters if rater.review]
        return len(scores) == len(raters) and max(scores) - min(scores) <= within

    async def _spare(self, indices: Sequence[int]) -> None:
        """Leave these raters unasked, except for stored reviews, which cost nothing."""
        for index in indices:
            if self._review.stored_review(index) is not None:
                await self._rate(index, self._panel.names[index])
            else:
                await self._set_rater(index, self._review.state.phase, status="spared")

    async def _rate_all(self, indices: Sequence[int]) -> None:
        if self._runtime.settings.panel_parallel:
            await all_of(self._rate(index, TOGETHER) for index in indices)
        else:
            for index in indices:
                await self._rate(index, self._panel.names[index])

    async def _rate(self, index: int, phase: str) -> None:
        await self._set_rater(index, phase, status="running")
        changes = self._review.stored_review(index)
        if changes is None:
            if self._review.is_judge(index):
                ended = await self._review.review_by_judge(index)
            else:
                ended = await self._ask(self._review.rater_question(index))
            changes = ended.changes | {"review": ended.value}
        await self._set_rater(index, phase, **changes)
        rater = self._review.state.raters[index]
        _log_end(rater.name, rater, rater.review.overall_score if rater.review else None)

    async def _ask(self, question: Question[Ended[V]]) -> Ended[V]:
        (end,) = (await ask_all(self._runtime, [question], in_batches=False)).ends
        if end is None or end.value is None:
            simulated = is_simulated_model(question.calls[0].model)
            return Ended("error", None, None, IN_A_BATCH, None, (), simulated)
        return end.value

    async def _set_rater(self, index: int, phase: str, **changes: Any) -> None:
        raters = self._review.rater_changes(index, **changes)
        await self._emitted(self._review.change(phase=phase, raters=raters))

    async def _emitted(self, state: PanelState) -> None:
        async with self._turn:  # first come, first served
            emitted = self._emit(state)
            if emitted is not None:
                await emitted


def _failed(before: store.Before[Any]) -> dict[str, Any] | None:
    """Return what a state says of a question whose last attempt failed; None of any other."""
    return None if before.failure is None else {"status": "error", "error": before.failure}


def first_state(panel: Panel, document: ReviewedDocument) -> PanelState:
    """Return the state before anybody is asked."""
    scale = panel.rubric.scale
    return PanelState(
        sequence=0,
        phase=IDLE,
        panel=panel.name,
        document=document.id,
        items=tuple(item.id for item in document.shown),
        was_truncated=document.was_truncated,
        lowest=scale.lowest,
        highest=scale.highest,
        raters=tuple(
            RaterState(
                name=name,
                label=rater.label,
                model=rater.model,
                simulated=rater.simulated,
            )
            for name, rater in zip(panel.names, panel.raters, strict=True)
        ),
        consensus=ConsensusState(
            model=panel.arbiter.model, simulated=is_simulated_model(panel.arbiter.model)
        ),
    )


def _log_end(name: str, step: Step, score: int | None) -> None:
    """Log how a question ended; never the answer, which may quote the document."""
    took = "an unknown time" if step.latency_ms is None else f"{step.latency_ms:.0f} ms"
    _log.info("%s: %s, score %s in %s.", name, step.status, score, took)
