"""The known answer that labels of several people make: one for every kind of judge and form."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t
from sklearn.metrics import cohen_kappa_score, recall_score

from judge_gym.calibration.checks import Result
from judge_gym.errors import ConfigError, EvidenceError
from judge_gym.judges import (
    BinaryJudge,
    CallableJudge,
    Criterion,
    HttpJudge,
    Item,
    ItemFile,
    Judge,
    JudgeResult,
    PairwiseJudge,
    RubricJudge,
    Scale,
    VerdictName,
    collect_labels,
    load_judge,
    new_label,
    read_item_file,
)
from judge_gym.judges.calibrating.comparing import agreement, by_part
from judge_gym.judges.calibrating.judging import with_people
from judge_gym.judges.calibrating.texts import Texts
from judge_gym.judges.gate_checks import threshold_checks
from judge_gym.judges.gate_rule import GateRule
from judge_gym.judges.reviewing.agreeing import labels_check
from judge_gym.judges.scored_items import CostOfCalls, ScoredItems
from judge_gym.metrics.people import known_answers
from judge_gym.metrics.score_agreement import label_agreement
from judge_gym.model_names import Answered
from judge_gym.report.scores import found_said, systems_table
from judge_gym.store.calls import Paid
from support.judge_results import a_result

STEPS = Scale(lowest=0, highest=1, anchors=("No", "Yes"))
OF_TWO = Scale(lowest=1, highest=2, anchors=("No", "Yes"))
JUDGES: dict[str, Judge] = {
    "binary": BinaryJudge(
        name="binary", model="sim/good-1", task="?",
        verdicts=(VerdictName(name="Yes", description="y"),
                  VerdictName(name="No", description="n")),
    ),
    "function": CallableJudge(name="function", function="mine:grade", scale=STEPS),
    "endpoint": HttpJudge(name="endpoint", url="http://127.0.0.1:9/", scale=OF_TWO),
    "rubric": RubricJudge(
        name="rubric", model="sim/good-1", task="?", scale=STEPS,
        criteria=(Criterion(name="right", description="r"),),
    ),
}  # fmt: skip
COUNT = 30


def texts(folder: Path, second: str = "", count: int = COUNT) -> ItemFile:
    file = folder / "items.csv"
    columns, more = ("id,text,second", f",{second}") if second else ("id,text", "")
    file.write_text(f"{columns}\n" + "".join(f"t{n},text {n}{more}\n" for n in range(count)))
    return read_item_file(file)


def said(judge: Judge, items: list[Item], scores: list[float | None]) -> list[JudgeResult]:
    return [
        a_result(item, score, judge=judge.key) for item, score in zip(items, scores, strict=True)
    ]


def majority(n: int) -> str:
    return "Yes" if n % 3 else "No"


def other(n: int) -> str:
    return "No" if n % 3 else "Yes"


FORMS = {
    "three raters": lambda n: [("a", majority(n)), ("b", other(n)), ("c", majority(n))],
    "one rater": lambda n: [("a", majority(n))],
    "one beside three": lambda n: (
        [("a", majority(n))] + ([("b", other(n)), ("c", majority(n))] if n % 2 else [])
    ),
    "five raters": lambda n: [(who, majority(n) if who in "abc" else other(n)) for who in "abcde"],
    "a set of votes": lambda n: [("a", [majority(n), other(n), majority(n)])],
    "sets that are split": lambda n: [("a", ["Yes", "No"]), ("b", majority(n))],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", JUDGES)
def test_labels_give_one_accuracy_in_every_form_and_for_every_kind(
    tmp_path: Path, kind: str, form: str
) -> None:
    judge, read = JUDGES[kind], texts(tmp_path)
    rows = [new_label(f"t{n}", *row) for n in range(COUNT) for row in FORMS[form](n)]
    items = read.with_labels(collect_labels(rows), [judge])
    lowest, highest = judge.score_range
    right = [float(highest if majority(n) == "Yes" else lowest) for n in range(COUNT)]
    found = agreement(judge, items.texts, said(judge, list(items.texts), right))
    assert found.met is not None
    assert found.concordance is not None
    assert (found.met.estimate, found.met.n_items, found.concordance.estimate) == (1.0, COUNT, 1.0)
    wrong = [float(highest + lowest - score) for score in right]
    missed = agreement(judge, items.texts, said(judge, list(items.texts), wrong))
    assert missed.met is not None
    assert missed.met.estimate == 0.0


@pytest.mark.parametrize("kind", JUDGES)
def test_a_tie_of_four_raters_has_no_known_answer(tmp_path: Path, kind: str) -> None:
    judge, read = JUDGES[kind], texts(tmp_path, count=4)
    votes = {"t0": "Yes Yes No No", "t1": "Yes Yes Yes No", "t2": "No No No No"}
    rows = [
        new_label(item, who, vote)
        for item, of_item in votes.items()
        for who, vote in zip("abcd", of_item.split(), strict=True)
    ]
    items = read.with_labels(collect_labels(rows), [judge])
    assert items.people is not None
    lowest, highest = judge.score_range
    assert [item.truth for item in items.texts] == [None, highest, lowest, None]
    assert items.people.undecided == 1
    assert "1 text without a majority" in items.people.said()


def test_labels_0_and_1_of_a_scale_without_names_are_answers_and_shares_are_numbers(
    tmp_path: Path,
) -> None:
    judge = CallableJudge(name="own", function="m:f", scale=Scale(lowest=0, highest=1))
    read = texts(tmp_path, count=2)
    for labels, expected in (([1, 1, 0], 1.0), ([1, 0.8, 0], 0.6)):
        rows = [new_label("t0", who, label) for who, label in zip("abc", labels, strict=True)]
        [first, _] = read.with_labels(collect_labels(rows), [judge]).items
        assert first.truth == pytest.approx(expected)


def test_graded_labels_are_averaged_whether_of_raters_or_in_a_set(tmp_path: Path) -> None:
    judge = CallableJudge(name="own", function="m:f", scale=Scale(lowest=1, highest=5))
    rows = [new_label("t0", who, label) for who, label in (("a", 4), ("b", 4), ("c", 1))]
    rows.append(new_label("t1", "a", [4, 4, 1]))
    items = texts(tmp_path, count=2).with_labels(collect_labels(rows), [judge])
    assert [item.truth for item in items.items] == [3.0, 3.0]


def test_a_set_of_a_pair_divides_its_vote(tmp_path: Path) -> None:
    judge = PairwiseJudge(name="pairs", model="sim/good-1", task="?", ties=True)
    read = texts(tmp_path, second="b", count=2)
    rows = [
        new_label("t0", "a", ["first", "tie"]), new_label("t0", "b", "first"),
        new_label("t1", "a", ["first", "tie"]), new_label("t1", "b", ["first", "second"]),
        new_label("t1", "c", "tie"),
    ]  # fmt: skip
    items = read.with_labels(collect_labels(rows), [judge])
    # t0: 1.5 against 0.5; t1: first 1, tie 1.5, second 0.5.
    assert [item.truth for item in items.items] == [1.0, 0.5]


@given(
    st.lists(st.lists(st.lists(st.sampled_from([0.0, 100.0]), max_size=3), max_size=5), max_size=6),
    st.randoms(),
)
def test_a_majority_needs_more_votes_than_any_other_and_no_order(votes, random) -> None:
    made = known_answers(votes, by_vote=True)
    for of_item, answer in zip(votes, made, strict=True):
        weight = {
            point: sum(one.count(point) / len(one) for one in of_item if one)
            for point in (0.0, 100.0)
        }
        if np.isnan(answer):
            assert weight[0.0] == pytest.approx(weight[100.0])
        else:
            assert weight[answer] > weight[100.0 - answer] - 1e-9
    shuffled = [random.sample(of_item, len(of_item)) for of_item in votes]
    assert np.array_equal(known_answers(shuffled, by_vote=True), made, equal_nan=True)


def test_a_function_of_two_steps_has_verdicts() -> None:
    judge = CallableJudge(name="own", function="m:f", scale=OF_TWO)
    assert judge.verdict_scores == {"Yes": 2.0, "No": 1.0}
    assert [judge.read_object({"score": given}).verdict for given in (1, "Yes", True, 2)] == [
        "No", "Yes", "Yes", "Yes",
    ]  # fmt: skip
    assert judge.read_object({"score": 1, "verdict": "keep"}).verdict == "keep"
    graded = CallableJudge(name="own", function="m:f", scale=Scale(lowest=1, highest=5))
    assert not graded.decides


def test_an_ensemble_of_functions_may_still_average(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.yaml").write_text(
            f"kind: callable\nname: {name}\nfunction: m:{name}\n"
            "scale: {lowest: 0, highest: 1, anchors: ['No', 'Yes']}\n"
        )
    file = tmp_path / "all.yaml"
    for rule, decides in (("mean", False), ("majority", True)):
        file.write_text(
            f"kind: ensemble\nname: all\nmembers: [a.yaml, b.yaml, c.yaml]\nrule: {rule}\n"
        )
        judge = load_judge(file)
        assert (judge.decides, bool(judge.verdict_scores)) == (decides, decides)


def test_labels_of_more_items_than_there_are_are_left_out_and_counted(tmp_path: Path) -> None:
    judge = JUDGES["function"]
    rows = [new_label(f"t{n}", "a", "Yes") for n in range(COUNT)]
    items = texts(tmp_path, count=3).with_labels(collect_labels(rows), [judge])
    assert [item.truth for item in items.items] == [1.0, 1.0, 1.0]
    assert items.people is not None
    assert "27 labels of 27 other items ('t10', 't11', 't12' and others): left out" in (
        items.people.said()
    )
    assert "item's id" not in items.people.said()
    with pytest.raises(EvidenceError, match="no label is of one of the items"):
        texts(tmp_path, count=3).with_labels(collect_labels(rows[5:]), [judge])


def test_labels_whose_ids_are_written_otherwise_are_named(tmp_path: Path) -> None:
    judge = JUDGES["function"]
    rows = [new_label(name, "a", "Yes") for name in ("t0", "T1", "t-2", "t9")]
    items = texts(tmp_path, count=3).with_labels(collect_labels(rows), [judge])
    assert items.people is not None
    assert (
        "2 of these are an item's id but for case, zeros or punctuation, such as 'T1' for 't1'"
        in (items.people.said())
    )


def test_a_label_that_is_none_names_abstain(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError) as caught:
        texts(tmp_path, count=1).with_labels(
            collect_labels([new_label("t0", "a", "Unsure")]), JUDGES["function"]
        )
    assert "Unsure" in caught.value.message
    assert "write abstain" in caught.value.remedy


@pytest.mark.parametrize("label", [None, float("nan"), [], [1, float("inf")]])
def test_what_is_no_label_in_python_is_named(label) -> None:
    with pytest.raises(ConfigError, match="The label of item 't0' by 'a'"):
        new_label("t0", "a", label)


def test_how_people_agree_does_not_depend_on_the_judge(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        new_label(f"t{n}", who, int(rng.integers(1, 6)))
        for n, who in itertools.product(range(COUNT), "ab")
    ]
    floors = [
        texts(tmp_path)
        .with_labels(
            collect_labels(rows),
            CallableJudge(name=name, function=f"m:{name}", scale=Scale(lowest=1, highest=5)),
        )
        .people.floor()  # type: ignore[union-attr]
        .alpha
        for name in ("one", "two")
    ]
    assert floors[0] == floors[1]


def test_a_crash_and_none_count_alike_in_the_gate(tmp_path: Path) -> None:
    judge = JUDGES["function"]
    rows = [new_label(f"t{n}", "a", majority(n)) for n in range(COUNT)]
    items = texts(tmp_path).with_labels(collect_labels(rows), judge)
    scores = [None if n < 3 else float(majority(n) == "Yes") for n in range(COUNT)]
    rule = GateRule(items=Path("items.csv"), accuracy=0.5)
    checks = threshold_checks(judge, rule, items.texts, said(judge, list(items.texts), scores))
    readable, agrees, accuracy = checks
    assert (readable.estimate.estimate, accuracy.estimate.estimate) == (0.9, 0.9)
    assert (accuracy.estimate.n_items, agrees.estimate.n_items) == (30, 27)


def canned_answers(folder: Path, labelled: int) -> ItemFile:
    """Return 74 answers that people passed, and 26 of one text, of which they failed some."""
    file = folder / "answers.csv"
    canned = [f"c{n},I cannot help with that.,{'No' if n < labelled else ''}" for n in range(26)]
    rows = [f"t{n},Answer {n}.,Yes" for n in range(74)]
    file.write_text("\n".join(["id,text,truth", *canned, *rows]))
    return read_item_file(file)


def test_an_answer_that_is_given_often_counts_as_often(tmp_path: Path) -> None:
    """A judge that passes all is right on 74 of 100 answers, and not on 74 of 75 texts."""
    read, judge = canned_answers(tmp_path, labelled=26), JUDGES["function"]
    passes = said(judge, list(read.texts), [1.0] * 75)
    found = agreement(judge, read.answers, passes)
    assert found.met is not None
    assert (found.labels, found.scored, found.texts) == (100, 100, 75)
    assert (found.met.estimate, found.met.n, found.met.n_items) == (0.74, 100, 75)
    assert "74 of 100 answers (75 texts) are judged as labelled" in str(found)
    rule = GateRule(items=read.path, accuracy=0.9, agreement=None)
    readable, accuracy = threshold_checks(judge, rule, read.texts, passes, read.answers)
    assert (readable.result, accuracy.result) == (Result.PASSES, Result.CANNOT_TELL)
    texts_of = with_people(Texts(read.texts), read)
    given = {one.item_key: [one] for one in passes}
    check = labels_check(judge, texts_of, given, None)
    assert check is not None
    assert check.reason.endswith("74 of 100 verdicts as labelled")


def test_an_answer_that_is_labelled_once_counts_once(tmp_path: Path) -> None:
    """People labelled one of the rows with a text, so the others say nothing of the judge."""
    read, judge = canned_answers(tmp_path, labelled=1), JUDGES["binary"]
    found = agreement(judge, read.answers, said(judge, list(read.texts), [1.0] * 75))
    assert found.met is not None
    assert (found.labels, round(found.met.estimate * 75)) == (75, 74)
    assert read.said(judge).startswith("Labels: 75 of 100 items")


def test_repeated_answers_give_the_figures_of_their_rows(tmp_path: Path) -> None:
    """κ, sensitivity and specificity equal those of the rows, with intervals that are wider."""
    rng = np.random.default_rng(4)
    of_text = rng.integers(0, 2, (40, 2))
    times = rng.integers(1, 6, 40)
    text = np.repeat(np.arange(40), times)
    file = tmp_path / "answers.csv"
    lines = [f"r{n},Answer {t}.,{['No', 'Yes'][of_text[t, 0]]}" for n, t in enumerate(text)]
    file.write_text("\n".join(["id,text,truth", *lines]))
    read, judge = read_item_file(file), JUDGES["binary"]
    results = said(judge, list(read.texts), of_text[:, 1].astype(float).tolist())
    found = agreement(judge, read.answers, results)
    people, judged = of_text[text].T
    assert found.concordance is not None
    assert found.concordance.estimate == pytest.approx(cohen_kappa_score(people, judged))
    sensitivity, specificity = found.rates or ()
    assert sensitivity.estimate == pytest.approx(recall_score(people, judged))
    assert specificity.estimate == pytest.approx(recall_score(people, judged, pos_label=0))
    alone = label_agreement(people * 100.0, judged * 100.0)
    assert found.concordance.lower < alone.lower
    assert found.concordance.n_items == 40


def test_scores_and_agreement_are_of_each_system(tmp_path: Path) -> None:
    """A judge that is right about one system and wrong about the other is not half right."""
    file = tmp_path / "answers.csv"
    rows = [f"t{n},Answer {n}.,{'new' if n % 2 else 'old'},{majority(n)}" for n in range(80)]
    file.write_text("\n".join(["id,text,system,truth", *rows, "x,Of none.,,Yes"]))
    read, judge = read_item_file(file), JUDGES["binary"]
    assert "Systems: new, old, and 1 item of none." in read.said(judge)
    right = [float(majority(n) == "Yes") for n in range(80)]
    given = [score if n % 2 else 1 - score for n, score in enumerate(right)]
    new, old = by_part(judge, read, said(judge, list(read.items), [*given, None]))
    assert (new.system, new.rows, new.scored) == ("new", 40, 40)
    assert new.mean == pytest.approx(sum(right[1::2]) / 40)
    assert old.mean == pytest.approx(1 - sum(right[::2]) / 40)
    assert (new.labelled.met.estimate, old.labelled.met.estimate) == (1.0, 0.0)


def test_one_system_is_no_part_and_a_misspelt_column_is_named(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("id,text,sytem\na,One.,new\nb,Two.,old")
    read, judge = read_item_file(file), JUDGES["binary"]
    assert by_part(judge, read, said(judge, list(read.items), [1.0, 0.0])) == []
    assert "--fields system=sytem" in read.said(judge)
    mapped = read_item_file(file, {"system": "sytem"})
    assert [item.part for item in mapped.items] == ["new", "old"]


PAIR = PairwiseJudge(name="pair", model="sim/good-1", task="Which is better?", ties=False)


def pair_result(item: Item, given: float, swapped: float) -> JudgeResult:
    agreed = given == swapped
    ended = {} if agreed else {"status": "inconsistent", "failure": None}
    orders = {"as_given": given, "swapped": swapped}
    return a_result(item, given if agreed else None, judge=PAIR.key, subscores=orders, **ended)


def test_pairs_without_labels_have_win_rates_over_questions(tmp_path: Path) -> None:
    """10 questions with 2 pairs each: of the questions `new` wins both, one or none."""
    wins = [2, 2, 2, 1, 1, 1, 1, 1, 0, 2]
    lines = [
        f"q{q}-{n},New {q} {n}.,Old {q} {n}.,Question {q},new,old"
        for q in range(10) for n in range(2)
    ]  # fmt: skip
    lines += ["same,A.,B.,Question 0,new,new", "o1,C.,D.,Question 1,old,new"]
    file = tmp_path / "pairs.csv"
    file.write_text("\n".join(["id,text,second,context,system,second_system", *lines]))
    read = read_item_file(file)
    given = [float(n < wins[q]) for q in range(10) for n in range(2)] + [1.0, 1.0]
    results = [
        pair_result(item, one, 0.0 if item.id == "o1" else one)
        for item, one in zip(read.items, given, strict=True)
    ]
    new, old = by_part(PAIR, read, results)
    shares = np.array(wins) / 2
    half = t.ppf(0.975, 9) * shares.std(ddof=1) / 10**0.5
    for part, mean in ((new, shares.mean()), (old, 1 - shares.mean())):
        assert part.win_rate is not None
        assert part.win_rate.estimate == pytest.approx(mean)
        assert part.win_rate.upper == pytest.approx(mean + half)
    scored = ScoredItems(
        judge=PAIR, file=read, results=results, by=Answered("sim"),
        cost=CostOfCalls(0, Paid(0.0, 0, 0.0), []),
        labelled=agreement(PAIR, read.answers, results), parts=[new, old], sessions=[],
        critic=None, critic_cost=None,
    )  # fmt: skip
    said_of_pairs = found_said(scored)
    assert said_of_pairs.startswith("Inconsistent: 1 of 22 pairs")
    assert "shown first won 1 of these, what was shown second 0." in said_of_pairs
    assert "new 0.65 [" in said_of_pairs
    assert "1 pair of a system with itself" in said_of_pairs
    # A win rate is no mean score, and the share of the first text is of no system.
    table = systems_table(scored)
    assert table is not None
    assert table.columns[3] == "win rate"
    assert "Mean score" not in said_of_pairs
    assert "The first text wins 0.6667 of 21 of 22 pairs" in said_of_pairs


@pytest.mark.parametrize(("label", "told"), [("0,5", True), ("good", False), ("n/a", False)])
def test_a_label_with_a_decimal_comma_says_to_write_a_point(
    tmp_path: Path, label: str, told: bool
) -> None:
    labels = collect_labels([new_label("t0", "a", label)])
    with pytest.raises(EvidenceError) as refused:
        texts(tmp_path).with_labels(
            labels, [CallableJudge(name="f", function="m:f", scale=Scale(lowest=0, highest=1))]
        )
    assert ("in place of a decimal comma" in refused.value.remedy) is told
