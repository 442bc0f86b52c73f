"""People's mean over all texts from labels of a part, against planted truth."""

import html
import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from judge_gym.errors import ConfigError
from judge_gym.judges import (
    CallableJudge,
    Item,
    ItemFile,
    JudgeResult,
    PairwiseJudge,
    Scale,
    new_label,
)
from judge_gym.judges.corrected import Corrected
from judge_gym.judges.correcting import Correction, HalfWidths, correct
from judge_gym.judges.label_files import collect_labels
from judge_gym.judges.pairwise_judge import DecidedByOrder
from judge_gym.judges.systems import ComparedSystems
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.report.correction import (
    conclusions,
    correction_report,
    correction_table,
    expectations,
    sentences,
)
from judge_gym.report.reliance import favours
from support.judge_results import a_result

JUDGE = CallableJudge(name="own", function="grades:own", scale=Scale(lowest=0, highest=10))


def result(item: Item, score: float | None) -> JudgeResult:
    return a_result(item, score, judge=JUDGE.key)


def corrected(
    scores: list[float | None],
    labels: list[float | None],
    systems: list[str] | None = None,
    *,
    drawn: str = "",
    said: list[str] | None = None,
    order: "np.ndarray | None" = None,
) -> Correction:
    """Correct these scores by these labels of one person, None where there is none.

    `said` are texts, each its own by default; `order` is that of the rows in the file.
    """
    names = systems or [""] * len(scores)
    given = said or [f"Text {place}." for place in range(len(scores))]
    texts = tuple(
        Item(id=f"t{place}", text=text, system=name)
        for place, (text, name) in enumerate(zip(given, names, strict=True))
    )
    rows = [
        new_label(text.id, "ann", label)
        for text, label in zip(texts, labels, strict=True)
        if label is not None
    ]
    if drawn:
        rows = [type(row)(**{**{f: getattr(row, f) for f in row.__slots__}, "draw": drawn})
                for row in rows]  # fmt: skip
    places = tuple(f"line {place}" for place in range(len(texts)))
    ordered = texts if order is None else tuple(texts[place] for place in order)
    file = ItemFile(Path("texts.csv"), ordered, places, ("id", "text"), "")
    bound = file.with_labels(collect_labels(rows), [JUDGE])
    results = {text.key: [result(text, score)] for text, score in zip(texts, scores, strict=True)}
    return correct(JUDGE, bound, results)


def row(found: Correction, about: str) -> Corrected:
    return next(one for one in found.rows if one.about == about)


def test_a_leaning_judge_is_moved_by_its_errors() -> None:
    # The judge gives 2 points more than people to every text: with a weight of 1 the corrected
    # mean is its mean less 2; labels of 40 texts alone see only those.
    rng = np.random.default_rng(3)
    people = rng.integers(0, 9, 240).astype(float)
    scores: list[float | None] = [float(one) + 2 for one in people]
    labels: list[float | None] = [
        float(one) if place < 40 else None for place, one in enumerate(people)
    ]
    of_all = row(corrected(scores, labels), "all texts")
    assert (of_all.rows, of_all.labelled) == (240, 40)
    assert of_all.judge.estimate == pytest.approx(people.mean() + 2)
    assert of_all.judge.lower is not None
    assert of_all.judge.lower > people.mean(), "the judge's own interval misses people's mean"
    assert of_all.labels.estimate == pytest.approx(people[:40].mean())
    one, alone = of_all.corrected, of_all.labels
    assert one.lower is not None
    assert one.upper is not None
    assert alone.lower is not None
    assert alone.upper is not None
    assert one.lower < people.mean() < one.upper
    assert one.upper - one.lower < 0.6 * (alone.upper - alone.lower)


@pytest.mark.slow
def test_intervals_hold_peoples_mean_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    held = wide = narrow = 0
    for _ in range(200):
        quality = rng.uniform(2, 8, 300)
        people = np.clip(np.round(quality + rng.normal(0, 1, 300)), 0, 10)
        scores = np.clip(quality + 1 + rng.normal(0, 1, 300), 0, 10)
        labels = [float(one) if place < 50 else None for place, one in enumerate(people)]
        of_all = row(corrected(scores.tolist(), labels), "all texts")
        lower, upper = of_all.corrected.lower, of_all.corrected.upper
        low, high = of_all.labels.lower, of_all.labels.upper
        assert None not in (lower, upper, low, high)
        held += lower < 5 < upper  # type: ignore[operator]
        wide += high - low  # type: ignore[operator]
        narrow += upper - lower  # type: ignore[operator]
    # 95% of 200 are 190; 182 is the 1% quantile.
    assert held >= 182
    assert narrow < 0.8 * wide


def test_two_systems_are_compared_by_their_own_labels() -> None:
    # The judge gives system b 3 points too many; people find both alike.
    rng = np.random.default_rng(5)
    people = rng.integers(1, 7, 400).astype(float)
    names = ["a", "b"] * 200
    scores: list[float | None] = [
        float(one) + (3 if name == "b" else 0) for one, name in zip(people, names, strict=True)
    ]
    labels = [float(one) if place < 100 else None for place, one in enumerate(people)]
    found = corrected(scores, labels, names)
    assert [one.about for one in found.rows] == ["all texts", "a", "b", "b less a"]
    apart = row(found, "b less a")
    assert (apart.rows, apart.labelled) == (400, 100)
    assert apart.judge.lower is not None
    assert apart.judge.lower > 2
    assert apart.corrected.lower is not None
    assert apart.corrected.upper is not None
    assert apart.corrected.lower < 0 < apart.corrected.upper
    truth = people[1::2].mean() - people[::2].mean()
    assert apart.corrected.lower < truth < apart.corrected.upper


