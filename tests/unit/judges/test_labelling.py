"""What is labelled next, with which probability, and when it is enough."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from judge_gym.errors import ConfigError
from judge_gym.judges import BinaryJudge, CallableJudge, Item, Scale, VerdictName, read_labels
from judge_gym.judges.labelling import Draw, Labelling, Next, choices_of
from judge_gym.judges.people import bind

GATE = BinaryJudge(
    name="gate", model="sim/good-1", task="Pass or fail?",
    verdicts=(VerdictName(name="Pass", description="Fine."),
              VerdictName(name="Fail", description="Not fine.")),
)  # fmt: skip
GRADES = CallableJudge(name="grades", function="mine:grade", scale=Scale(lowest=1, highest=5))
ITEMS = tuple(Item(id=f"t{n}", text=f"text {n}") for n in range(60))


def labelling(file: Path, draw: Draw = Draw.RANDOM, judged: int = 0) -> Labelling:
    scores = {item.key: float(place % 2) for place, item in enumerate(ITEMS[:judged])}
    return Labelling(GATE, ITEMS, file, scores, draw)


def fill(given: Labelling, annotator: str, count: int, *, right: bool = True) -> list[str]:
    """Label so many items as the judge does, or items it passes as failing too."""
    names = []
    for _ in range(count):
        drawn = given.next(annotator)
        assert drawn is not None
        passes = given.judged.get(drawn.item.key, 0.0) == 1.0 and right
        given.add(annotator, drawn, {"": "Pass" if passes else "Fail"})
        names.append(drawn.item.id)
    return names


def test_everyone_gets_the_items_in_one_random_order(tmp_path: Path) -> None:
    first = fill(labelling(tmp_path / "a.jsonl"), "ann", 10)
    # Another process resumes; another person gets the same items.
    given = labelling(tmp_path / "a.jsonl")
    first += fill(given, "ann", 5)
    assert fill(given, "bo", 15) == first
    assert first != [item.id for item in ITEMS[:15]]
    assert len(set(first)) == 15
    rows = read_labels(tmp_path / "a.jsonl").rows
    chances = [row.probability for row in rows if row.annotator == "ann"]
    assert chances == pytest.approx([1 / left for left in range(60, 45, -1)])
    assert {row.draw for row in rows} == {"random"}


def test_a_skipped_item_comes_after_all_others(tmp_path: Path) -> None:
    given = Labelling(GATE, ITEMS[:3], tmp_path / "a.jsonl", {})
    skipped: list[str] = []
    for _ in range(3):
        drawn = given.next("ann", skipped)
        assert drawn is not None
        skipped.append(drawn.item.id)
    again = given.next("ann", skipped)
    assert len(set(skipped)) == 3
    assert again is not None
    assert again.item.id == skipped[0]


def test_undo_removes_the_last_label_of_its_annotator_only(tmp_path: Path) -> None:
    given = labelling(tmp_path / "a.jsonl")
    first = fill(given, "ann", 2)
    fill(given, "bo", 1)
    undone = given.undo("ann")
    assert undone is not None
    assert undone.id == first[1]
    drawn = given.next("ann")
    assert drawn is not None
    assert drawn.item.id == first[1]
    assert Counter(row.annotator for row in read_labels(given.file).rows) == {"ann": 1, "bo": 1}
    assert given.undo("nobody") is None


def test_labelling_stops_when_the_interval_is_narrow(tmp_path: Path) -> None:
    given = labelling(tmp_path / "a.jsonl", judged=60)
    fill(given, "ann", 29)
    # 29 of 29 are met: narrow, but too few.
    assert not given.progress("ann").enough
    fill(given, "ann", 1)
    progress = given.progress("ann")
    assert (progress.enough, progress.met.estimate) == (True, 1.0)
    assert not given.progress("bo").enough
    half = labelling(tmp_path / "b.jsonl", judged=60)
    fill(half, "ann", 40, right=False)
    assert not half.progress("ann").enough


def test_draws_by_gain_begin_with_texts_that_stand_in_many_rows(tmp_path: Path) -> None:
    scores = {item.key: 1.0 for item in ITEMS}
    sure = frozenset({ITEMS[7].key, ITEMS[40].key})
    given = Labelling(GATE, ITEMS, tmp_path / "a.jsonl", scores, Draw.GAIN, sure=sure)
    assert set(fill(given, "ann", 2)) == {"t7", "t40"}
    fill(given, "ann", 3)
    chances = [row.probability for row in read_labels(given.file).rows]
    assert chances[:2] == [1.0, 1.0]
    assert max(chances[2:]) < 0.1


def test_draws_by_gain_go_where_the_judge_errs_with_their_probability(tmp_path: Path) -> None:
    given = labelling(tmp_path / "a.jsonl", Draw.GAIN, judged=60)
    flip = [False]
    passed = {item.key for item in ITEMS if given.judged[item.key] == 1.0}
    for _ in range(40):
        drawn = given.next("ann")
        again = given.next("ann")
        assert drawn is not None
        assert again is not None
        assert drawn == again
        flip.append(not flip[-1])
        # The judge is always right where it fails a text, and half the time where it passes one.
        right = drawn.item.key not in passed or flip[-1]
        passes = (drawn.item.key in passed) == right
        given.add("ann", drawn, {"": "Pass" if passes else "Fail"})
    rows = read_labels(given.file).rows
    by_gain = [row for row in rows if row.draw == "gain"]
    assert len(by_gain) >= 35
    assert all(0 < (row.probability or 0) <= 1 for row in rows)
    assert f"{len(by_gain)} drawn by expected gain" in read_labels(given.file).said()
    counts = Counter(row.item_key in passed for row in rows)
    assert counts[True] > counts[False]


@pytest.mark.slow
def test_draws_for_a_ranking_go_to_systems_whose_order_is_open(tmp_path: Path) -> None:
    # people pass a and b nearly alike, and c never; the judge passes every other text
    rates = {"a": 9, "b": 7, "c": 0}
    items = tuple(
        Item(id=f"{system}{n}", text=f"text {system}{n}", context=f"question {n}", category=system)
        for n in range(100)
        for system in rates
    )
    scores = {item.key: float(place % 2) for place, item in enumerate(items)}
    given = Labelling(GATE, items, tmp_path / "a.jsonl", scores, Draw.RANKING)
    enough = []
    for _ in range(150):
        enough.append(given.progress("ann").enough)
        drawn = given.next("ann")
        assert drawn is not None
        passes = int(drawn.item.id[1:]) % 10 < rates[drawn.item.category]
        given.add("ann", drawn, {"": "Pass" if passes else "Fail"})
    rows = read_labels(given.file).rows
    assert {row.draw for row in rows} == {"ranking"}
    assert all(0 < (row.probability or 0) <= 1 for row in rows)
    # Where every pair is decided, the page asks for no more: draws then serve no pair.
    counts = Counter(row.item[0] for row, decided in zip(rows, enough, strict=True) if not decided)
    # Each has the 20 labels that a comparison needs, and the clear one no more.
    assert counts["c"] == 20 <= min(counts["a"], counts["b"])
    assert max(counts["a"], counts["b"]) > 25
    # It is enough when every pair is decided, however wide the share of labels met is.
    assert not any(enough[:30])
    assert given.progress("ann").enough
    assert "150 drawn to rank systems" in read_labels(given.file).said()
    with pytest.raises(ConfigError, match="two systems"):
        labelling(tmp_path / "b.jsonl", Draw.RANKING, judged=60)


def test_a_label_says_that_the_score_was_in_view(tmp_path: Path) -> None:
    given = Labelling(GATE, ITEMS, tmp_path / "a.jsonl", {}, shows_score=True)
    fill(given, "ann", 2)
    assert "2 given with the judge's score in view" in read_labels(given.file).said()


def test_draws_by_gain_need_scores_and_labels_a_file_of_lines(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none is stored"):
        labelling(tmp_path / "a.jsonl", Draw.GAIN)
    with pytest.raises(ConfigError, match=r"a\.csv"):
        labelling(tmp_path / "a.csv")


def test_keys_are_the_values_where_each_has_one_digit() -> None:
    assert choices_of(GATE) == [("1", "Pass", "Pass"), ("2", "Fail", "Fail")]
    assert [(key, label) for key, label, _ in choices_of(GRADES)] == [(n, n) for n in "12345"]
    wide = GRADES.model_copy(update={"scale": Scale(lowest=-2, highest=2)})
    assert [(key, label) for key, label, _ in choices_of(wide)] == [
        ("1", "-2"), ("2", "-1"), ("3", "0"), ("4", "1"), ("5", "2"),
    ]  # fmt: skip
    assert choices_of(GRADES.model_copy(update={"scale": Scale()})) == []


def say(given: Labelling, annotator: str, item: str, label: str) -> None:
    [chosen] = [one for one in given.items if one.id == item]
    given.add(annotator, Next(chosen, Draw.RANDOM, 1.0), {"": label})


def test_two_people_label_each_item_whoever_they_are(tmp_path: Path) -> None:
    """Three people, an overlap of two, and what another is at counts as theirs."""
    given = Labelling(GATE, ITEMS[:6], tmp_path / "a.jsonl", {}, overlap=2)
    held: dict[str, str] = {}
    given_to: list[tuple[str, str]] = []
    while True:
        moved = False
        for name in ("ann", "bo", "cy"):
            if (drawn := given.next(name, (), held)) is None:
                held.pop(name, None)
                continue
            if held.get(name) == drawn.item.id:  # labels it when next asked
                given.add(name, drawn, {"": "Pass"})
                given_to.append((drawn.item.id, name))
                held.pop(name)
            else:
                held[name] = drawn.item.id
            moved = True
        if not moved:
            break
    assert Counter(item for item, _ in given_to) == {item.id: 2 for item in ITEMS[:6]}
    assert len(set(given_to)) == 12
    assert {name for _, name in given_to} == {"ann", "bo", "cy"}
    assert given.progress("ann").done == given.progress("ann").items


def test_an_abstention_leaves_the_item_to_another(tmp_path: Path) -> None:
    given = Labelling(GATE, ITEMS[:1], tmp_path / "a.jsonl", {}, overlap=1)
    say(given, "ann", "t0", "abstain")
    assert given.next("ann") is None
    assert given.next("bo") is not None
    say(given, "bo", "t0", "Pass")
    assert given.next("cy") is None


def test_an_adjudicator_decides_what_people_differ_on_and_nothing_else(tmp_path: Path) -> None:
    given = Labelling(GATE, ITEMS[:4], tmp_path / "a.jsonl", {}, overlap=2, adjudicator="Dee")
    labels = {"ann": ("Pass", "Pass", "Fail", "Pass"), "bo": ("Pass", "Fail", "Pass", "abstain")}
    for name, of in labels.items():
        for number, label in enumerate(of):
            say(given, name, f"t{number}", label)
    assert [item.id for item in given.differing()] == ["t1", "t2"]
    assert given.progress("dee").items == 2
    for item, label in (("t1", "Fail"), ("t2", "Fail")):
        drawn = given.next("dee")
        assert drawn is not None
        assert (drawn.item.id, drawn.draw) == (item, Draw.ADJUDICATION)
        assert sorted(given.others(drawn.item)) == ["ann", "bo"]
        given.add("dee", drawn, {"": label})
    assert given.next("dee") is None
    people = bind(GATE, ITEMS[:4], given.labels())
    # t0 agreed, t1 and t2 decided, t3 of one person; no third annotator.
    assert people.reference == {
        item.key: score for item, score in zip(ITEMS[:4], (1.0, 0.0, 0.0, 1.0), strict=True)
    }
    assert people.annotators() == ("ann", "bo")
    assert people.undecided == 0
    assert "2 texts of these decided by an adjudicator" in people.said()
    undone = given.undo("dee")
    assert undone is not None
    assert undone.id == "t2"
    assert bind(GATE, ITEMS[:4], given.labels()).undecided == 1


def test_the_mean_of_marks_gives_way_to_a_decision(tmp_path: Path) -> None:
    given = Labelling(GRADES, ITEMS[:2], tmp_path / "a.jsonl", {}, adjudicator="dee")
    for name, marks in (("ann", "14"), ("bo", "54")):
        for number, mark in enumerate(marks):
            say(given, name, f"t{number}", mark)
    drawn = given.next("dee")
    assert drawn is not None
    given.add("dee", drawn, {"": "2"})
    people = bind(GRADES, ITEMS[:2], given.labels())
    assert people.reference == {ITEMS[0].key: 2.0, ITEMS[1].key: 4.0}
    # Agreement is among the two people, and another's reference is without the decision.
    assert people.reference_points(without=0).tolist() == [100.0, 75.0]


@pytest.mark.parametrize(
    ("options", "said"),
    [({"overlap": 1, "adjudicator": "dee"}, "overlap of 1"), ({"draw": Draw.GAIN}, "overlap is")],
)
def test_overlaps_that_make_no_sense_are_refused(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    scores = {item.key: 1.0 for item in ITEMS}
    with pytest.raises(ConfigError, match=said):
        Labelling(GATE, ITEMS, tmp_path / "a.jsonl", scores, **{"overlap": 2, **options})
