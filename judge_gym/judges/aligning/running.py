"""An alignment from file to verdict: train, choose on development, look at the test set once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import numpy as np

from judge_gym.asking.budgeting import Spender
from judge_gym.asking.estimating import UsageEstimate
from judge_gym.calibration.alignment_file import AlignmentFile, load_alignment
from judge_gym.calibration.checks import Result, more_items
from judge_gym.calibration.verdict import LEAST_LABELS
from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError
from judge_gym.judges.aligning.candidates import (
    Candidate,
    Trained,
    trained,
    with_examples,
)
from judge_gym.judges.aligning.proposing import Proposals
from judge_gym.judges.aligning.splitting import Part, Parts, digest_of, same_text, split_texts
from judge_gym.judges.calibrating.assessing import known_points, points_of
from judge_gym.judges.calibrating.judging import Asked, results_of
from judge_gym.judges.files import load_judge
from judge_gym.judges.item_files import ItemFile, read_item_file
from judge_gym.judges.judging import judge_items
from judge_gym.judges.label_files import read_labels
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import EPSILON, Estimate
from judge_gym.metrics.margins import Claim, Direction
from judge_gym.metrics.score_agreement import agreement_gain, label_agreement
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult
from judge_gym.runtime import Runtime
from judge_gym.store import alignments as store
from judge_gym.store.calls import cost_of
from judge_gym.store.judges import save_judge
from judge_gym.store.spending import Scope, spent

Results = dict[str, list[JudgeResult]]
"""Item key → what a judge said of it."""


_RUBRIC = "rubric"
"""How the names of proposed rubrics begin."""


class Outcome(StrEnum):
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
    """No candidate does better on development: the test set stays sealed."""
    TOO_FEW = "too few labels"
    """A part has too few labels: nothing was judged."""
    USED_UP = "used up"
    """Too few labelled texts of the test have never been looked at: nothing was judged."""


_RESULTS = {Outcome.SURVIVES: Result.PASSES, Outcome.WORSE: Result.FAILS}


@dataclass(frozen=True, eq=False)
class LoadedAlignment:
    """An alignment file with what it names."""

    file: Path
    design: AlignmentFile
    judge: ModelJudge
    items: ItemFile
    parts: Parts

    @property
    def simulated(self) -> bool:
        """Whether the simulator plays the judge, or made a text."""
        return self.judge.is_simulated or any(item.simulated for item in self.items.texts)


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Two judges on the same labelled texts."""

    gain: Estimate
    before: Estimate
    after: Estimate
    apart: tuple[float, float]
    """Mean distance from the label in points of 100, before and after; of verdicts the percentage
    that differ."""
    covered: float
    """Share of the texts with a score of the judge before that have one of the other, too."""

    @property
    def texts(self) -> int:
        """Texts with a label and a score of both."""
        return self.gain.n_items


@dataclass(frozen=True, eq=False)
class Tried:
    """A candidate, and what development says of it; None for one that could not be made."""

    candidate: Candidate
    development: SideBySide | None = None
    cost_usd: float | None = None
    """US dollars of its judgements; None if a price is unknown."""


@dataclass(frozen=True)
class Opened:
    """A look at the test set."""

    at: datetime
    items: tuple[Item, ...]
    earlier: tuple[datetime, ...]
    """When texts of it were looked at before, the first first."""
    spared: int
    """Labelled texts of the test that were left out, as they had been looked at."""


@dataclass(frozen=True, eq=False)
class AlignmentReport:
    """What came of an alignment."""

    loaded: LoadedAlignment
    outcome: Outcome
    tried: tuple[Tried, ...] = ()
    chosen: Tried | None = None
    look: Opened | None = None
    test: SideBySide | None = None
    test_costs: tuple[float | None, float | None] = (None, None)
    """US dollars a text of the test, before and after; None if a price is unknown."""
    cost_usd: float | None = 0.0
    """US dollars of all calls; None if a price is unknown."""
    calls: int = 0
    fresh: int = 0
    """Labelled texts of the test that were never looked at before this alignment."""

    @property
    def result(self) -> Result:
        return _RESULTS.get(self.outcome, Result.INCONCLUSIVE)

    @property
    def more(self) -> str:
        """How many labels would decide whether the gain is above 0; empty without an interval."""
        if self.test is None or self.outcome is not Outcome.NOT_SHOWN:
            return ""
        return more_items(self.test.gain, Claim(Direction.ABOVE, 0.0), "labelled texts in the test")