def test_few_labels_give_no_interval_and_a_reason() -> None:
    scores: list[float | None] = [float(one % 8) for one in range(60)]
    labels = [float(one % 8) if one < 12 else None for one in range(60)]
    of_all = row(corrected(scores, labels), "all texts")
    assert of_all.corrected.estimate is None
    assert "20 labelled items" in of_all.corrected.reason


def test_labels_drawn_by_gain_are_read_by_groups_of_scores() -> None:
    rng = np.random.default_rng(9)
    quality = np.repeat([0.0, 5.0, 10.0], 100)
    people = np.clip(quality + rng.integers(-2, 3, 300), 0, 10)
    # Nearly all labels are of texts that the judge gives 10.
    chosen = {*range(5), *range(100, 105), *range(200, 260)}
    labels = [float(one) if place in chosen else None for place, one in enumerate(people)]
    found = corrected(quality.tolist(), labels, drawn="gain")
    of_all = row(found, "all texts")
    assert found.by_gain
    assert of_all.labels.estimate is None
    assert "not at random" in of_all.labels.reason
    # A third of the texts each: the mean of the three groups' labels.
    groups = [people[[place for place in chosen if place // 100 == group]] for group in range(3)]
    expected = np.mean([group.mean() for group in groups])
    assert of_all.corrected.estimate == pytest.approx(expected)


def test_what_to_label_next_is_drawn_where_people_differ() -> None:
    rng = np.random.default_rng(2)
    scores = np.repeat([0.0, 10.0], 100)
    people = np.where(scores == 0, 0, rng.integers(2, 10, 200)).astype(float)
    labels = [float(one) if place % 5 == 0 else None for place, one in enumerate(people)]
    found = corrected(scores.tolist(), labels)
    assert found.plan is not None
    assert found.groups == {0.0: 80, 10.0: 80}
    planned = dict(found.plan.rows)
    assert planned[10.0] > 40 > planned[0.0]
    assert sum(planned.values()) == len(found.chosen) == 50
    halves = found.half_widths
    assert halves is not None
    assert halves.as_planned < halves.at_random < halves.now
    of_all = found.rows[0].corrected
    assert of_all.lower is not None
    assert of_all.upper is not None
    assert halves.now == pytest.approx((of_all.upper - of_all.lower) / 2)
    for item, probability in found.chosen:
        group = scores[int(item.id[1:])]
        assert int(item.id[1:]) % 5, "it has no label yet"
        assert probability == pytest.approx(planned[group] / 80)
    again = corrected(scores.tolist(), labels)
    assert again.chosen == found.chosen


def test_texts_without_a_score_are_counted_and_people_still_say_what_they_are_worth() -> None:
    scores: list[float | None] = [None, *(float(one % 9) for one in range(79))]
    labels = [float(one % 9) if one < 30 else None for one in range(80)]
    found = corrected(scores, labels)
    assert found.without_score == 1
    assert (found.rows[0].rows, found.rows[0].labelled) == (80, 30)


def test_a_judge_that_will_not_score_bad_texts_does_not_make_them_go_away() -> None:
    """People's mean is 5 over all; of the texts that the judge scores it is 10."""
    people = [10.0, 0.0] * 100
    scores = [one if one else None for one in people]
    labels = [one if place < 60 else None for place, one in enumerate(people)]
    of_all = corrected(scores, labels).rows[0]
    assert of_all.judge.estimate == 10
    assert of_all.labels.estimate == pytest.approx(5)
    assert of_all.corrected.lower is not None
    assert of_all.corrected.upper is not None
    assert of_all.corrected.lower < 5 < of_all.corrected.upper < 8


def test_without_labels_nothing_is_corrected() -> None:
    scores: list[float | None] = [float(one % 9) for one in range(30)]
    with pytest.raises(ConfigError, match="No scored text"):
        corrected(scores, [None] * 30)


def graded(rng: np.random.Generator, texts: int) -> tuple[list[float | None], list[float | None]]:
    """Labels on 2 to 8 and a judge's scores near them: 2 too high for every second text."""
    people = rng.integers(2, 9, texts).astype(float)
    scores = people + rng.integers(-1, 2, texts) + np.where(np.arange(texts) % 2, 1.0, -1.0)
    return scores.tolist(), people.tolist()


def asked(
    scores: list[float | None], labels: list[float | None], *, shared: bool = True
) -> Correction:
    """Correct answers of systems a and b in turn, of which two answered each question."""
    texts = [
        Item(id=f"t{n}", text=f"Text {n}.", system="ab"[n % 2],
             context=f"Question {n // 2 if shared else n}?")
        for n in range(len(scores))
    ]  # fmt: skip
    given = [new_label(text.id, "ann", one) for text, one in zip(texts, labels, strict=True)
             if one is not None]  # fmt: skip
    file = ItemFile(Path("texts.csv"), tuple(texts), ("",) * len(texts), ("id",), "")
    results = {text.key: [result(text, one)] for text, one in zip(texts, scores, strict=True)}
    return correct(JUDGE, file.with_labels(collect_labels(given), [JUDGE]), results)


def as_interval(one: Estimate | None) -> tuple[float | None, ...]:
    assert one is not None
    return one.estimate, one.lower, one.upper


def t_of(values: np.ndarray) -> "pytest.approx":
    """The mean of values with the t interval of scipy, as an independent reference."""
    test = stats.ttest_1samp(values, 0).confidence_interval()
    return pytest.approx((values.mean(), test.low, test.high))


def welch_of(values: np.ndarray) -> "pytest.approx":
    """The mean of every second value less that of the others, as of independent texts."""
    first, second = values[::2], values[1::2]
    test = stats.ttest_ind(second, first, equal_var=False).confidence_interval()
    return pytest.approx((second.mean() - first.mean(), test.low, test.high))


@pytest.mark.parametrize("drawn", ["", "random", "gain", "ranking"])
def test_where_every_text_has_a_label_peoples_figures_are_those_of_labels(drawn: str) -> None:
    """However all of them were drawn."""
    scores, labels = graded(np.random.default_rng(8), 60)
    found = corrected(scores, labels, ["a", "b"] * 30, drawn=drawn)
    judged, people = np.array(scores), np.array(labels)
    for about, part in (("all texts", np.s_[:]), ("a", np.s_[::2]), ("b", np.s_[1::2])):
        one = row(found, about)
        assert as_interval(one.labels) == t_of(people[part])
        assert as_interval(one.judge) == t_of(judged[part])
        assert as_interval(one.bias) == t_of((judged - people)[part])
    apart = row(found, "b less a")
    assert as_interval(apart.labels) == welch_of(people)
    assert as_interval(apart.bias) == welch_of(judged - people)
    assert (found.chosen, found.plan, found.whole) == ((), None, True)
    assert "no correction is needed" in " ".join(sentences(found))
    table = correction_table(JUDGE, found)
    assert table.columns[-1] == "judge less labels"
    (said, *_) = conclusions(found)
    assert f"b less a is {apart.labels.estimate:.2f}" in said
    assert "alone:" in said


def test_where_every_answer_has_a_label_systems_are_compared_by_question() -> None:
    scores, labels = graded(np.random.default_rng(8), 60)
    people, judged = np.array(labels), np.array(scores)
    apart = row(asked(scores, labels), "b less a")
    assert as_interval(apart.labels) == t_of(people[1::2] - people[::2])
    errors = judged - people
    assert as_interval(apart.bias) == t_of(errors[1::2] - errors[::2])


def test_a_judge_alone_is_compared_by_question_like_labels_alone() -> None:
    """Scores near each other: half a label that disagrees would be a spread of its own."""
    rng = np.random.default_rng(6)
    judged = np.repeat(rng.integers(4, 7, 30), 2) + np.tile([0.0, -0.5], 30)
    judged += rng.integers(0, 2, 60) / 2
    labels = [float(one) if n < 24 else None for n, one in enumerate(judged)]
    apart = row(asked(judged.tolist(), labels), "b less a")
    assert as_interval(apart.judge) == t_of(judged[1::2] - judged[::2])
    assert as_interval(apart.labels) == t_of(judged[1:24:2] - judged[:24:2])


@pytest.mark.parametrize("shared", [True, False])
def test_few_labels_give_a_difference_by_labels_alone_and_a_caution(*, shared: bool) -> None:
    scores, people = graded(np.random.default_rng(8), 60)
    labels = [one if n < 10 else None for n, one in enumerate(people)]
    found = asked(scores, labels, shared=shared)
    apart, few = row(found, "b less a"), np.array(people[:10], dtype=np.float64)
    expected = t_of(few[1::2] - few[::2]) if shared else welch_of(few)
    assert as_interval(apart.labels) == expected
    assert "needs 20 labelled items" in apart.corrected.reason
    assert "5 to 10 items where 20 are advised" in " ".join(sentences(found))
    said = next(conclusions(found))
    assert "needs 20 labelled items" in said
    assert re.search(r"by labels alone, .*: .*, of few labels\.", said)
    assert found.decided == ()


def test_one_label_of_a_system_gives_no_interval_of_the_difference() -> None:
    scores, people = graded(np.random.default_rng(8), 60)
    labels = [one if n < 5 and n != 1 else None for n, one in enumerate(people)]
    for shared in (True, False):
        one = row(asked(scores, labels, shared=shared), "b less a").labels
        assert one.lower is None
        assert "needs" in one.reason


def test_one_text_without_a_label_leaves_labels_alone() -> None:
    scores, labels = graded(np.random.default_rng(8), 60)
    found = corrected(scores, [*labels[:-1], None], ["a", "b"] * 30)
    assert row(found, "all texts").corrected.reason.endswith(
        "it needs 2 items without a label, and there is 1"
    )
    assert "not needed" in correction_table(JUDGE, found).rows[1].cells[-1]
    apart = row(found, "b less a")
    people = np.array(labels[:-1])
    test = stats.ttest_ind(people[1::2], people[::2], equal_var=False).confidence_interval()
    assert as_interval(apart.labels)[1:] == pytest.approx((test.low, test.high))
    assert "by labels alone" in next(conclusions(found))


def answers(rng: np.random.Generator, canned: float) -> tuple[list[str], np.ndarray]:
    """200 answers of an old and a new system, and what people say of each: a share of the new
    system's are one and the same, and wrong."""
    said, right = [], []
    for system in ("old", "new"):
        for number in range(100):
            same = system == "new" and rng.random() < canned
            said.append("Please try again." if same else f"Answer {number} of {system}.")
            right.append(0.0 if same else 10.0 * (rng.random() < 0.8))
    # One old answer is the same one, so that its text is of both systems.
    said[0], right[0] = "Please try again.", 0.0
    return said, np.array(right)


SYSTEMS = ["old"] * 100 + ["new"] * 100


def test_an_answer_that_a_system_gives_often_counts_as_often() -> None:
    said, right = answers(np.random.default_rng(1), 0.5)
    labels: list[float | None] = [one if place % 3 else None for place, one in enumerate(right)]
    scores: list[float | None] = list(right)
    found = corrected(scores, labels, SYSTEMS, said=said)
    for name, rows in (("old", slice(0, 100)), ("new", slice(100, 200))):
        assert row(found, name).judge.estimate == pytest.approx(right[rows].mean())
        assert row(found, name).rows == 100
        by_hand = np.mean([one for one in labels[rows] if one is not None])
        assert row(found, name).labels.estimate == pytest.approx(by_hand)
    assert row(found, "old less new").judge.estimate == pytest.approx(
        right[:100].mean() - right[100:].mean()
    )


@pytest.mark.parametrize("drawn", ["", "random"])
def test_the_order_of_the_rows_changes_no_figure(drawn: str) -> None:
    rng = np.random.default_rng(2)
    said, right = answers(rng, 0.4)
    scores: list[float | None] = list(right)
    labels: list[float | None] = [one if place % 2 else None for place, one in enumerate(right)]
    for found in (
        corrected(scores, labels, SYSTEMS, said=said, drawn=drawn, order=order)
        for order in (np.arange(200), np.arange(200)[::-1], rng.permutation(200))
    ):
        first = corrected(scores, labels, SYSTEMS, said=said, drawn=drawn)
        for one, other in zip(found.rows, first.rows, strict=True):
            assert one.about == other.about
            for way in ("judge", "labels", "corrected"):
                mine, theirs = getattr(one, way), getattr(other, way)
                assert (mine.estimate, mine.upper) == (
                    pytest.approx(theirs.estimate), pytest.approx(theirs.upper)
                )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("drawn", ["", "random"])
def test_labels_of_rows_and_of_drawn_texts_both_meet_the_mean_over_rows(drawn: str) -> None:
    """SIMULATED. A text that stands in many rows is likelier to be labelled by rows, not by texts.

    Its answer is unlike the others, so that either weight in place of the other misses the mean.
    """
    rng, misses, inside, intervals = np.random.default_rng(3), [], 0, 0
    for _ in range(200):
        said, right = answers(rng, 0.15)
        scores: list[float | None] = list(np.clip(right + rng.normal(0, 2, 200), 0, 10))
        # The judge's score is of the text: equal texts have one.
        of_text = dict(zip(said, scores, strict=True))
        scores = [of_text[one] for one in said]
        chosen = rng.random(200) < 0.4
        if drawn:
            lucky = {one for one in dict.fromkeys(said) if rng.random() < 0.4}
            first = {one: place for place, one in reversed(list(enumerate(said)))}
            chosen = np.array([one in lucky and first[one] == n for n, one in enumerate(said)])
        labels: list[float | None] = [
            one if has else None for one, has in zip(right, chosen, strict=True)
        ]
        new = row(corrected(scores, labels, SYSTEMS, said=said, drawn=drawn), "new").corrected
        if new.estimate is None:
            continue
        misses.append(new.estimate - right[100:].mean())
        if new.lower is not None and new.upper is not None:
            intervals += 1
            inside += new.lower <= right[100:].mean() <= new.upper
    error = np.std(misses) / len(misses) ** 0.5
    assert abs(np.mean(misses)) < 3 * error + 0.02
    assert inside / intervals > 0.92


@pytest.mark.parametrize("drawn", ["", "random"])
def test_as_many_texts_are_drawn_as_are_planned_where_texts_repeat(drawn: str) -> None:
    """A text in many rows is one text to label, and no probability is above 1."""
    said = [f"Text {place % 40}." for place in range(120)]
    right = [10.0 if place % 40 < 30 else 0.0 for place in range(120)]
    labels: list[float | None] = [*right[:20], *[None] * 100]
    found = corrected(list(right), labels, said=said, drawn=drawn)
    assert found.plan is not None
    assert found.plan.counts.sum() == len(found.chosen) == 20
    assert all(0 < probability <= 1 for _, probability in found.chosen)
    assert sum(found.groups.values()) == 20


def test_after_draws_by_gain_a_text_in_many_rows_has_to_be_labelled() -> None:
    """Half of the rows are one wrong answer; of the others 94% are right."""
    said = ["Please try again."] * 100 + [f"Text {place}." for place in range(100)]
    right = [0.0] * 100 + [10.0 if place % 16 else 0.0 for place in range(100)]
    labels = [None] * 100 + [one if place < 32 else None for place, one in enumerate(right[100:])]
    scores: list[float | None] = [0.0] * 100 + [10.0] * 100
    found = corrected(scores, labels, said=said, drawn="gain")
    assert found.rows[0].corrected.estimate is None
    assert "label them first" in found.rows[0].corrected.reason
    assert (found.chosen[0][0].text, found.chosen[0][1]) == ("Please try again.", 1.0)
    assert all(probability == pytest.approx(49 / 68) for _, probability in found.chosen[1:])
    labels[0] = 0.0
    # 2 of 32 labels of the others are wrong: (0 + 30/32) / 2 of 10, where it was 9.4.
    again = corrected(scores, labels, said=said, drawn="gain").rows[0].corrected
    assert again.estimate == pytest.approx(10 * (30 / 32) / 2)
    assert again.upper is not None
    assert again.upper < 5.1


def test_a_text_whose_labels_are_tied_is_not_asked_for_again() -> None:
    texts = tuple(Item(id=f"t{place}", text=f"Text {place}.") for place in range(60))
    tied = [new_label("t40", "ann", "no"), new_label("t40", "bo", "yes")]
    judge = CallableJudge(
        name="own", function="grades:own", scale=Scale(lowest=0, highest=1, anchors=("no", "yes"))
    )
    named = [new_label(text.id, "ann", "yes" if place % 2 else "no")
             for place, text in enumerate(texts[:40])]  # fmt: skip
    file = ItemFile(Path("texts.csv"), texts, tuple(map(str, range(60))), ("id", "text"), "")
    bound = file.with_labels(collect_labels([*named, *tied]), [judge])
    assert bound.items[40].truth is None
    assert bound.people is not None
    assert bound.people.tied == ("t40",)
    assert "Ask one more person about 't40'." in bound.said(judge)
    results = {text.key: [result(text, float(place % 2))] for place, text in enumerate(texts)}
    found = correct(judge, bound, results, more=50)
    assert "t40" not in {item.id for item, _ in found.chosen}
    assert sum(found.groups.values()) == 19


PAIR = PairwiseJudge(name="pair", model="sim/good-1", task="Which is better?", ties=True)


def pairs(
    wins: list[tuple[str, str]], labelled: int, drawn: str = "", unscored: Sequence[int] = ()
) -> Correction:
    """Correct pairs whose first text is of the old system in every second one.

    `wins` are the system that the judge, and that people find better.
    """
    items, labels, results = [], [], {}
    for place, (judged, people) in enumerate(wins):
        first, second = ("old", "new") if place % 2 else ("new", "old")
        item = Item(
            id=f"t{place}", text=f"One {place}.", second=f"Two {place}.",
            context=f"Question {place}", system=first, second_system=second,
        )  # fmt: skip
        items.append(item)
        given = result(item, None if place in unscored else float(judged == first))
        orders = {"as_given": float(judged == first), "swapped": float(judged == first)}
        results[item.key] = [given.model_copy(update={"subscores": orders})]
        if place < labelled:
            label = new_label(item.id, "ann", "first" if people == first else "second")
            labels.append(replace(label, draw=drawn) if drawn else label)
    places = tuple(f"line {place}" for place in range(len(items)))
    file = ItemFile(Path("pairs.csv"), tuple(items), places, ("id", "text"), "")
    return correct(PAIR, file.with_labels(collect_labels(labels), [PAIR]), results)


def test_systems_in_pairs_have_win_rates_whichever_text_is_first() -> None:
    # Old and new swap places in the file, so that the share of "first" says nothing of them.
    wins = [("new" if place % 4 else "old", "new" if place % 3 else "old") for place in range(120)]
    found = pairs(wins, 60)
    about = ["all texts", "new wins", "old wins", "old less new"]
    assert [one.about for one in found.rows] == about
    new, old, apart = found.rows[1:]
    assert (new.rows, new.labelled) == (apart.rows, apart.labelled) == (120, 60)
    assert new.judge.estimate == pytest.approx(3 / 4)
    assert new.labels.estimate == pytest.approx(2 / 3)
    assert old.labels.estimate == pytest.approx(1 / 3)
    assert apart.labels.estimate == pytest.approx(-1 / 3)
    # One pair is one observation: its share of wins has n - 1 degrees of freedom.
    half = 2.0 * 2 * (2 / 9 / 59) ** 0.5
    assert apart.labels.lower is not None
    assert apart.labels.upper is not None
    assert (apart.labels.upper - apart.labels.lower) / 2 == pytest.approx(half, rel=0.02)
    assert (found.by_order.pairs, found.by_order.first, found.by_order.second) == (120, 0, 0)
    assert found.draw == "random"
    table = correction_table(PAIR, found)
    assert table.title == "Win rate over all pairs, by people (pair)"
    assert [row.cells[0] for row in table.rows] == ["the first text wins", *about[1:]]
    # Labels of pairs are drawn at random: 50 of the 60 that are left.
    assert found.plan is None
    assert len(found.chosen) == 50
    assert {probability for _, probability in found.chosen} == {50 / 60}
    [expected] = found.expected
    corrected_half = (apart.corrected.upper - apart.corrected.lower) / 2
    assert (expected.about, expected.more) == ("old less new", 50)
    assert expected.now == pytest.approx(corrected_half)
    assert expected.then == pytest.approx(corrected_half * (60 / 110) ** 0.5)
    few = pairs(wins, 19).rows[1]
    assert few.judge.estimate == pytest.approx(3 / 4)
    assert "20 labelled items of each system, and there are 19: 1 more" in few.corrected.reason
    assert "expected gain" in pairs(wins, 60, "gain").rows[1].corrected.reason


def test_a_judge_alone_is_heard_where_it_has_a_score() -> None:
    wins = [("new", "new" if place % 3 else "old") for place in range(60)]
    found = pairs(wins, 30, unscored=range(20, 60))
    assert row(found, "new wins").judge.estimate == pytest.approx(1.0)
    assert found.without_score == 40


@pytest.mark.parametrize("labels", [8, 60])
def test_pairs_with_few_or_all_labels_have_win_rates_by_labels(labels: int) -> None:
    # Of 60 pairs people prefer new in 45, of the first 8 in 6.
    found = pairs([("new", "new" if place % 4 else "old") for place in range(60)], labels)
    wins = row(found, "new wins")
    assert wins.labels.estimate == pytest.approx(0.75)
    apart = row(found, "old less new")
    assert apart.labels.estimate == pytest.approx(-0.5)
    assert apart.labels.lower is not None
    assert found.whole is (labels == 60)
    assert apart.few is (labels == 8)
    if found.whole:
        # The judge always prefers new: 0.25 more often than people, and old as much less.
        assert wins.bias is not None
        assert wins.bias.estimate == pytest.approx(0.25)
        assert apart.bias is not None
        assert apart.bias.estimate == pytest.approx(-0.5)
    else:
        assert wins.corrected.estimate is None


def test_pairs_that_the_order_decides_are_counted_by_place() -> None:
    item = Item(id="a", text="One.", second="Two.")
    orders = [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5)]
    given = [
        result(item, None).model_copy(update={"subscores": {"as_given": one, "swapped": other}})
        for one, other in orders
    ]
    assert DecidedByOrder.of([*given, result(item, None)]) == DecidedByOrder(5, 2, 1)


def test_systems_that_answered_the_same_questions_are_compared_by_question() -> None:
    # Hard questions are failed by both: 6 of 40 labelled ones differ, all one way.
    rng = np.random.default_rng(4)
    hard = rng.random(100) < 0.5
    right = {"old": ~hard, "new": ~hard | (np.arange(100) % 10 < 3) & hard}
    halves = []
    for asked in ("Question {}", "{} of {}"):
        items, labels = [], []
        for system, given in right.items():
            for place, good in enumerate(given):
                item = Item(id=f"{system}{place}", text=f"{system} {place}", system=system,
                            context=asked.format(place, system))  # fmt: skip
                items.append(item)
                if place < 40:
                    labels.append(new_label(item.id, "ann", 10.0 * good))
        places = tuple(f"line {place}" for place in range(len(items)))
        file = ItemFile(Path("texts.csv"), tuple(items), places, ("id", "text"), "")
        bound = file.with_labels(collect_labels(labels), [JUDGE])
        noise = iter(rng.integers(0, 11, 200).astype(float).tolist())
        results = {item.key: [result(item, next(noise))] for item in items}
        apart = row(correct(JUDGE, bound, results), "old less new")
        expected = 10 * (right["old"][:40].mean() - right["new"][:40].mean())
        assert apart.labels.estimate == pytest.approx(expected)
        assert apart.labels.lower is not None
        assert apart.labels.upper is not None
        ways = apart.judge, apart.labels, apart.corrected
        assert all(way.lower is not None for way in ways)
        assert len({way.method for way in ways}) == 3, "each names the values that it is of"
        halves.append((apart.labels.upper - apart.labels.lower) / 2)
    paired = 10 * (right["old"].astype(float) - right["new"])[:40]
    assert halves[0] == pytest.approx(2.023 * paired.std(ddof=1) / 40**0.5, rel=0.03)
    assert halves[0] < 0.7 * halves[1]


@pytest.mark.parametrize(
    ("columns", "said"),
    [({"second_system": "b"}, "no second text"),
     ({"second": "Two.", "second_system": "b"}, "no system")],
)  # fmt: skip
def test_a_second_system_is_of_a_pair_that_names_both(columns: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Item(id="a", text="One.", **columns)


def one_answer_often(gain: int) -> Correction:
    """34 of 600 rows are one answer; 64 texts are labelled at random, and `gain` by gain."""
    rng = np.random.default_rng(4)
    said = [f"Text {place if place > 34 else 0}." for place in range(600)]
    right = np.where(np.array(said) == "Text 0.", 0.0, 10.0 * (rng.random(600) < 0.65))
    scores = np.where((right > 0) | (rng.random(600) < 0.5), 10.0, 0.0)
    scores[:35] = 0.0
    texts = [Item(id=f"t{place}", text=text) for place, text in enumerate(said)]
    labels = [new_label(f"t{place}", "ann", right[place]) for place in range(20, 84)]
    more = [place for place in range(100, 600) if scores[place] == 10.0][:gain]
    labels += [replace(new_label(f"t{n}", "ann", right[n]), draw="gain") for n in more]
    file = ItemFile(Path("texts.csv"), tuple(texts), ("",) * 600, ("id", "text"), "")
    results = {text.key: [result(text, score)] for text, score in zip(texts, scores, strict=True)}
    return correct(JUDGE, file.with_labels(collect_labels(labels), [JUDGE]), results, more=40)


def test_labels_by_gain_do_not_widen_what_random_ones_give() -> None:
    before, after = one_answer_often(0), one_answer_often(10)
    assert before.half_widths is not None
    assert after.set_aside is not None
    assert after.set_aside.labels == 10
    of_all = after.rows[0].corrected
    assert of_all == before.rows[0].corrected
    assert of_all.lower is not None
    assert of_all.upper is not None
    assert after.set_aside.alone == pytest.approx((of_all.upper - of_all.lower) / 2)
    assert any("10 texts labelled by expected gain set aside" in one for one in sentences(after))


def test_a_plan_that_is_wider_than_labels_at_random_is_not_offered() -> None:
    found = one_answer_often(0)
    halves, of_all = found.half_widths, found.rows[0]
    assert halves is not None
    assert halves.as_planned > halves.at_random
    assert found.plan is None
    # 64 labels now and 40 more: a little less than 1/√n, since scores are known already.
    assert halves.now * (64 / 104) ** 0.5 < halves.at_random < 0.85 * halves.now
    assert of_all.labelled == 64
    assert len(found.chosen) == 40
    assert len({probability for _, probability in found.chosen}) == 1
    assert any("drawn at random" in one for one in expectations(found))


@pytest.mark.parametrize("share", [0.5, 0.94, 0.96, 1.02])
@pytest.mark.parametrize("narrower", ["now", "at_random"])
def test_labels_by_groups_are_offered_where_they_are_5_percent_narrower(
    share: float, narrower: str
) -> None:
    """Than the narrower of today's interval and that with labels at random."""
    other = {"now": (1.0, 1.5), "at_random": (1.5, 1.0)}[narrower]
    assert HalfWidths(50, *other, share).is_offered is (share < 0.95)


@pytest.mark.parametrize("drawn", ["", "gain"])
def test_a_plan_that_is_hardly_narrower_is_not_offered(drawn: str) -> None:
    """With spreads of 1 and 1.3 in groups of one size, a plan by groups saves (1.3 - 1)² / 4 of a
    variance of (1 + 1.3²) / 2: 0.8% of the half-width."""
    rng = np.random.default_rng(3)
    scores = np.repeat([0.0, 10.0], 150)
    people = np.round(5 + rng.normal(0, np.where(scores == 0, 1.0, 1.3))).clip(0, 10)
    labels = [float(one) if place % 3 == 0 else None for place, one in enumerate(people)]
    found = corrected(scores.tolist(), labels, drawn=drawn)
    halves = found.half_widths
    assert halves is not None
    assert 0.98 < halves.as_planned / halves.at_random < 1
    assert halves.as_planned < 0.85 * halves.now
    assert found.plan is None
    assert {probability for _, probability in found.chosen} == {50 / 200}
    assert any("drawn at random, as labels by groups" in one for one in expectations(found))


def test_one_label_is_too_few_for_groups_so_the_next_are_drawn_at_random() -> None:
    found = corrected([float(one % 9) for one in range(80)], [4.0, *[None] * 79])
    assert (found.plan, found.half_widths, len(found.chosen)) == (None, None, 50)
    assert any("drawn at random" in one for one in expectations(found))


def test_of_a_decided_comparison_of_pairs_no_more_labels_are_needed() -> None:
    found = pairs([("new", "new" if place % 5 else "old") for place in range(120)], 60)
    assert found.decided == ("old less new",)
    said = " ".join(expectations(found))
    assert "Decided, so more labels are not needed to compare: old less new." in said
    assert "half-width of a difference" not in said
    assert "drawn at random" in said


def test_a_conclusion_says_which_system_is_better_and_what_more_labels_bring() -> None:
    # The judge agrees with people on every text: 30 of 100 answers of b are wrong, 60 of a.
    right = [float(10 * (place % 10 >= 6)) for place in range(100)]
    right += [float(10 * (place % 10 >= 3)) for place in range(100)]
    names = ["a"] * 100 + ["b"] * 100
    labels = [one if place % 2 else None for place, one in enumerate(right)]
    clear = list(conclusions(corrected(list(right), labels, names)))
    assert "b is better" in clear[0]
    assert "The judge alone: 3.00" in clear[0]
    assert "more labels" not in clear[0]
    rng = np.random.default_rng(1)
    noise = [float(one) for one in rng.permutation(right)]
    open_ = corrected(noise, labels, [names[n] for n in rng.permutation(200)])
    said = " ".join(conclusions(open_))
    assert "labels cannot tell which is better" in said
    assert "more labels at random" in said
    expected = open_.expected[0]
    assert f"{expected.more} more labels" in said
    assert "rely on it alone" in said


@pytest.mark.parametrize(("gap", "is_open"), [(0.0, True), (4.0, False)])
def test_while_a_comparison_is_open_the_next_labels_serve_it(gap: float, is_open: bool) -> None:
    """Labels by gain would be narrower for the mean: the judge's score of 0 is sure, 10 is not."""
    rng = np.random.default_rng(2)
    scores = np.tile(np.repeat([0.0, 10.0], 100), 2)
    people = np.where(scores == 0, 0, rng.integers(2, 6, 400)).astype(float)
    people += np.where(scores == 0, 0, np.repeat([0.0, gap], 200))
    labels = [float(one) if place % 5 == 0 else None for place, one in enumerate(people)]
    found = corrected(scores.tolist(), labels, ["a"] * 200 + ["b"] * 200)
    halves = found.half_widths
    assert halves is not None
    assert halves.is_offered
    assert (found.undecided, found.decided) == (
        (("b less a",), ()) if is_open else ((), ("b less a",))
    )
    assert (found.plan is None) is is_open
    assert len(found.chosen) == 50
    said = " ".join(expectations(found))
    assert ("drawn at random, to compare systems (b less a)" in said) is is_open
    assert ("drawn by groups of scores" in said) is not is_open
    assert ("more labels are not needed to compare: b less a." in said) is not is_open
    assert ("half-width of a difference" in said) is is_open
    if is_open:
        # 320 of 400 have no label.
        assert {probability for _, probability in found.chosen} == {50 / 320}
        # Labels so drawn keep the mean of all texts.
        assert found.rows[0].corrected.estimate is not None


def test_without_systems_the_conclusion_is_the_mean() -> None:
    (said,) = conclusions(one_answer_often(0))
    assert said.startswith("People's mean over all texts is ")


def test_a_value_without_an_interval_is_shown() -> None:
    scores: list[float | None] = [7.0] * 60
    labels = [float(one % 8) if one < 30 else None for one in range(60)]
    cells = correction_table(JUDGE, corrected(scores, labels)).rows[0].cells
    assert cells[3].startswith("7.00 (no interval")


def test_a_judge_alone_needs_no_labels_and_says_what_few_answers_do() -> None:
    wins = [("new" if place % 4 else "old", "new") for place in range(4)]
    items = [Item(id=f"t{n}", text=f"a{n}", second=f"b{n}", system="new", second_system="old")
             for n in range(4)]  # fmt: skip
    judged = np.array([float(own == "new") for own, _ in wins])
    rng = np.random.default_rng(1)
    of = ComparedSystems.of(items, judged, np.full(4, np.nan), (0.0, 1.0), rng)
    alone, labels, _ = of.difference(1, 0)
    assert alone.estimate == pytest.approx(0.5)
    assert alone.lower is None
    assert "label" not in alone.because
    assert labels.estimate is None


def test_the_judge_of_pairs_favours_what_the_table_says_it_does() -> None:
    # People find both alike; the judge always prefers new.
    found = pairs([("new", "new" if place % 2 else "old") for place in range(120)], 60)
    assert found.biases["new"].estimate == pytest.approx(0.5)
    said = " ".join(conclusions(found))
    assert "disfavours old by -0.50" in said
    assert " favours new" not in said, "what one loses, the other gains"
    assert "do not rely on it alone" in said


def test_pairs_of_a_system_with_itself_are_counted() -> None:
    rows = [("new", "old")] * 40 + [("new", "new")] * 3
    items = [Item(id=f"t{n}", text=f"a{n}", second=f"b{n}", system=one, second_system=other)
             for n, (one, other) in enumerate(rows)]  # fmt: skip
    labels = [new_label(f"t{n}", "ann", "first" if n % 2 else "second") for n in range(25)]
    file = ItemFile(Path("pairs.csv"), tuple(items), ("",) * 43, ("id",), "")
    results = {item.key: [result(item, 1.0)] for item in items}
    found = correct(PAIR, file.with_labels(collect_labels(labels), [PAIR]), results)
    assert found.with_itself == 3
    assert any("3 pairs of a system with itself" in one for one in sentences(found))


def test_three_systems_in_pairs_are_each_told_of() -> None:
    bias = not_estimable("system_bias", "x")
    ibex = replace(bias, estimate=-0.17, lower=-0.37, upper=0.02, because="")
    orca = replace(bias, estimate=0.18, lower=0.02, upper=0.33, because="")
    said = favours({"ibex": ibex, "orca": orca})
    assert "favours orca by 0.18" in said
    assert "neither" not in said
    assert "neither" in favours({"ibex": ibex, "lynx": None})


def test_the_page_and_json_have_what_was_read_and_what_was_found(tmp_path: Path) -> None:
    found = one_answer_often(0)
    texts = [Item(id=f"t{n}", text=f"Text {n}.", truth=5 if n < 3 else None) for n in range(600)]
    file = ItemFile(Path("texts.csv"), tuple(texts), ("",) * 600, ("id", "truth"), "truth",
                    own=tuple(text.truth for text in texts))  # fmt: skip
    page = correction_report(JUDGE, file, found, simulated=False).save(tmp_path).path
    given = json.loads(page.with_suffix(".json").read_text())
    assert "Labels: 3 of 600 items" in given["read"]["said"]
    assert "Labels: 3 of 600 items" in page.read_text()
    assert given["found"][0] in html.unescape(page.read_text())
    assert given["half_width"]["now"] == pytest.approx(found.half_widths.now)  # type: ignore[union-attr]
    assert given["next_drawn"] == "random"


def test_labelled_texts_of_two_systems_are_told_where_counts_do_not_add_up() -> None:
    said = [f"Text {place % 100}." if place % 50 < 2 else f"Text {place}." for place in range(200)]
    right = [float(place % 7) for place in range(200)]
    names = ["old"] * 100 + ["new"] * 100
    labels = [one if place < 40 else None for place, one in enumerate(right)]
    found = corrected(list(right), labels, names, drawn="random", said=said)
    of_all, new, old = (row(found, name).labelled for name in ("all texts", "new", "old"))
    # Texts 0 and 1 are of both systems.
    assert (of_all, new + old) == (40, 42)
    told = "Of the 40 labelled texts 2 count twice or more below, as several systems gave them."
    assert told in list(sentences(found))


def test_a_difference_without_an_interval_is_no_finding_and_says_how_many_labels_would_do() -> None:
    # 22 labels of each: those of a are spread, of b all but two are near the upper end.
    spread, crowd = [float(n % 9 + 1) for n in range(22)], [9.0] * 10 + [10.0] * 10 + [1.0, 2.0]
    labels = [*spread, *[None] * 8, *crowd, *[None] * 8]
    scores: list[float | None] = [5.0 + n % 3 for n in range(60)]
    found = corrected(scores, labels, ["a"] * 30 + ["b"] * 30)
    needed = math.floor(25 * stats.skew(crowd) ** 2) + 1
    said = " ".join(conclusions(found))
    # What decides comes first, and is said to be estimated; the other way is not estimable.
    assert said.startswith("People: by labels alone, b less a is ")
    assert "By labels and judge it is not estimable, because b: 22 labels crowd at one end" in said
    assert f"{needed - 22} more like them would do; there are 8 others" in said
    assert "cannot tell" not in said
    assert ": b is better, of few labels." in said
    assert said.index("b is better") < said.index("not estimable")
    assert found.decided == ()
    few = [one if n % 30 < (15 if n < 30 else 14) else None for n, one in enumerate(labels)]
    said = " ".join(conclusions(corrected(scores, few, ["a"] * 30 + ["b"] * 30)))
    assert re.findall(r"([ab]): it needs 20 .*?: (\d+) labelled more", said) == [
        ("a", "5"), ("b", "6")
    ]  # fmt: skip
