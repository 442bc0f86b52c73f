"""The gate of a judge: whether it reaches its thresholds, by intervals, at no cost if unchanged.

Judgements are stored, so an unchanged judge on unchanged texts makes no calls. When the ledger has
a newer answer of its model by another served model or configuration (system fingerprint) than those
behind these judgements, or one took over among them, a sentinel set of the texts is judged again.
From then on every figure is of these new answers alone: those of before are what they are compared
with, and nothing else.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial

from sqlalchemy.orm import Session

from judge_gym.calibration.checks import Check, Result
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, JudgeGymError, OutageError
from judge_gym.judges.base import Judge
from judge_gym.judges.calibrating.judging import Asked, judge_asked, missing, results_of
from judge_gym.judges.certifying.checking import CertificateError, ValidCertificate
from judge_gym.judges.gate_checks import (
    Again,
    MovedText,
    change_checks,
    drift_caution,
    moved_texts,
    of_sentinel,
    same_answers,
    sentinel_caution,
    served_check,
    threshold_checks,
)
from judge_gym.judges.gate_texts import LoadedGate
from judge_gym.judges.judging import (
    UnreadableError,
    complete,
    judgements_made,
)
from judge_gym.judges.namesakes import OtherJudge, other_judge
from judge_gym.llm.hourly import HourlyBoundError
from judge_gym.model_names import Answered
from judge_gym.records.items import Item, distinct
from judge_gym.records.judgements import JudgeResult
from judge_gym.runtime import Runtime
from judge_gym.seeds import digest
from judge_gym.store.decisions import GATE, Kept, ReviewDecision, last_kept, save_review
from judge_gym.store.judges import answered, judged_on, namesakes, save_judge
from judge_gym.store.rechecks import Recheck, rechecks, save_recheck
from judge_gym.store.served import configurations_kept, newest_configuration

_DECIDED = (Result.PASSES, Result.FAILS)


@dataclass(frozen=True, eq=False)
class GateReport:
    """What the gate found of a judge."""

    judge: Judge
    checks: tuple[Check, ...]
    texts: int
    labels: str
    """How many labels were read and from which column, for a person."""
    answers: str
    """Which answers the figures are of: of texts judged again, or of which days; empty of today."""
    new_judgements: int
    """Judgements that were not stored before; 0 for an unchanged judge on unchanged texts."""
    answered: Answered
    simulated: bool
    recheck: Recheck | None = None
    """The time that the texts were judged again; None where they were not."""
    caution: str = ""
    """Why the judge's certificate may not be what it says, as a sentence; empty without a doubt."""
    moved: tuple[MovedText, ...] = ()
    """The texts that are judged otherwise than before, those that moved most first."""
    other: OtherJudge | None = None
    """The judge that the last judgements of these texts under this name are of; None if this."""

    @property
    def result(self) -> Result:
        """Fails with any check that does; passes if all do; else inconclusive."""
        results = {check.result for check in self.checks}
        if Result.FAILS in results:
            return Result.FAILS
        return Result.PASSES if results <= {Result.PASSES} else Result.CANNOT_TELL

    @property
    def sentence(self) -> str:
        """The result in words."""
        sentence = f"{self.judge.name}: {_SENTENCES[self.result]}"
        named = [check.name for check in self.checks if self._decides(check)]
        return f"{sentence} {_NAMED[self.result]}: {', '.join(named)}." if named else sentence

    def _decides(self, check: Check) -> bool:
        """Whether a check is one of those that keep the gate from passing."""
        if self.result is Result.FAILS:
            return check.result is Result.FAILS
        return check.result is not Result.PASSES