def load(file: Path) -> LoadedAlignment:
    """Read an alignment file, its judge, texts and labels, and split the texts.

    Raises `ConfigError` for a judge that asks no model or was aligned with another split, and as
    `load_judge`, `read_item_file` and `ItemFile.with_labels` do.
    """
    design = load_alignment(file)
    judge = load_judge(design.judge)
    if not isinstance(judge, ModelJudge):
        raise ConfigError(
            f"{design.judge} is a judge of kind {judge.kind}, which has no rubric and no examples.",
            "Align a judge of kind rubric, binary or pairwise.",
        )
    made, split = judge.provenance, design.split
    if made is not None and (made.seed, made.development_share, made.test_share) != (
        split.seed,
        split.development,
        split.test,
    ):
        raise ConfigError(
            f"{file}: split is another than that of {design.judge}, so that the test may have "
            "texts that this judge was made from.",
            f"Use split: {{seed: {made.seed}, development: {made.development_share:g}, "
            f"test: {made.test_share:g}}}.",
        )
    labels = read_labels(design.labels, design.label_fields) if design.labels else None
    items = read_item_file(design.items, design.fields).with_labels(labels, [judge])
    items.check([judge])
    examples = {
        same_text(Item(id="example", text=one.text, second=one.second, context=one.context))
        for one in judge.examples
    }
    return LoadedAlignment(file, design, judge, items, split_texts(items.texts, split, examples))


async def align(
    runtime: Runtime,
    loaded: LoadedAlignment,
    *,
    retry_failed: bool = False,
    look_again: bool = False,
) -> AlignmentReport:
    """Do what is not done yet, and say what came of it; a rerun costs nothing.

    Judging raises as `judge_items`, `BudgetExceededError` of the alignment's budget among them.
    """
    parts = loaded.parts
    if too_few(loaded):
        return AlignmentReport(loaded, Outcome.TOO_FEW)
    fresh = _fresh(runtime, loaded)
    if not look_again and fresh < LEAST_LABELS and not _may_be_rerun(runtime, loaded):
        return AlignmentReport(loaded, Outcome.USED_UP, fresh=fresh)
    work = _Work(runtime, loaded, retry_failed)
    training, development = parts.texts[Part.TRAINING], parts.texts[Part.DEVELOPMENT]
    before = await work.judged(loaded.judge, [*training, *development])
    texts = trained(loaded.judge, loaded.items, training, before)
    tried = await work.try_all(texts, before)
    chosen = best_of(tried, loaded.design.readable)
    report = AlignmentReport(loaded, Outcome.NO_GAIN, tuple(tried), chosen, fresh=fresh)
    if chosen is None or chosen.candidate.judge is None:
        return work.paid(report)
    look = _opened(runtime, loaded, chosen.candidate.judge, look_again=look_again)
    if look is None:
        return work.paid(replace(report, outcome=Outcome.USED_UP))
    own = await work.judged(loaded.judge, look.items)
    after = await work.judged(chosen.candidate.judge, look.items, within=True)
    test = side_by_side(loaded.judge, look.items, own, after)
    outcome = _outcome(test, loaded.design.readable, looked_before=bool(look.earlier))
    costs = work.each(own, look.items), work.each(after, look.items)
    return work.paid(replace(report, outcome=outcome, look=look, test=test, test_costs=costs))


def too_few(loaded: LoadedAlignment) -> list[Part]:
    """Return the parts with fewer labelled texts than they need: one for training, else ten."""
    least = {Part.TRAINING: 1, Part.DEVELOPMENT: LEAST_LABELS, Part.TEST: LEAST_LABELS}
    return [part for part, number in least.items() if loaded.parts.count(part) < number]


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


