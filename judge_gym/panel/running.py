"""Running a panel: the raters, then the arbiter, and a state after every step; no Prefect here.

Raters are asked one after the other, although they do not depend on each other: a person who
watches sees one at work at a time, the states come in the panel's order, and a provider meets one
request. The setting `panel_parallel` asks all at once; every state is whole and numbered then, too.
A panel that escalates asks its first raters so, and the others only where those disagree.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from judge_gym.asking.budgeting import BudgetPassedError, passed, said, unpriced
from judge_gym.asking.engine import all_of
from judge_gym.design.budget import Budget
from judge_gym.model_names import is_simulated_model
from judge_gym.panel import questions, rows
from judge_gym.panel.agreement import agreement_of, item_agreements
from judge_gym.panel.asking import Asking, Ended
from judge_gym.panel.document import PanelDocument
from judge_gym.panel.panel import Panel
from judge_gym.panel.state import (
    CONSENSUS,
    DONE,
    ERROR,
    IDLE,
    TOGETHER,
    ConsensusState,
    PanelState,
    RaterState,
    Step,
    Verdict,
)
from judge_gym.records.calls import Row
from judge_gym.records.panels import StoredConsensus, StoredReview
from judge_gym.runtime import Runtime
from judge_gym.seeds import digest
from judge_gym.store import panels as store
from judge_gym.store.claims import claimed
from judge_gym.store.spending import Scope, spent

Emit = Callable[[PanelState], Awaitable[None] | None]
"""Is given each state in order, and awaited before the run goes on."""
LEAST = 2
"""Reviews without which there is no consensus."""
_log = logging.getLogger(__name__)


async def run_panel(
    runtime: Runtime, panel: Panel, document: PanelDocument, *, emit: Emit
) -> PanelState:
    """Review a document and return the last state, whose phase is `done` or `error`.

    What was reviewed before is kept and shown again without asking; raters that failed are asked
    again. Only one run at a time works on the same document with the same panel: another one waits
    in phase `idle`, and finds what the first has done.

    Cancelled, it leaves rows of status `cancelled`, and emits nothing more. Raises `ConfigError`
    before anything is emitted when a model, its price or its key is missing, `BudgetPassedError`
    when the panel's budget is used up; whatever `emit` raises ends the run, too.
    """
    await check_panel(runtime, panel)
    with runtime.session() as session:
        place = store.place_of(session, panel.record, document.record)
    run = _Run(runtime, panel, document, place, emit)
    await run.begin()

    def waiting() -> None:
        _log.info("Another run of panel %s reviews %s: waiting for it.", panel.name, document.id)

    async with claimed(runtime.engine, "panels", [run.key], waiting):
        try:
            return await run.go()
        except asyncio.CancelledError:
            run.cancelled()
            raise


async def check_panel(runtime: Runtime, panel: Panel) -> None:
    """Raise what would keep a panel from being asked at all; see `run_panel`."""
    runtime.providers.check(panel.models)
    limits = panel.budget or Budget()
    for model in sorted(panel.models):
        await runtime.keys.of(runtime.providers.of(model))
        if error := unpriced(runtime.providers, model, limits, f"Panel {panel.name!r}"):
            raise error
    with runtime.session() as session:
        used = spent(session, Scope(sweep="", shared_keys=[panel.key]))
    if bound := passed(limits, used):
        key, limit = bound
        raise BudgetPassedError(
            f"Panel {panel.name!r} has passed its budget: {key} is {limit:g}, and {said(used)}.",
            f"What it has reviewed is kept. Raise budget.{key} of the panel and run it again.",
        )


class _Run:
    """A run in progress: its state, and where its rows belong."""

    def __init__(
        self,
        runtime: Runtime,
        panel: Panel,
        document: PanelDocument,
        place: store.Place,
        emit: Emit,
    ) -> None:
        self._runtime, self._panel, self._document = runtime, panel, document
        self._place, self._emit = place, emit
        self._turn = asyncio.Lock()
        self._before: Mapping[str, store.Before[StoredReview]] = {}
        self._consensus_before: store.Before[StoredConsensus] = store.Before()
        self._state = first_state(panel, document)
        self.key = f"panel/{panel.key}/{document.key}"

    async def begin(self) -> None:
        """Emit the first state."""
        await self._told(self._state)

    async def go(self) -> PanelState:
        """Ask everybody; returns the last state."""
        with self._runtime.session() as session:
            self._before = store.reviews_before(session, self._place)
            self._consensus_before = store.consensus_before(session, self._place)
        escalate, places = self._panel.escalate, range(len(self._panel.raters))
        first = len(places) if escalate is None else escalate.first
        await self._rate_all(places[:first])
        if escalate is not None and self._agree(escalate.within):
            await self._spare(places[first:])
        else:
            await self._rate_all(places[first:])
        reviews = [rater.review for rater in self._state.raters if rater.review]
        if len(reviews) < LEAST:
            return await self._too_few()
        scale = self._panel.rubric.scale
        await self._move(
            phase=CONSENSUS,
            agreement=agreement_of([one.overall_score for one in reviews], scale),
            item_agreement=item_agreements(reviews, scale),
            consensus=self._consensus(status="running"),
        )
        return await self._reconcile()

    def cancelled(self) -> None:
        """Keep that the run was stopped, unless it has come to its end before."""
        if not self._state.has_ended:
            self._keep("cancelled", "cancelled: the run was stopped from outside")

    def _agree(self, within: int) -> bool:
        """Whether all raters that were asked gave a review, and near enough overall scores."""
        asked = [rater for rater in self._state.raters if rater.status != "waiting"]
        scores = [rater.review.overall_score for rater in asked if rater.review]
        return len(scores) == len(asked) and max(scores) - min(scores) <= within

    async def _spare(self, places: Sequence[int]) -> None:
        """Leave these raters unasked, but for what they have said before, which costs nothing."""
        for place in places:
            name = self._panel.names[place]
            if self._before.get(name, store.Before()).done is not None:
                await self._rate(place, name)
            else:
                await self._set_rater(place, self._state.phase, status="spared")

    async def _rate_all(self, places: Sequence[int]) -> None:
        if self._runtime.settings.panel_parallel:
            await all_of(self._rate(place, TOGETHER) for place in places)
        else:
            for place in places:
                await self._rate(place, self._panel.names[place])

    async def _rate(self, place: int, phase: str) -> None:
        await self._set_rater(place, phase, status="running")
        rater = self._state.raters[place]
        before = self._before.get(rater.name, store.Before())
        if before.done is not None:
            changes = rows.kept(before.done) | {"review": rows.kept_review(before.done)}
        else:
            key = f"{self.key}/{rater.name}/{before.errors}"
            ended = await Asking(
                self._runtime,
                questions.of_rater(self._panel, place, self._document, key),
                lambda end: rows.review_row(self._place, rater, before.attempts, end),
            ).make()
            changes = rows.told(ended) | {"review": ended.value}
        await self._set_rater(place, phase, **changes)
        review = self._state.raters[place].review
        score = review.overall_score if review else None
        _log_end(rater.name, self._state.raters[place], score)

    async def _reconcile(self) -> PanelState:
        before, review_ids = self._consensus_before, self._review_ids()
        if before.done is not None and list(before.done.review_ids) == review_ids:
            changes = rows.kept(before.done) | {"verdict": rows.kept_verdict(before.done)}
        else:
            reviews = [rater.model_dump(include={"name", "review"}) for rater in self._state.raters]
            key = f"{self.key}/arbiter/{digest(reviews)}/{before.errors}"
            ended = await Asking(
                self._runtime,
                questions.of_arbiter(self._panel, self._state.raters, key),
                lambda end: self._consensus_row(review_ids, end),
            ).make()
            changes = rows.told(ended) | {"verdict": ended.value}
        consensus = self._consensus(**changes)
        verdict = consensus.verdict
        _log_end("arbiter", consensus, verdict.final_score if verdict else None)
        if verdict is not None:
            return await self._move(phase=DONE, consensus=consensus)
        why = f"The arbiter gave no consensus: {consensus.error}"
        return await self._move(phase=ERROR, consensus=consensus, error=why)

    async def _too_few(self) -> PanelState:
        given, asked = len(self._state.reviewed), len(self._panel.raters)
        why = f"{given} of {asked} raters gave a review, and a consensus needs {LEAST}"
        self._keep("error", why)
        return await self._move(phase=ERROR, error=why)

    def _keep(self, status: Literal["error", "cancelled"], why: str) -> None:
        """Keep that the run ended before the arbiter was asked."""
        ended: Ended[Verdict] = Ended(status, None, None, why, None, (), self._state.simulated)
        review_ids = self._review_ids()
        with self._runtime.session() as session:
            store.save(session, self._consensus_row(review_ids, ended))

    def _review_ids(self) -> list[int]:
        with self._runtime.session() as session:
            return store.review_ids(session, self._place)

    def _consensus_row(self, review_ids: list[int], ended: Ended[Verdict]) -> Row:
        # One row a run, whatever ends it: the first of them stays.
        return rows.consensus_row(
            self._place,
            self._consensus_before.attempts,
            ended,
            model=self._panel.arbiter.model,
            review_ids=review_ids,
            agreement=self._state.agreement,
        )

    def _consensus(self, **changes: Any) -> ConsensusState:
        return self._state.consensus.model_copy(update=changes)

    async def _set_rater(self, place: int, phase: str, **changes: Any) -> None:
        raters = list(self._state.raters)
        raters[place] = raters[place].model_copy(update=changes)
        await self._move(phase=phase, raters=tuple(raters))

    async def _move(self, **changes: Any) -> PanelState:
        """Go on to the next state and emit it, after all that came before."""
        number = self._state.sequence + 1
        self._state = state = self._state.model_copy(update={**changes, "sequence": number})
        await self._told(state)
        return state

    async def _told(self, state: PanelState) -> None:
        async with self._turn:  # first come, first served
            told = self._emit(state)
            if told is not None:
                await told


def first_state(panel: Panel, document: PanelDocument) -> PanelState:
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
                simulated=is_simulated_model(rater.model),
            )
            for name, rater in zip(panel.names, panel.raters, strict=True)
        ),
        consensus=ConsensusState(
            model=panel.arbiter.model, simulated=is_simulated_model(panel.arbiter.model)
        ),
    )


def _log_end(name: str, step: Step, score: int | None) -> None:
    """Log how a question ended; never what was said, which may quote the document."""
    _log.info("%s: %s, score %s in %.0f ms.", name, step.status, score, step.latency_ms)
