"""The rows an analysis works on, read from the store, as arrays.

Items are numbered by their natural key, so that seeded figures do not depend on database ids.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, Probes, Verdicts, numbered
from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.metrics.shape import Readable
from judge_gym.model_names import Answered
from judge_gym.records.judgements import ScoreCritic
from judge_gym.records.shown import swapped_names
from judge_gym.seeds import canonical_json
from judge_gym.store.annotations import ItemLabels, labels_of_items
from judge_gym.store.embeddings import RubricVectors, rubric_vectors
from judge_gym.store.experiments import not_applied
from judge_gym.store.samples import shown_documents
from judge_gym.store.score_marks import critic_of_sweep
from judge_gym.store.served import Served, served
from judge_gym.store.sweep_columns import (
    STATUSES,
    CallTotals,
    ProbeColumns,
    SampleColumns,
    asked_of_experiments,
    sweep_columns,
)
from judge_gym.store.sweep_data import (
    FrozenItems,
    SweepArm,
    TrueValue,
    arms_of_experiments,
    experiments_with_simulated_views,
    experiments_with_windows,
    frozen_of_experiments,
    text_lengths,
    true_values,
)

Arms = Sequence[Sequence["JudgeArm"]]
"""The arms of each judge, judge by judge; those of one judge are pooled."""


@dataclass(frozen=True)
class JudgeArm:
    """A judge's experiment under one rubric."""

    id: int
    kind: str
    """`own`, `swap` or `sham`."""
    rubric_owner: str
    """The model that wrote the rubric; empty when it was provided."""
    labels: tuple[str, ...]
    """The stage labels, stage 1 first; empty when the rubric failed."""
    quality: float
    """The mean of the rubric's two marks, in [0, 1]; NaN where nobody rated it."""
    rubric_id: int = 0
    rubric_family: str = ""
    """The family of the model that wrote the rubric; empty when it was provided."""
    criteria: tuple[tuple[str, ...], ...] = ()
    """Of each stage, stage 1 first; empty when the rubric failed or is not known."""


@dataclass(frozen=True)
class SweepJudge:
    """An experiment as the analysis sees it: one judge at one point of the design space."""

    experiment: Experiment
    window: str
    arms: tuple[JudgeArm, ...]
    not_applied: tuple[str, ...] = ()
    """Axes whose value the model did not take in some call."""
    unswapped: frozenset[int] = frozenset()
    """Items of the data in which it was to exchange names and found none."""
    served: tuple[Served, ...] = ()
    """Who answered for it, by arm."""
    asked: CallTotals = field(default_factory=CallTotals)
    """What the sweep asked of it, and what that cost."""
    frozen: frozenset[FrozenItems] = frozenset()
    """The items that it was frozen with, one entry where all its levels have the same; empty of
    recorded judgements."""
    parts: tuple["SweepJudge", ...] = ()
    """The experiments, which differ in facets alone, that are this one: see `facets.pooled`."""

    @property
    def levels(self) -> int:
        """How many experiments it is."""
        return len(self.parts) or 1

    def applied(self, axis: str) -> bool:
        """Whether the model applied this experiment's value of an axis, as far as is known."""
        return axis not in self.not_applied

    @property
    def model(self) -> str:
        """The judge's model string: its name in every scope."""
        return self.experiment.model

    def of_kind(self, kind: str) -> tuple[JudgeArm, ...]:
        """Return the arms of one kind, in the order of the rubrics' owners."""
        return tuple(arm for arm in self.arms if arm.kind == kind)


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Samples as parallel arrays, ascending by arm.

    `stages` is 0 unless the status is scored, `letter_probability` NaN where there is none, as is
    `answered_at`, in seconds, of imported judgements. `marks` are the critic's, or why there are
    none (`metrics.reasoning`).
    """

    arm: IntArray
    item: IntArray
    status: np.ndarray
    stages: IntArray
    shown_first: IntArray
    lettered_a: IntArray
    letter_probability: FloatArray
    answered_at: FloatArray
    simulated: BoolArray
    imported: BoolArray
    marks: IntArray
    score: FloatArray | None = None
    """Scores of an audit as written, on 0 to 1; NaN where the stages say it. An import stores
    stages alone."""


@dataclass(frozen=True, eq=False)
class ProbeRows:
    """Answered probes as parallel arrays, ascending by arm, sample and replicate."""

    arm: IntArray
    item: IntArray
    sample: IntArray
    stages: IntArray
    probability: FloatArray
    simulated: BoolArray


Rows = TypeVar("Rows", SampleRows, ProbeRows)


@dataclass(frozen=True, eq=False)
class ItemTruth:
    """What is known per item: an index in [0, 1], NaN where there is none, and a label or "".

    `category` is the part of a benchmark it belongs to, `outlet` the domain of its documents; ""
    where there is none.
    """

    value: FloatArray
    label: tuple[str, ...]
    category: tuple[str, ...]
    outlet: tuple[str, ...]
    system: tuple[str, ...] = ()
    """What was compared, such as the model that wrote each item; empty where that is not known, and
    of pairs of systems."""
    pair: tuple[tuple[str, str], ...] = ()
    """What made the first and the second answer of each pair; empty where that is not known."""
    question: tuple[str, ...] = ()
    """What each item answers, which several items may share; empty where that is not known."""
    family: tuple[str, ...] = ()
    """The family of each item's system, as of judges; empty where that is not known."""
    length: tuple[int, ...] = ()
    """The characters of each item's text; empty where that is not known."""
    score: tuple[float, ...] = ()
    """The known answer, or the mean of people's labels, as written, on 0 to 1; NaN where the stages
    say it. Of an audit alone."""


