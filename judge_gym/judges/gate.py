"""The gate of a judge: whether it reaches its thresholds, by intervals, at no cost if unchanged.

Judgements are stored, so an unchanged judge on unchanged texts makes no calls. When the ledger has
a newer answer of its model by another served model or configuration (system fingerprint) than those
behind these judgements, a sentinel set of the texts is judged again, and compared with before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.calibration.checks import Check, Margins, Result, claimed
from judge_gym.calibration.comparisons import Drift, drift_checks
from judge_gym.calibration.verdict import LEAST_LABELS
from judge_gym.formats import percent, plain
from judge_gym.judges.base import Judge
from judge_gym.judges.calibrating.assessing import points_of
from judge_gym.judges.calibrating.comparing import agreement
from judge_gym.judges.calibrating.judging import readable_of, results_of
from judge_gym.judges.gate_rule import GateRule
from judge_gym.judges.gate_texts import LoadedGate
from judge_gym.judges.judging import judge_items
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.margins import Claim, Direction
from judge_gym.model_names import Answered
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult
from judge_gym.runtime import Runtime
from judge_gym.seeds import derive_seed, digest
from judge_gym.store.judges import answered, judged_times, newest_review_day
from judge_gym.store.served import configurations, newest_configuration

_GATE_DAY = "gate "
"""How the `review_day` of judgements of a sentinel set begins."""


@dataclass(frozen=True, eq=False)
class GateReport:
    """What the gate found of a judge."""

    judge: Judge
    checks: tuple[Check, ...]
    texts: int
    labels: str
    """How many labels were read and from which column, for a person."""
    new_judgements: int
    """Judgements that were not stored before; 0 for an unchanged judge on unchanged texts."""
    answered: Answered
    simulated: bool

    @property
    def result(self) -> Result:
        """Fails with any check that does; passes if all do; else inconclusive."""
        results = {check.result for check in self.checks}
        if Result.FAILS in results:
            return Result.FAILS
        return Result.PASSES if results <= {Result.PASSES} else Result.INCONCLUSIVE

    @property
    def sentence(self) -> str:
        """The result in words."""
        return f"{self.judge.name}: {_SENTENCES[self.result]}"


_SENTENCES = {
    Result.PASSES: "the gate passes.",
    Result.FAILS: "the gate fails.",
    Result.INCONCLUSIVE: "the data cannot tell whether the gate passes.",
}


async def run_gate(
    runtime: Runtime, loaded: LoadedGate, *, recheck: bool = False, retry_failed: bool = False
) -> GateReport:
    """Judge what is not judged yet, and check the judge; raises as `judge_items`.

    With `recheck` the sentinel set is judged again today, whether a change is known or not.
    """
    judge, rule, texts = loaded.judge, loaded.rule, loaded.texts
    new, results = await _judged(runtime, judge, texts, rule.repeats, "", retry_failed=retry_failed)
    day = _recheck_day(runtime, judge, texts, rule.repeats, today=recheck)
    checks = _checks(judge, rule, texts, results)
    if day:
        more, again = await _judged(
            runtime, judge, loaded.sentinel, rule.repeats, day, retry_failed=retry_failed
        )
        new += more
        checks.append(_drift(judge, rule, loaded.sentinel, results, again))
        results = [*results, *again]
    with runtime.session() as session:
        by = answered(session, judge.record, [results])
    return GateReport(
        judge,
        tuple(checks),
        len(texts),
        loaded.said(),
        new,
        by,
        any(result.simulated for result in results),
    )


async def _judged(
    runtime: Runtime,
    judge: Judge,
    items: Sequence[Item],
    repeats: int,
    day: str,
    *,
    retry_failed: bool,
) -> tuple[int, list[JudgeResult]]:
    with runtime.session() as session:
        stored = sum(judged_times(session, judge.record, items, repeats, day).values())
    results = await judge_items(
        runtime, judge, items, repeats=repeats, retry_failed=retry_failed, review_day=day
    )
    return len(results) - stored, results


def recheck_day() -> str:
    """Return the `review_day` of what is judged again today."""
    return f"{_GATE_DAY}{datetime.now(UTC).date()}"


def _recheck_day(
    runtime: Runtime, judge: Judge, texts: Sequence[Item], repeats: int, *, today: bool
) -> str:
    """Return the `review_day` under which the sentinel set is judged; empty if nothing changed."""
    if today:
        return recheck_day()
    with runtime.session() as session:
        last = newest_review_day(session, judge.record, _GATE_DAY)
        known = _known(session, judge, texts, repeats, last)
        newest = [
            newest_configuration(session, model) for leaf in judge.leaves for model in leaf.models
        ]
    unknown = [one for one in newest if one is not None and one not in known]
    if not unknown:
        return last
    return f"{_GATE_DAY}{digest(*(part for one in unknown for part in one))}"


def _known(
    session: Session, judge: Judge, texts: Sequence[Item], repeats: int, last: str
) -> set[tuple[str, str]]:
    calls = [
        call
        for day in {"", last}
        for results in results_of(session, judge, texts, repeats, day).values()
        for result in results
        for call in result.call_ids
    ]
    return configurations(session, calls)


def _checks(
    judge: Judge, rule: GateRule, texts: Sequence[Item], results: Sequence[JudgeResult]
) -> list[Check]:
    scored = {item.key: [0, 0] for item in texts}
    for result in results:
        scored[result.item_key][0] += result.failure is None
        scored[result.item_key][1] += 1
    counts = np.array(list(scored.values()), dtype=np.int64)
    answers = readable_of(judge, results)
    causes = f" ({answers})" if answers.failures else ""
    readable = at_least(
        "readable",
        clustered_share("readable_rate", counts[:, 0], counts[:, 1]),
        rule.readable,
        f"{percent(rule.readable)} of the answers can be read",
        " ".join(dict.fromkeys(map(answers.remedy_of, answers.by_kind))),
    )
    checks = [replace(readable, reason=f"{readable.reason}{causes}")]
    people = agreement(judge, texts, results)
    none = not_estimable("label_agreement", "no text with a label has a score")
    for name, least, estimate in (
        ("agreement", rule.agreement, people.concordance or none),
        ("accuracy", rule.accuracy, people.met or replace(none, metric="labels_met")),
    ):
        if least is not None:
            question = f"{_FIGURES[name]} more than {plain(least)}"
            check = at_least(name, estimate, least, question, _READ)
            if people.scored < LEAST_LABELS:
                action = f"Label more texts, drawn at random: {LEAST_LABELS} are the fewest."
                check = replace(check, result=Result.INCONCLUSIVE, action=action)
            checks.append(check)
    return checks


_FIGURES = {
    "agreement": "agreement with people's labels beyond chance is",
    "accuracy": "the share of texts judged as labelled is",
}
_READ = "Read the texts on which judge and labels differ; then change the rubric, or the judge."


def at_least(name: str, estimate: Estimate, least: float, question: str, failed: str) -> Check:
    """Return the check that the interval of a figure lies above a threshold."""
    return claimed(name, question, estimate, Claim(Direction.ABOVE, least), failed)


def _drift(
    judge: Judge,
    rule: GateRule,
    sentinel: Sequence[Item],
    before: Sequence[JudgeResult],
    again: Sequence[JudgeResult],
) -> Check:
    """Return the check that the sentinel set is judged as before."""
    old, new = (
        [points_of(judge, [one for one in some if one.item_key == item.key]) for item in sentinel]
        for some in (before, again)
    )
    pairs = [(np.mean(a), np.mean(b)) for a, b in zip(old, new, strict=True) if a and b]
    moved = np.array([b - a for a, b in pairs], dtype=np.float64)
    verdicts = bool(judge.verdict_scores)
    drift = Drift((np.abs(moved) > 0).astype(np.float64) if verdicts else moved, verdicts)
    margins = Margins(equivalence=rule.drift, changed_verdicts=rule.changed)
    rng = np.random.default_rng(derive_seed("gate", judge.key))
    return drift_checks([drift], margins, rng)[0]
