"""Labels of several people: rounds, the reference they make, and agreement with them."""

from datetime import UTC, datetime
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from judge_gym.errors import DataFileError, JudgeGymError
from judge_gym.judges import (
    BinaryJudge,
    CallableJudge,
    Criterion,
    ItemFile,
    Judge,
    JudgeResult,
    PairwiseJudge,
    RubricJudge,
    Scale,
    VerdictName,
    collect_labels,
    new_label,
    read_item_file,
    read_labels,
    write_labels,
)
from judge_gym.judges.people import People
from support.judge_results import a_result

GRADES = CallableJudge(name="grades", function="mine:grade", scale=Scale(lowest=1, highest=5))
GATE = BinaryJudge(
    name="gate", model="sim/good-1", task="Pass or fail?",
    verdicts=(VerdictName(name="Pass", description="Fine."),
              VerdictName(name="Fail", description="Not fine.")),
)  # fmt: skip
RUBRIC = RubricJudge(
    name="rubric", model="sim/good-1", task="Grade.", scale=Scale(lowest=1, highest=5),
    criteria=(Criterion(name="facts", description="Right.", weight=3),
              Criterion(name="style", description="Clear.")),
)  # fmt: skip
NOON = "2025-03-31T12:00:00Z"
LATER = "2025-04-01T09:00:00+02:00"


def items(folder: Path, count: int = 4) -> ItemFile:
    file = folder / "items.csv"
    file.write_text("id,text\n" + "".join(f"t{n},text {n}\n" for n in range(1, count + 1)))
    return read_item_file(file)


def people(folder: Path, content: str, judge=GRADES, fields=None) -> People:  # type: ignore[no-untyped-def]
    file = folder / "labels.csv"
    file.write_text(content)
    labelled = items(folder).with_labels(read_labels(file, fields), [judge])
    assert labelled.people is not None
    return labelled.people


def results(of: People, scores: list[float | None]) -> dict[str, list[JudgeResult]]:
    given = zip(of.items, scores, strict=True)
    return {item.key: [a_result(item, score, simulated=True)] for item, score in given}


def test_scores_are_averaged_and_verdicts_are_counted(tmp_path: Path) -> None:
    graded = people(tmp_path, "item,annotator,label\nt1,ann,4\nt1,bo,5\nt2,bo,1\n")
    assert list(graded.reference.values()) == [4.5, 1.0]
    decided = people(
        tmp_path,
        "item,annotator,label\nt1,ann,pass\nt1,bo,FAIL\nt1,cy,1\nt2,ann,Pass\nt2,bo,Fail\n"
        "t3,ann,fail\nt3,bo,abstain\nt4,ann,pass|fail\n",
        GATE,
    )
    by_name = {item.id: decided.reference.get(item.key) for item in decided.items}
    assert by_name == {"t1": 1.0, "t2": None, "t3": 0.0, "t4": None}
    assert decided.undecided == 2
    assert "2 texts without a majority" in decided.said()


def test_a_label_that_stands_twice_counts_once_and_is_none_that_a_newer_one_replaced(
    tmp_path: Path,
) -> None:
    file = tmp_path / "labels.csv"
    twice = f"t1,ann,4,\nt1,ann,4.0,\nt2,bo,3,{NOON}\nt2,bo,3,{NOON}\n"
    file.write_text(f"item,annotator,label,time\n{twice}t3,bo,3,{NOON}\nt3,bo,3,{LATER}\n")
    read = read_labels(file)
    assert [row.line for row in read.repeated] == [2, 4]
    assert "2 repeated labels counted once (line 2, line 4)" in read.said()
    assert "1 earlier label replaced by newer ones" in read.said()
    assert read.annotators == {"ann": 1, "bo": 2}
    file.write_text("item,annotator,label\nt1,ann,4\nt1,ann,5\n")
    with pytest.raises(DataFileError, match="line 3: label is '5', and line 2 has '4' by 'ann'"):
        read_labels(file)


WIDE = "Nr;ann;bo b;cy\nt1;4;3,5;\nt2;2;abstain;5\nt3;;1;x\n"


