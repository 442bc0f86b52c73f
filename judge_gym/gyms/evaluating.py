"""From a gym to what its judge said of every candidate, and how the candidates compare."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from judge_gym.answers.readability import Answers, answers_by_judge
from judge_gym.evidence.typed_rows import TypedRows
from judge_gym.gyms.base import Candidate, Case, Gym, Output
from judge_gym.gyms.comparing import CandidateComparison, comparisons, means
from judge_gym.gyms.files import load_gym
from judge_gym.judges import Item, Judge, JudgeResult, RubricJudge, load_judge
from judge_gym.judges.calibrating.assessing import points_of
from judge_gym.judges.calibrating.judging import Asked, results_of
from judge_gym.judges.files import check_single
from judge_gym.judges.use import Use, joined, use_of_judge
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.points import to_points
from judge_gym.model_names import Answered
from judge_gym.records.items import distinct
from judge_gym.runtime import Runtime
from judge_gym.seeds import derive_seed
from judge_gym.store.judges import answered, item_costs

SCORE = "score"
"""The judge's, in points of 100; the first measure of every gym."""
SHOWN_OF_A_KIND = 5
"""Cases without a score, furthest apart, lowest and highest that are shown, each once."""


@dataclass(frozen=True)
class LoadedGym:
    """A gym with the judge and the cases that it names."""

    gym: Gym[Any, Any]
    judge: Judge
    cases: Sequence[Case]
    labels: str = ""
    """How many labels the cases have and where they are from, for a person."""


@dataclass(frozen=True)
class EvaluatedCase:
    """What one candidate made of a case, what the judge said, and both in points of 100."""

    output: Output
    result: JudgeResult | None
    points: dict[str, float]

    @property
    def status(self) -> str:
        """How it ended: as the judgement did, or why there was nothing to judge."""
        if self.output.text is None:
            return self.output.status
        return self.result.status if self.result else "not judged yet"

    @property
    def failure(self) -> str:
        """Why there is no score, as `kind: detail`; empty where there is one."""
        if self.output.failure or self.result is None:
            return self.output.failure
        return self.result.failure or ""

    @property
    def simulated(self) -> bool:
        return self.output.simulated or bool(self.result and self.result.simulated)


@dataclass(frozen=True)
class Spot:
    """A case to look at, by its place, and what is remarkable about it."""

    place: int
    why: str


@dataclass(frozen=True, eq=False)
class GymReport:
    """All there is to say. `entries` are by case and candidate, `means` by measure and candidate.

    `answered` is who answered for the judge.
    `judge_cost` is what the judge's calls have cost, in US dollars; NaN where that is not known.
    """

    loaded: LoadedGym
    entries: Sequence[Sequence[EvaluatedCase]]
    means: dict[str, list[Estimate]]
    comparisons: Sequence[CandidateComparison]
    spots: Sequence[Spot]
    answered: Answered
    judge_cost: float

    @property
    def names(self) -> list[str]:
        return [candidate.name for candidate in self.loaded.gym.candidates]

    @property
    def costs(self) -> list[float]:
        """By candidate, the US dollars its outputs took; NaN where that is not known."""
        columns = zip(*self.entries, strict=True)
        return [sum(entry.output.cost for entry in column) for column in columns]

    @property
    def statuses(self) -> list[Counter[str]]:
        """By candidate, how its cases ended."""
        return [
            Counter(entry.status for entry in column) for column in zip(*self.entries, strict=True)
        ]

    @property
    def failures(self) -> list[Counter[str]]:
        """By candidate, why cases have no score, and how many."""
        columns = zip(*self.entries, strict=True)
        return [Counter(entry.failure for entry in column if entry.failure) for column in columns]

    @property
    def simulated(self) -> bool:
        """Whether the simulator had a part in any of it."""
        return any(entry.simulated for row in self.entries for entry in row)