@dataclass(frozen=True, eq=False)
class Stopped:
    """A gate that was stopped before its checks could be made, and why.

    `name` is the judge's, or its file's where that could not be used; then there is no `judge`.
    """

    name: str
    reason: str
    judge: Judge | None = None
    error: JudgeGymError | None = None
    """What stopped it; None where it was no known error."""

    @property
    def simulated(self) -> bool:
        """Whether the judge is known to be simulated."""
        return self.judge is not None and self.judge.is_simulated

    @property
    def result(self) -> Result:
        """Fails for a judge that is refused or cannot be read at all; else cannot tell."""
        fails = isinstance(self.error, _FAILING)
        return Result.FAILS if fails else Result.CANNOT_TELL

    @property
    def sentence(self) -> str:
        """The result in words."""
        return f"{self.name}: {self.result}, stopped. {self.reason}"


GateEnd = GateReport | Stopped
"""How a gate ended."""

_FAILING = (CertificateError, UnreadableError)
_OF_ALL = (OutageError, HourlyBoundError)
"""What stops the gates of all judges; anything else that is known stops that of one."""

_SENTENCES = {
    Result.PASSES: "the gate passes.",
    Result.FAILS: "the gate fails.",
    Result.CANNOT_TELL: "the data cannot tell whether the gate passes.",
}
_NAMED = {Result.FAILS: "Not reached", Result.CANNOT_TELL: "Open"}


@dataclass
class GateRun:
    """The steps of a gate, in order, whoever has its judge judge what they ask."""

    loaded: LoadedGate
    recheck: bool = False
    """Whether the sentinel set is judged again though no change is known; an interrupted time is
    resumed."""
    retry_failed: bool = False
    """Whether what failed is judged again."""
    _before: int = 0
    _other: OtherJudge | None = None
    _again: Recheck | None = None
    _before_again: int = 0

    def begin(self, session: Session) -> Asked:
        """Return what is to be judged first.

        Raises `CertificateError` for a judge without the certificate that its rule asks for.
        """
        self.loaded.certified()
        asked = asked_first(self.loaded)
        self._before = self._kept(session, asked)
        judge = self.loaded.judge
        found = namesakes(session, judge.record, self.loaded.texts)
        self._other = other_judge(judge, found)
        return asked

    def begin_again(self, session: Session) -> Asked | None:
        """Return what is to be judged again; None where nothing is.

        That it is, is stored before anything is judged, so that an interrupted one is resumed.
        """
        self._again = _judged_again(session, self.loaded, recheck=self.recheck)
        if self._again is None:
            return None
        judge_id = _judge_id(session, self.loaded.judge)
        save_recheck(session, judge_id, self.loaded.sentinel_digest, self._again)
        asked = _asked_again(self.loaded, self._again)
        self._before_again = self._kept(session, asked)
        return asked

    def _kept(self, session: Session, asked: Asked) -> int:
        """Return how many of these judgements are stored and not retried."""
        _, left = missing(
            session,
            asked.judge,
            asked.items,
            asked.repeats,
            retry_failed=self.retry_failed,
            review_day=asked.review_day,
        )
        return len(distinct(asked.items)) * asked.repeats - left

    def cautions(self, *, judging_again: bool) -> list[str]:
        """Return what the texts cannot decide, known before anything is judged or judged again."""
        one = self.loaded
        cautions = [sentinel_caution(one.judge, one.rule, one.sentinel, one.labelled)]
        if judging_again:
            cautions.append(_drift_caution(one))
        return [*filter(None, cautions)]

    @property
    def caution(self) -> str:
        """Why what is now judged again cannot show that nothing changed; empty if it can.

        Of a recheck that was asked for, `cautions` say so at the start.
        """
        if self.recheck or not self._again or self._before_again >= self.loaded.to_judge_again:
            return ""
        return _drift_caution(self.loaded)

    def report(self, session: Session) -> GateReport:
        """Return what the gate finds in what is judged by now.

        Raises `NotJudgedError` where some judgements are missing.
        """
        report = _found(session, self.loaded, self._again, self._before, self._before_again)
        return replace(report, other=self._other)

    async def run(
        self,
        opened: Callable[[], AbstractContextManager[Session]],
        judged: Callable[[Asked], Awaitable[object]],
        warn: Callable[[str], object] = lambda _: None,
    ) -> GateReport:
        """Have `judged` what is not judged yet, then check the judge.

        `warn` is told where what is judged again is too little to show anything. Raises as the
        steps and `judged` do.
        """
        for begin in (self.begin, self.begin_again):
            with opened() as session:
                asked = begin(session)
            if self.caution:
                warn(self.caution)
            if asked:
                await judged(asked)
        with opened() as session:
            return self.report(session)


