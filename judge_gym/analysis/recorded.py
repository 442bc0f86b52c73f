"""Recorded judgements as data of an analysis, without a database.

The rows, their order and their numbers are those that an import would store, so that figures are
the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judge_gym.analysis.comparing import agreements
from judge_gym.analysis.data import (
    Arm,
    ItemTruth,
    Judge,
    PeopleLabels,
    ProbeRows,
    SampleRows,
    SweepData,
    select,
)
from judge_gym.analysis.facets import over_facets, votes
from judge_gym.analysis.groups import Group, comparison_groups, result_row
from judge_gym.analysis.judges import accuracies, is_subset, over_wordings, single_judges
from judge_gym.analysis.multiverse import specification_curves
from judge_gym.analysis.people import people_figures
from judge_gym.annotations import AnnotationSet
from judge_gym.answers.readability import TooFewReadableError
from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric
from judge_gym.lab.importing import Repeats, item_key, recorded_experiments, sample_rows
from judge_gym.metrics.cells import IntArray
from judge_gym.metrics.orders import PairJudgements, length_preference, longer_right
from judge_gym.metrics.reasoning import NOT_ASKED
from judge_gym.metrics.written_scores import written_figures
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.reading import (
    Given,
    Judging,
    RecordedFiles,
    RecordedItem,
    RecordedWindow,
    Unread,
    read_recorded,
)
from judge_gym.store.experiments import stored_key
from judge_gym.store.results import ResultRow

_RUBRIC = 1
"""The number of the one rubric of recorded judgements."""
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
        for figures in (single_judges, accuracies, agreements, people_figures, votes)
        for row in figures(group)
    ]
    if longest.any():
        rows += [row for group in groups for row in _lengths(group, longest)]
        stage_of = {stage.label: number for number, stage in enumerate(rubric.stages, start=1)}
        truth = np.array([stage_of.get(label, 0) for label in data.truth.label])
        rows.append(result_row(longer_right(truth, longest), {}, data.origin))
    rows += [row for group in groups for row in _written(group, experiments, read.windows)]
    rows += over_facets(data, groups)
    rows += over_wordings(data, groups)
    rows += specification_curves(data, groups, rows)
    return Audited(
        data, tuple(rows), repeats.too_few, read.windows, experiments, read.unread, repeats
    )


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
    order = sorted(judged, key=lambda place: items[place][0])
    numbers = {place: number for number, place in enumerate(order)}
    labels = tuple(stage.label for stage in rubric.stages)
    columns = _columns(recorded, experiments, windows, numbers, repeats)
    longest = [items[place][1].longest or 0 for place in order]
    data = SweepData(
        judges=tuple(
            Judge(experiment, name, (Arm(arm, "own", "", labels, np.nan, _RUBRIC),))
            for arm, (name, experiment) in sorted(
                enumerate((name, one) for (name, _), one in experiments.items()),
                key=lambda numbered: numbered[1][1].key,
            )
        ),
        samples=columns,
        probes=_no_probes(),
        truth=_truth([items[place][1] for place in order], labels),
        simulated_arms=frozenset(),
        imported_arms=frozenset(columns.arm.tolist()),
        people=_people(recorded, [items[place][1] for place in order], labels),
    )
    return data, np.array(longest, dtype=np.int64)


def _lengths(group: Group, longest: IntArray) -> Iterator[ResultRow]:
    """Yield how often each judge of pairs chooses the longer text, on all that it was given."""
    if not group.judges[0].experiment.judges_pairs or is_subset(group):
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
    """Yield the figures of scores as written, where stages are not the scores."""
    names = {experiment.key: place for place, experiment in experiments.items()}
    for judge, arms in zip(group.judges, group.own_arms, strict=True):
        name, judging = names[judge.experiment.key]
        items, given = windows[name].items, windows[name].judgements[judging]
        scored = [one for one in given if one.choice not in (None, "abstained")]
        numbers = [one.number for one in scored]
        if not numbers or None in numbers or _are_stages(scored):
            continue
        places = {key: place for place, key in enumerate(items)}
        known = [np.nan if one.number is None else one.number for one in items.values()]
        figures = written_figures(
            np.array([places[one.item] for one in scored], dtype=np.int64),
            np.array(numbers, dtype=np.float64),
            np.array(known, dtype=np.float64),
        )
        for estimate in figures:
            yield group.row(estimate, [arms], judge=judge.model)


def _are_stages(scored: Sequence[Given]) -> bool:
    """Return whether every score is its stage, but for where the scale begins."""
    apart = {
        (one.number or 0.0) - one.choice[0]
        for one in scored
        if isinstance(one.choice, tuple) and not one.reversed
    }
    return len(apart) <= 1 and all(value.is_integer() for value in apart)


def _people(
    recorded: Recorded, items: Sequence[RecordedItem], labels: tuple[str, ...]
) -> tuple[PeopleLabels, ...]:
    """Return the labels of the columns of people as one set, compared as labels of an import."""
    given = [
        (number, person, labels[stage - 1])
        for number, item in enumerate(items)
        for person, stage in zip(recorded.item.people, item.people, strict=True)
        if stage
    ]
    if not given:
        return ()
    how = AnnotationSet()
    numbers, people, stages = zip(*given, strict=True)
    return (
        PeopleLabels(
            "people", how.score, how.epsilon, _RUBRIC, np.array(numbers, dtype=np.int64),
            people, tuple((stage,) for stage in stages),
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
    rows = list(_samples(recorded, experiments, windows, numbers, repeats))
    arm, item, _, status, stages, first, lettered = zip(*sorted(rows), strict=True)
    return SampleRows(
        arm=np.array(arm, dtype=np.int64),
        item=np.array(item, dtype=np.int64),
        status=np.array(status, dtype=np.str_),
        stages=np.array(stages, dtype=np.int64),
        shown_first=np.array(first, dtype=np.int64),
        lettered_a=np.array(lettered, dtype=np.int64),
        letter_probability=np.full(len(rows), np.nan),
        answered_at=np.full(len(rows), np.nan),
        simulated=np.zeros(len(rows), dtype=np.bool_),
        imported=np.ones(len(rows), dtype=np.bool_),
        marks=np.full(len(rows), NOT_ASKED, dtype=np.int64),
    )


def _samples(
    recorded: Recorded,
    experiments: Experiments,
    windows: Mapping[str, RecordedWindow],
    numbers: Mapping[tuple[str, str], int],
    repeats: Repeats,
) -> Iterator[tuple[int, int, int, str, int, int, int]]:
    for arm, ((name, judging), experiment) in enumerate(experiments.items()):
        rows = list(sample_rows(recorded, experiment, windows[name].judgements[judging]))
        repeats.add(judging, rows, experiment.scale_size)
        for row in rows:
            yield (
                arm,
                numbers[name, row["item"]],
                row["replicate"],
                row["status"],
                row["stages"] or 0,
                row["display_order"][0],
                row["letters"].find("A") + 1,
            )


def _truth(items: list[RecordedItem], labels: tuple[str, ...]) -> ItemTruth:
    return ItemTruth(
        value=np.full(len(items), np.nan),
        label=tuple(labels[item.truth - 1] if item.truth else "" for item in items),
        category=tuple(item.category for item in items),
        outlet=("",) * len(items),
    )
