"""The gate of a judge: whether it reaches its thresholds, by intervals, at no cost if unchanged.

Judgements are stored, so an unchanged judge on unchanged texts makes no calls. When the ledger has
a newer answer of its model by another served model or configuration (system fingerprint) than those
behind these judgements, a sentinel set of the texts is judged again, and compared with before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.calibration.checks import Check, Margins, Result, claimed
from judge_gym.calibration.comparisons import Drift, drift_checks
from judge_gym.calibration.verdict import LEAST_LABELS
from judge_gym.counting import counted
from judge_gym.design.config import what_exists
from judge_gym.errors import ConfigError
from judge_gym.formats import percent, plain
from judge_gym.judges.aligning.splitting import TEXT_DIGITS, example_texts, same_text
from judge_gym.judges.base import Judge
from judge_gym.judges.calibrating.assessing import points_of
from judge_gym.judges.calibrating.comparing import agreement
from judge_gym.judges.calibrating.judging import readable_of, results_of
from judge_gym.judges.gate_rule import GateRule
from judge_gym.judges.item_files import ItemFile, read_item_file
from judge_gym.judges.judging import judge_items
from judge_gym.judges.label_files import read_labels
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

_PLACE = "the gate in the judge's file"
_GATE_DAY = "gate "
"""How the `review_day` of judgements of a sentinel set begins."""


@dataclass(frozen=True, eq=False)
class LoadedGate:
    """A judge with its rule and the texts that it names."""

    judge: Judge
    rule: GateRule
    file: ItemFile

    @cached_property
    def texts(self) -> tuple[Item, ...]:
        """The texts that count: those that the judge does not have as examples."""
        examples = example_texts(self.judge)
        return tuple(item for item in self.file.texts if same_text(item) not in examples)

    @property
    def sentinel(self) -> list[Item]:
        """The part of them that is judged again to see drift."""
        return sorted(self.texts, key=lambda item: item.key)[: self.rule.sentinel]

    @property
    def aligned_on(self) -> int:
        """How many of them the judge was aligned on, for training or for the choice."""
        made = self.judge.provenance
        known = set(made.chosen_on.split()) if made else set()
        return sum(same_text(item)[:TEXT_DIGITS] in known for item in self.texts)

    def said(self) -> str:
        """Return how many labels were read, and which texts the judge was made from."""
        sentence = self.file.said(self.judge, _PLACE)
        if shown := len(self.file.texts) - len(self.texts):
            sentence += f" {counted(shown, 'text')} in the judge's examples: left out."
        if self.aligned_on:
            sentence += (
                f" The judge was aligned on {self.aligned_on} of these texts: figures on them may "
                "be too high."
            )
        return sentence


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


def read_gate(judge: Judge) -> LoadedGate:
    """Read the texts of a judge's gate, with the reference of people's labels where it has a file.

    Raises `ConfigError` for a judge without a gate and for a file that does not exist; and as
    `read_item_file`, `read_labels` and `ItemFile.check` do.
    """
    if judge.gate is None:
        raise ConfigError(
            f"{judge.called} has no gate.", "Add `gate: {items: labelled.jsonl}` to its file."
        )
    rule = judge.gate
    for key, path in (("items", rule.items), ("labels", rule.labels)):
        if path and not path.exists():
            raise ConfigError(
                f"{judge.called}: gate.{key} is {path}, which does not exist.", what_exists(path)
            )
    labels = read_labels(rule.labels, rule.label_fields) if rule.labels else None
    texts = read_item_file(rule.items, rule.fields).with_labels(labels, [judge])
    texts.check([judge])
    return LoadedGate(judge, rule, texts)


def load_gate(judge: Judge) -> LoadedGate:
    """Read the texts of a judge's gate, labelled where it asks for agreement or accuracy.

    Raises `ConfigError` when none has a label there, and as `read_gate` does.
    """
    gate = read_gate(judge)
    rule, texts = gate.rule, gate.file
    claims = {"agreement": rule.agreement, "accuracy": rule.accuracy}
    asked = [name for name, least in claims.items() if least is not None]
    if asked and all(item.truth is None for item in texts.items):
        without = ", ".join(f"gate.{name}: null" for name in asked)
        raise ConfigError(
            f"{judge.called}: the gate asks for {' and '.join(asked)}, and no text of {rule.items} "
            f"has a label. {texts.said(judge, _PLACE)}",
            f"Label at least {LEAST_LABELS} texts, or set {without}: then the gate asks only "
            "whether the answers can be read.",
        )
    return gate


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
