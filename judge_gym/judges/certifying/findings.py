"""The figures of a certificate, computed of its evidence alone.

`judge certify` and `judge certificate verify` both call `findings`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judge_gym.calibration.checks import Result
from judge_gym.judges.certifying.certificate import (
    CertifiedAgreement,
    CertifiedLabels,
    CertifiedRate,
    CertifiedSlice,
    Findings,
    OneCorrectionFound,
    Population,
    Requirements,
    State,
    Use,
)
from judge_gym.judges.certifying.evidence import Evidence
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.class_rates import (
    ClassCounts,
    SlicesShown,
    class_counts,
    fewest_labels,
    labels_needed,
    level_of,
    slices_shown,
)
from judge_gym.metrics.estimate import Estimate, wilson
from judge_gym.metrics.score_agreement import label_agreement
from judge_gym.metrics.system_scores import OneCorrection, SystemScores, one_correction
from judge_gym.seeds import derive_seed

_TOO_FEW: State = "too few labels"


@dataclass(frozen=True, eq=False)
class _SliceAnswers:
    """The labelled answers of a slice, of a system or all: judge, people, text and question."""

    name: str
    judge: FloatArray
    people: FloatArray
    text: IntArray
    cluster: IntArray

    @cached_property
    def known(self) -> BoolArray:
        return np.isfinite(self.people)

    @property
    def texts(self) -> int:
        return self._different(self.known)

    @property
    def answered(self) -> int:
        return self._different(self.known & np.isfinite(self.judge))

    def _different(self, chosen: BoolArray) -> int:
        return len(np.unique(self.text[chosen]))

    def by_class(self) -> tuple[int, int]:
        """Return how many different texts with a verdict people passed, and how many they failed.

        An answer that is given often is as many answers, and no evidence about other texts.
        """
        judged = np.isfinite(self.judge)
        passed, failed = (self._different(judged & (self.people == one)) for one in (1, 0))
        return passed, failed

    def counts(self, level: float) -> tuple[ClassCounts, ClassCounts]:
        return class_counts(self.judge, self.people, self.cluster, level)

    def agreement(self, level: float) -> CertifiedAgreement:
        both = self.known & np.isfinite(self.judge)
        cluster = np.unique(self.cluster[both], return_inverse=True)[1]
        found = label_agreement(self.people[both], self.judge[both], level=level, cluster=cluster)
        return _agreement(found)


def population_of(evidence: Evidence, left_out: int) -> Population:
    """Return about which texts the evidence is; `left_out` is not to be told of it."""
    units = evidence.units
    return Population(
        texts=len(evidence.texts),
        questions=len({unit.question for unit in units}),
        slices=tuple(sorted({unit.slice for unit in units} - {""})),
        systems=tuple(sorted({unit.system for unit in units} - {""})),
        texts_digest=evidence.texts_digest,
        verdicts_digest=evidence.verdicts_digest,
        left_out=left_out,
    )


def labels_of(evidence: Evidence) -> CertifiedLabels:
    """Return whose labels the evidence has."""
    return CertifiedLabels(
        count=sum(map(len, evidence.labels.values())),
        by={name: len(evidence.labels[name]) for name in evidence.annotators},
        undecided=evidence.undecided,
        adjudicated=len(evidence.decided),
        digest=evidence.labels_digest,
    )


def findings(evidence: Evidence, required: Requirements) -> Findings:
    """Return every figure of a certificate, and which uses they show.

    A slice is `reached` where both rates reach what is required by `class_rates.slices_shown`
    and the judge gave a verdict of enough texts. For use in a gate every slice has to be. To rank,
    equal errors on all systems have to be shown (`one_correction`), and to monitor that the judge
    is better than chance in every slice. With too few labels in a slice no use is shown.
    """
    units = evidence.units
    [overall] = _slices(_grouped(evidence, [""] * len(units)), required)
    slices = [overall]
    if required.by:
        slices = _slices(_grouped(evidence, [unit.slice for unit in units]), required)
    of_systems = _grouped(evidence, [unit.system or None for unit in units])
    systems = _slices(of_systems, required)
    test = _one_correction(evidence, of_systems)
    uses = tuple(_uses(slices, overall, test))
    return Findings(
        use=uses[0] if uses else "none",
        uses=uses,
        overall=overall,
        slices=tuple(slices),
        systems=tuple(systems),
        one_correction=None if test is None else OneCorrectionFound(p=test.p, power=test.power),
        people_agreement=_agreement(evidence.agreement()),
    )


def _grouped(evidence: Evidence, names: Sequence[str | None]) -> list[_SliceAnswers]:
    """Return the texts of each name in order; of None are those of no group.

    A text counts as often as people labelled it as an answer of the group, as in a gate. It is
    judged once and has one known answer, so these answers are of one cluster, however many of the
    group's questions they answer: that of the first of them.
    """
    units = evidence.units
    judge, people = evidence.judged(), evidence.people()
    texts, questions = (
        np.unique([getattr(unit, of) for unit in units], return_inverse=True)[1]
        for of in ("text", "question")
    )
    places: dict[str, list[int]] = {}
    for place, (name, unit) in enumerate(zip(names, units, strict=True)):
        if name is not None:
            places.setdefault(name, []).extend([place] * unit.answers)
    groups = []
    for name, of in sorted(places.items()):
        chosen = np.array(of, dtype=np.int64)
        _, first, text = np.unique(texts[chosen], return_index=True, return_inverse=True)
        cluster = questions[chosen][first][text]
        groups.append(_SliceAnswers(name, judge[chosen], people[chosen], text, cluster))
    return groups


def _uses(
    slices: Sequence[CertifiedSlice], overall: CertifiedSlice, test: OneCorrection | None
) -> Iterator[Use]:
    """Yield the uses that are shown for all texts, the strongest first."""
    if any(one.state == _TOO_FEW for one in slices):
        return
    if all(one.use == "gate" for one in slices):
        yield "gate"
    if test is not None and test.serves and overall.use != "none":
        yield "rank"
    if all(one.use != "none" for one in slices):
        yield "monitor"


def result_of(found: Findings) -> Result:
    """Return whether what is required is shown in every slice, shown to be missed, or open."""
    states = {one.state for one in found.slices}
    if "missed" in states:
        return Result.FAILS
    return Result.PASSES if states == {"reached"} else Result.CANNOT_TELL


def _slices(groups: Sequence[_SliceAnswers], required: Requirements) -> list[CertifiedSlice]:
    """Return what is shown in each group: bounds hold for all groups with enough labels at once."""
    fewest = [fewest_labels(one) for one in required.least]
    enough = [
        all(texts >= few for texts, few in zip(group.by_class(), fewest, strict=True))
        for group in groups
    ]
    level = level_of(max(1, sum(enough)))
    counts = [group.counts(level) for group in groups]
    tested = [of for of, kept in zip(counts, enough, strict=True) if kept]
    family = _Family(required, len(groups), len(tested), _decided(tested, required))
    places = iter(range(len(tested)))
    return [
        family.slice(group, of, next(places) if kept else None)
        for group, of, kept in zip(groups, counts, enough, strict=True)
    ]


def _decided(
    counts: Sequence[tuple[ClassCounts, ClassCounts]], required: Requirements
) -> SlicesShown | None:
    if not counts:
        return None
    hits = np.array([[of.hits for of in both] for both in counts])
    trials = np.array([[of.trials for of in both] for both in counts])
    return slices_shown(hits, trials, np.array(required.least))


@dataclass(frozen=True)
class _Family:
    """Slices that are decided together: of `size`, those `tested` have enough labels."""

    required: Requirements
    size: int
    tested: int
    decided: SlicesShown | None
    """Of the tested ones, in order."""

    def slice(
        self, group: _SliceAnswers, counts: tuple[ClassCounts, ClassCounts], place: int | None
    ) -> CertifiedSlice:
        """Return what is shown of a group, which is the `place`-th that is tested, or none."""
        state, use = self._state(group, place)
        texts = group.by_class()
        passed, failed = (
            self._rate(of, texts[which], which, place) for which, of in enumerate(counts)
        )
        return CertifiedSlice(
            name=group.name,
            state=state,
            use=use,
            texts=group.texts,
            readable=group.answered / group.texts if group.texts else None,
            sensitivity=passed,
            specificity=failed,
            agreement=group.agreement(level_of(max(1, self.tested))),
        )

    def _state(self, group: _SliceAnswers, place: int | None) -> tuple[State, Use]:
        if self.decided is None or place is None:
            return _TOO_FEW, "none"
        least = self.required.readable
        readable = group.answered >= least * group.texts
        if readable and self.decided.reached[place]:
            return "reached", "gate"
        unread = not readable and wilson(group.answered, group.texts)[1] < least
        missed = unread or bool(self.decided.missed[place])
        return "missed" if missed else "open", "monitor" if self.decided.better[place] else "none"

    def _rate(self, of: ClassCounts, texts: int, which: int, place: int | None) -> CertifiedRate:
        least = self.required.least[which]
        lower: float | None = None
        upper: float | None = None
        if self.decided is None or place is None:
            # All slices have to be shown, so that all will be tested.
            needed: int | None = of.n + max(0, fewest_labels(least, self.size) - texts)
        else:
            lower = float(self.decided.lower[place, which])
            upper = float(self.decided.upper[place, which])
            needed = of.n if lower >= least else labels_needed(of, least, self.tested)
        more = None if needed is None else max(0, needed - of.n)
        return CertifiedRate(estimate=of.rate, lower=lower, upper=upper, n=of.n, more=more)


def _agreement(found: Estimate) -> CertifiedAgreement:
    return CertifiedAgreement(estimate=found.estimate, lower=found.lower, n=found.n)


def _one_correction(evidence: Evidence, systems: Sequence[_SliceAnswers]) -> OneCorrection | None:
    if len(systems) < 2:
        return None
    number = np.repeat(np.arange(len(systems)), [len(one.judge) for one in systems])
    judge, people, question = (
        np.concatenate([getattr(one, of) for one in systems])
        for of in ("judge", "people", "cluster")
    )
    cluster = np.unique(question, return_inverse=True)[1]
    scores = SystemScores(number, cluster, judge, people, len(systems), binary=True)
    rng = np.random.default_rng(derive_seed("certificate", evidence.texts_digest))
    return one_correction(scores, rng)