def _outcome(test: SideBySide, readable: float, *, looked_before: bool) -> Outcome:
    gain = test.gain
    if test.covered < readable:
        return Outcome.UNREADABLE
    if gain.lower is None or gain.upper is None or test.texts < LEAST_LABELS:
        return Outcome.NOT_SHOWN
    if gain.upper < 0:
        return Outcome.WORSE
    if gain.lower <= 0:
        return Outcome.NOT_SHOWN
    return Outcome.LOOKED_AT if looked_before else Outcome.SURVIVES


def _means(judge: ModelJudge, texts: Sequence[Item], results: Results) -> FloatArray:
    points = [points_of(judge, results.get(item.key, ())) for item in texts]
    means = [float(np.mean(given)) if given else float("nan") for given in points]
    return np.array(means, dtype=np.float64)


class _Work:
    """What is judged for an alignment, and what it costs."""

    def __init__(self, runtime: Runtime, loaded: LoadedAlignment, retry_failed: bool) -> None:
        self._runtime, self._loaded, self._retry_failed = runtime, loaded, retry_failed
        self._proposals: Proposals | None = None
        self._keys: list[str] = []
        self._calls: set[int] = set()

    @property
    def budget(self) -> Spender:
        """The alignment as a spender: its proposals and candidates, over every run."""
        design, proposer = self._loaded.design, self._loaded.design.proposer
        models = {self._loaded.judge.model} | ({proposer.model} if proposer else set())
        return Spender(
            f"Alignment {design.name!r}",
            frozenset(models),
            design.budget or Budget(),
            keys=tuple(self._keys),
            file=self._loaded.file,
        )

    async def judged(
        self, judge: ModelJudge, texts: Sequence[Item], *, within: bool = False
    ) -> Results:
        """Return the results of a judge on texts; `within` the budget, or that of its own file."""
        results = await judge_items(
            self._runtime,
            judge,
            texts,
            repeats=self._loaded.design.repeats,
            retry_failed=self._retry_failed,
            budget=self.budget if within else None,
        )
        self._calls.update(call for result in results for call in result.call_ids)
        by_item: Results = {}
        for result in results:
            by_item.setdefault(result.item_key, []).append(result)
        return by_item

    async def try_all(self, texts: Sequence[Trained], before: Results) -> list[Tried]:
        """Make the candidates, and judge development with each."""
        loaded = self._loaded
        self._proposals = proposals_of(loaded, texts)
        candidates = examples_of(loaded, texts)
        self._keys += [one.judge.key for one in candidates if one.judge]
        if self._proposals is not None:
            self._keys.append(self._proposals.key)
            await self._proposals.ask(self._runtime, self.budget, retry_failed=self._retry_failed)
            proposed = self._proposals.read(self._runtime)
            self._keys += [one.judge.key for one in proposed if one.judge]
            candidates += proposed
        tried = [await self._try(candidate, before) for candidate in candidates]
        both = both_of(loaded, texts, tried)
        if both is not None:
            self._keys += [both.judge.key] if both.judge else []
            tried.append(await self._try(both, before))
        return tried

    async def _try(self, candidate: Candidate, before: Results) -> Tried:
        if candidate.judge is None:
            return Tried(candidate)
        texts = self._loaded.parts.texts[Part.DEVELOPMENT]
        results = await self.judged(candidate.judge, texts, within=True)
        cost, unpriced = self._cost(
            {c for some in results.values() for r in some for c in r.call_ids}
        )
        side = side_by_side(self._loaded.judge, texts, before, results)
        return Tried(candidate, side, None if unpriced else cost)

    def each(self, results: Results, texts: Sequence[Item]) -> float | None:
        """Return the US dollars that a judge costs a text."""
        calls = {call for some in results.values() for one in some for call in one.call_ids}
        cost, unpriced = self._cost(calls)
        return None if unpriced else cost / len(texts)

    def paid(self, report: AlignmentReport) -> AlignmentReport:
        """Return the report with what all calls behind it cost."""
        cost, unpriced = self._cost(self._calls)
        calls = len(self._calls)
        if self._proposals is not None:
            with self._runtime.session() as session:
                used = spent(session, Scope("", (self._proposals.key,)))
            cost, unpriced, calls = (
                cost + used.cost_usd, unpriced + used.unpriced, calls + used.calls
            )  # fmt: skip
        return replace(report, cost_usd=None if unpriced else cost, calls=calls)

    def _cost(self, calls: set[int]) -> tuple[float, int]:
        with self._runtime.session() as session:
            return cost_of(session, calls)


