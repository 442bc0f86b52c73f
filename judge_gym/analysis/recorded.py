"""Recorded judgements as data of an analysis, without a database.

The rows, their order and their numbers are those that an import would store, so that figures are
the same, but for means of scores as written, which an import does not store.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from statistics import fmean

import numpy as np

from judge_gym.analysis.data import (
    ItemTruth,
    JudgeArm,
    PeopleLabels,
    ProbeRows,
    SampleRows,
    SweepData,
    SweepJudge,
    select,
    systems_of,
)
from judge_gym.analysis.facets import over_facets
from judge_gym.analysis.figures.accuracy import accuracies
from judge_gym.analysis.figures.accuracy_differences import accuracy_differences
from judge_gym.analysis.figures.agreement import agreements
from judge_gym.analysis.figures.classes import by_known_answer
from judge_gym.analysis.figures.favouritism import favouritism
from judge_gym.analysis.figures.multiverse import specification_curves
from judge_gym.analysis.figures.outcomes import single_judges
from judge_gym.analysis.figures.pairs import over_wordings
from judge_gym.analysis.figures.people import people_figures
from judge_gym.analysis.figures.scale_directions import directions, votes_of_one_direction
from judge_gym.analysis.figures.systems import systems_ranked
from judge_gym.analysis.figures.three_judges import orders_of_judges, three_judges
from judge_gym.analysis.groups import PARTS, Group, comparison_groups, result_row
from judge_gym.annotations import AnnotationScheme
from judge_gym.answers.readability import TooFewReadableError
from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric
from judge_gym.lab.importing import recorded_experiments
from judge_gym.lab.recorded_answers import (
    Compared,
    Repeats,
    compared_answers,
    item_key,
    labels_of_people,
    sample_rows,
)
from judge_gym.metrics.cells import IntArray
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate, mean_over_items
from judge_gym.metrics.orders import PairJudgements, length_preference, longer_right
from judge_gym.metrics.reasoning import NOT_ASKED
from judge_gym.metrics.written_scores import written_figures
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.judged import (
    Given,
    Judging,
    RecordedItem,
    RecordedWindow,
    Unread,
    stage_set,
)
from judge_gym.recorded.mapping import Recorded, ScoreScale, as_score
from judge_gym.recorded.reading import read_recorded
from judge_gym.store.items import stored_key
from judge_gym.store.results import ResultRow

_RUBRIC = 1
"""The number of the one rubric of recorded judgements."""
_FEWEST_STAGES = 3
"""Of two stages a verdict is one or the other, whatever was written."""
Experiments = Mapping[tuple[str, Judging], Experiment]


@dataclass(frozen=True, eq=False)
class Audited:
    """Recorded judgements with the figures of an audit."""

    data: SweepData
    rows: tuple[ResultRow, ...]
    too_few: TooFewReadableError | None
    """Which judges have fewer than half their answers readable; None where all have enough."""
    windows: Mapping[str, RecordedWindow]
    """Items and judgements as read."""
    experiments: Experiments
    unread: Unread
    repeats: Repeats
    compared: Compared | None
    """The raw answers behind the decisions; None without `answer_forms`."""


def audited(files: RecordedFiles, recorded: Recorded, rubric: Rubric) -> Audited:
    """Read recorded judgements and compute what an audit shows; raises as `read_recorded`."""
    read = read_recorded(files, recorded, rubric.scale_size)
    repeats = Repeats()
    experiments = recorded_experiments(files, recorded, rubric, read.windows)
    data, longest = recorded_data(experiments, recorded, rubric, read.windows, repeats)
    groups = comparison_groups(data)
    rows = [
        row
        for group in groups
        for figures in (
            *(single_judges, accuracies, accuracy_differences, agreements, people_figures),
            *(directions, by_known_answer, votes_of_one_direction, systems_ranked, favouritism),
            three_judges,
        )
        for row in figures(group)
    ]
    for group in groups:
        rows += _win_rates(group, experiments, read.windows)
    if longest.any():
        rows += [row for group in groups for row in _lengths(group, longest)]
        stage_of = {stage.label: number for number, stage in enumerate(rubric.stages, start=1)}
        truth = np.array([stage_of.get(label, 0) for label in data.truth.label])
        rows.append(result_row(longer_right(truth, longest), {}, data.origin))
    rows += [row for group in groups for row in _written(group, experiments, read.windows)]
    rows += over_facets(data, groups)
    rows += over_wordings(data, groups)
    rows += specification_curves(data, groups, rows)
    rows += orders_of_judges(data, groups, rows)
    compared = compared_answers(recorded, read.windows, rubric.scale_size)
    return Audited(
        data, tuple(rows), repeats.too_few, read.windows, experiments, read.unread, repeats,
        compared,
    )  # fmt: skip


def recorded_data(
    experiments: Experiments,
    recorded: Recorded,
    rubric: Rubric,
    windows: Mapping[str, RecordedWindow],
    repeats: Repeats,
) -> tuple[SweepData, IntArray]:
    """Return judgements as data, and each item's longest text, as a stage or 0.

    Adds them to `repeats`.
    """
    keys = {name: one.window.key for (name, _), one in experiments.items()}
    items: dict[tuple[str, str], tuple[str, RecordedItem]] = {
        (name, item_key(item.key)): (stored_key(keys[name], [item_key(item.key)]), item)
        for name, window in windows.items()
        for item in window.items.values()
    }
    judged = {
        (name, item_key(given.item))
        for name, window in windows.items()
        for of_judge in window.judgements.values()
        for given in of_judge
    }
    order = sorted(judged, key=lambda place: (place[1], items[place][0]))
    numbers = {place: number for number, place in enumerate(order)}
    labels = tuple(stage.label for stage in rubric.stages)
    columns = _columns(recorded, experiments, windows, numbers, repeats)
    known = [_written_answer(recorded, items[place][1]) for place in order]
    longest = [items[place][1].longest or 0 for place in order]
    data = SweepData(
        judges=tuple(
            SweepJudge(experiment, name, (JudgeArm(arm, "own", "", labels, np.nan, _RUBRIC),))
            for arm, (name, experiment) in sorted(
                enumerate((name, one) for (name, _), one in experiments.items()),
                key=lambda numbered: numbered[1][1].key,
            )
        ),
        samples=columns,
        probes=_no_probes(),
        truth=replace(
            _truth([items[place][1] for place in order], labels, recorded.families),
            score=() if np.isnan(known).all() else tuple(known),
        ),
        simulated_arms=frozenset(),
        imported_arms=frozenset(columns.arm.tolist()),
        people=_people(recorded, windows, numbers, labels),
    )
    return data, np.array(longest, dtype=np.int64)


def _win_rates(
    group: Group, experiments: Experiments, windows: Mapping[str, RecordedWindow]
) -> Iterator[ResultRow]:
    """Yield each judge's mean preference less 1, of all pairs and of each system's, in [0, 1].

    AlpacaEval's win rate: an annotator's preferences weighted by probabilities count as they are.
    Repeats are averaged by pair, then pairs; t interval over pairs.
    """
    truth = group.data.truth
    named = {*truth.system, *(second for _, second in truth.pair)} - {""}
    systems = ["", *sorted(named)] if len(named) > 1 else [""]
    given = {experiment.key: place for place, experiment in experiments.items()}
    for number, judge in enumerate(group.judges):
        name, judging = given[judge.experiment.key]
        by_item: dict[str, list[float]] = defaultdict(list)
        for one in windows[name].judgements[judging]:
            if one.preference is not None:
                by_item[one.item].append(one.preference - 1)
        for system in systems:
            chosen = [
                values
                for key, values in sorted(by_item.items())
                if system in ("", _second(windows[name].items[key]))
            ]
            if chosen:
                rate = mean_over_items(
                    "win_rate",
                    np.array([fmean(values) for values in chosen]),
                    n=sum(map(len, chosen)),
                    unit="share",
                    bounds=UNIT_INTERVAL,
                )
                scope = {"judge": judge.model} | ({"system": system} if system else {})
                yield group.row(rate, [group.own_arms[number]], p_adjusted=None, **scope)


def _second(item: RecordedItem) -> str:
    """Return which system's answer a preference for the second text is a win of."""
    return item.second_system or item.system


