"""One judge beside another on one corpus, or beside the labels of the same texts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.calibration.checks import Margins, span
from judge_gym.calibration.comparisons import (
    HALF_WAY,
    Replacement,
    compare_judges,
    compare_verdicts,
)
from judge_gym.calibration.verdict import LEAST_LABELS, statistic
from judge_gym.counting import counted
from judge_gym.errors import ConfigError
from judge_gym.formats import plain
from judge_gym.judges import AnyJudge, Item, Judge, JudgeResult, load_judge
from judge_gym.judges.calibrating.assessing import known_points, points_of
from judge_gym.judges.item_files import ItemFile, read_judged_items
from judge_gym.judges.namesakes import fields_apart
from judge_gym.judges.systems import system_scores, systems_of
from judge_gym.metrics.cells import FloatArray, IntArray, numbered
from judge_gym.metrics.class_rates import class_rates
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.points import HIGHEST
from judge_gym.metrics.score_agreement import agreement_gain, answers_agreement
from judge_gym.metrics.system_scores import figures_of_system
from judge_gym.model_names import Answered
from judge_gym.records.items import distinct, question_numbers
from judge_gym.records.judgements import mean_scores
from judge_gym.seeds import derive_seed
from judge_gym.store.judges import answered

_HALF_WAY = 49.999
"""Points within which the mean of a judge's verdicts is on the label's side."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Items that both judges gave a score, with their mean points, and what follows from them."""

    items: Sequence[Item]
    old: FloatArray
    new: FloatArray
    replacement: Replacement
    verdicts: tuple[str, str] = ("", "")
    """The verdict below 50 points and the one above, if both give one of two; else empty."""
    truth: FloatArray = field(default_factory=lambda: np.zeros(0))
    """The labels in points, NaN without one."""

    @property
    def by_question(self) -> bool:
        """Whether several items answer one question, so that intervals are over questions."""
        return _shared_questions(self.items) is not None

    def counts(self, known: bool | None = None) -> list[list[int]]:
        """Return old verdict x new verdict → items, of those labelled so where `known` is given."""
        among = np.ones(len(self.old), dtype=np.bool_)
        if known is not None:
            among = (self.truth > HALF_WAY) if known else (self.truth < HALF_WAY)
        return [
            [
                int(
                    (
                        ((self.old > HALF_WAY) == first) & ((self.new > HALF_WAY) == then) & among
                    ).sum()
                )
                for then in (False, True)
            ]
            for first in (False, True)
        ]


def read_two(
    old: Path,
    new: Path,
    items: Path,
    fields: Mapping[str, str] | None = None,
    labels: Path | None = None,
    label_fields: Mapping[str, str] | None = None,
) -> tuple[tuple[AnyJudge, AnyJudge], ItemFile]:
    """Read both judges and the items; raises `ConfigError` if the judges are the same."""
    judges = load_judge(old), load_judge(new)
    if judges[0].key == judges[1].key:
        raise ConfigError(f"{old} and {new} are the same judge.", "Name two that differ.")
    return judges, read_judged_items(judges, items, fields, labels, label_fields)


def compare(
    judges: tuple[Judge, Judge],
    items: Sequence[Item],
    results: tuple[Sequence[JudgeResult], Sequence[JudgeResult]],
    margins: Margins,
) -> Comparison:
    """Return what the results of the old judge and of the new one say, each on its own scale."""
    means = [_means(judge, some) for judge, some in zip(judges, results, strict=True)]
    verdicts = _two_verdicts(judges, results)
    if verdicts is not None:
        # A judge whose runs are split in half has given no verdict.
        means = [{key: at for key, at in side.items() if at != HALF_WAY} for side in means]
    both = [item for item in items if all(item.key in side for side in means)]
    old, new = (np.array([side[item.key] for item in both], dtype=np.float64) for side in means)
    truth = np.array([known_points(judges[0], item) for item in both], dtype=np.float64)
    rng = np.random.default_rng(derive_seed("comparison", *(judge.key for judge in judges)))
    question = _shared_questions(both)
    if verdicts is None:
        replacement = compare_judges(old, new, margins, rng, question=question)
        labelled = ~np.isnan(truth)
        if labelled.any():
            asked = None if question is None else question[labelled]
            gain = agreement_gain(truth[labelled], old[labelled], new[labelled], asked)
            replacement = replace(replacement, figures=(*replacement.figures, gain))
        return Comparison(both, old, new, replacement)
    replacement = compare_verdicts(old, new, truth, margins, rng, question=question)
    return Comparison(both, old, new, replacement, verdicts, truth)