def _drift_caution(one: LoadedGate) -> str:
    return drift_caution(one.judge, one.rule, len(one.sentinel), len(one.texts))


async def run_gates(
    gates: Sequence[GateRun],
    opened: Callable[[], AbstractContextManager[Session]],
    judged: Callable[[Asked], Awaitable[object]],
    ended: list[GateEnd],
    warn: Callable[[str], object] = lambda _: None,
) -> None:
    """Run gates in order, and add how each one ends to `ended`.

    A judge that is refused, cannot be read or reached, waits or has used up its budget ends its own
    gate alone. Raises what stops all; the gates that did not end are then those beyond `ended`.
    """
    for gate in gates:
        judge = gate.loaded.judge
        try:
            ended.append(await gate.run(opened, judged, warn))
        except _OF_ALL:
            raise
        except JudgeGymError as error:
            ended.append(Stopped(judge.name, str(error), judge, error))


def deciding_stop(ended: Sequence[GateEnd]) -> JudgeGymError | None:
    """Return the error of the stopped gate that decides how a run of gates ends.

    None where checks decide: those of a gate that fails count more than a stop that cannot tell.
    """
    failing = [one for one in ended if one.result is Result.FAILS]
    stops = [one for one in failing or ended if isinstance(one, Stopped)]
    return stops[0].error if stops else None


async def run_gate(
    runtime: Runtime,
    loaded: LoadedGate,
    *,
    recheck: bool = False,
    retry_failed: bool = False,
) -> GateReport:
    """Judge what is not judged yet, and check the judge; raises as `judge_items` and `GateRun`.

    With `recheck` the sentinel set is judged again, whether a change is known or not, at each call.
    What is judged again decides alone.
    """
    judged = partial(judge_asked, runtime, retry_failed=retry_failed)
    run = GateRun(loaded, recheck, retry_failed)
    return await run.run(runtime.session, judged)


def asked_first(loaded: LoadedGate) -> Asked:
    """Return what a gate asks of its judge."""
    return Asked(loaded.judge, loaded.texts, loaded.rule.repeats)


def asked_again(session: Session, loaded: LoadedGate, *, recheck: bool) -> tuple[Asked, str] | None:
    """Return what would be judged again now, and why; None where nothing is. Stores nothing."""
    with session.begin_nested() as nested:
        again = _judged_again(session, loaded, recheck=recheck)
        nested.rollback()
    if again is None:
        return None
    why = f"by --recheck on {again.when}" if again.day else "since another model answers"
    return _asked_again(loaded, again), why


def _asked_again(loaded: LoadedGate, again: Recheck) -> Asked:
    return Asked(loaded.judge, loaded.sentinel, loaded.rule.repeats, again.review_day)


def _stored_of(session: Session, asked: Asked) -> int:
    """Return how many of these judgements are stored."""
    of = asked.judge, asked.items, asked.repeats, asked.review_day
    return judgements_made(session, *of)[0]


