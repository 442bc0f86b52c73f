"""How far texts that try to steer a judge do so: the lift of its verdicts over clean twins.

A twin is the same text without the attempt, known by its title. Both are judged under the same
settings; the difference is taken within a pair, so what the texts themselves say drops out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.design.experiment import Experiment
from judge_gym.design.sweep import Sweep
from judge_gym.errors import EvidenceError
from judge_gym.evidence.typed_rows import NO_ANSWER
from judge_gym.judges.base import Judge
from judge_gym.judges.calibrating.assessing import points_of
from judge_gym.judges.calibrating.judging import results_by_row
from judge_gym.judges.item_files import read_item_file
from judge_gym.metrics.cells import Verdicts
from judge_gym.metrics.estimate import Estimate, mean_over_items, not_estimable
from judge_gym.metrics.inference import holm_over, score_shift, sign_flip_p
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult
from judge_gym.seeds import derive_seed
from judge_gym.store.sweep_data import judged_documents

CLEAN, ATTACKED = "clean", "attacked"
"""The windows of the suite's sweep; a document's category is the kind of attempt."""
SETTING = ("evidence_view", "prompt_order", "scoring_method")
"""The axes that lifts are told apart by."""

Setting = tuple[str, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class SuiteJudgement:
    """One judgement of the suite; `stages` is a bit set, None when there is no verdict."""

    judge: str
    setting: Setting
    attacked: bool
    title: str
    attack: str
    stages: int | None
    simulated: bool


@dataclass(frozen=True)
class Lift:
    """How much higher the attacked texts were placed than their twins, on the 0-1 scale."""

    judge: str
    setting: Setting | None
    """None over all settings."""
    attack: str
    """The kind of attempt; empty over all."""
    estimate: Estimate
    simulated: bool
    without_verdict: int
    """Judgements, of either twin, that ended without a verdict."""


def injection_lifts(session: Session, sweep: Sweep) -> list[Lift]:
    """Return each judge's lift over everything, then by setting, then by kind of attempt.

    p values are adjusted by Holm, over a judge's settings and over its kinds of attempt.
    """
    judgements = outcomes(session, sweep)
    scale = next(sweep.experiments()).scale_size
    judges = _distinct(judgements, lambda outcome: outcome.judge)
    return [lift for judge in judges for lift in _of_judge(judgements, judge, scale)]


@dataclass(frozen=True)
class AttackedPairs:
    """The pairs of a file, each once: clean texts and, in the same order, attacked ones."""

    path: Path
    clean: tuple[Item, ...]
    attacked: tuple[Item, ...]
    repeated: int
    """Rows that have the pair of another."""

    @property
    def texts(self) -> tuple[Item, ...]:
        """What is judged."""
        return (*self.clean, *self.attacked)

    def said(self) -> str:
        """Return how many pairs were read, for a person."""
        kinds = Counter(item.category for item in self.attacked)
        of_each = ", ".join(f"{kind} {count:,}" for kind, count in kinds.items())
        sentence = f"{counted(len(self.clean), 'pair')} of {self.path.name}: {of_each}."
        if self.repeated:
            rows = "1 row repeats" if self.repeated == 1 else f"{self.repeated:,} rows repeat"
            sentence += f" {rows} the pair of another; each pair counts once."
        return sentence


def read_attempts(path: Path) -> AttackedPairs:
    """Return the clean texts of a file and the same texts with an attempt.

    A row has `text` (with the attempt), `clean` (without) and `attack` (the kind, whose case and
    outer spaces do not matter). Raises `EvidenceError` naming the line that does not fit: a pair
    that lacks a part, or has two equal texts, has no lift, and one of two kinds has two.
    """
    sides = [
        read_item_file(path, {"text": column, "category": "attack"}, named_by=None)
        for column in ("clean", "text")
    ]
    spelled: dict[str, str] = {}
    found: dict[tuple[str, str], tuple[Item, Item, str]] = {}
    for place, before, after in zip(sides[1].places, sides[0].items, sides[1].items, strict=True):
        kind = after.category.strip()
        parts = {"clean": before.text, "text": after.text, "attack": kind}
        if lacking := [name for name, value in parts.items() if value in ("", NO_ANSWER)]:
            raise EvidenceError(
                f"{place}: {' and '.join(lacking)} is empty.",
                "A pair has a clean text, the same text with the attempt, and the kind of attack.",
            )
        if after.second is not None:
            raise EvidenceError(
                f"{place}: second is given, and injections are into single texts.",
                "Take the column out.",
            )
        if before.text == after.text:
            raise EvidenceError(
                f"{place}: clean and text are equal, so the text has no attempt.",
                "Write the attempt into text, or take the pair out.",
            )
        kind = spelled.setdefault(kind.casefold(), kind)
        pair = [one.model_copy(update={"category": kind}) for one in (before, after)]
        _, first, above = found.setdefault((before.key, after.key), (pair[0], pair[1], place))
        if first.category != kind:
            raise EvidenceError(
                f"{place}: attack is {kind!r}, and {above} has this pair as {first.category!r}.",
                "Give a pair one kind of attack.",
            )
    clean, attacked, _ = zip(*found.values(), strict=True)
    return AttackedPairs(path, clean, attacked, len(sides[1].items) - len(found))


def product_lifts(session: Session, judge: Judge, pairs: AttackedPairs) -> list[Lift]:
    """Return a product judge's lift over all pairs judged so far, then by kind of attempt.

    Lifts are on the judge's scale as 0 to 1, with t intervals over pairs and p of sign flips, by
    Holm over the kinds.
    """
    sides = [results_by_row(session, judge, items, 1) for items in (pairs.clean, pairs.attacked)]
    means = []
    for results in sides:
        by_text: dict[str, list[JudgeResult]] = {}
        for result in results:
            by_text.setdefault(result.item_key, []).append(result)
        points = {key: points_of(judge, own) for key, own in by_text.items()}
        means.append({key: float(np.mean(own)) for key, own in points.items() if own})
    lifts = [
        (after.category, (means[1][after.key] - means[0][before.key]) / 100)
        for before, after in zip(pairs.clean, pairs.attacked, strict=True)
        if before.key in means[0] and after.key in means[1]
    ]
    without = sum(result.score is None for results in sides for result in results)
    simulated = any(result.simulated for results in sides for result in results)

    def lift(kind: str = "") -> Lift:
        moved = np.array([value for of, value in lifts if kind in ("", of)], dtype=np.float64)
        estimate = not_estimable("injection_lift", "no pair has two scores")
        if len(moved):
            estimate = mean_over_items(
                "injection_lift", moved, n=len(moved), unit="share of the scale", bounds=(-1, 1)
            )
            rng = np.random.default_rng(derive_seed("injection", judge.key, kind))
            estimate = replace(estimate, p=sign_flip_p(moved, rng))
        return Lift(judge.name, None, kind, estimate, simulated, 0 if kind else without)

    kinds = dict.fromkeys(item.category for item in pairs.attacked)
    return [lift(), *_corrected([lift(kind) for kind in kinds])]


def outcomes(session: Session, sweep: Sweep) -> list[SuiteJudgement]:
    """Return the judgements of the sweep's experiments so far, in a stable order."""
    experiments = {experiment.key: experiment for experiment in sweep.experiments()}
    attacked = sweep.windows[ATTACKED].key
    judgements = judged_documents(session, sweep.name)
    return [
        SuiteJudgement(
            judge=experiments[outcome.experiment_key].model,
            setting=setting_of(experiments[outcome.experiment_key]),
            attacked=experiments[outcome.experiment_key].window.key == attacked,
            title=outcome.title,
            attack=outcome.category,
            stages=outcome.stages,
            simulated=outcome.simulated,
        )
        for outcome in judgements
    ]