def _shared_questions(items: Sequence[Item]) -> IntArray | None:
    """Return the question of each item, numbered from 0; None where no two share one."""
    found = question_numbers(items)
    return np.array(found, dtype=np.int64) if len(set(found)) < len(found) else None


def _two_verdicts(
    judges: tuple[Judge, Judge], results: tuple[Sequence[JudgeResult], Sequence[JudgeResult]]
) -> tuple[str, str] | None:
    """Return the lower and the upper verdict of judges that give one of two; None of scores.

    Scores that all lie at the ends of both judges' scales are verdicts, too.
    """
    named = [
        [judge.verdict_of(end) for end in judge.score_range]
        for judge in judges
        if len(judge.verdict_scores) == len(judge.score_range)
    ]
    if len(named) == len(judges) and named[0][0] and named[0][1]:
        return named[0][0], named[0][1]
    at_ends = all(
        result.score is None or result.score in judge.score_range
        for judge, some in zip(judges, results, strict=True)
        for result in some
    )
    if not at_ends or any(judge.judges_pairs for judge in judges):
        return None
    lowest, highest = judges[0].score_range
    return plain(lowest), plain(highest)


def _means(judge: Judge, results: Sequence[JudgeResult]) -> dict[str, float]:
    points = {key: points_of(judge, some) for key, some in _by_text(results).items()}
    return {key: float(np.mean(given)) for key, given in points.items() if given}


@dataclass(frozen=True)
class Agreement:
    """Of the answers with a label: how many have a score, and how these agree.

    An answer that was labelled often counts as often; intervals are clustered by text, or by
    question where several texts answer one.
    """

    labels: int
    scored: int
    texts: int
    """The different texts among those with a score."""
    met: Estimate | None
    """The share of labels met, of all labelled answers that were judged; None without one.

    Without a score, whatever the reason (a crash, an unreadable answer, an abstention, a pair that
    is decided by order), a label is not met.
    """
    concordance: Estimate | None
    """Lin's concordance; for two verdicts it is Cohen's κ."""
    near: float
    """Points of 100 within which a score meets its label."""
    rates: tuple[Estimate, Estimate] | None = None
    """Sensitivity and specificity of a judge of two verdicts; None of scores."""
    questions: int | None = None
    """The questions that these answer, over which intervals are; None where each has its own."""

    @property
    def cells(self) -> tuple[str, str, str]:
        """For a table: how many labels, the share that is met, the agreement beyond chance."""
        if self.met is None or self.concordance is None:
            return str(self.labels), "", ""
        if self.texts < LEAST_LABELS:
            count = round((self.met.estimate or 0.0) * self.met.n)
            return str(self.labels), f"{count} of {self.met.n}", "too few labels"
        return str(self.labels), span(self.met), span(self.concordance)

    @property
    def _noun(self) -> str:
        return "text" if self.texts == self.scored else "answer"

    def __str__(self) -> str:
        """Return the figures in words, or that there are too few labels for any."""
        if not self.labels:
            return ""
        missing = self.labels - self.scored
        without = (
            f" {counted(missing, f'labelled {self._noun}')} {'has' if missing == 1 else 'have'} no "
            "score, so not the labelled one."
            if missing
            else ""
        )
        if self.met is None or self.concordance is None:
            return f"Agreement with labels: none to say.{without}"
        answered = self.met.n
        count = round((self.met.estimate or 0.0) * answered)
        how = (
            "judged as labelled"
            if self.near == _HALF_WAY
            else f"scored within {plain(self.near)} points of their label (the whole scale is 100)"
        )
        which = f" ({counted(self.texts, 'text')})" if self.texts != self.scored else ""
        sentence = f"Agreement with labels: {count} of {answered} {self._noun}s{which} are {how}"
        if self.texts < LEAST_LABELS:
            return (
                f"{sentence}; too few to say more: {LEAST_LABELS} labels are the fewest.{without}"
            )
        named = statistic(verdicts=self.near == _HALF_WAY)
        left_out = f" {named} leaves {'it' if missing == 1 else 'them'} out." if missing else ""
        figures = f"share {span(self.met)}; {named} {span(self.concordance)}"
        if self.questions is not None:
            figures += f"; intervals are over {counted(self.questions, 'question')}"
        return f"{sentence}, {figures}.{without}{left_out}"