def _found(
    session: Session, loaded: LoadedGate, recheck: Recheck | None, before: int, before_again: int
) -> GateReport:
    judge, rule, texts = loaded.judge, loaded.rule, loaded.texts
    certified = loaded.certified()
    results = _stored(session, loaded, texts, "")
    doubted = loaded.file.doubted_scale(judge)
    checks = threshold_checks(judge, rule, texts, results, loaded.answers(texts), doubted)
    if not recheck:
        by = answered(session, judge.record, [results])
        if certified:
            certified.check_served(by.served)
        days = judged_on(session, judge.record, texts, rule.repeats)
        said = f"Answers of {days}. --recheck asks again." if before else ""
        return _report(loaded, checks, len(results) - before, results, by, said, certified)
    again = _stored(session, loaded, loaded.sentinel, recheck.review_day)
    # Whoever kept a judge that moved did not show what a certificate says of it.
    kept = None if certified else _last_kept(session, loaded)
    compared = _compared_with(session, loaded, recheck, results, kept)
    first = compared[0] if compared else again
    was, by = (answered(session, judge.record, [some]) for some in (first, again))
    if certified:
        certified.check_served(by.served)
    served = served_check(judge, was, by)
    part = Again(
        size=len(loaded.sentinel),
        texts=len(texts),
        labelled=loaded.labelled,
        decided=frozenset(check.name for check in checks if check.result in _DECIDED),
        same=same_answers(loaded.sentinel, first, again),
    )
    labelled = loaded.answers(loaded.sentinel)
    of_now = threshold_checks(judge, rule, loaded.sentinel, again, labelled, doubted)
    moved: tuple[MovedText, ...] = ()
    if compared:
        first, *between = compared
        moved = moved_texts(judge, loaded.sentinel, first, again)
        of_now += change_checks(judge, rule, loaded.sentinel, first, again, between)
    checks = [*([served] if served else []), *of_sentinel(of_now, part, rule)]
    new = len(results) - before + len(again) - before_again
    said = _said_again(loaded, recheck, before_again)
    if kept:
        said += (
            f" These are compared with the answers that {kept.person} kept on {kept.day}, and with "
            "later ones."
        )
    report = _report(loaded, checks, new, again, by, said, certified)
    return replace(report, recheck=recheck, moved=moved)


def _report(
    loaded: LoadedGate,
    checks: Sequence[Check],
    new: int,
    results: Sequence[JudgeResult],
    by: Answered,
    answers: str,
    certified: ValidCertificate | None,
) -> GateReport:
    return GateReport(
        judge=loaded.judge,
        checks=tuple(checks),
        texts=len(loaded.texts),
        labels=loaded.said(),
        answers=answers,
        new_judgements=new,
        answered=by,
        simulated=any(result.simulated for result in results),
        caution=certified.caution if certified else "",
    )


def _said_again(loaded: LoadedGate, recheck: Recheck, stored: int) -> str:
    """Return which answers the figures of a sentinel set are of, for a person."""
    said = (
        f"Figures are of {counted(len(loaded.sentinel), 'text')} of {len(loaded.texts)}, judged "
        f"again {_on(recheck)}; earlier answers are only what they are compared with."
    )
    return (
        f"{said} {counted(stored, 'answer')} of them stored by an earlier run." if stored else said
    )


def _on(recheck: Recheck) -> str:
    return f"on {recheck.when}" if recheck.day else "since another model answers"


def _stored(
    session: Session, loaded: LoadedGate, items: Sequence[Item], day: str
) -> list[JudgeResult]:
    """Return the results of items, each `repeats` times; raises where one is missing."""
    by_text = results_of(session, loaded.judge, items, loaded.rule.repeats, day)
    complete(loaded.judge, by_text, loaded.rule.repeats)
    return [result for some in by_text.values() for result in some]


def _judged_again(session: Session, gate: LoadedGate, *, recheck: bool) -> Recheck | None:
    """Return when texts are judged again; None where none are."""
    return _next_recheck(session, gate) if recheck else _since_change(session, gate)


def _next_recheck(session: Session, gate: LoadedGate) -> Recheck:
    """Return the time that `--recheck` judges the sentinel set again now.

    Today's last one where it was interrupted, else one that has no judgements yet.
    """
    today = datetime.now(UTC).date()
    of_today = [one for one in _rechecks(session, gate) if one.day == today]
    if of_today and _stored_of(session, _asked_again(gate, of_today[-1])) < gate.to_judge_again:
        return of_today[-1]
    number = max((one.number for one in of_today), default=0) + 1
    return Recheck(_key(gate, today, number), today, number)


def _key(gate: LoadedGate, *parts: object) -> str:
    """Return the `review_day` of a recheck: gates that share texts have answers of their own."""
    return " ".join(map(str, ("gate", *parts, gate.sentinel_digest)))