@dataclass(frozen=True, eq=False)
class TextLengths:
    """Bytes of the text of each item in one view; NaN where that is not known."""

    view: str
    bytes: FloatArray


@dataclass(frozen=True, eq=False)
class PeopleLabels:
    """Labels that people gave items under one rubric, as parallel entries.

    `score` and `epsilon` are those of the alternative annotator test.
    """

    name: str
    score: str
    epsilon: float
    rubric_id: int
    item: IntArray
    annotator: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Origin:
    """What stands behind figures: whether any of it was simulated, or judged elsewhere."""

    simulated: bool
    imported: bool


@dataclass(frozen=True, eq=False)
class SweepData:
    """Everything the figures of a sweep are made of."""

    judges: tuple[SweepJudge, ...]
    samples: SampleRows
    probes: ProbeRows
    truth: ItemTruth
    simulated_arms: frozenset[int]
    """Arms with a simulated call behind a sample, a probe, the rubric or the evidence's view."""
    imported_arms: frozenset[int]
    """Arms with a sample that was judged elsewhere and brought in."""
    critic: ScoreCritic | None = None
    """Who marked the reasoning of samples."""
    people: tuple[PeopleLabels, ...] = ()
    """Labels of people, set by set."""
    lengths: tuple[TextLengths, ...] = ()
    """How long the texts are, view by view."""
    rubric_vectors: RubricVectors | None = None
    """Embeddings of the texts of rubrics, where the sweep names a model for them."""

    def digest(self) -> str:
        """Return what equal data, and in practice no others, have in common: 64 hex digits."""
        hashed = sha256()
        for part in _parts(self):
            # With its length before it, no part runs into the next.
            hashed.update(f"{len(part)} ".encode() + part)
        return hashed.hexdigest()

    @property
    def origin(self) -> Origin:
        """The origin of figures of the whole sweep."""
        return Origin(bool(self.simulated_arms), bool(self.imported_arms))

    def origin_of(self, arms: Arms) -> Origin:
        """Return the origin of figures that these arms stand behind."""
        ids = {arm.id for judge in arms for arm in judge}
        return Origin(bool(ids & self.simulated_arms), bool(ids & self.imported_arms))

    def items_of(self, arms: Arms) -> IntArray:
        """Return the items that these arms hold samples of, ascending."""
        _, rows = select(self.samples, arms)
        return np.unique(rows.item)

    def verdicts(self, arms: Arms, items: IntArray, n_stages: int) -> Verdicts:
        """Return the scored samples of these arms; items are numbered by their place in `items`."""
        return self.readable(arms, items, n_stages).verdicts

    def readable(self, arms: Arms, items: IntArray, n_stages: int) -> Readable:
        """Return the samples of these arms that are scored or abstained, numbered alike."""
        judge, rows = select(self.samples, arms)
        read = (rows.status == "scored") | (rows.status == "abstained")
        return Readable(
            judge=judge[read],
            item=np.searchsorted(items, rows.item[read]),
            stages=np.where(rows.status == "scored", rows.stages, 0)[read],
            n_judges=len(arms),
            n_items=len(items),
            n_stages=n_stages,
            score=None if rows.score is None else rows.score[read],
            question=self.questions(items),
        )

    def questions(self, items: IntArray) -> IntArray | None:
        """Return the question of each of these items; None where no two of them share one."""
        if not len(self._question):
            return None
        found = numbered(self._question[items])
        return found if found.max(initial=-1) + 1 < len(items) else None

    @cached_property
    def _question(self) -> IntArray:
        """The number of each item's question; empty where none is known."""
        return numbered(self.truth.question)

    def answered(self, arms: Arms, items: IntArray) -> Probes:
        """Return one probe per probed sample of these arms; items are numbered as in `verdicts`.

        The probability of a sample that was probed twice is the mean of both.
        """
        judge, rows = select(self.probes, arms)
        first = np.flatnonzero(np.r_[True, rows.sample[1:] != rows.sample[:-1]][: len(judge)])
        times = np.diff(np.append(first, len(judge)))
        sums = np.add.reduceat(rows.probability, first) if len(first) else rows.probability
        return Probes(
            judge=judge[first],
            item=np.searchsorted(items, rows.item[first]),
            stages=rows.stages[first],
            probability=sums / times,
            n_judges=len(arms),
            n_items=len(items),
        )