def test_a_table_with_a_column_for_each_person_is_read_by_their_names(tmp_path: Path) -> None:
    fields = {"item": "Nr", "people": "ann, bo b"}
    found = people(tmp_path, WIDE, fields=fields)
    assert list(found.reference.values()) == [3.75, 2.0, 1.0]
    read = read_labels(tmp_path / "labels.csv", fields)
    assert [(row.item, row.annotator, row.labels, row.line) for row in read.rows] == [
        ("t1", "ann", ("4",), 2), ("t1", "bo b", ("3.5",), 2), ("t2", "ann", ("2",), 3),
        ("t2", "bo b", (), 3), ("t3", "bo b", ("1",), 4),
    ]  # fmt: skip
    assert "Labels: 4 from 2 columns, each a person's, of" in read.said()
    assert "1 cell of these columns without a label" in read.said()
    with pytest.raises(DataFileError, match="line 4: item 't3': cy is 'x'"):
        people(tmp_path, WIDE, fields={"item": "Nr", "people": "cy"})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "there is no column 'label'"),
        ({"label": "Note"}, "label is 'Note', and no row has such a column"),
        ({"item": "Nr", "people": "ann,dora"}, "people is 'dora', and no row has such a column"),
        ({"people": "ann,ann"}, "people is 'ann,ann'"),
        ({"people": "ann", "annotator": "bo b"}, "people is 'ann', and annotator is 'bo b'"),
    ],
)
def test_columns_of_people_that_are_not_read_are_named_and_how_to_read_them(
    tmp_path: Path, fields: dict[str, str], said: str
) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(WIDE)
    with pytest.raises(JudgeGymError, match=said) as raised:
        read_labels(file, fields)
    if "people" not in fields:
        options = "--label-fields item=Nr --label-fields 'people=ann,bo b,cy'"
        assert f"`{options}`" in (raised.value.remedy or "")
        with pytest.raises(JudgeGymError, match="label") as raised:
            read_labels(file, fields, in_file=True)
        assert '`label_fields: {item: "Nr", people: "ann,bo b,cy"}`' in raised.value.remedy
        assert "--label-fields" not in str(raised.value)


def test_columns_that_describe_an_item_are_offered_as_no_persons(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("ID,System,Text,Ann,Bo\n1,a,Bees.,4,5\n")
    with pytest.raises(JudgeGymError, match="no column 'label'") as raised:
        read_labels(file)
    assert "people=Ann,Bo`" in (raised.value.remedy or "")
    file.write_text("id,annotator,score\n1,Ann,4\n")
    with pytest.raises(JudgeGymError, match="no column 'label'") as raised:
        read_labels(file)
    assert "people" not in (raised.value.remedy or "")


def test_the_newest_label_counts_and_earlier_ones_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(
        f"item,annotator,label,time,note\nt1,ann,5,{LATER},second look\nt1,ann,2,{NOON},\n"
        "t2,ann,3,,\nt2,ann,3,,\nt3,ann,,,\nt3,bo,Abstain,,\n"
    )
    read = read_labels(file)
    assert [(row.item, row.labels) for row in read.rows] == [
        ("t1", ("5",)), ("t2", ("3",)), ("t3", ()),
    ]  # fmt: skip
    assert [(row.line, row.labels) for row in read.earlier] == [(3, ("2",)), (4, ("3",))]
    assert (read.annotators, read.abstentions, read.empty) == ({"ann": 2}, 1, 1)
    assert "by 1 annotator (ann 2); 1 abstention; 1 earlier label replaced" in read.said()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("item,annotator,label\nt1,ann,4\nt1,ann,5\n",
         ["line 3", "'5'", "line 2 has '4'", "'ann'", "give them times"]),
        (f"item,annotator,label,time\nt1,ann,4,{NOON}\nt1,ann,5,\n", ["line 3", "give them times"]),
        (f"item,annotator,label,time\nt1,ann,4,{NOON}\nt1,ann,5,{NOON}\n", ["line 3"]),
        ("item,annotator,label\nt1,ann,6\n", ["line 2", "item 't1'", "label is 6", "from 1 to 5"]),
        ("item,annotator,label\nt1,ann,good\n", ["label is 'good'", "from 1 to 5"]),
        ("item,annotator,label\nt9,ann,4\n", ["line 2", "item is 't9'", "no label is of one of"]),
        ("item,annotator,label\nt1,,4\n", ["line 2", "annotator is empty"]),
        ("item,rater,label\nt1,ann,4\n", ["no column 'annotator'", "'rater'", "fields: {anno"]),
        ("item,annotator,label,time\nt1,ann,4,yesterday\n", ["time is 'yesterday'", "ISO 8601"]),
        ("item,annotator,label\nt1,ann,4|abstain\n", ["label is '4|abstain'", "abstain alone"]),
        ("item,annotator,label,probability\nt1,ann,4,0\n", ["probability is '0'", "above 0"]),
        ("item,annotator,label\n", ["has no row"]),
    ],
)  # fmt: skip
def test_a_row_that_does_not_fit_is_named(tmp_path: Path, content: str, words: list[str]) -> None:
    with pytest.raises(JudgeGymError) as caught:
        people(tmp_path, content)
    said = f"{caught.value.message} {caught.value.remedy}"
    assert "labels.csv" in said
    for word in words:
        assert word in said