def _lengths(group: Group, longest: IntArray) -> Iterator[ResultRow]:
    """Yield how often each judge of pairs chooses the longer text, on all that it was given."""
    if not group.judges[0].experiment.judges_pairs or group.is_subset:
        return
    for judge, arms in zip(group.judges, group.own_arms, strict=True):
        _, rows = select(group.data.samples, [arms])
        pairs = PairJudgements(
            item=rows.item,
            stages=rows.stages,
            truth=np.ones(len(rows.item), dtype=np.int64),
            listed=rows.shown_first == 1,
            n_items=len(longest),
            n_stages=group.n_stages,
        )
        yield group.row(length_preference(pairs, longest), [arms], judge=judge.model)


def _written(
    group: Group, experiments: Experiments, windows: Mapping[str, RecordedWindow]
) -> Iterator[ResultRow]:
    """Yield the figures of scores as written, where the stages of a judge are not its scores.

    The mean also on each system and category.
    """
    names = {experiment.key: place for place, experiment in experiments.items()}
    scored: list[tuple[Mapping[str, RecordedItem], list[Given]]] = []
    for judge in group.judges:
        name, judging = names[judge.experiment.key]
        judged = windows[name].judgements[judging]
        given = [one for one in judged if one.choice not in (None, "abstained")]
        scored.append((windows[name].items, given))
    every = [one for _, given in scored for one in given]
    if any(one.number is None for one in every) or all(_are_stages(of) for _, of in scored):
        return
    for judge, arms, (items, given) in zip(group.judges, group.own_arms, scored, strict=True):
        for about in _parts_of_items(items):
            chosen = [
                one
                for one in given
                if all(getattr(items[one.item], kind) == name for kind, name in about.items())
            ]
            figures = _written_figures(items, chosen)
            for estimate in islice(figures, 1 if about else None):
                scope = {"judge": judge.model, **about}
                yield group.row(estimate, [arms], p_adjusted=None, **scope)