def _parts(value: Any) -> Iterator[bytes]:
    """Yield everything that a value holds, field by field."""
    if isinstance(value, np.ndarray):
        yield value.dtype.str.encode()
        yield value.tobytes()
    elif isinstance(value, Experiment):
        yield value.model_dump_json().encode()
    elif is_dataclass(value):
        for field in fields(value):
            if field.name != "score":  # of audits, whose figures are not stored
                yield from _parts(getattr(value, field.name))
    elif isinstance(value, tuple | frozenset):
        yield str(len(value)).encode()
        for part in value if isinstance(value, tuple) else sorted(value):
            yield from _parts(part)
    else:
        yield canonical_json(value).encode()


def select(table: Rows, arms: Arms) -> tuple[IntArray, Rows]:
    """Return the rows of these arms, arm by arm, with the number of the judge of each."""
    judges, chosen = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for number, pooled in enumerate(arms):
        for arm in pooled:
            first, end = np.searchsorted(table.arm, [arm.id, arm.id + 1])
            chosen.append(np.arange(first, end))
            judges.append(np.full(end - first, number))
    return np.concatenate(judges), rows_at(table, np.concatenate(chosen))


def rows_at(table: Rows, chosen: IntArray | BoolArray) -> Rows:
    """Return the chosen rows of a table; a column that it does not have stays absent."""
    columns = {
        field.name: column[chosen]
        for field in fields(table)
        if (column := getattr(table, field.name)) is not None
    }
    return type(table)(**columns)