def near_of(judge: Judge) -> float:
    """Return the points of 100 within which a mean score meets its label."""
    return _HALF_WAY if judge.decides else Margins().near


@dataclass(frozen=True)
class ComparisonFindings:
    """What the judgements of an old and a new judge on one file say, for pages and programs."""

    judges: tuple[Judge, Judge]
    answered: tuple[Answered, Answered]
    comparison: Comparison
    agreed: tuple[Agreement, Agreement]
    """How each agrees with the labels of the answers."""
    simulated: bool
    answers: tuple[str, str]
    """That items were judged again, and whether these are the answers; empty if not."""

    @property
    def changed(self) -> tuple[str, ...]:
        """The fields of the judge files that differ and can change an answer."""
        return fields_apart(self.judges[0].config, self.judges[1].config)


def comparison_findings(
    session: Session,
    judges: tuple[Judge, Judge],
    file: ItemFile,
    results: Sequence[Sequence[JudgeResult]],
    margins: Margins,
    answers: tuple[str, str] = ("", ""),
) -> ComparisonFindings:
    """Return the comparison of two judges on a file, who answered, and the agreement of each."""
    (old, new), (old_results, new_results) = judges, results
    return ComparisonFindings(
        judges,
        (
            answered(session, old.record, [old_results]),
            answered(session, new.record, [new_results]),
        ),
        compare(judges, file.texts, (old_results, new_results), margins),
        (agreement(old, file.answers, old_results), agreement(new, file.answers, new_results)),
        simulated=any(one.simulated for own in results for one in own),
        answers=answers,
    )


@dataclass(frozen=True)
class PartScores:
    """What a judge gives the texts of one system, and how it agrees with their labels."""

    system: str
    """Its name; that of a category where items name no system."""
    rows: int
    """Rows of the file: texts, each as often as it stands there."""
    scored: int
    """Those with a score."""
    mean: float | None
    """The mean score of these, on the judge's scale; None without one."""
    labelled: Agreement
    win_rate: Estimate | None = None
    """Of pairs of two systems, that mean with an interval over questions."""


def by_part(judge: Judge, file: ItemFile, results: Sequence[JudgeResult]) -> list[PartScores]:
    """Return the scores of each system's texts, by name; empty where items name fewer than two.

    Of pairs of two systems, a system's mean score is the share of its pairs that it wins.
    """
    parts, labelled_by = _parts(file.items), _parts(file.answers)
    if len(parts) < 2:
        return []
    by_text = _by_text(results)
    win_rates = _win_rates(judge, file, by_text)
    found = []
    for name, given in sorted(parts.items()):
        own = {item.key: by_text[item.key] for item in given if item.key in by_text}
        means = mean_scores(own)
        # A text that a system gives often is as much of what it says.
        of_rows = [
            sum(judge.score_range) - means[item.key]
            if name == item.second_system
            else means[item.key]
            for item in given
            if item.key in means
        ]
        mean = float(np.mean(of_rows)) if of_rows else None
        labelled = _agreement(judge, labelled_by.get(name, []), own)
        found.append(
            PartScores(name, len(given), len(of_rows), mean, labelled, win_rates.get(name))
        )
    return found


