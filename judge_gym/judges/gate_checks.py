"""What a gate checks of a judge's answers, all of one day, and beside those of an earlier day."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from judge_gym.answers.readability import Answers
from judge_gym.calibration.checks import Check, Margins, Result, claimed, is_open, more_items
from judge_gym.calibration.comparisons import (
    CHANGED,
    DRIFT,
    Drift,
    answers_kept_check,
    at_look,
    changed_check,
    drift_checks,
)
from judge_gym.calibration.verdict import (
    LEAST_LABELS,
    READABLE,
    by_share,
    readable_check,
    statistic,
)
from judge_gym.counting import counted, there_are
from judge_gym.formats import plain
from judge_gym.judges.base import Judge
from judge_gym.judges.calibrating.assessing import known_points
from judge_gym.judges.calibrating.comparing import Agreement, agreement
from judge_gym.judges.calibrating.judging import readable_of, readable_shares
from judge_gym.judges.gate_rule import GateRule
from judge_gym.judges.own_judges import CallableJudge
from judge_gym.judges.reviewing.moving import judge_check, mean_points
from judge_gym.metrics.cells import IntArray
from judge_gym.metrics.class_rates import CLASSES, SENSITIVITY, SPECIFICITY, class_rates
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import Estimate, largest_share_unseen, not_estimable, wilson
from judge_gym.metrics.margins import Direction, MarginClaim
from judge_gym.metrics.points import HIGHEST
from judge_gym.metrics.score_agreement import label_agreement
from judge_gym.model_names import Answered, is_version_of
from judge_gym.records.items import Item, question_numbers
from judge_gym.records.judgements import JudgeResult

SERVED = "served model"
"""The name of the check that the same model answers as before."""
_FIGURES = {
    "agreement": "agreement with people's labels beyond chance ({statistic}) is",
    "accuracy": "the share of texts judged as labelled is",
    SENSITIVITY: "the share of passes among what people passed is",
    SPECIFICITY: "the share of fails among what people failed is",
}
_READ = "Read the texts on which judge and labels differ; then change the rubric, or the judge."


def threshold_checks(
    judge: Judge,
    rule: GateRule,
    texts: Sequence[Item],
    results: Sequence[JudgeResult],
    labelled: Sequence[Item] | None = None,
    doubted: str = "",
) -> list[Check]:
    """Return whether these answers reach the thresholds; `results` are of these texts alone.

    `labelled` are those whose label is known, a text as often as people labelled it; without them
    each text counts once. `doubted` is what to mend first where a check by labels is not met.
    """
    scored = {item.key: [0, 0] for item in texts}
    for result in results:
        scored[result.item_key][0] += result.failure is None
        scored[result.item_key][1] += 1
    counts = np.array(list(scored.values()), dtype=np.int64).reshape(-1, 2)
    answers = readable_of(judge, results)
    checks = [_readable(counts, answers, rule)]
    people = agreement(judge, texts if labelled is None else labelled, results)
    figures = _figures(people)
    for name, least in rule.by_labels.items():
        figure = _FIGURES[name].format(statistic=statistic(verdicts=judge.decides))
        check = at_least(name, figures[name], least, f"{figure} more than {plain(least)}", _READ)
        if people.questions is not None and is_open(check):
            asked = replace(check.estimate, n_items=people.questions)
            action = more_items(asked, MarginClaim(Direction.ABOVE, least), "questions")
            check = replace(check, action=action, needed=None)
        if people.texts < LEAST_LABELS:
            action = _too_few_scored(people, answers)
            check = replace(check, result=Result.CANNOT_TELL, action=action, needed=None)
        if doubted and check.result is not Result.PASSES:
            check = replace(check, action=f"{doubted} {check.action}".rstrip())
        checks.append(check)
    return checks


def _readable(counts: IntArray, answers: Answers, rule: GateRule) -> Check:
    """Return the check of answers that can be read; so few texts show nothing of a judge."""
    check = readable_check(counts[:, 0], counts[:, 1], answers, rule.readable)
    if check.result is not Result.PASSES or len(counts) >= LEAST_LABELS:
        return check
    action = f"Judge more texts: {LEAST_LABELS} are the fewest."
    return replace(check, result=Result.CANNOT_TELL, action=action)


def _figures(people: Agreement) -> dict[str, Estimate]:
    """Return name → the figure of each threshold that labels decide."""
    none = not_estimable("label_agreement", "no text with a label has a score")
    found = {
        "agreement": people.concordance or none,
        "accuracy": people.met or replace(none, metric="labels_met"),
    }
    return found | {rate.metric: rate for rate in people.rates or ()}


def _too_few_scored(people: Agreement, answers: Answers) -> str:
    """Return what to do where too few texts have both a label and a score: what is missing."""
    if people.labels < LEAST_LABELS or (people.texts and people.scored == people.labels):
        return f"Label more texts, drawn at random: {LEAST_LABELS} are the fewest."
    if not answers.failures:
        return (
            f"Only {people.scored} of {counted(people.labels, 'answer')} with a label have a score."
        )
    read = answers.readable or "None"
    return (
        f"{read} of {counted(answers.total, 'answer')} can be read ({answers.why}). "
        f"{answers.remedy}"
    )


def at_least(name: str, estimate: Estimate, least: float, question: str, failed: str) -> Check:
    """Return the check that a figure lies above a threshold: by its interval, `readable` by share.

    See `by_share`.
    """
    check = claimed(name, question, estimate, MarginClaim(Direction.ABOVE, least), failed)
    return by_share(check, least) if name == READABLE else check


@dataclass(frozen=True)
class Again:
    """A set of texts that was judged again: `size` of `texts`, of which `labelled` have labels."""

    size: int
    texts: int
    labelled: int
    decided: frozenset[str]
    """The thresholds that the answers to all texts decided before."""
    same: bool
    """Whether every answer is as before."""

    def action_of(self, check: Check, rule: GateRule) -> str:
        """Return how to decide a check that is open; no number that there is not.

        Answers that stay as they are say that the judge does, not whether it reaches a threshold.
        """
        if check.name in rule.by_labels:
            if self.size >= self.labelled:
                return check.action
            return f"{self._too_few} {self._all_labels(check)}"
        if check.name not in (CHANGED, DRIFT) or check.needed is None:
            return check.action
        if check.needed > self.texts:
            return (
                f"About {check.needed:,} texts would decide it, and {there_are(self.texts)}: add "
                "texts."
            )
        return (
            f"Set `sentinel` in the gate to {check.needed}: as many texts would decide it, and "
            f"{self.size} were judged again."
        )

    @property
    def _too_few(self) -> str:
        same = "All answers are the same as before: the judge is. But " if self.same else ""
        word = "these" if same else "These"
        return f"{same}{word} {counted(self.size, 'text')} cannot decide the threshold."

    def _all_labels(self, check: Check) -> str:
        of_all = (
            f"Leave `sentinel` out of the gate: then all {self.labelled} texts with labels are "
            "judged again"
        )
        if check.name in self.decided:
            return f"{of_all}; as many decided it before."
        # What a rate needs is of one class, and how many of it have labels is not known here.
        if check.name not in CLASSES and check.needed and check.needed <= self.labelled:
            return f"{of_all}; about {check.needed} would decide it."
        return f"{of_all}. If it is still open, label more texts, drawn at random."


def of_sentinel(checks: Sequence[Check], again: Again, rule: GateRule) -> list[Check]:
    """Return checks of texts that were judged again; one that is open says what decides it."""
    return [
        replace(check, action=again.action_of(check, rule)) if is_open(check) else check
        for check in checks
    ]


def sentinel_caution(judge: Judge, rule: GateRule, sentinel: Sequence[Item], labelled: int) -> str:
    """Return which thresholds the sentinel set may not decide; empty where it has all labels.

    By the case that every text is judged as labelled.
    """
    known = [item for item in sentinel if item.truth is not None]
    labels = np.array([known_points(judge, item) for item in known])
    if not rule.by_labels or len(labels) >= labelled:
        return ""
    ones = np.ones(len(labels), dtype=np.int64)
    question = np.array(question_numbers(known), dtype=np.int64)
    rates = class_rates(labels / HIGHEST, labels / HIGHEST, question)
    best = {
        "agreement": label_agreement(labels, labels, cluster=question),
        "accuracy": clustered_share("labels_met", ones, ones, question),
        **{rate.metric: rate for rate in rates},
    }
    never = [
        name
        for name, least in rule.by_labels.items()
        if at_least(name, best[name], least, "", "").result is not Result.PASSES
    ]
    cannot = (
        f"cannot decide {' and '.join(never)} even if every text is judged as labelled"
        if never
        else f"may not decide {' and '.join(rule.by_labels)}"
    )
    return (
        f"{judge.name}: `sentinel` is {len(sentinel)}, with {len(labels)} of {labelled} labels. "
        f"Judged again, they {cannot}. Leave `sentinel` out to judge every text with a label again."
    )


def drift_caution(judge: Judge, rule: GateRule, size: int, texts: int) -> str:
    """Return which margins `size` of `texts` cannot show if nothing changes; "" if they show all.

    It says how many texts each takes, and the margin that as many as these show.
    """
    takes = {
        name: needed
        for name, needed in rule.unchanged_texts(verdicts=judge.decides).items()
        if needed > size
    }
    if not takes:
        return ""
    margins = {"drift": rule.drift, "changed": rule.changed}
    shown = {
        "drift": ceil(largest_share_unseen(size) * 10 * HIGHEST) / 10,
        "changed": ceil(wilson(0, size)[1] * 100) / 100,
    }
    most = max(takes.values())
    more = f"Add {counted(most - texts, 'text')}"
    if most <= texts:
        more = "Leave `sentinel` out of the gate"
    lacking = " and ".join(f"`{name}: {margins[name]:g}` takes {n:,}" for name, n in takes.items())
    wider = " and ".join(f"`{name}` to {shown[name]:g} or more" for name in takes)
    return (
        f"{judge.name}: if nothing changes, {counted(size, 'text')} judged again cannot show it: "
        f"{lacking}. {more}, or set {wider}."
    )


def change_checks(
    judge: Judge,
    rule: GateRule,
    sentinel: Sequence[Item],
    before: Sequence[JudgeResult],
    again: Sequence[JudgeResult],
    between: Sequence[Sequence[JudgeResult]] = (),
) -> list[Check]:
    """Return whether texts are answered and judged as before: each by itself, and on average.

    Of verdicts one check says both of the latter. A text that has lost its answer is changed.
    `between` are the answers of earlier times that the texts were judged again, oldest first:
    with two or more, a check compares all times (see `metrics.anchors`), and those beside the
    first answers fail as `at_look` says. So a steady judge fails each in at most 5% of streams.
    """
    look = len(between) + 1
    looks = [_by_text(sentinel, some) for some in (before, *between, again)]
    old, new = (mean_points(judge, sentinel, some) for some in (looks[0], looks[-1]))
    # A text that lost its verdict, or its score, is judged otherwise, too.
    moved = (new - old)[~np.isnan(old)]
    margins = Margins(equivalence=rule.drift, changed_verdicts=rule.changed)
    kept = _answers_kept(judge, sentinel, before, again)
    if judge.decides:
        changed = (np.isnan(moved) | (np.abs(moved) > 0)).astype(np.float64)
        drift = drift_checks([Drift(changed, verdicts=True)], margins)[0]
        beside = [at_look(drift, MarginClaim(Direction.BELOW, rule.changed), look)]
    else:
        apart = changed_check(moved, margins.near, rule.changed, _may_have_changed(judge))
        drift = drift_checks([Drift(moved[~np.isnan(moved)])], margins)[0]
        beside = [
            at_look(apart, MarginClaim(Direction.BELOW, rule.changed), look),
            at_look(drift, MarginClaim(Direction.WITHIN, rule.drift), look),
        ]
    steady = judge_check(judge, sentinel, looks, "time")
    return [kept, *beside, *([steady] if steady else [])]


def _may_have_changed(judge: Judge) -> str:
    """Return what may answer otherwise: a function's code, or a model."""
    functions = [isinstance(leaf, CallableJudge) for leaf in judge.leaves]
    code = "code may have changed while its `version` did not"
    if all(functions):
        return f"its {code}"
    may = "another model may answer"
    return f"{may}, or a function's {code}" if any(functions) else may


