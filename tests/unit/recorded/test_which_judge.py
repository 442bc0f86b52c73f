"""Which judge an audit says is right more often, against hand counts and McNemar's test."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from scipy.stats import beta, binomtest, ttest_rel

from judge_gym.analysis.recorded import Audited, audited
from judge_gym.errors import DataFileError
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.mapping import Recorded, stages_rubric
from judge_gym.report.audit_findings import judge_of
from judge_gym.report.recorded import audit_report
from judge_gym.store.results import ResultRow

MAPPING = Recorded.model_validate(
    {
        "name": "made-up", "concept": "quality", "source": "made up", "judge_column": "judge",
        "item": {"key": "item", "truth": "truth"}, "verdicts": ["verdict"], "repeats": True,
        "stages": ["no", "yes"],
    }
)  # fmt: skip


def audit_of(folder: Path, answers: dict[str, Sequence[str]]) -> tuple[Audited, str]:
    """Return an audit and how it opens; an answer is a letter for each repeat: right or wrong.

    The truth is yes for even items; a space is an empty cell.
    """
    lines = ["item,judge,truth,verdict"]
    for judge, of in answers.items():
        for item, repeats in enumerate(of):
            truth, other = ("yes", "no") if item % 2 == 0 else ("no", "yes")
            given = {"r": truth, "w": other, " ": ""}
            lines += [f"i{item},{judge},{truth},{given[one]}" for one in repeats]
    file = folder / "judged.csv"
    file.write_text("\n".join(lines))
    found = audited(recorded_files([file], MAPPING), MAPPING, stages_rubric(MAPPING))
    opening = audit_report(found, MAPPING).audit
    assert opening is not None
    return found, opening.table.explanation


def difference(found: Audited, pair: str) -> ResultRow:
    [row] = [
        row
        for row in found.rows
        if row.metric == "accuracy_difference"
        and str(row.scope["pair"]).replace("recorded/", "") == pair
    ]
    return row


def test_judges_are_compared_on_the_items_of_both_by_mcnemar(tmp_path: Path) -> None:
    # 40 items. Of the 39 that both answered, a alone is right on 14 and b alone on 2.
    a, b = "r" * 34 + "w" * 6, "r" * 20 + "w" * 14 + "rrwww "
    found, opening = audit_of(tmp_path, {"a": a, "b": b})
    row = difference(found, "a and b")
    assert (row.estimate, row.n_items) == (pytest.approx(12 / 39), 39)
    assert row.p == pytest.approx(binomtest(2, 16).pvalue)
    assert "Right most often: a, on 0.85 [0.71, 0.93] of its 40 items." in opening
    assert "Shown to be right less often: b." in opening


def test_every_pair_counts_for_what_is_shown(tmp_path: Path) -> None:
    # Seven of a alone, p = 2/128 by itself; of three pairs Holm asks for less than 1/60.
    a, b = "r" * 32 + "w" * 8, "r" * 25 + "w" * 15
    found, opening = audit_of(tmp_path, {"a": a, "b": b, "c": a})
    assert difference(found, "a and b").p == pytest.approx(2 / 128)
    assert difference(found, "a and b").p_adjusted == pytest.approx(6 / 128)
    assert difference(found, "b and c").estimate == pytest.approx(-7 / 40)
    assert "Right most often: a and c, on 0.80 [0.65, 0.90] of their items." in opening
    assert "Shown to be right less often: b." in opening
    _, opening = audit_of(tmp_path, {"a": a, "b": b, "c": a, "d": a})
    assert "Not shown to differ from a or c or d: b." in opening


def test_repeats_count_as_one_answer_to_an_item(tmp_path: Path) -> None:
    a = ["rrr", "rrw", "rrr", "rww", "rrr"] * 6
    b = ["rww", "rrw", "www", "rrw", "rww"] * 6
    found, _ = audit_of(tmp_path, {"a": a, "b": b})
    row = difference(found, "a and b")
    first, second = ([of.count("r") / 3 for of in judge] for judge in (a, b))
    reference = ttest_rel(first, second)
    assert row.estimate == pytest.approx(sum(first) / 30 - sum(second) / 30)
    # 24 items moved by other amounts than one another: by t, as the interval.
    assert row.p == pytest.approx(reference.pvalue)
    interval = reference.confidence_interval()
    assert (row.lower, row.upper) == pytest.approx((interval.low, interval.high))


def test_an_easy_part_makes_no_judge_the_better_one(tmp_path: Path) -> None:
    # b left the 20 hard items empty: right on all it answered, as a was on these.
    found, opening = audit_of(tmp_path, {"a": "r" * 30 + "w" * 10, "b": "r" * 20 + " " * 20})
    assert difference(found, "a and b").estimate == 0
    assert opening.startswith("Right most often: a, on 0.75")
    assert "Not shown to differ from a: b (20 items)." in opening
    assert "less often" not in opening


def test_a_share_of_repeats_is_said_to_be_of_judgements(tmp_path: Path) -> None:
    # On 40 items twice: a is right on 30 twice and on 10 once, 70 of 80; b on 30 twice.
    answers = {"a": ["rr"] * 30 + ["rw"] * 10, "b": ["rr"] * 30 + ["ww"] * 10}
    _, opening = audit_of(tmp_path, answers)
    assert "Right most often: a, on 0.88" in opening
    assert "of its 80 judgements of 40 items." in opening
    _, opening = audit_of(tmp_path, {**answers, "c": answers["a"]})
    assert "of their judgements." in opening


def test_judges_without_an_item_in_common_are_named(tmp_path: Path) -> None:
    answers = {"a": "r" * 20 + " " * 20, "b": " " * 20 + "rw" * 10, "c": "r" * 40}
    found, opening = audit_of(tmp_path, answers)
    assert difference(found, "a and b").estimate is None
    assert opening.startswith("Right most often: c, on 1.00")
    _, opening = audit_of(tmp_path, {name: answers[name] for name in "ab"})
    assert "Without an item in common with a: b." in opening


def test_judges_with_items_in_common_under_some_wordings_alone_are_named(tmp_path: Path) -> None:
    """Under the second wording a judges 20 of 40 items and b the others, or those of a, too."""
    mapping = MAPPING.model_copy(update={"wording_column": "prompt"})
    lines = [
        f"i{n},{judge},{'yes' if n % 2 else 'no'},{'yes' if n % 2 == right else 'no'},{how}"
        for n in range(40)
        for judge, right in (("a", n % 5 > 0), ("b", n % 4 > 0))
        for how in ("first", "second")
        if how == "first" or (n < 20) == (judge == "a")
    ]
    more = [line.replace(",a,", ",b,") for line in lines if ",a," in line and "second" in line]
    for of, said in ((lines, True), ([*lines, *more], False)):
        file = tmp_path / "wordings.csv"
        file.write_text("\n".join(["item,judge,truth,verdict,prompt", *of]))
        found = audited(recorded_files([file], mapping), mapping, stages_rubric(mapping))
        audit = audit_report(found, mapping).audit
        assert audit is not None
        opening = audit.table.explanation
        assert opening.startswith("Right most often:")
        assert ("Without an item under all wordings in common with" in opening) == said
        assert "Without an item in common" not in opening


def test_a_judge_that_is_right_under_all_wordings_is_the_one_right_most_often(
    tmp_path: Path,
) -> None:
    """a is right on all 40 items under both wordings, b on 30 and c on 20: a mean without spread
    has no interval, but it is 1."""
    mapping = MAPPING.model_copy(update={"wording_column": "prompt"})
    lines = ["item,judge,truth,verdict,prompt"]
    for n in range(40):
        truth, other = ("yes", "no") if n % 2 else ("no", "yes")
        for judge, right in (("a", 40), ("b", 30), ("c", 20)):
            lines += [f"i{n},{judge},{truth},{truth if n < right else other},w{w}" for w in "12"]
    file = tmp_path / "wordings.csv"
    file.write_text("\n".join(lines))
    found = audited(recorded_files([file], mapping), mapping, stages_rubric(mapping))
    audit = audit_report(found, mapping).audit
    assert audit is not None
    assert audit.table.explanation.startswith("Right most often: a, on 1.00 of its 80 judgements")
    shown = {row.cells[0]: row.cells[1].split()[0] for row in audit.table.rows}
    assert shown == {"a": "1.00", "b": "0.75", "c": "0.50"}


def test_of_half_the_items_a_better_judge_is_named_beside_the_best(tmp_path: Path) -> None:
    # On the 20 items of both, b is right on all and a on 6: 14 to 0 of McNemar's test.
    _, opening = audit_of(tmp_path, {"a": "r" * 6 + "w" * 14 + "r" * 20, "b": "r" * 20 + " " * 20})
    assert opening.startswith("Right most often: a, on 0.65")
    assert "Right more often on the items of both: b (20 items)." in opening


def test_who_guesses_is_named(tmp_path: Path) -> None:
    _, opening = audit_of(tmp_path, {"a": "r" * 40, "b": "rrww" * 10})
    assert "Not shown to be better than guessing: b." in opening


def test_judges_of_equal_accuracy_are_told_apart_by_known_answer(tmp_path: Path) -> None:
    # 20 items are a yes (even) and 20 a no. a misses 8 times yes, b 8 times no, and one is empty.
    a, b = "wr" * 8 + "rr" * 12, "rw" * 8 + "rr" * 11 + "r "
    found, _ = audit_of(tmp_path, {"a": a, "b": b})
    rates = {
        (judge_of(row), row.metric.removeprefix("known_")): row
        for row in found.rows
        if row.metric in ("known_sensitivity", "known_specificity")
    }
    assert {of: (row.estimate, row.n) for of, row in rates.items()} == {
        ("a", "sensitivity"): (12 / 20, 20),
        ("a", "specificity"): (1, 20),
        ("b", "sensitivity"): (1, 20),
        ("b", "specificity"): (11 / 19, 19),
    }
    # Clopper and Pearson's bounds of 12 of 20.
    row = rates["a", "sensitivity"]
    ends = beta.ppf(0.025, 12, 9), beta.ppf(0.975, 13, 8)
    assert (row.lower, row.upper) == pytest.approx(ends)


def test_one_judge_is_right_more_often_than_nobody(tmp_path: Path) -> None:
    _, opening = audit_of(tmp_path, {"a": "r" * 30 + "w" * 10})
    assert opening.startswith("40 judgements by 1 judge")


def test_items_of_several_files_with_the_same_ids_can_be_told_apart(tmp_path: Path) -> None:
    for task, truth in (("code", "yes"), ("prose", "no")):
        lines = [f"i{n},a,{truth},yes" for n in range(4)]
        (tmp_path / f"{task}.csv").write_text("\n".join(["item,judge,truth,verdict", *lines]))
    paths = [tmp_path / "code.csv", tmp_path / "prose.csv"]
    with pytest.raises(DataFileError) as error:
        audited(recorded_files(paths, MAPPING), MAPPING, stages_rubric(MAPPING))
    [remedy] = error.value.remedies
    assert 'item: {key: "{file}-{item}"}' in remedy
    apart = MAPPING.model_copy(
        update={"item": MAPPING.item.model_copy(update={"key": "{file}-{item}"})}
    )
    found = audited(recorded_files(paths, apart), apart, stages_rubric(apart))
    assert len(found.data.truth.label) == 8