def _rechecks(session: Session, gate: LoadedGate) -> list[Recheck]:
    """Return the history of a gate: of its judge, and of the set of texts that it judges again."""
    return rechecks(session, gate.judge.record.key, gate.sentinel_digest)


def _last_kept(session: Session, gate: LoadedGate) -> Kept | None:
    """Return the newest decision to keep the judge as one of these rechecks found it."""
    looks = [one.review_day for one in _rechecks(session, gate)]
    return last_kept(session, GATE, _judge_id(session, gate.judge), date.max, looks)


def _compared_with(
    session: Session,
    gate: LoadedGate,
    recheck: Recheck,
    first: Sequence[JudgeResult],
    kept: Kept | None,
) -> list[Sequence[JudgeResult]]:
    """Return the answers that those of a recheck are compared with, oldest first.

    The `first` ones and those of each time that the whole sentinel set was judged again; where a
    person kept the judge, from the answers that were kept on. None where these are the recheck's.
    """
    days = [one.review_day for one in _rechecks(session, gate)]
    day = recheck.review_day
    earlier = days[: days.index(day)] if day in days else days
    counts_from = kept is not None and bool(_whole(session, gate, kept.look))
    if kept and counts_from:
        earlier = earlier[days.index(kept.look) :]
    looks: list[Sequence[JudgeResult]] = [] if counts_from else [first]
    return looks + [look for one in earlier if (look := _whole(session, gate, one))]


def _whole(session: Session, gate: LoadedGate, day: str) -> list[JudgeResult]:
    """Return the answers of a day to the sentinel set; empty where one is missing."""
    repeats = gate.rule.repeats
    by_text = results_of(session, gate.judge, gate.sentinel, repeats, day)
    if any(len(results) < repeats for results in by_text.values()):
        return []
    return [result for results in by_text.values() for result in results]


def save_gate_decision(
    session: Session,
    gate: LoadedGate,
    decision: ReviewDecision,
    person: str,
    reason: str = "",
    **where: str,
) -> str:
    """Store what a person decided about a judge whose texts its gate judged again.

    `keep` closes what the gate found: later answers are compared with the newest of these, whose
    day is returned. Raises `ConfigError` where texts were not judged again.
    """
    looks = [one for one in _rechecks(session, gate) if _whole(session, gate, one.review_day)]
    if not looks:
        raise ConfigError(
            f"The gate of {gate.judge.name} has not judged its texts again.",
            "Run judge-gym judge gate --recheck first.",
        )
    today = datetime.now(UTC).date().isoformat()
    details = {"day": today, "look": looks[-1].review_day, **where}
    save_review(session, GATE, _judge_id(session, gate.judge), decision, person, reason, details)
    return _on(looks[-1])


def _judge_id(session: Session, judge: Judge) -> int:
    return save_judge(session, judge.record)


def _since_change(session: Session, gate: LoadedGate) -> Recheck | None:
    """Return when the sentinel set is judged, by who answers; None if nothing changed."""
    earlier = _rechecks(session, gate)
    last = earlier[-1] if earlier else None
    known = _known(session, gate, last)
    if not known:
        return last  # nobody has answered yet: there is nothing that could have changed
    newest = [
        newest_configuration(session, model) for leaf in gate.judge.leaves for model in leaf.models
    ]
    unknown = [one for one in newest if one is not None and one not in known]
    if not unknown:
        return last
    return Recheck(_key(gate, digest(*(part for one in unknown for part in one))))


def _known(session: Session, gate: LoadedGate, last: Recheck | None) -> set[tuple[str, str]]:
    """Return the configurations behind the gate's figures, without one that took over."""
    texts, day = (gate.sentinel, last.review_day) if last else (gate.texts, "")
    by_text = results_of(session, gate.judge, texts, gate.rule.repeats, day)
    calls = (call for results in by_text.values() for one in results for call in one.call_ids)
    return configurations_kept(session, calls)