def _written_figures(
    items: Mapping[str, RecordedItem], given: Sequence[Given]
) -> Iterator[Estimate]:
    """Yield the figures of a judge's scores; nothing without any."""
    if not given:
        return
    places = {key: place for place, key in enumerate(sorted(items))}
    known = [np.nan if items[key].number is None else items[key].number for key in places]
    item = np.array([places[one.item] for one in given], dtype=np.int64)
    score = np.array([one.number for one in given], dtype=np.float64)
    order = np.lexsort((score, item))
    yield from written_figures(item[order], score[order], np.array(known, dtype=np.float64))


def _parts_of_items(items: Mapping[str, RecordedItem]) -> list[dict[str, str]]:
    """Return the scopes of all items, of each system and of each category, where several."""
    found: list[dict[str, str]] = [{}]
    for kind in PARTS:
        of = [item for item in items.values() if kind != "system" or not item.second_system]
        names = sorted({getattr(item, kind) for item in of} - {""})
        found += [{kind: name} for name in names if len(names) > 1]
    return found


def _are_stages(scored: Sequence[Given]) -> bool:
    """Return whether every score is its stage, but for where the scale begins."""
    apart = {
        (one.number or 0.0) - one.choice[0]
        for one in scored
        if isinstance(one.choice, tuple) and not one.reversed
    }
    return len(apart) <= 1 and all(value.is_integer() for value in apart)


def _people(
    recorded: Recorded,
    windows: Mapping[str, RecordedWindow],
    numbers: Mapping[tuple[str, str], int],
    labels: tuple[str, ...],
) -> tuple[PeopleLabels, ...]:
    """Return the labels of people as one set of labels.

    They are compared as labels of an import. Several labels of a person of an item are a set.
    """
    given = [
        (numbers[place], person, tuple(sorted({labels[stage - 1] for stage in stages})))
        for name, window in windows.items()
        for item, person, stages in labels_of_people(recorded, window)
        if (place := (name, item_key(item.key))) in numbers
    ]
    given.sort()
    if not given:
        return ()
    how = AnnotationScheme()
    of_items, people, stages = zip(*given, strict=True)
    return (
        PeopleLabels(
            "people", how.score, how.epsilon, _RUBRIC, np.array(of_items, dtype=np.int64),
            people, stages,
        ),
    )  # fmt: skip