@dataclass(frozen=True)
class MovedText:
    """A text that is judged otherwise than before; None where it has no score."""

    id: str
    before: float | str
    """The verdict, else the mean of the scores as the judge gives them."""
    after: float | str | None


def moved_texts(
    judge: Judge,
    sentinel: Sequence[Item],
    before: Sequence[JudgeResult],
    again: Sequence[JudgeResult],
) -> tuple[MovedText, ...]:
    """Return the texts that `change_checks` sees moved, those by most points first.

    Those that lost their score come last, as `answers kept` tells of them; ties as in the file.
    """
    looks = [_by_text(sentinel, some) for some in (before, again)]
    old, new = (mean_points(judge, sentinel, look) for look in looks)
    by = np.abs(new - old)
    moved = ~np.isnan(old) & (np.isnan(new) | (by > 0))
    texts = []
    for place in np.argsort(-by, kind="stable"):  # NaN comes last
        item = sentinel[place]
        was, is_now = (_said(judge, look[item.key]) for look in looks)
        if moved[place] and was is not None:
            texts.append(MovedText(item.id, was, is_now))
    return tuple(texts)


def _said(judge: Judge, results: Sequence[JudgeResult]) -> float | str | None:
    scores = [result.score for result in results if result.score is not None]
    if not scores:
        return None
    mean = float(np.mean(scores))
    return (judge.verdict_of(mean) if judge.decides else None) or mean