def read_gym(file: Path) -> LoadedGym:
    """Read a gym's file and those it names; raises `ConfigError` or `EvidenceError`."""
    gym = load_gym(file)
    judge = load_judge(gym.judge)
    check_single(gym.judge, judge, "a gym")
    corpus: TypedRows[Any] = gym.read_corpus()
    return LoadedGym(gym, judge, corpus.rows, _labels(gym, corpus))


def _labels(gym: Gym[Any, Any], corpus: TypedRows[Any]) -> str:
    """Return how many cases have labels, and from which column."""
    field = gym.label_field
    if not field:
        return "Labels: none; this kind of gym reads none."
    count = sum(getattr(case, field) is not None for case in corpus.rows)
    if not count:
        return f"Labels: none. Map a column with fields: {{{field}: COLUMN}} in the gym's file."
    return f"Labels: {count} of {len(corpus.rows)} cases, from column {corpus.used[field]!r}."


def made(runtime: Runtime, loaded: LoadedGym) -> list[list[Output]]:
    """Return what each candidate made of each case so far, by case."""
    gym = loaded.gym
    columns = [gym.made(runtime, candidate, loaded.cases) for candidate in gym.candidates]
    return [list(row) for row in zip(*columns, strict=True)]


def answers_of(loaded: LoadedGym, outputs: Sequence[Sequence[Output]]) -> list[Answers]:
    """Return how much of what candidates asked models for came to a text; by candidate."""
    return answers_by_judge(
        (f"candidate {candidate.name} ({joined(candidate.asks)})", output.failure or None, 1)
        for row in outputs
        for candidate, output in zip(loaded.gym.candidates, row, strict=True)
        if candidate.asks and output.status != "missing"
    )


async def ask(
    runtime: Runtime,
    loaded: LoadedGym,
    candidate: str,
    cases: Sequence[str],
    *,
    retry_failed: bool = False,
) -> dict[str, int]:
    """Have models do what a candidate needs for the cases of these names; counts by status."""
    [chosen] = [each for each in loaded.gym.candidates if each.name == candidate]
    wanted = set(cases)
    some = [case for case in loaded.cases if case.id in wanted]
    return dict(await loaded.gym.ask(runtime, chosen, some, retry_failed=retry_failed))


def lacking(
    loaded: LoadedGym, outputs: Sequence[Sequence[Output]], *, retry_failed: bool = False
) -> dict[str, list[str]]:
    """Return candidate → the cases it has to ask somebody about: what is missing.

    With `retry_failed` what failed in any way, too.
    """
    missing: dict[str, list[str]] = {}
    for candidate, column in zip(loaded.gym.candidates, zip(*outputs, strict=True), strict=True):
        if candidate.asks is not None:
            missing[candidate.name] = [
                case.id
                for case, output in zip(loaded.cases, column, strict=True)
                if output.status == "missing" or (retry_failed and output.failure)
            ]
    return {name: cases for name, cases in missing.items() if cases}


def plan(runtime: Runtime, loaded: LoadedGym) -> list[Use]:
    """Return what each candidate, and at the end the judge, will use at most.

    A text that is still to be made is counted as if it were as long as what the judge sees beside.
    """
    gym, cases = loaded.gym, loaded.cases
    expected = [
        [_expected(gym, candidate, case, output)
         for candidate, output in zip(gym.candidates, row, strict=True)]
        for case, row in zip(cases, made(runtime, loaded), strict=True)
    ]  # fmt: skip
    judging = Asked(loaded.judge, items_of(loaded, expected))
    uses = [gym.plan(runtime, candidate, cases) for candidate in gym.candidates]
    return [*uses, use_of_judge(runtime, loaded.judge.name, judging)]


def items_of(loaded: LoadedGym, outputs: Sequence[Sequence[Output]]) -> list[Item]:
    """Return what there is to judge, each once."""
    return distinct(_items(loaded, outputs))