def _no_probes() -> ProbeRows:
    none, number = np.empty(0, dtype=np.int64), np.empty(0)
    return ProbeRows(none, none, none, none, number, np.empty(0, dtype=np.bool_))


def _columns(
    recorded: Recorded,
    experiments: Experiments,
    windows: Mapping[str, RecordedWindow],
    numbers: Mapping[tuple[str, str], int],
    repeats: Repeats,
) -> SampleRows:
    """Return the rows by arm and item, repeats by what they say: a file may have any order."""
    rows = list(_samples(recorded, experiments, windows, numbers, repeats))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    order = np.lexsort(columns[::-1])
    arm, item, status, stages, first, lettered, score = (column[order] for column in columns)
    return SampleRows(
        arm=arm,
        item=item,
        status=status,
        stages=stages,
        shown_first=first,
        lettered_a=lettered,
        letter_probability=np.full(len(rows), np.nan),
        answered_at=np.full(len(rows), np.nan),
        simulated=np.zeros(len(rows), dtype=np.bool_),
        imported=np.ones(len(rows), dtype=np.bool_),
        marks=np.full(len(rows), NOT_ASKED, dtype=np.int64),
        score=None if np.isnan(score).all() else score,
    )


def _samples(
    recorded: Recorded,
    experiments: Experiments,
    windows: Mapping[str, RecordedWindow],
    numbers: Mapping[tuple[str, str], int],
    repeats: Repeats,
) -> Iterator[tuple[int, int, str, int, int, int, float]]:
    for arm, ((name, judging), experiment) in enumerate(experiments.items()):
        judgements = windows[name].judgements[judging]
        rows = list(sample_rows(recorded, experiment, judgements, stored=False))
        # Files have the same few scores in many rows.
        written = lru_cache(maxsize=1 << 12)(partial(_written_score, recorded.scale))
        repeats.add(judging, judgements, rows, experiment.scale_size)
        for row in rows:
            yield (
                arm,
                numbers[name, row["item"]],
                row["status"],
                row["stages"] or 0,
                row["display_order"][0],
                row["letters"].find("A") + 1,
                written(row["verdict_text"], row["stages"], experiment.scale_size),
            )


def _written_score(
    scale: ScoreScale | None, written: str | None, stages: int | None, n_stages: int
) -> float:
    """Return a score as written, on 0 to 1; NaN where there is none, and of two stages.

    A stage that `decisions` give a value counts, whatever number the value is.
    """
    if scale is None or n_stages < _FEWEST_STAGES or not stages or not written:
        return np.nan
    position, stage = scale.position(as_score(written)), scale.stage(written)
    if position is None or stage is None:
        return np.nan
    if stages == stage_set((stage,)):
        return position
    return 1 - position if stages == stage_set((n_stages + 1 - stage,)) else np.nan


def _written_answer(recorded: Recorded, item: RecordedItem) -> float:
    """Return the known answer of an item, or the mean of people's labels, as `_written_score`."""
    scale = recorded.scale
    if scale is None or len(scale.labels) < _FEWEST_STAGES:
        return np.nan
    position = scale.position(item.number)
    return np.nan if position is None else position


def _truth(
    items: list[RecordedItem], labels: tuple[str, ...], families: Mapping[str, str]
) -> ItemTruth:
    return ItemTruth(
        value=np.full(len(items), np.nan),
        label=tuple(labels[item.truth - 1] if item.truth else "" for item in items),
        category=tuple(item.category for item in items),
        outlet=("",) * len(items),
        **systems_of(items),
        question=tuple(item.question for item in items),
        family=tuple(families.get(item.system, item.system)[:80] for item in items),
        length=tuple(len(item.text) for item in items),
    )