def _answers_kept(
    judge: Judge,
    texts: Sequence[Item],
    before: Sequence[JudgeResult],
    again: Sequence[JudgeResult],
) -> Check:
    by_text = (_by_text(texts, some) for some in (before, again))
    then, now = ({key: rs for key, rs in one.items() if rs} for one in by_text)
    both = [key for key in then if key in now]
    was, is_now = (readable_shares(some[key] for key in both) for some in (then, now))
    return answers_kept_check(was, is_now, readable_of(judge, again))


def same_answers(
    sentinel: Sequence[Item], before: Sequence[JudgeResult], again: Sequence[JudgeResult]
) -> bool:
    """Whether every answer to these texts is the same: its end, its score and its verdict."""
    was, now = (
        {
            key: [(one.repeat, one.status, one.score, one.verdict) for one in some]
            for key, some in _by_text(sentinel, results).items()
        }
        for results in (before, again)
    )
    return was == now


def served_check(judge: Judge, before: Answered, now: Answered) -> Check | None:
    """Return whether the same model answers as before; None where no other name is given.

    A dated version of the model asked for may answer: then the other checks decide. Whether another
    model may stand in for it, they cannot tell.
    """
    others = sorted(set(now.served) - set(before.served))
    if not others or not before.served:
        return None
    versions = all(any(is_version_of(name, model) for model in judge.answerers) for name in others)
    reason = f"{', '.join(before.served)} answered before, and {', '.join(others)} now"
    return Check(
        SERVED,
        "the same model answers as before",
        not_estimable("served_model", reason),
        Result.PASSES if versions else Result.CANNOT_TELL,
        reason,
        "" if versions else "Name the model that is to answer, with its date, in the judge's file.",
    )


def _by_text(texts: Sequence[Item], results: Sequence[JudgeResult]) -> dict[str, list[JudgeResult]]:
    by_text: dict[str, list[JudgeResult]] = {item.key: [] for item in texts}
    for result in results:
        if result.item_key in by_text:
            by_text[result.item_key].append(result)
    return by_text