def read_report(runtime: Runtime, loaded: LoadedGym) -> GymReport:
    """Return what is to be said of what is made and judged so far; asks nobody."""
    outputs = made(runtime, loaded)
    with runtime.session() as session:
        results = results_of(session, loaded.judge, items_of(loaded, outputs), 1)
        cost = sum(item_costs(session, loaded.judge.record, results).values())
        by = answered(session, loaded.judge.record, results.values())
    entries = [
        [_entry(loaded, case, output, results) for output in row]
        for case, row in zip(loaded.cases, outputs, strict=True)
    ]
    gym, names = loaded.gym, [candidate.name for candidate in loaded.gym.candidates]
    compared = {name: _values(entries, name) for name in (SCORE, *gym.labelled)}
    marked = loaded.judge.parts if isinstance(loaded.judge, RubricJudge) else ()
    marks = {mark_of(name): _values(entries, mark_of(name)) for name in marked}
    rng = np.random.default_rng(derive_seed("gym", gym.name, loaded.judge.key))
    return GymReport(
        loaded=loaded,
        entries=entries,
        means={name: means(values, name) for name, values in (compared | marks).items()},
        comparisons=comparisons(compared, names, rng),
        spots=spots(compared[SCORE]),
        answered=by,
        judge_cost=cost,
    )


def spots(scores: FloatArray) -> list[Spot]:
    """Return the most remarkable cases, each once: `scores` is cases x candidates, NaN for none.

    Those without a score of some candidate, the furthest apart, the lowest and the highest; a
    candidate without any score says nothing of a case.
    """
    present = ~np.isnan(scores)
    gaps = np.flatnonzero(~present[:, present.any(axis=0)].all(axis=1))
    scored = np.flatnonzero(present.any(axis=1))
    low = {int(place): float(np.nanmin(scores[place])) for place in scored}
    high = {int(place): float(np.nanmax(scores[place])) for place in scored}
    apart = {place: high[place] - low[place] for place in low if high[place] > low[place]}
    chosen: dict[int, Spot] = {}
    for some in (
        [Spot(int(place), "without a score") for place in gaps],
        [Spot(place, f"{apart[place]:.3g} points apart") for place in _in_order(apart, -1)],
        [Spot(place, f"lowest: {low[place]:.3g} points") for place in _in_order(low, 1)],
        [Spot(place, f"highest: {high[place]:.3g} points") for place in _in_order(high, -1)],
    ):
        for spot in some[:SHOWN_OF_A_KIND]:
            chosen.setdefault(spot.place, spot)
    return list(chosen.values())


def _in_order(values: dict[int, float], sign: int) -> list[int]:
    return sorted(values, key=lambda place: sign * values[place])


def mark_of(criterion: str) -> str:
    """Return the measure that a criterion's mark is; it may be called like another measure."""
    return f"mark for {criterion}"


def _expected(gym: Gym[Any, Any], candidate: Candidate, case: Case, output: Output) -> Output:
    if output.status != "missing" or candidate.asks is None:
        return output
    return Output(f"{candidate.name}: {gym.context(case)}")


def _items(loaded: LoadedGym, outputs: Sequence[Sequence[Output]]) -> Iterator[Item]:
    for case, row in zip(loaded.cases, outputs, strict=True):
        yield from (loaded.gym.item(case, output) for output in row if output.text is not None)


def _entry(
    loaded: LoadedGym, case: Case, output: Output, results: dict[str, list[JudgeResult]]
) -> EvaluatedCase:
    if output.text is None:
        return EvaluatedCase(output, None, {})
    result = next(iter(results[loaded.gym.item(case, output).key]), None)
    points = loaded.gym.measures(case, output.text)
    if result is not None and result.score is not None:
        points |= _points(loaded.judge, result)
    return EvaluatedCase(output, result, points)


def _points(judge: Judge, result: JudgeResult) -> dict[str, float]:
    [score] = points_of(judge, [result])
    points = {SCORE: score}
    if isinstance(judge, RubricJudge):
        lowest, highest = judge.scale.lowest, judge.scale.highest
        for name, mark in result.subscores.items():
            points[mark_of(name)] = float(to_points(np.array([mark]), lowest, highest)[0])
    return points


def _values(entries: Sequence[Sequence[EvaluatedCase]], measure: str) -> FloatArray:
    return np.array([[entry.points.get(measure, np.nan) for entry in row] for row in entries])