def examples_of(loaded: LoadedAlignment, texts: Sequence[Trained]) -> list[Candidate]:
    """Return the judge with examples; nothing where the file wants none."""
    number = loaded.design.candidates.examples
    return [with_examples(loaded.judge, texts, number)] if number else []


def proposals_of(loaded: LoadedAlignment, texts: Sequence[Trained]) -> Proposals | None:
    """Return the requests for rubrics; None where there are none, as without a mistake."""
    design = loaded.design
    if design.proposer is None or not design.candidates.rubrics:
        return None
    proposals = Proposals.of(loaded.judge, design.proposer, texts, design.candidates.rubrics)
    return proposals if proposals.number else None


def both_of(
    loaded: LoadedAlignment, texts: Sequence[Trained], tried: Sequence[Tried]
) -> Candidate | None:
    """Return the best rubric on development with the examples; None without one of the two."""
    rubrics = [
        one for one in tried
        if one.candidate.name.startswith(_RUBRIC) and one.development is not None
        and one.development.gain.estimate is not None
    ]  # fmt: skip
    number = loaded.design.candidates.examples
    if not rubrics or not number:
        return None
    best = max(rubrics, key=lambda one: _gained(one))
    assert best.candidate.judge is not None
    both = with_examples(best.candidate.judge, texts, number)
    return None if both.judge is None else replace(both, name=f"{best.candidate.name}, {both.name}")


def _gained(tried: Tried) -> float:
    gain = tried.development.gain.estimate if tried.development else None
    return -3.0 if gain is None else gain


def _fresh(runtime: Runtime, loaded: LoadedAlignment) -> int:
    """Return how many labelled texts of the test were never looked at."""
    with runtime.session() as session:
        used = _used(store.looks(session, simulated=loaded.simulated))
    return sum(item.key not in used for item in loaded.parts.texts[Part.TEST])


def _may_be_rerun(runtime: Runtime, loaded: LoadedAlignment) -> bool:
    """Whether a look at the same test set for the same judge is stored."""
    test = digest_of(loaded.parts.texts[Part.TEST])
    with runtime.session() as session:
        known = store.looks(session, simulated=loaded.simulated)
    return any((one.before, one.test_digest) == (loaded.judge.key, test) for one in known)


def _used(looks: Sequence[store.Look]) -> set[str]:
    return {key for look in looks for key in look.items}


def _opened(
    runtime: Runtime, loaded: LoadedAlignment, chosen: ModelJudge, *, look_again: bool
) -> Opened | None:
    """Open the test set, or find that it was opened for the same; None if it is used up."""
    test = loaded.parts.texts[Part.TEST]
    digest, before = digest_of(test), loaded.judge
    with runtime.session() as session:
        store.lock_looks(session)
        known = store.looks(session, simulated=loaded.simulated)
        of_this = [
            one for one in known
            if (one.before, one.chosen, one.test_digest) == (before.key, chosen.key, digest)
            and (not look_again or len(one.items) == len(test))
        ]  # fmt: skip
        if not of_this:
            used = _used(known)
            items = [item for item in test if look_again or item.key not in used]
            if len(items) < LEAST_LABELS:
                return None
            store.save_look(
                session,
                alignment=loaded.design.name,
                before_id=save_judge(session, before.record),
                chosen_id=save_judge(session, chosen.record),
                test_digest=digest,
                items_digest=digest_of(items),
                items=[item.key for item in items],
                simulated=loaded.simulated,
            )
            known = store.looks(session, simulated=loaded.simulated)
            of_this = known[-1:]
    look = of_this[0]
    earlier = [one for one in known if one.id < look.id and one.items & look.items]
    items = [item for item in test if item.key in look.items]
    return Opened(look.at, tuple(items), tuple(one.at for one in earlier), len(test) - len(items))