def _win_rates(
    judge: Judge, file: ItemFile, by_text: Mapping[str, Sequence[JudgeResult]]
) -> dict[str, Estimate]:
    """Return how often each system of pairs wins by the judge, of pairs with a score."""
    if not any(item.second_system for item in file.items):
        return {}
    points = {key: points_of(judge, some) for key, some in by_text.items()}
    judged = np.array(
        [np.mean(given) / HIGHEST if (given := points.get(item.key)) else np.nan
         for item in file.items],
        dtype=np.float64,
    )  # fmt: skip
    said = system_scores(file.items, judged, np.full(len(judged), np.nan))
    return {
        name: found
        for place, name in enumerate(systems_of(file.items))
        for found in figures_of_system(said, place)
        if found.metric == "system_judged"
    }


def _parts(items: Iterable[Item]) -> dict[str, list[Item]]:
    parts: dict[str, list[Item]] = {}
    for item in items:
        for name in item.systems:
            parts.setdefault(name, []).append(item)
    return parts


def agreement(judge: Judge, answers: Sequence[Item], results: Sequence[JudgeResult]) -> Agreement:
    """Return how the results agree with the labels of answers, such as `ItemFile.answers`.

    Each counts, also where several have one text: a sentence that a system gives to every fourth
    question is a fourth of what it says.
    """
    return _agreement(judge, answers, _by_text(results))


def _by_text(results: Sequence[JudgeResult]) -> dict[str, list[JudgeResult]]:
    """Return key of a text → its results: a text in several rows has the same in each."""
    by_text: dict[str, list[JudgeResult]] = {}
    for result in results:
        by_text.setdefault(result.item_key, []).append(result)
    return by_text


def _agreement(
    judge: Judge, answers: Sequence[Item], by_text: Mapping[str, Sequence[JudgeResult]]
) -> Agreement:
    near = near_of(judge)
    rows = Counter(item.key for item in answers if item.truth is not None)
    texts = [item for item in distinct(answers) if item.truth is not None]
    pairs = {
        item.key: (known_points(judge, item), float(np.mean(points)))
        for item in texts
        if (points := points_of(judge, by_text.get(item.key, [])))
    }
    labels, judged = np.array(list(pairs.values()), dtype=np.float64).reshape(-1, 2).T
    unscored = [item.key for item in texts if item.key in by_text and item.key not in pairs]
    by_key = {item.key: item for item in texts}
    question = _shared_questions([by_key[key] for key in (*pairs, *unscored)])
    found = answers_agreement(
        labels, judged, _times(rows, pairs), _times(rows, unscored), near, question
    )
    share = (labels[found.text] / HIGHEST, judged[found.text] / HIGHEST)
    return Agreement(
        rows.total(),
        len(found.text),
        len(pairs),
        found.met if found.met.n else None,
        found.beyond_chance if pairs else None,
        near,
        _rates(share[1], share[0], found.text, question) if judge.has_two_verdicts else None,
        None if question is None else len(set(question)),
    )


def _rates(
    judged: FloatArray, people: FloatArray, text: IntArray, question: IntArray | None
) -> tuple[Estimate, Estimate]:
    """Return sensitivity and specificity; over questions, they count answers."""
    if question is None:
        return class_rates(judged, people, text)
    sensitivity, specificity = class_rates(judged, people, numbered(question[text]))
    return replace(sensitivity, n_items=sensitivity.n), replace(specificity, n_items=specificity.n)


def _times(rows: Mapping[str, int], texts: Iterable[str]) -> IntArray:
    return np.array([rows[key] for key in texts], dtype=np.int64)