def load_sweep_data(session: Session, sweep: str) -> SweepData:
    """Read a sweep; raises `StoreError` when there is none of that name."""
    experiments = experiments_with_windows(session, sweep)
    ids = list(experiments)
    columns = sweep_columns(session, ids, sweep)
    items = true_values(session, np.unique(columns.samples.item).tolist())
    numbers = {item.item_id: number for number, item in enumerate(items)}
    samples = _samples(columns.samples, numbers)
    probes = _probes(columns.probes, numbers)
    stored_arms = arms_of_experiments(session, ids)
    edited = experiments_with_simulated_views(session, ids)
    simulated = {arm.id for arm in stored_arms if arm.simulated or arm.experiment_id in edited}
    simulated |= set(samples.arm[samples.simulated].tolist())
    simulated |= set(probes.arm[probes.simulated].tolist())
    arms = _arms(stored_arms)
    not_taken = not_applied(session, ids)
    asked = asked_of_experiments(columns)
    frozen = frozen_of_experiments(session, ids)
    answered_by: dict[int, list[Served]] = defaultdict(list)
    for one in served(session, columns):
        answered_by[one.experiment_id].append(one)
    return SweepData(
        judges=tuple(
            SweepJudge(
                experiment,
                window,
                tuple(arms[id_]),
                not_taken.get(id_, ()),
                _unswapped(session, experiment, numbers),
                tuple(answered_by[id_]),
                asked.get(id_, CallTotals()),
                frozenset({frozen[id_]}) if id_ in frozen else frozenset(),
            )
            for id_, (experiment, window) in experiments.items()
        ),
        samples=samples,
        probes=probes,
        truth=_truth(items),
        simulated_arms=frozenset(simulated),
        imported_arms=frozenset(samples.arm[samples.imported].tolist()),
        critic=critic_of_sweep(session, sweep),
        people=tuple(_people(given, numbers) for given in labels_of_items(session, list(numbers))),
        lengths=_lengths(text_lengths(session, ids), numbers),
        rubric_vectors=rubric_vectors(session, sweep, {arm.rubric_id for arm in stored_arms}),
    )


def _unswapped(
    session: Session, experiment: Experiment, numbers: Mapping[int, int]
) -> frozenset[int]:
    if experiment.actors.mapping is None:
        return frozenset()
    shown = shown_documents(session, numbers, *experiment.view)
    return frozenset(
        numbers[item]
        for item, documents in shown.items()
        if not swapped_names(experiment, documents)
    )


def served_remarks(answers: Iterable[tuple[str, Served]]) -> Iterator[Remark]:
    """Yield a remark on each judge that several served models, or another one, answered for.

    `answers` pairs a judge with who answered for it under one arm.
    """
    by_judge: dict[str, list[Served]] = defaultdict(list)
    for judge, answered_by in answers:
        by_judge[judge].append(answered_by)
    for judge, arms in sorted(by_judge.items()):
        models = sorted({model for arm in arms for model in arm.models})
        if Answered(judge, models).differs:
            mixed = sum(arm.mixed for arm in arms)
            yield Remark(RemarkKind.SERVED_MODELS, mixed, names=(judge, *models))


def _truth(items: Sequence[TrueValue]) -> ItemTruth:
    return ItemTruth(
        value=np.array([np.nan if item.value is None else item.value for item in items]),
        label=tuple(item.label or "" for item in items),
        category=tuple(item.category for item in items),
        outlet=tuple(item.outlet for item in items),
        **_of_systems(items),
    )


class HasSystems(Protocol):
    """An item and what made it; of a pair of systems what made both answers."""

    @property
    def system(self) -> str: ...

    @property
    def second_system(self) -> str: ...


def systems_of(items: Sequence[HasSystems]) -> dict[str, Any]:
    """Return `system` and `pair` of items; no item of a pair of systems is of one of them."""
    if not any(item.second_system for item in items):
        return {"system": tuple(item.system for item in items)}
    return {
        "system": tuple("" if item.second_system else item.system for item in items),
        "pair": tuple((item.system, item.second_system) for item in items),
    }


