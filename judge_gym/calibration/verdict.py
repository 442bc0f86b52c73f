"""Whether a judge may be used: can its answers be read, do people agree, what do its checks say."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from judge_gym.answers.readability import Answers
from judge_gym.calibration.checks import (
    Check,
    Decide,
    Result,
    Weight,
    claimed,
    more_items,
    moves_wrong_way,
    span,
)
from judge_gym.calibration.distribution import SELF_AGREEMENT
from judge_gym.counting import counted, there_are
from judge_gym.formats import percent, plain
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import Direction, MarginClaim
from judge_gym.metrics.people import BesidePeople, agreement_beside_people
from judge_gym.metrics.score_agreement import answers_agreement
from judge_gym.planted.editing import Expectation
from judge_gym.scale_ends import other_way
from judge_gym.seeds import derive_seed


class CalibrationVerdict(IntEnum):
    """From the best to the worst."""

    USE = 0
    CARE = 1
    CANNOT_TELL = 2
    DO_NOT_USE = 3

    @property
    def words(self) -> str:
        """The verdict as people read it."""
        return ("use", "use with care", "cannot tell", "do not use")[self]


@dataclass(frozen=True)
class CalibrationDecision:
    """A verdict, and why in a sentence or two."""

    verdict: CalibrationVerdict
    why: str

    @property
    def recommends(self) -> bool:
        """Whether the judge may be used at all."""
        return self.verdict in (CalibrationVerdict.USE, CalibrationVerdict.CARE)

    @property
    def result(self) -> Result:
        """What it is to a run that its verdict decides: use with care passes."""
        if self.verdict is CalibrationVerdict.DO_NOT_USE:
            return Result.FAILS
        return Result.PASSES if self.recommends else Result.CANNOT_TELL


READABLE, AGREEMENT, BESIDE_PEOPLE = "readable", "agreement", "beside people"
LABELS_WANTED = 50
"""How many labels are asked for where there is none."""


def decide(
    name: str, checks: Sequence[Check], rule: Decide, made: int, expected: int
) -> CalibrationDecision:
    """Return what the checks say of the judge called `name`, by `rule`; the first step decides.

    1. Readable answers: too few is "do not use"; fewer than the rule wants here, "cannot tell".
    2. Agreement with labels, then how far below that of people: a check that fails is "do not
       use", an open one or none "cannot tell".
    3. Self-agreement, then perturbations that block: failing is "do not use".
    4. `made` of its `expected` judgements exist: until all do, "cannot tell".
    5. Any other check that fails or is open is "use with care", and so is a self-agreement that
       could not be tested.
    """
    by_name = {check.name: check for check in checks}
    readable = by_name[READABLE]
    if readable.estimate.estimate is None:
        return CalibrationDecision(
            CalibrationVerdict.CANNOT_TELL, f"{name}: nothing is judged yet."
        )
    if excluded := _excluded(name, checks, by_name, rule):
        return CalibrationDecision(CalibrationVerdict.DO_NOT_USE, excluded)
    if made < expected:
        why = (
            f"{name}: only {made} of {expected} judgements exist, which cannot tell whether it "
            f"may be used. So far {_counts(checks)}."
        )
        return CalibrationDecision(CalibrationVerdict.CANNOT_TELL, why)
    if missing := _missing(name, checks, by_name, rule):
        return CalibrationDecision(CalibrationVerdict.CANNOT_TELL, missing)
    return _recommended(name, checks, _agreement_in_words(by_name))


def _excluded(
    name: str, checks: Sequence[Check], by_name: Mapping[str, Check], rule: Decide
) -> str:
    """Return why the judge may not be used; empty where nothing shows that."""
    readable = by_name[READABLE]
    if readable.result is Result.FAILS:
        return (
            f"Do not use {name}: too few answers can be read, {readable.reason}. {readable.action}"
        )
    for step, problem in (
        (AGREEMENT, "it does not agree with people's labels"),
        (BESIDE_PEOPLE, "it agrees with a person less than people do with each other"),
        (SELF_AGREEMENT, "it does not agree with itself"),
    ):
        check = by_name.get(step)
        if check and check.result is Result.FAILS:
            return f"Do not use {name}: {problem}, {check.reason}. {check.action}"
    failing = {
        check.perturbation: check
        for check in checks
        if check.expectation is not None and check.result is Result.FAILS
    }
    blocking = [p for p in failing if rule.weight(p) is Weight.BLOCKS]
    together = [p for p, weight in rule.perturbations.items() if weight is Weight.BLOCKS_TOGETHER]
    if len(together) > 1 and all(
        p in failing and failing[p].expectation is not Expectation.INVARIANT for p in together
    ):
        blocking += together
    if not blocking:
        return ""
    agreeing = by_name.get(AGREEMENT)
    failures = _failures([check for check in checks if check.result is Result.FAILS])
    people = f"{_agrees(agreeing)}, but " if agreeing and agreeing.result is Result.PASSES else ""
    named = " and ".join(_SHOWN.get(p, p) for p in blocking)
    return (
        f"Do not use {name} before this is mended: {people}{failures}. By `decide`, {named} "
        f"{'blocks' if len(blocking) == 1 else 'block'}: its scores may follow something that "
        "only goes along with quality in these texts, such as length. "
        f"In all, {_counts(checks)}."
    )


def _missing(name: str, checks: Sequence[Check], by_name: Mapping[str, Check], rule: Decide) -> str:
    """Return what is missing for a recommendation; empty where nothing is."""
    readable, agreement = by_name[READABLE], by_name.get(AGREEMENT)
    if (readable.estimate.estimate or 0.0) < rule.readable:
        return f"{name}: it is open whether its answers can be read, {readable.reason}. " + (
            readable.action
        )
    if agreement is None:
        return (
            f"{name}: no text has a label, so whether people agree with it is not known. Label "
            f"{LABELS_WANTED} texts, drawn at random. So far, {_counts(checks)}."
        )
    if agreement.result is not Result.PASSES:
        return (
            f"{name}: the labels cannot tell whether people agree with it, {agreement.reason}. "
            f"{agreement.action}"
        )
    beside = by_name.get(BESIDE_PEOPLE)
    if beside and beside.result is not Result.PASSES:
        if (beside.estimate.upper or 0.0) < 0:
            return (
                f"{name}: it agrees with a person less than people do with each other, and the "
                f"labels cannot tell whether by too much, {beside.reason}. {beside.action}"
            )
        return (
            f"{name}: the labels cannot tell whether it agrees with a person as people do with "
            f"each other, {beside.reason}. {beside.action}"
        )
    return ""


def _agrees(agreement: Check) -> str:
    return f"it agrees with people's labels beyond chance ({agreement.reason})"


def _agreement_in_words(by_name: Mapping[str, Check]) -> str:
    agrees = _agrees(by_name[AGREEMENT])
    beside = by_name.get(BESIDE_PEOPLE)
    return f"{agrees}, and with a person as people do ({beside.reason})" if beside else agrees


def _recommended(name: str, checks: Sequence[Check], people: str) -> CalibrationDecision:
    failing = [check for check in checks if check.result is Result.FAILS]
    if failing:
        why = (
            f"Use {name} with care: {people}, but {_failures(failing)}. In all, {_counts(checks)}."
        )
        return CalibrationDecision(CalibrationVerdict.CARE, why)
    people = f"{people[0].upper()}{people[1:]}."
    by_name = {check.name: check for check in checks}
    repeated = by_name.get(SELF_AGREEMENT)
    if repeated and repeated.result is Result.NOT_APPLICABLE:
        unknown = (
            f"its self-agreement is not known ({repeated.reason}). In all, {_counts(checks)}, and "
            f"{SELF_AGREEMENT} could not be tested"
        )
        return CalibrationDecision(
            CalibrationVerdict.CARE, f"Use {name} with care: {unknown}. {people}"
        )
    if any(check.result is Result.CANNOT_TELL for check in checks):
        why = f"Use {name} with care: {_counts(checks)}. More items will decide the rest. {people}"
        return CalibrationDecision(CalibrationVerdict.CARE, why)
    return CalibrationDecision(CalibrationVerdict.USE, f"Use {name}: {_counts(checks)}. {people}")


def _counts(checks: Sequence[Check]) -> str:
    of = Counter(check.result for check in checks)
    passes, fails, still_open = (
        of[result] for result in (Result.PASSES, Result.FAILS, Result.CANNOT_TELL)
    )
    tested = passes + fails + still_open
    passing = "passes" if passes == 1 else "pass"
    failing = "fails" if fails == 1 else "fail"
    left = "is" if still_open == 1 else "are"
    return (
        f"of {counted(tested, 'check')}, {passes} {passing}, {fails} {failing} and {still_open} "
        f"{left} open"
    )


def _failures(failing: Sequence[Check]) -> str:
    """Return what a judge does wrong: what it misses first, then what it should not react to."""
    by_kind: dict[str, list[str]] = {}
    for check in failing:
        trend = check.perturbation and check.expectation is None
        kind = _TREND if trend else _FAILURES.get(check.expectation, "it fails")
        if check.expectation and moves_wrong_way(check):
            kind = _WRONG_WAY[check.expectation]
        named = _SHOWN.get(check.perturbation, check.perturbation) or check.name
        by_kind.setdefault(kind, []).append(named)
    kinds = [*_WRONG_WAY.values(), *_FAILURES.values(), _TREND, "it fails"]
    return "; ".join(f"{kind} {', '.join(by_kind[kind])}" for kind in kinds if kind in by_kind)


_FAILURES: Mapping[Expectation | None, str] = {
    Expectation.DROP: "its scores hardly fall for",
    Expectation.RISE: "its scores hardly rise for",
    Expectation.INVARIANT: "its scores move for",
}
_WRONG_WAY = {
    Expectation.DROP: "its scores rise for",
    Expectation.RISE: "its scores fall for",
}
_SHOWN = {"inject_errors": "injected errors", "vague_ify": "vague wording"}
_TREND = "its scores go the wrong way with more"


LEAST_LABELS = 10
"""Labels below which agreement is left open: every one of them may be right by chance."""


def readable_check(readable: IntArray, answered: IntArray, answers: Answers, least: float) -> Check:
    """Return whether a share `least` of the answers can be read; counts are by text.

    An answer can be read when it has a score, a verdict or an abstention. See `by_share`.
    """
    action = answers.remedy
    check = claimed(
        READABLE,
        f"{percent(least)} of the answers can be read",
        clustered_share("readable_rate", readable, answered),
        MarginClaim(Direction.ABOVE, least),
        action,
        undecided=action,
    )
    check = by_share(check, least)
    return replace(check, reason=f"{check.reason} ({answers})") if answers.failures else check


def by_share(check: Check, least: float) -> Check:
    """Return the check of a share that passes where the share itself reaches `least`.

    It fails where the interval lies below, and is open between: what can be read is counted, while
    agreement is estimated.
    """
    share = check.estimate.estimate
    if share is None or share < least:
        return check
    return replace(check, result=Result.PASSES, action="")


def statistic(*, verdicts: bool) -> str:
    """Return the name of the agreement with labels beyond chance, of verdicts or of scores."""
    return "Cohen's κ" if verdicts else "concordance"


def agreement_check(
    labels: FloatArray,
    judged: FloatArray,
    least: float,
    near: float,
    *,
    verdicts: bool = False,
    unscored: IntArray | None = None,
    times: IntArray | None = None,
) -> Check:
    """Return whether a judge agrees with people's labels: points of the same texts, in one order.

    `times` is how many answers each text's label stands for, 1 by default, and `unscored` that of
    further texts with a label, judged without a score.

    By Lin's concordance, which is 0 for a judge that does not depend on the text, and for
    `verdicts` is Cohen's κ. Ten labels are
    the fewest that decide. `beside` is the share of labels met within `near` points; see
    `answers_agreement`.
    """
    times = np.ones(len(labels), dtype=np.int64) if times is None else times
    unscored = np.zeros(0, dtype=np.int64) if unscored is None else unscored
    found = answers_agreement(labels, judged, times, unscored, near)
    met, agreement, scores = found.met, found.beyond_chance, len(found.text)
    claim = MarginClaim(Direction.ABOVE, least)
    check = claimed(
        AGREEMENT,
        f"scores agree with people's labels by more than {plain(least)}",
        agreement,
        claim,
        other_way() if (agreement.upper or 0) < 0 else _READ_THEM,
        beside=(met,),
        undecided=_more_labels(agreement, claim),
    )
    noun = "text" if scores == len(labels) else "answer"
    if met.n:
        met_by = (
            "verdicts as labelled"
            if verdicts
            else f"scores within {plain(near)} points of their label"
        )
        counts = f"{found.hits} of {met.n} {met_by}"
        scored = f" of the {counted(scores, noun)} with a score" if len(unscored) else ""
        named = f"{statistic(verdicts=verdicts)} {check.reason}{scored}"
        check = replace(check, reason=f"{named}; {counts}")
    if agreement.estimate is None:
        # Of a judge without a score, other labels would say no more.
        action = _OTHER_LABELS if len(labels) else ""
        return replace(check, result=Result.NOT_APPLICABLE, action=action)
    if len(labels) < LEAST_LABELS:
        return replace(check, result=Result.CANNOT_TELL, action=_more_labels(agreement, claim))
    return check


_READ_THEM = (
    "Read the texts on which judge and labels differ; then change the rubric, or the judge."
)
_OTHER_LABELS = "Label more texts, of different quality, drawn at random."


def _more_labels(agreement: Estimate, claim: MarginClaim) -> str:
    if agreement.n_items < LEAST_LABELS:
        return (
            f"Label more texts, drawn at random: {LEAST_LABELS} labels are the fewest that decide, "
            f"and {there_are(agreement.n_items)}."
        )
    return more_items(agreement, claim, "labels")


def beside_people_check(people: FloatArray, judged: FloatArray, below: float) -> Check:
    """Return whether a judge agrees with a person nearly as people do with each other.

    `people` are labels in points, people x texts, NaN where one gave none; `judged` are the judge's
    points of the same texts, NaN without a score. It may agree `below` less. The difference is on
    the texts with a score, people's own agreement on all: it is the same for every judge.
    """
    seed = derive_seed("beside people", people.tolist())

    def beside(chosen: BoolArray) -> BesidePeople:
        points = np.nan_to_num(judged[chosen])[:, None]
        return agreement_beside_people(people[:, chosen, None], points, np.random.default_rng(seed))

    every, scored = np.ones(len(judged), dtype=np.bool_), ~np.isnan(judged)
    found = beside(scored)
    of_people = found.people if scored.all() else beside(every).people
    claim = MarginClaim(Direction.ABOVE, -below)
    check = claimed(
        BESIDE_PEOPLE,
        f"it agrees with a person at most {plain(below)} less than people do with each other",
        found.excess,
        claim,
        "Read the texts on which people agree and the judge differs; then change the rubric.",
        beside=(found.judge, of_people),
        undecided=more_items(found.excess, claim, "texts with labels of several people"),
    )
    if found.excess.estimate is None:
        action = "Have two people or more label the same texts, drawn at random."
        return replace(check, result=Result.NOT_APPLICABLE, action=action)
    if found.excess.lower is None and found.excess.estimate >= 0:
        # Nobody ever differs: the interval of the agreement itself says how sure that is.
        check = replace(check, result=Result.PASSES, action="")
    levels = f"the judge {span(found.judge)}, people {span(of_people)}"
    return replace(check, reason=f"difference {check.reason} ({levels})")