def test_a_file_that_names_its_annotators_has_no_column_for_each(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("ticket,rater,score\nt1,ann,3\n")
    with pytest.raises(JudgeGymError, match="no row has such a column") as caught:
        read_labels(file, {"item": "ticket", "annotator": "rater", "label": "points"})
    assert "people" not in str(caught.value)


@pytest.mark.parametrize(
    ("judge", "words", "others"),
    [
        (GATE, ["yes", "Pass", "good", "YES", "yes", "good", "fail", "no"],
         "So with 5 other labels: 'good' (2), 'YES' (1), 'yes' (1), 'no' (1)"),
        (GRADES, ["6", "five", "3", "0|4"], "So with 2 other labels: 'five' (1), 0.0 (1)"),
        (GATE, ["yes", "Pass", "abstain", "fail"], None),
    ],
)  # fmt: skip
def test_all_labels_in_other_words_are_named_at_once(
    tmp_path: Path, judge: Judge, words: list[str], others: str | None
) -> None:
    rows = "".join(f"t1,person {n},{word}\n" for n, word in enumerate(words))
    with pytest.raises(DataFileError) as caught:
        people(tmp_path, f"item,annotator,label\n{rows}", judge)
    assert "line 2" in caught.value.message
    if others is None:
        assert "other label" not in caught.value.message
    else:
        assert others in caught.value.message


def of_equal_texts(folder: Path, labels: str, judge: Judge = RUBRIC) -> People:
    """Return labels of k0 and k9, which have one text, and of k1, which has another."""
    items, file = folder / "twice.csv", folder / "labels.csv"
    items.write_text("id,text\nk0,One text.\nk1,Another.\nk9,One text.\n")
    file.write_text(f"item,annotator,label\n{labels}")
    found = read_item_file(items).with_labels(read_labels(file), [judge]).people
    assert found is not None
    return found


def test_labels_of_equal_texts_by_one_person_are_all_kept(tmp_path: Path) -> None:
    # ann's mean is 1.5, bo's label 4: the mean over people is 2.75, not the mean of labels 2.33.
    found = of_equal_texts(tmp_path, "k0,ann,2\nk9,ann,1\nk9,bo,4\nk1,ann,5\n")
    assert list(found.reference.values()) == [2.75, 5]
    assert found.annotators() == ("ann", "bo")
    assert "1 time one person" in found.said()
    assert "'ann' '2' of 'k0' (line 2) and '1' of 'k9' (line 3)" in found.said()


@pytest.mark.parametrize(
    ("labels", "known", "apart"),
    [
        # Case, and a name and its number, are no contradiction.
        ("k0,ann,FAIL\nk9,ann,fail\n", [0], 0),
        ("k0,ann,FAIL\nk0,ann,fail\nk0,ann,0\n", [0], 0),
        # Half a vote each by ann; bo decides. Without bo it is a tie.
        ("k0,ann,pass\nk9,ann,fail\nk0,bo,fail\n", [0], 1),
        ("k0,ann,pass\nk9,ann,fail\n", [], 1),
        ("k0,ann,pass\nk9,ann,abstain\n", [1], 0),
    ],
)
def test_a_person_has_one_vote_however_often_a_text_is_there(
    tmp_path: Path, labels: str, known: list[float], apart: int
) -> None:
    found = of_equal_texts(tmp_path, labels, GATE)
    assert list(found.reference.values()) == known
    assert len(found.apart) == apart
    assert ("labelled equal texts" in found.said()) == bool(apart)


def test_all_labels_that_contradict_each_other_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(JudgeGymError) as caught:
        of_equal_texts(tmp_path, "k0,ann,2\nk0,ann,3\nk1,bo,4\nk1,bo,4.0\nk9,bo,1\nk9,bo,2\n")
    assert "line 3: label is '3', and line 2 has '2' by 'ann' of item 'k0'" in caught.value.message
    assert "line 7: label is '2', and line 6 has '1' by 'bo' of item 'k9'" in caught.value.message
    assert "'k1'" not in caught.value.message


def test_labels_are_read_as_spreadsheets_write_them(tmp_path: Path) -> None:
    given = people(tmp_path, "item;annotator;label\nt1; Bo ;4,5\nt2;Bo;'3\nt3;BO;2\n")
    assert list(given.reference.values()) == [4.5, 3, 2]
    said = read_labels(tmp_path / "labels.csv").said()
    assert "count as different people: 'Bo' (2) and 'BO' (1)" in said


def test_columns_are_mapped_and_a_wrong_mapping_is_an_error(tmp_path: Path) -> None:
    content = "Ticket,Rater,Grade\nt1,ann,4\n"
    fields = {"item": "Ticket", "annotator": "Rater", "label": "Grade"}
    assert list(people(tmp_path, content, fields=fields).reference.values()) == [4.0]
    with pytest.raises(JudgeGymError, match="'Grades', and no row has such a column"):
        read_labels(tmp_path / "labels.csv", {"label": "Grades", "note": "Grades"})


def test_a_criterion_is_the_judges_and_marks_of_all_make_a_total(tmp_path: Path) -> None:
    given = people(
        tmp_path,
        "item,annotator,criterion,label\nt1,ann,facts,5\nt1,ann,Style,1\nt1,bo,facts,3\n"
        "t2,ann,facts,2\nt2,ann,style,2\nt2,ann,,5\n",
        RUBRIC,
    )
    assert given.criteria == ("", "facts", "style")
    # ann on t1: (3*5 + 1*1) / 4; bo lacks a mark; the label of the whole counts on t2.
    assert list(given.reference.values()) == [4.0, 5.0]
    with pytest.raises(JudgeGymError, match="criterion is 'fact', which judge 'rubric' does not"):
        people(tmp_path, "item,annotator,criterion,label\nt1,ann,fact,5\n", RUBRIC)
    with pytest.raises(JudgeGymError, match="Its criteria are: none"):
        people(tmp_path, "item,annotator,criterion,label\nt1,ann,fact,1\n", GATE)


def test_a_label_of_a_text_that_changed_is_left_out_and_counted(tmp_path: Path) -> None:
    [first, *_] = items(tmp_path).items
    given = people(
        tmp_path,
        f"item,annotator,label,item_key\nt1,ann,4,{first.key}\nt2,ann,4,0123456789abcdef\n",
    )
    assert (list(given.reference), given.stale) == ([first.key], 1)
    assert "1 label of texts that have changed" in given.said()
    by_key = people(tmp_path, f"item,annotator,label\n{first.key},ann,2\n")
    assert by_key.reference == {first.key: 2.0}


def test_the_column_truth_is_one_more_annotator(tmp_path: Path) -> None:
    file = tmp_path / "items.csv"
    file.write_text("id,text,truth\nt1,a,5\nt2,b,\n")
    labels = collect_labels([new_label("t1", "ann", 4), new_label("t2", "ann", "2")])
    read = read_item_file(file).with_labels(labels, [GRADES])
    assert read.people is not None
    assert read.people.annotators() == ("ann", "column 'truth'")
    assert [item.truth for item in read.items] == [4.5, 2.0]
    plain = read_item_file(file)
    assert [item.key for item in read.items] == [item.key for item in plain.items]


def test_agreement_among_people_is_that_of_other_packages() -> None:
    rng = np.random.default_rng(7)
    table = rng.integers(1, 6, size=(40, 1)) + rng.integers(-1, 2, size=(40, 3))
    table = np.clip(table, 1, 5).astype(float)
    table[::7, 2] = np.nan
    given = _people_of(table)
    floor = given.floor()
    alpha = krippendorff.alpha(reliability_data=table.T, level_of_measurement="interval")
    assert floor.alpha.estimate == pytest.approx(alpha)
    counts = np.zeros((5, 5))
    np.add.at(counts, (table[:, 0].astype(int) - 1, table[:, 1].astype(int) - 1), 1)
    kappa = cohens_kappa(counts, wt="quadratic").kappa
    assert floor.pairs["p0", "p1"].estimate == pytest.approx(kappa)
    assert [person.labels for person in floor.people] == [40, 40, 34]


def _people_of(table: np.ndarray) -> People:  # type: ignore[type-arg]
    from judge_gym.judges import Item
    from judge_gym.judges.people import bind

    texts = [Item(id=f"t{n}", text=f"text {n}") for n in range(len(table))]
    rows = [
        new_label(f"t{n}", f"p{person}", float(value))
        for n, row in enumerate(table)
        for person, value in enumerate(row)
        if not np.isnan(value)
    ]
    return bind(GRADES, texts, collect_labels(rows))


def test_the_judge_is_counted_against_every_person(tmp_path: Path) -> None:
    given = people(
        tmp_path,
        "item,annotator,label\nt1,ann,5\nt1,bo,4\nt2,ann,1\nt2,bo,1\nt3,ann,5\nt3,bo,1\nt4,bo,2\n",
    )
    judged = results(given, [5.0, 2.0, 1.0, None])
    confusion = given.confusion(judged)
    assert confusion.names == ("1", "2", "3", "4", "5")
    expected = np.zeros((5, 5), dtype=int)
    expected[4, 4] = expected[4, 3] = expected[0, 4] = expected[0, 0] = 1
    expected[1, 0] = 2
    assert confusion.counts.tolist() == expected.tolist()
    hardest = given.hardest(judged)
    assert [(hard.item.id, hard.spread, hard.judged) for hard in hardest] == [
        ("t3", 50.0, 1.0), ("t1", 12.5, 5.0),
    ]  # fmt: skip
    # Distances of the judge / of people, as shares of the scale: t1 .125/.25, t2 .25/0, t3 .5/1.
    distance = given.distance(judged)
    assert distance.distance.estimate == pytest.approx((0.125 + 0.25 + 0.5) / 3)
    assert distance.distance.floor == pytest.approx(1.25 / 3)
    assert distance.excess.estimate == pytest.approx(-0.375 / 3)


def test_one_persons_labels_have_no_agreement_and_say_so(tmp_path: Path) -> None:
    floor = people(tmp_path, "item,annotator,label\nt1,ann,4\nt2,ann,5\n").floor()
    assert floor.alpha.estimate is None
    assert str(floor).startswith("Agreement among people: not known (")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@given(
    notes=st.lists(
        st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30), min_size=1, max_size=5
    )
)
def test_what_is_written_is_read_again(
    suffix: str, notes: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("labels") / f"labels.{suffix}"
    at = datetime(2025, 3, 31, 12, tzinfo=UTC)
    rows = [
        new_label(f"t{n}", "ann", ["a", "b"], criterion="c", time=at, note=note.strip())
        for n, note in enumerate(notes)
    ]
    rows.append(new_label("t99", "bo", "abstain"))
    rows.append(new_label("t98", "bo", 200 / 3))
    write_labels(file, rows)
    read = read_labels(file)
    assert [(r.item, r.annotator, r.labels, r.criterion, r.time, r.note) for r in read.every] == [
        (r.item, r.annotator, r.labels, r.criterion, r.time, r.note) for r in rows
    ]


def test_labels_of_a_pair_are_verdicts(tmp_path: Path) -> None:
    judge = PairwiseJudge(name="pairs", model="sim/good-1", task="Which?", ties=True)
    file = tmp_path / "pairs.csv"
    file.write_text("id,text,second\np1,a,b\n")
    labels = collect_labels(
        [new_label("p1", "a", "tie"), new_label("p1", "b", "first"), new_label("p1", "c", "tie")]
    )
    read = read_item_file(file).with_labels(labels, [judge])
    assert [item.truth for item in read.items] == [0.5]


TENS = RUBRIC.model_copy(update={"scale": Scale(lowest=1, highest=10)})


def labelled(folder: Path, judge: Judge, by_person: dict[str, list[float]]) -> ItemFile:
    rows = [new_label(f"t{n}", person, label)
            for person, given in by_person.items() for n, label in enumerate(given, 1)]  # fmt: skip
    count = max(map(len, by_person.values()))
    return items(folder, count).with_labels(collect_labels(rows, column="mark"), judge)


MARKS = [1, 2, 3, 4, 5, 4, 3, 5, 2, 1, 4, 3]


@pytest.mark.parametrize(
    ("by_person", "words"),
    [
        ({"ann": MARKS, "bo": MARKS[::-1]}, ["mark has no value above 5", "`highest: 5`"]),
        # The highest of few is below the usual end.
        ({"ann": [min(one, 4) for one in MARKS]}, ["no value above 4", "`highest: 5`"]),
        ({"ann": MARKS, "bo": [2 * one for one in MARKS]}, ["mark of ann", "to 1 to 10"]),
        ({"ann": [2 * one for one in MARKS]}, []),
        ({"ann": [one + 1 for one in MARKS]}, []),  # a 6 is above the middle
        ({"ann": MARKS[:9]}, []),
        ({"ann": [1] * 12}, []),
    ],
)
def test_labels_that_end_far_below_the_scale_are_said_where_they_are_read(
    tmp_path: Path, by_person: dict[str, list[float]], words: list[str]
) -> None:
    file = labelled(tmp_path, TENS, by_person)
    said = file.doubted_scale(TENS)
    assert [word in said for word in words] == [True] * len(words)
    assert bool(said) == bool(words)
    assert file.said(TENS).endswith(said)


def test_labels_that_stop_just_below_the_scale_are_said_where_they_are_enough(
    tmp_path: Path,
) -> None:
    # Of both people 24 labels: (5/7)^24 is far below 1%, (5/6)^24 is 1.3%.
    sevens, sixes = (
        RUBRIC.model_copy(update={"scale": Scale(lowest=1, highest=end)}) for end in (7, 6)
    )
    both = {"ann": MARKS, "bo": MARKS[::-1]}
    said = labelled(tmp_path, sevens, both).doubted_scale(sevens)
    assert "mark has no value above 5, and the judge's scale ends at 7" in said
    assert "`highest: 5`" in said
    assert not labelled(tmp_path, sixes, both).doubted_scale(sixes)
    assert "ends at 6" in labelled(tmp_path, sixes, {**both, "cy": MARKS}).doubted_scale(sixes)


def test_labels_in_the_items_own_rows_are_held_against_the_scale_too(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    rows = "".join(f"t{n},text {n},{mark}\n" for n, mark in enumerate(MARKS))
    file.write_text(f"id,text,truth\n{rows}")
    assert "truth has no value above 5" in read_item_file(file).said(TENS)
    assert not read_item_file(file).doubted_scale(RUBRIC)
    # A file that says which scale labels have is held to that.
    assert not read_item_file(file).with_labels(None, TENS, (1, 5)).doubted_scale(TENS)
    doubted = read_item_file(file).with_labels(None, RUBRIC, (1, 10)).doubted_scale(RUBRIC)
    assert "`label_scale: [1, 5]`" in doubted


def test_the_name_of_a_column_says_where_its_scale_ends(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("id,text,mark (1-5)\na,one,4\nb,two,2\n")
    read = read_item_file(file, {"truth": "mark (1-5)"})
    assert "ends at 10. If labels end at 5, write `highest: 5`" in read.doubted_scale(TENS)


def test_labels_above_the_scale_ask_first_where_it_ends(tmp_path: Path) -> None:
    with pytest.raises(DataFileError) as refused:
        labelled(tmp_path, RUBRIC, {"ann": [1, 6, 10, 3]})
    assert refused.value.remedy.startswith("If the scale ends at 10, write `highest: 10`.")
    file = tmp_path / "own.csv"
    file.write_text("id,text,truth\na,one,6\nb,two,10\n")
    with pytest.raises(DataFileError, match="write `highest: 10`"):
        read_item_file(file).check([RUBRIC])