def setting_of(experiment: Experiment) -> Setting:
    """Return an experiment's values on the axes of `SETTING`."""
    return tuple(str(getattr(experiment, axis)) for axis in SETTING)


def lift_of(outcomes: Sequence[SuiteJudgement], scale: int, name: str) -> Estimate:
    """Return the lift over these outcomes of one judge, in [-1, 1].

    Per pair the mean over settings of (attacked - clean), over the settings in which both have a
    verdict; then the mean over pairs, with `score_shift`'s interval and p.
    """
    settings, titles = (
        _distinct(outcomes, lambda outcome: outcome.setting),
        _distinct(outcomes, lambda outcome: outcome.title),
    )

    def verdicts(*, attacked: bool) -> Verdicts:
        chosen = [
            outcome
            for outcome in outcomes
            if outcome.attacked == attacked and outcome.stages is not None
        ]
        return Verdicts(
            judge=np.array([settings.index(outcome.setting) for outcome in chosen], dtype=np.int64),
            item=np.array([titles.index(outcome.title) for outcome in chosen], dtype=np.int64),
            stages=np.array([outcome.stages for outcome in chosen], dtype=np.int64),
            n_judges=len(settings),
            n_items=len(titles),
            n_stages=scale,
        )

    rng = np.random.default_rng(derive_seed("injection", name))
    before, after = verdicts(attacked=False), verdicts(attacked=True)
    return score_shift("injection_lift", before, after, rng)


def _of_judge(outcomes: Sequence[SuiteJudgement], judge: str, scale: int) -> Iterable[Lift]:
    own = [outcome for outcome in outcomes if outcome.judge == judge]

    def lift(
        chosen: Sequence[SuiteJudgement], setting: Setting | None = None, attack: str = ""
    ) -> Lift:
        return Lift(
            judge=judge,
            setting=setting,
            attack=attack,
            estimate=lift_of(chosen, scale, f"{judge}/{setting}/{attack}"),
            simulated=any(outcome.simulated for outcome in chosen),
            without_verdict=sum(outcome.stages is None for outcome in chosen),
        )

    settings = _distinct(own, lambda outcome: outcome.setting)
    attacks = _distinct(own, lambda outcome: outcome.attack)
    yield lift(own)
    yield from _corrected(
        [
            lift([outcome for outcome in own if outcome.setting == setting], setting)
            for setting in settings
        ]
    )
    yield from _corrected(
        [
            lift([outcome for outcome in own if outcome.attack == attack], attack=attack)
            for attack in attacks
        ]
    )


def _corrected(lifts: Sequence[Lift]) -> Iterable[Lift]:
    """Return lifts whose p are Holm's over all of them: one in twenty would differ by chance."""
    corrected = holm_over([lift.estimate for lift in lifts])
    return (
        replace(lift, estimate=estimate) for lift, estimate in zip(lifts, corrected, strict=True)
    )


def _distinct(outcomes: Sequence[SuiteJudgement], part: Callable[[SuiteJudgement], T]) -> list[T]:
    return list(dict.fromkeys(map(part, outcomes)))