@dataclass(frozen=True)
class AlignmentPlan:
    """What an alignment is expected to need; stored results cost nothing.

    Candidates that cannot be made yet are planned as long as the judge before, proposals on
    stand-ins.
    """

    judgings: tuple[Asked, ...]
    proposals: tuple[int, UsageEstimate] | None
    budget: Spender


def plan(runtime: Runtime, loaded: LoadedAlignment) -> AlignmentPlan:
    """Return what an alignment needs; writes nothing but judges and texts that are new."""
    judge, design, parts = loaded.judge, loaded.design, loaded.parts
    training, development, test = (parts.texts[part] for part in Part)
    with runtime.session() as session:
        stored = results_of(session, judge, [*training, *development], design.repeats)
    texts = trained(judge, loaded.items, training, stored)
    done = all(len(stored[item.key]) >= design.repeats for item in training)
    if not done:
        texts = [_stand_in(judge, loaded, item) for item in training]
    proposals = proposals_of(loaded, texts)
    candidates = examples_of(loaded, texts)
    if proposals is not None:
        proposed = proposals.read(runtime)
        candidates += [
            one if one.judge or one.failure != "not proposed yet" else _as_long(judge, one.name)
            for one in proposed
        ]
    made = [one for one in candidates if one.judge is not None]
    keys = tuple(one.judge.key for one in made if one.judge)
    judgings = [Asked(judge, [*training, *development, *test], design.repeats)]
    for one in made:
        assert one.judge is not None
        named = one.judge.model_copy(update={"name": f"{judge.name}, {one.name}", "budget": None})
        judgings.append(Asked(named, development, design.repeats))
    if made:
        last = _last_judge(runtime, loaded, texts, made)
        both = development if proposals is not None and design.candidates.examples else ()
        named = last.model_copy(update={"name": f"{judge.name}, chosen (at most)", "budget": None})
        judgings.append(Asked(named, [*both, *test], design.repeats))
    proposing = None if proposals is None else proposals.plan(runtime)
    spender = Spender(
        f"Alignment {design.name!r}", frozenset({judge.model}), design.budget or Budget(),
        keys=(*keys, *([proposals.key] if proposals else [])), file=loaded.file,
    )  # fmt: skip
    return AlignmentPlan(tuple(judgings), proposing, spender)


def _last_judge(
    runtime: Runtime, loaded: LoadedAlignment, texts: Sequence[Trained], made: Sequence[Candidate]
) -> ModelJudge:
    """Return the candidate that the test set was opened for, else the one with the longest file."""
    number, test = loaded.design.candidates.examples, digest_of(loaded.parts.texts[Part.TEST])
    judges = [one.judge for one in made if one.judge]
    rubrics = [one.judge for one in made if one.judge and one.name.startswith(_RUBRIC)]
    both = [with_examples(one, texts, number).judge for one in rubrics] if number else []
    judges += [one for one in both if one]
    with runtime.session() as session:
        chosen = {
            look.chosen
            for look in store.looks(session, simulated=loaded.simulated)
            if (look.before, look.test_digest) == (loaded.judge.key, test)
        }
    opened = [judge for judge in judges if judge.key in chosen]
    return max(opened or judges, key=lambda judge: len(judge.model_dump_json()))


def _as_long(judge: ModelJudge, name: str) -> Candidate:
    """Return a stand-in for a rubric that is not proposed yet."""
    return Candidate(name, judge.model_copy(update={"task": f"{judge.task} ({name})"}))


def _stand_in(judge: ModelJudge, loaded: LoadedAlignment, item: Item) -> Trained:
    """Return a training text as a mistake, before it is judged."""
    label = known_points(judge, item)
    [one] = trained(judge, loaded.items, [item], {item.key: [_wrong(judge, item, label)]})
    return one


def _wrong(judge: ModelJudge, item: Item, label: float) -> JudgeResult:
    lowest, highest = judge.score_range
    return JudgeResult(
        judge=judge.key, model=judge.model, item=item.id, item_key=item.key, corpus=item.corpus,
        variant=None, repeat=0, status="scored", score=lowest if label > 50 else highest,
        subscores={}, verdict=None, reason="", failure=None, call_ids=(), duration_s=None,
        simulated=item.simulated,
    )  # fmt: skip