def _of_systems(items: Sequence[TrueValue]) -> dict[str, Any]:
    """Return what figures by system and by question need; nothing where no item names one."""
    if not any(item.system or item.question for item in items):
        return {}
    question = {"question": tuple(item.question or str(item.item_id) for item in items)}
    if not any(item.system for item in items):
        return question
    return {
        **systems_of(items),
        **question,
        "family": tuple(item.family for item in items),
        "length": tuple(item.length for item in items),
    }


def _lengths(
    stored: Mapping[tuple[int, str], int], numbers: Mapping[int, int]
) -> tuple[TextLengths, ...]:
    by_view: dict[str, FloatArray] = {}
    for (item, view), length in stored.items():
        if item in numbers:
            by_view.setdefault(view, np.full(len(numbers), np.nan))[numbers[item]] = length
    return tuple(TextLengths(view, by_view[view]) for view in sorted(by_view))


def _people(given: ItemLabels, numbers: dict[int, int]) -> PeopleLabels:
    rows = sorted((numbers[item], annotator, labels) for item, annotator, labels in given.rows)
    return PeopleLabels(
        name=given.name,
        score=given.described.score,
        epsilon=given.described.epsilon,
        rubric_id=given.rubric_id,
        item=np.array([item for item, _, _ in rows], dtype=np.int64),
        annotator=tuple(annotator for _, annotator, _ in rows),
        labels=tuple(labels for _, _, labels in rows),
    )


def _arms(stored: Sequence[SweepArm]) -> dict[int, list[JudgeArm]]:
    """Return the arms by experiment."""
    arms: dict[int, list[JudgeArm]] = defaultdict(list)
    for arm in stored:
        quality = np.nan if arm.quality is None else arm.quality
        arms[arm.experiment_id].append(
            JudgeArm(
                *(arm.id, arm.kind, arm.rubric_owner, arm.labels, quality, arm.rubric_id),
                *(arm.rubric_family, arm.criteria),
            )
        )
    return arms


def _samples(columns: SampleColumns, numbers: dict[int, int]) -> SampleRows:
    """Return the rows by arm, item and replicate."""
    item = _numbered(columns.item, numbers)
    order = np.lexsort((columns.replicate, item, columns.arm))
    return SampleRows(
        arm=columns.arm[order],
        item=item[order],
        status=_named(columns.status[order]),
        stages=columns.stages[order],
        shown_first=columns.shown_first[order],
        lettered_a=columns.lettered_a[order],
        letter_probability=columns.letter_probability[order],
        answered_at=columns.answered_at[order],
        simulated=columns.simulated[order],
        imported=columns.imported[order],
        marks=columns.marks[order],
    )


def _probes(columns: ProbeColumns, numbers: dict[int, int]) -> ProbeRows:
    """Return the answered probes by arm, item, sample and replicate."""
    item = _numbered(columns.item, numbers)
    order = np.lexsort((columns.probe, columns.replicate, item, columns.arm))
    order = order[columns.answered[order]]
    return ProbeRows(
        arm=columns.arm[order],
        item=item[order],
        sample=columns.sample[order],
        stages=columns.stages[order],
        probability=columns.probability[order],
        simulated=columns.simulated[order],
    )


def _named(codes: IntArray) -> np.ndarray:
    """Return statuses as texts no wider than those that occur, on which the data's digest rests."""
    widest = max((len(STATUSES[code]) for code in np.unique(codes)), default=1)
    return np.array(STATUSES)[codes].astype(f"<U{widest}")


def _numbered(ids: IntArray, numbers: Mapping[int, int]) -> IntArray:
    """Return the number of each of these items."""
    known = np.array(sorted(numbers), dtype=np.int64)
    number = np.array([numbers[item] for item in known.tolist()], dtype=np.int64)
    return number[np.searchsorted(known, ids)] if len(ids) else ids
