"""Mappings that are proposed for tables with a column for each judge: what is taken for what."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from judge_gym.analysis.recorded import audited
from judge_gym.errors import ConfigError
from judge_gym.recorded.derived import Options, options_of
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.formats import load_files
from judge_gym.recorded.mapping import Recorded, stages_rubric
from judge_gym.recorded.proposing import UNSAID, Proposal, propose
from judge_gym.report.audit_systems import audit_of_systems
from judge_gym.store.results import ResultRow

ANSWERS = ("yes", "no", "yes", "yes", "no", "no", "yes", "no", "yes", "no")


def proposal(folder: Path, header: str, *lines: str, options: Options = UNSAID) -> Proposal:
    file = folder / "Sheet 1.csv"
    file.write_text("\n".join((header, *lines)) + "\n", encoding="utf-8")
    _, files = load_files([file])
    return propose(files, options=options)


def taken(found: Proposal) -> dict[str, str]:
    return {one.column: one.role for one in reversed(found.taken)}


def why(found: Proposal, column: str) -> str:
    return next(one.why for one in found.taken if one.column == column)


def mapped(found: Proposal) -> Recorded:
    return Recorded.model_validate(found.mapping)


def graded(*columns: str) -> list[str]:
    """Rows with an id and, for each column, these answers in turn."""
    return [
        ",".join((str(n), *(of[n % len(of)] for of in columns))) for n in range(60)
    ]  # fmt: skip


def test_judges_and_people_stand_in_columns(tmp_path: Path) -> None:
    lines = (f"{n},{a},{a},{ANSWERS[n - 1]},by hand" for n, a in enumerate(ANSWERS))
    found = proposal(tmp_path, "id,GPT-4.1,JudgeLM,HumanJudgement,remark", *lines)
    assert taken(found) == {
        "id": "item", "GPT-4.1": "judge", "JudgeLM": "judge", "HumanJudgement": "person",
        "remark": "left out",
    }  # fmt: skip
    recorded = mapped(found)
    assert [one.column for one in recorded.verdicts] == ["GPT-4.1", "JudgeLM"]
    assert recorded.item.people == ("HumanJudgement",)
    assert recorded.stages == ("no", "yes")
    assert "no < yes" in why(found, "JudgeLM")
    assert recorded.label("Yes") == recorded.decision("yes") == 2
    assert recorded.unlisted == "refused"


@pytest.mark.parametrize(("turned", "own"), [("AAB", True), ("BBA", False)])
def test_two_columns_of_one_judge_are_of_pairs_in_two_orders(
    tmp_path: Path, turned: str, own: bool
) -> None:
    """The winner is A, A, B in turn; the other column names it, or the place where it stood."""
    lines = graded("AAB", turned, "ABB", "AAB")
    found = proposal(tmp_path, "id,gpt-4_AB,gpt-4_BA,claude-3,human", *lines)
    stages = {"stages": ["A", "B"]}  # what a person adds
    recorded = Recorded.model_validate({**found.mapping, **stages})
    assert found.unordered == ("A", "B")
    assert [(one.column, one.reversed, one.own_order) for one in recorded.verdicts] == [
        ("gpt-4_AB", False, False), ("gpt-4_BA", True, own), ("claude-3", False, False)
    ]  # fmt: skip
    assert recorded.names == {"gpt-4_AB": "gpt-4", "gpt-4_BA": "gpt-4"}
    assert f"in {60 if own else 0} of 60 rows" in why(found, "gpt-4_BA")


def test_a_score_that_is_called_reversed_is_of_a_judge_of_its_own(tmp_path: Path) -> None:
    lines = graded("12345", "54321", "12345")
    found = mapped(proposal(tmp_path, "id,gpt-4,gpt-4_reversed,human", *lines))
    assert not any(one.reversed for one in found.verdicts)
    assert not found.names


def test_two_columns_tell_rows_apart_and_values_off_the_scale_are_named(tmp_path: Path) -> None:
    lines = [f"q{n % 5},p{n // 5},{n % 4},{(n + n % 3) % 4},{n % 4}" for n in range(60)]
    lines[7] = "q2,p1,12,3,3"
    found = proposal(tmp_path, "query,passage,first-7b,second-7b,human", *lines)
    recorded = mapped(found)
    assert recorded.item.key == "{query}-{passage}"
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == (0, 3)
    [stray] = [one for one in found.taken if one.role == "unreadable in part"]
    assert stray.column == "first-7b"
    assert "'12' (1)" in stray.why
    assert recorded.unlisted == "unreadable"


@pytest.mark.parametrize("name", ["gold", "goldLabel", "label", "Target", "correct answer"])
def test_a_known_answer_is_not_told_by_a_name(tmp_path: Path, name: str) -> None:
    """It is no judge's, no person's and no known answer until somebody says so."""
    lines = (f"{n},{a},{a},{a}" for n, a in enumerate(ANSWERS))
    found = proposal(tmp_path, f"id,gpt 1,gpt 2,{name}", *lines)
    assert taken(found)[name] == "left out"
    assert "item.truth" in why(found, name)
    assert not mapped(found).item.known
    others = (f"{n},{a},{a},text {n % 4}" for n, a in enumerate(ANSWERS))
    assert taken(proposal(tmp_path, f"id,gpt 1,gpt 2,{name}", *others))[name] == "left out"


@pytest.mark.parametrize("name", ["annotator1", "expert_label", "Human", "human_judge", "crowd-2"])
def test_names_of_people(tmp_path: Path, name: str) -> None:
    lines = (f"{n},{a},{a}" for n, a in enumerate(ANSWERS))
    assert taken(proposal(tmp_path, f"id,some-model,{name}", *lines))[name] == "person"


@pytest.mark.parametrize(
    "name", ["humanoid-7b", "PandaLM", "goldfish-8x7b", "expertise-1b", "gold_model"]
)
def test_names_of_models_that_begin_like_people(tmp_path: Path, name: str) -> None:
    lines = (f"{n},{a},{a}" for n, a in enumerate(ANSWERS))
    assert taken(proposal(tmp_path, f"id,{name},other-70b", *lines))[name] == "judge"


@pytest.mark.parametrize("name", ["page", "question_id", "batch", "turn", "Row"])
def test_numbers_that_name_something_are_no_verdicts(tmp_path: Path, name: str) -> None:
    lines = graded(("1", "2", "3", "4", "5"), ("2", "3", "1", "5", "4"), ("1", "2", "3"))
    found = proposal(tmp_path, f"key,J1,J2,{name}", *lines)
    assert taken(found)[name] not in ("judge", "person")
    assert [one.column for one in mapped(found).verdicts] == ["J1", "J2"]


@pytest.mark.parametrize(
    "words",
    [("low", "medium", "high"), ("Poor", "Good", "Excellent"), ("A", "B"), ("accept", "reject")],
)
def test_an_order_of_words_is_asked_for_never_guessed(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    found = proposal(tmp_path, "id,gpt 1,gpt 2", *graded(words, words))
    assert found.unordered == tuple(sorted(words))
    with pytest.raises(ValueError, match="give one of scale, stages and rubric"):
        mapped(found)


@pytest.mark.parametrize("absent", ["N/A", "n/a", "NA", "null", "-"])
def test_an_answer_without_a_verdict_is_no_stage_however_often_it_stands_there(
    tmp_path: Path, absent: str
) -> None:
    often = ("Pass", "Fail", absent, "Pass", "Fail")
    found = proposal(tmp_path, "id,gpt 1,gpt 2", *graded(often, often))
    recorded = mapped(found)
    assert recorded.stages == ("fail", "pass")
    assert recorded.unlisted == "unreadable"
    assert f"'{absent}' (12)" in next(one.why for one in found.taken if "part" in one.role)


def test_spellings_of_a_verdict_are_one(tmp_path: Path) -> None:
    lines = graded(("Pass", "Fail", "pass ", "FAIL"), ("pass", "fail"), ("Pass", "Fail", "N/A"))
    found = proposal(tmp_path, "id,gpt 1,gpt 2,gpt 3", *lines)
    recorded = mapped(found)
    assert len(recorded.verdicts) == 3
    assert {recorded.decision(one) for one in ("pass ", "PASS", "Pass")} == {2}


def test_scores_in_halves_are_one_scale(tmp_path: Path) -> None:
    halves = tuple(f"{n / 2:g}" for n in range(21))
    lines = [f"{n},{halves[n % 21]},{halves[(n * 2) % 21]}" for n in range(210)]
    recorded = mapped(proposal(tmp_path, "id,gpt 1,gpt 2", *lines))
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == (0, 10)


def test_a_column_that_may_be_a_person_or_a_system_is_left_with_what_to_write(
    tmp_path: Path,
) -> None:
    lines = [
        f"{n},{'abcd'[n % 4]}x,{ANSWERS[n % 10]},{ANSWERS[(n + 1) % 10]},"
        f"{ANSWERS[n % 10] if n % 3 == 0 else ''}"
        for n in range(60)
    ]
    found = proposal(tmp_path, "id,variant,gpt 1,gpt 2,Maria", *lines)
    assert taken(found)["Maria"] == taken(found)["variant"] == "left out"
    assert "item.people" in why(found, "Maria")
    assert "item.system" in why(found, "variant")


@pytest.mark.parametrize(
    ("header", "line", "told"),
    [
        ("id,comment,remark", "{n},fine,{n}", "same few verdicts"),
        ("id,one", "{n},yes", "same few verdicts"),
        ("id,gpt 1,gpt 2", "7,{a},{a}", "id has '7' in 12 rows"),
    ],
)
def test_where_nothing_tells_verdicts_or_items_there_is_no_proposal(
    tmp_path: Path, header: str, line: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        proposal(tmp_path, header, *(line.format(n=n, a=ANSWERS[n % 10]) for n in range(12)))


@pytest.mark.parametrize(
    ("one", "two", "person"),
    [
        (("0%", "20%", "80%"), ("20%", "80%", "100%"), ("80%", "100%")),  # the same few values
        (("3%", "71%", "88.5%"), ("12 %", "64 %"), ("40%", "97%")),  # none in common
        (("0%", "20%", "80%"), ("0", "20", "80"), ("20", "80")),  # with and without a sign
    ],
)
def test_percent_are_numbers_from_0_to_100(
    tmp_path: Path, one: tuple[str, ...], two: tuple[str, ...], person: tuple[str, ...]
) -> None:
    found = proposal(tmp_path, "id,gpt_pct,claude,human", *graded(one, two, person))
    roles = taken(found)
    assert [roles[name] for name in ("gpt_pct", "claude", "human")] == ["judge", "judge", "person"]
    assert re.search(r"scores such as '\d+%', read as 0 to 100", why(found, "gpt_pct"))
    recorded = mapped(found)
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == (0, 100)
    for column in (one, two):
        assert all(isinstance(recorded.decision(value), int) for value in column)


@pytest.mark.parametrize("none", ["N/A", "-", "null"])
def test_percent_without_a_verdict_are_unreadable(tmp_path: Path, none: str) -> None:
    """The columns share few values: that they are percent is what makes them judges."""
    lines = [f"q{n},{10 * n}%,{10 * n + 3}%" for n in range(1, 9)]
    found = proposal(tmp_path, "id,gpt,claude", *lines, f"q9,{none},50%")
    assert mapped(found).unlisted == "unreadable"
    assert mapped(found).scale is not None


def test_percent_beside_another_scale_and_an_empty_column_are_named(tmp_path: Path) -> None:
    marks = ("1", "2", "3", "4", "5")
    lines = graded(marks, ("2", "5"), ("0%", "80%"), ("",), ("by hand",))
    found = proposal(tmp_path, "id,gpt 1,human,gpt_pct,late,remark", *lines)
    assert taken(found)["gpt 1"] == "judge"
    assert "percent, 0 to 100, and gpt 1, human are 1 to 5" in why(found, "gpt_pct")
    assert why(found, "late") == "empty in every row"
    assert "nothing tells" in why(found, "remark")


@pytest.mark.parametrize("other", [("1", "2", "3", "4", "5"), ("4", "Rating: 5", "1 out of 5")])
def test_scores_that_name_the_end_of_their_scale_are_numbers(
    tmp_path: Path, other: tuple[str, ...]
) -> None:
    found = proposal(
        tmp_path,
        "id,mixed judge,other judge",
        *graded(("1/5", "Score: 1", "4/5", "Score: 5."), other),
    )
    assert taken(found)["mixed judge"] == taken(found)["other judge"] == "judge"
    assert "read as 1 to 5" in why(found, "mixed judge")
    recorded = mapped(found)
    assert recorded.decision("1/5") == recorded.decision("Score: 1") == 1
    assert recorded.decision("4/5") == recorded.decision("score = 4") == 4
    assert recorded.decision("4/10") is None


VERDICTS = ("Pass", "Fail", "pass", "Fail", "Pass")


@pytest.mark.parametrize("name", ["Maria", "quality", "verdict", "strict", "v2"])
def test_verdicts_of_which_nothing_tells_who_gave_them_are_left_out_by_name(
    tmp_path: Path, name: str
) -> None:
    found = proposal(tmp_path, f"id,gpt-4,{name}", *graded(VERDICTS, VERDICTS[1:]))
    assert taken(found) == {"id": "item", "gpt-4": "judge", name: "left out"}
    assert [one.column for one in mapped(found).verdicts] == ["gpt-4"]
    for key in ("--judges (verdicts)", "--people (item.people)", "--truth (item.truth)"):
        assert key in why(found, name)


def test_without_any_sign_of_a_judge_the_user_is_asked_who_judged(tmp_path: Path) -> None:
    lines = graded(VERDICTS, VERDICTS[1:], VERDICTS)
    with pytest.raises(ConfigError) as error:
        proposal(tmp_path, "id,Maria,Bo B,human", *lines)
    assert "nothing tells that a judge gave the verdicts of 'Maria', 'Bo B'" in str(error.value)
    assert "--judges 'Maria,Bo B'" in " ".join(error.value.remedies)


@pytest.mark.parametrize("name", ["judge", "Judge model", "grader", "LLM used", "which LLM"])
def test_a_judge_in_each_row_is_no_judge_for_all_rows(tmp_path: Path, name: str) -> None:
    lines = [f"t{n // 2},{'gpt' if n % 2 else 'claude'},{a},{a}" for n, a in enumerate(ANSWERS)]
    with pytest.raises(ConfigError) as error:
        proposal(tmp_path, f"ticket_id,{name},verdict,human", *lines)
    assert f"each row is of one judge, that in '{name}'" in str(error.value)
    assert "--judges" not in " ".join(error.value.remedies)


@pytest.mark.parametrize("name", ["Human mean", "human_majority", "people average", "Humans Ø"])
def test_what_sums_up_people_is_no_further_person(tmp_path: Path, name: str) -> None:
    lines = graded(*[[str(1 + (n + shift) % 5) for n in range(7)] for shift in range(4)])
    found = proposal(tmp_path, f"id,GPT-4,Human 1,Human 2,{name}", *lines)
    assert mapped(found).item.people == ("Human 1", "Human 2")
    assert "sums up others: --people if not" in why(found, name)
    alone = proposal(tmp_path, f"id,GPT-4,Claude,Claude mean,{name}", *lines)
    assert mapped(alone).item.people == (name,)
    assert [one.column for one in mapped(alone).verdicts] == ["GPT-4", "Claude"]


@pytest.mark.parametrize(
    ("options", "roles"),
    [
        ({"judges": "Maria,Bo B"}, ("judge", "judge", "person", "left out")),
        ({"judges": "rest"}, ("judge", "judge", "person", "judge")),
        ({"judges": "Bo B", "people": "Maria"}, ("person", "judge", "left out", "left out")),
        ({"judges": "rest", "truth": "gold"}, ("judge", "judge", "person", "known answer")),
        ({"judges": "Bo B", "people": "Maria,human,gold"}, ("person", "judge", "person", "person")),
    ],
)
def test_the_user_says_whose_the_columns_are(
    tmp_path: Path, options: dict[str, str], roles: tuple[str, ...]
) -> None:
    given = {"judges": "", "people": "", "truth": "", **options}
    said = options_of(given["judges"], None, given["truth"], None, people=given["people"])
    lines = graded(VERDICTS, VERDICTS[1:], VERDICTS, VERDICTS)
    found = proposal(tmp_path, "id,Maria,Bo B,human,gold", *lines, options=said)
    assert tuple(taken(found)[one] for one in ("Maria", "Bo B", "human", "gold")) == roles
    assert mapped(found).item.truth == given["truth"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"judges": "Maria,Bob"}, "--judges is 'Bob', and there is no such column"),
        ({"judges": "Bo B", "people": "Bo B"}, "'Bo B' is given for --judges and for --people"),
        ({"judges": "Bo B", "truth": "goldd"}, "--truth is 'goldd', and there is no such column"),
    ],
)
def test_a_column_that_is_said_is_there_and_said_once(
    tmp_path: Path, options: dict[str, str], said: str
) -> None:
    given = {"judges": "", "people": "", "truth": "", **options}
    typed = options_of(given["judges"], None, given["truth"], None, people=given["people"])
    with pytest.raises(ConfigError, match=re.escape(said)):
        proposal(
            tmp_path, "id,Maria,Bo B,gold", *graded(VERDICTS, VERDICTS, VERDICTS), options=typed
        )


@pytest.mark.parametrize("name", ["Anna K.", "B.O.", "R. Ahn", "Ann..", "Clarity [1-5]", "Bo [2]"])
def test_a_column_is_found_by_its_name_also_where_that_is_no_path(
    tmp_path: Path, name: str
) -> None:
    lines = graded(VERDICTS, VERDICTS[1:], VERDICTS)
    found = proposal(tmp_path, f"id,gpt,claude,{name}", *lines, options=Options(people=(name,)))
    assert taken(found)[name] == "person"
    recorded = mapped(found)
    of = audited(found.files, recorded, stages_rubric(recorded))
    right = {row.scope.get("judge"): row.estimate for row in of.rows if row.metric == "accuracy"}
    assert right["recorded/gpt"] == 1  # its verdicts are this person's in every row
    unnamed = proposal(tmp_path, f"id,gpt,claude,{name}", *lines)
    assert "nothing tells who gave them: --judges" in why(unnamed, name)
    two = graded(VERDICTS, VERDICTS)
    judged = proposal(tmp_path, f"id,gpt,{name}", *two, options=options_of("rest", None, "", None))
    assert [one.column for one in mapped(judged).verdicts] == ["gpt", name]


MARKS, TENS = ("1", "2", "3", "4", "5"), ("2", "4", "5", "7", "10")


@pytest.mark.parametrize(
    ("claude", "said"),
    [
        (TENS, "2 to 10, and gpt, llama, human 1 to 5"),
        (tuple(f"{one}/10" for one in TENS), "out of 10, and gpt, llama, human 1 to 5"),
        (("20%", "40%", "60%", "80%", "100%"), "percent, 0 to 100, and gpt, llama, human are 1"),
    ],
)
def test_a_column_of_another_scale_is_left_out_and_both_are_named(
    tmp_path: Path, claude: tuple[str, ...], said: str
) -> None:
    lines = graded(MARKS, claude, MARKS[1:], MARKS)
    found = proposal(tmp_path, "id,gpt,claude,llama,human", *lines)
    assert taken(found)["claude"] == "left out"
    assert said in why(found, "claude")
    recorded = mapped(found)
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == (1, 5)


@pytest.mark.parametrize("run", ["run", "Epoch", "seed_nr"])
def test_runs_of_one_item_are_repeats_and_no_items(tmp_path: Path, run: str) -> None:
    """20 items in three runs: intervals are over 20."""
    human = [("yes", "no")[n % 3 > 0] for n in range(20)]
    lines = [
        f"t{n},{number},{ANSWERS[(n + number) % 10]},{ANSWERS[n % 10]},{human[n]}"
        for number in range(3) for n in range(20)
    ]  # fmt: skip
    found = proposal(tmp_path, f"id,{run},gpt-4,claude,human", *lines)
    assert taken(found)[run] == "repeat"
    recorded = mapped(found)
    assert (recorded.item.key, recorded.repeats) == ("id", True)
    audit = audited(recorded_files([tmp_path / "Sheet 1.csv"], recorded), recorded,
                    stages_rubric(recorded))  # fmt: skip
    [row] = [
        row for row in audit.rows
        if row.metric == "accuracy" and row.scope["judge"] == "recorded/claude"
        and "category" not in row.scope
    ]  # fmt: skip
    right = sum(ANSWERS[n % 10] == human[n] for n in range(20))
    assert (row.n_items, row.estimate) == (20, pytest.approx(right / 20))


def test_numbers_of_runs_are_no_verdicts_though_they_are_like_scores(tmp_path: Path) -> None:
    lines = [f"t{n},{run},{1 + (n + run) % 2},{1 + n % 2},2" for n in range(9) for run in (1, 2)]
    found = proposal(tmp_path, "id,run,gpt-4,claude,human", *lines)
    assert taken(found)["run"] == "repeat"
    assert [one.column for one in mapped(found).verdicts] == ["gpt-4", "claude"]


def test_ranks_are_no_scores(tmp_path: Path) -> None:
    options = Options(judge_columns=("gpt-4 rank",), people=("human rank",))
    with pytest.raises(ConfigError) as error:
        proposal(tmp_path, "id,gpt-4 rank,human rank", *graded(MARKS, MARKS), options=options)
    assert "'gpt-4 rank' holds ranks" in str(error.value)


def test_a_verdict_that_stands_in_several_columns_is_not_of_several_judges(tmp_path: Path) -> None:
    columns = ("winner_model_a", "winner_model_b", "winner_tie")
    lines = (f"{n},x,y,{n % 3 == 0:d},{n % 3 == 1:d},{n % 3 == 2:d}" for n in range(12))
    with pytest.raises(ConfigError) as error:
        proposal(tmp_path, f"id,model_a,model_b,{','.join(columns)}", *lines)
    assert "one verdict stands in several columns" in str(error.value)


def test_runs_of_other_labels_are_other_items(tmp_path: Path) -> None:
    lines = [f"t{n % 20},{n // 20},{ANSWERS[n % 10]},no,{ANSWERS[n % 7]}" for n in range(60)]
    found = proposal(tmp_path, "id,run,gpt-4,claude,human", *lines)
    assert mapped(found).item.key == "{id}-{run}"
    assert not mapped(found).repeats


@pytest.mark.parametrize("name", ["Average", "TOTAL", "Mittelwert", "Overall mean", "Std. dev."])
def test_a_row_that_sums_up_the_others_is_no_item(tmp_path: Path, name: str) -> None:
    lines = graded(("1", "2", "3", "4"), ("2", "3", "1"), ("1", "2"))
    with pytest.raises(ConfigError, match=f"the row '{name}' may sum up the others"):
        proposal(tmp_path, "id,gpt,claude,human", *lines, f"{name},2.5,2,1.5")


def test_a_row_without_an_id_is_named(tmp_path: Path) -> None:
    lines = graded(("1", "2", "3", "4"), ("2", "3", "1"), ("1", "2"))
    with pytest.raises(ConfigError, match=r"Item ID is empty in 1 row \(line 62\)"):
        proposal(tmp_path, "Item ID,gpt,claude,human", *lines, ",2,2,1")


@pytest.mark.parametrize(
    ("marks", "code"), [("12345", "-1"), ("012345", "-99"), ("1234567", "99"), ("01", "999")]
)
def test_a_number_that_stands_for_no_score_is_no_verdict(
    tmp_path: Path, marks: str, code: str
) -> None:
    # In two columns, and too often for a slip.
    lines = graded((*marks, code), (*marks, *marks, code), tuple(marks))
    found = proposal(tmp_path, "id,gpt,claude,human", *lines)
    recorded = mapped(found)
    assert [recorded.decision(mark) for mark in marks] == list(range(1, len(marks) + 1))
    assert recorded.decision(code) is None
    assert recorded.unlisted == "unreadable"
    strays = [one for one in found.taken if one.role == "unreadable in part"]
    assert [one.column for one in strays] == ["gpt", "claude"]
    assert all(f"'{code}'" in one.why for one in strays)


@pytest.mark.parametrize("marks", [("-1", "0", "1"), ("-2", "-1", "0", "1", "2", "3"), ("-1", "1")])
def test_scores_below_zero_may_be_scores(tmp_path: Path, marks: tuple[str, ...]) -> None:
    recorded = mapped(proposal(tmp_path, "id,gpt,claude", *graded(marks, marks[::-1])))
    assert all(recorded.decision(mark) for mark in marks)


@pytest.mark.parametrize(
    "columns",
    [
        ("gpt-4 help", "gpt-4 truth", "human help", "human truth"),
        ("help_gpt-4", "help_human", "truth_gpt-4", "truth_human"),
    ],
)
def test_columns_of_several_criteria_are_read_one_criterion_at_a_time(
    tmp_path: Path, columns: tuple[str, ...]
) -> None:
    """Two criteria of one judge are not two judges, nor are two of a person two people."""
    marks = ("1", "2", "3", "4")
    lines = graded(marks, marks[::-1], marks, marks[::-1])
    header = ",".join(("id", *columns))
    with pytest.raises(ConfigError, match="of 2 criteria, help, truth") as error:
        proposal(tmp_path, header, *lines)
    judge, person = (next(one for one in columns if who in one) for who in ("gpt", "human"))
    assert f"{person}" in str(error.value.remedy)
    found = proposal(tmp_path, header, *lines, options=options_of(judge, (), "", (), people=person))
    assert [one.column for one in mapped(found).verdicts] == [judge]
    assert mapped(found).item.people == (person,)


@pytest.mark.parametrize(
    "columns",
    [("judge 1", "judge 2", "human 1", "human 2"), ("gpt a", "gpt b", "claude a", "claude b")],
)
def test_numbers_and_letters_of_judges_are_no_criteria(
    tmp_path: Path, columns: tuple[str, ...]
) -> None:
    marks = ("1", "2", "3", "4")
    found = proposal(tmp_path, ",".join(("id", *columns)), *graded(*[marks] * 4))
    assert (
        not {*columns}
        - {one.column for one in mapped(found).verdicts}
        - {*mapped(found).item.people}
    )


def test_how_sure_a_judge_was_is_no_verdict_of_another(tmp_path: Path) -> None:
    marks = ("1", "2", "3", "4", "5")
    lines = graded(marks, marks[::-1], marks, marks)
    found = proposal(tmp_path, "id,gpt-4,gpt-4 confidence,claude,human", *lines)
    assert [one.column for one in mapped(found).verdicts] == ["gpt-4", "claude"]
    assert taken(found)["gpt-4 confidence"] == "left out"


def test_errors_of_a_spreadsheet_are_no_verdicts(tmp_path: Path) -> None:
    lines = graded(("yes", "no", "#N/A"), ("no", "yes"), ("yes", "no", "no", "#DIV/0!"))
    recorded = mapped(proposal(tmp_path, "id,gpt,claude,human", *lines))
    assert (recorded.decision("no"), recorded.decision("yes")) == (1, 2)
    assert recorded.decision("#N/A") is None


@pytest.mark.parametrize(
    ("low", "high"), [("non", "oui"), ("Nein", "Ja"), ("no", "sí"), ("нет", "да"), ("✗", "✓")]
)
def test_yes_and_no_of_other_languages_have_an_order(tmp_path: Path, low: str, high: str) -> None:
    recorded = mapped(
        proposal(
            tmp_path, "id,gpt,claude,Mensch", *graded((low, high, high), (low, high), (high, low))
        )
    )
    assert (recorded.decision(low), recorded.decision(high)) == (1, 2)
    assert recorded.item.people == ("Mensch",)


def test_a_whole_number_with_a_point_is_that_number(tmp_path: Path) -> None:
    scores = tuple(f"{n / 2:.1f}" if n % 4 else f"{n // 2}" for n in range(2, 11))
    mixed = ("1", "1.0", *scores, "4.0", "4", "5.0", "5")
    found = proposal(tmp_path, "id,gpt,claude", *graded(mixed, scores))
    assert "1 < 1.5 < 2 < 2.5 < 3 < 3.5 < 4 < 4.5 < 5" in why(found, "gpt")


def test_a_slip_far_above_a_scale_is_no_other_scale(tmp_path: Path) -> None:
    """One 10 in 60 grades of 0 to 3 is a value that cannot be read, and its column a judge's."""
    grades = ("0", "1", "2", "3")
    lines = graded(grades, grades[1:], grades)
    lines[7] = "7,10,2,3"
    lines[9] = "9,1,5,1"
    found = proposal(tmp_path, "id,gpt,claude,human", *lines)
    assert [one.column for one in mapped(found).verdicts] == ["gpt", "claude"]
    strays = [one.why for one in found.taken if one.role == "unreadable in part"]
    assert ["'10' (1)" in strays[0], "'5' (1)" in strays[1]] == [True, True]


@pytest.mark.parametrize(
    ("options", "human"), [({}, "left out"), ({"people": "test_qrels_idx"}, "person")]
)
def test_a_file_of_qrels_may_be_of_people(
    tmp_path: Path, options: dict[str, str], human: str
) -> None:
    for number, name in enumerate(("one", "two", "test_qrels_idx")):
        lines = (f"q{n % 6} 0 p{n} {(n + number * (n % 3)) % 4}" for n in range(24))
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    kind, files = load_files(
        [tmp_path / f"{name}.txt" for name in ("one", "two", "test_qrels_idx")]
    )
    said = options_of("", None, "", None, people=options.get("people", ""))
    found = propose(files, kind, said)
    assert taken(found)["one"] == taken(found)["two"] == "judge"
    assert taken(found)["test_qrels_idx"] == human


def test_labels_of_another_scale_are_not_compared_with_judges(tmp_path: Path) -> None:
    lines = graded(TENS, TENS[1:], MARKS)
    found = proposal(tmp_path, "id,gpt,claude,human", *lines)
    assert taken(found)["human"] == "left out"
    assert not mapped(found).item.people


ZEROS = ("0", "1", "2", "3", "4")
RARE_ZERO = ("0", *("1", "2", "3", "4") * 4)
"""0 in one of 17 labels: nine tenths of them are scores from 1 to 5, too."""


@pytest.mark.parametrize(
    ("people", "left"),
    [
        ([ZEROS], ["human 1"]),
        ([ZEROS, ZEROS[2:]], ["human 1", "human 2"]),
        ([RARE_ZERO], ["human 1"]),
        ([RARE_ZERO, ZEROS], ["human 1", "human 2"]),
        # 1 to 4 tells no scale: it is that of the other person, if that is told.
        ([RARE_ZERO, ZEROS[1:]], ["human 1", "human 2"]),
        ([RARE_ZERO, MARKS], ["human 1"]),
        ([("0", *MARKS), ZEROS], []),
        ([MARKS[:4], MARKS[1:4]], []),
    ],
)
def test_people_whose_scale_starts_elsewhere_are_left_out_with_what_reads_them(
    tmp_path: Path, people: list[tuple[str, ...]], left: list[str]
) -> None:
    names = [f"human {n}" for n, _ in enumerate(people, 1)]
    lines = graded(MARKS, MARKS[1:], MARKS[::-1], *people)
    found = proposal(tmp_path, f"id,gpt,claude,llama,{','.join(names)}", *lines)
    assert [one for one in names if taken(found)[one] == "left out"] == left
    assert set(mapped(found).item.people) == set(names) - set(left)
    scale = mapped(found).scale
    assert scale is not None
    assert (scale.lowest, scale.highest) == (1 if left or len(people[0]) < 6 else 0, 5)
    for one in left:
        assert '"0": 1, "1": 2, "2": 3, "3": 4, "4": 5' in why(found, one) or "of human 1" in why(
            found, one
        )


@pytest.mark.parametrize("labels", [RARE_ZERO, ZEROS])
@pytest.mark.parametrize("n_people", [1, 2, 4])
def test_a_scale_that_no_judge_has_is_not_that_of_most(
    tmp_path: Path, labels: tuple[str, ...], n_people: int
) -> None:
    people = [f"human {n}" for n in range(n_people)]
    with pytest.raises(ConfigError) as error:
        proposal(tmp_path, f"id,gpt,{','.join(people)}", *graded(MARKS, *[labels] * n_people))
    assert "gpt has scores 1 to 5" in str(error.value)
    assert "scores 0 to 4" in str(error.value)
    assert "they are of two scales" in str(error.value)


def test_judges_beyond_a_scale_that_others_use_are_left_out(tmp_path: Path) -> None:
    """1 to 9 has each score of 1 to 5, and is of another scale."""
    lines = graded(MARKS, MARKS[1:], [str(n) for n in range(1, 10)], MARKS)
    found = proposal(tmp_path, "id,gpt,claude,llama,human", *lines)
    assert taken(found)["llama"] == "left out"
    assert [one.column for one in mapped(found).verdicts] == ["gpt", "claude"]


COMMAS = tuple(f'"{n},{half}"' for n in range(1, 5) for half in (0, 5))


def test_decimal_commas_between_commas_are_no_words_to_order(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        proposal(tmp_path, "id,gpt,claude,human", *graded(COMMAS, COMMAS[1:], MARKS))
    assert "the scores of gpt, claude have decimal commas, such as '1,0'" in str(error.value)
    assert "Write a point in place of a decimal comma" in str(error.value)
    # One judge among others is left out with the same.
    found = proposal(tmp_path, "id,gpt,claude,llama", *graded(MARKS, COMMAS, MARKS[1:]))
    assert taken(found)["claude"] == "left out"
    assert "decimal commas, such as '1,0'" in why(found, "claude")
    # Commas in words are none.
    words = ('"good, mostly"', '"bad, mostly"')
    assert proposal(tmp_path, "id,gpt,claude", *graded(words, words[::-1])).unordered


def test_scores_of_two_scales_are_no_proposal(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        proposal(tmp_path, "id,gpt 1,gpt 2", *graded(("1/5", "4/5"), ("1/10", "4/10")))
    said = "gpt 1 has scores out of 5, and gpt 2 has scores out of 10: they are of two scales"
    assert said in str(error.value)


def test_half_points_of_one_judge_leave_the_whole_scale_of_the_others(tmp_path: Path) -> None:
    """1, 1.5 ... 5 by one judge, 1 to 5 by everybody else: five stages, not nine."""
    halves = [f"{1 + n / 2:g}" for n in range(9)]
    whole = [str(1 + n % 5) for n in range(20)]
    found = proposal(
        tmp_path, "id,gpt-4o,claude,expert 1", *graded(halves, whole, whole[::-1])
    )  # fmt: skip
    recorded = mapped(found)
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == (1, 5)
    assert recorded.stages == ()
    [line] = [one for one in found.taken if one.role == "half points"]
    assert line.column == "gpt-4o"
    assert "1 to 5" in line.why
    assert taken(found)["gpt-4o"] == "judge"

    # Two judges with half points, or one judge beside one other column, keep all the steps.
    for header, columns in (
        ("id,gpt-4o,claude,expert 1", (halves, halves[::-1], whole)),
        ("id,gpt-4o,claude", (halves, whole)),
    ):
        kept = mapped(proposal(tmp_path, header, *graded(*columns)))
        assert len(kept.stages) == 9


def test_two_columns_of_raters_are_both_people(tmp_path: Path) -> None:
    """One is named as a person's; the other is as empty as it, where judges answered every row."""
    whole = [str(1 + n % 5) for n in range(20)]
    some = ["" if n % 5 < 2 else value for n, value in enumerate(whole)]
    others = ["" if n % 5 == 3 or n % 4 == 0 else value for n, value in enumerate(whole)]
    rows = graded(whole, whole[::-1], whole, some, others, whole)
    header = "id,gpt-4o,claude,strict prompt,expert 2,second look,R. Ahn"
    found = proposal(tmp_path, header, *rows)
    assert mapped(found).item.people == ("expert 2", "second look", "R. Ahn")
    assert "expert 2" in why(found, "second look")
    assert "initials" in why(found, "R. Ahn")
    assert taken(found)["strict prompt"] == "left out"
    judges = Options(judge_columns=("gpt-4o", "claude", "strict prompt"))
    assert mapped(proposal(tmp_path, header, *rows, options=judges)).item.people == (
        "expert 2",
        "second look",
        "R. Ahn",
    )
    # Whoever names people names them all; without any named as a person nothing tells.
    given = proposal(tmp_path, header, *rows, options=Options(people=("expert 2",)))
    assert mapped(given).item.people == ("expert 2",)
    alone = proposal(tmp_path, header.replace("expert 2", "first look"), *rows)
    assert mapped(alone).item.people == ()


def test_judges_are_ordered_by_inversions_and_then_by_agreement(tmp_path: Path) -> None:
    """0.06 comes before 0.08, and not after it because both are 0 as whole numbers."""
    truth = [1 + n % 5 if n % 3 else 1 + n % 2 for n in range(60)]
    rows = [
        f"i{n},{'abc'[n % 3]},{of},{of if n % 4 else 1 + of % 5},{of}" for n, of in enumerate(truth)
    ]
    header = "id,system,gpt-right,gpt-often,expert"
    found = proposal(tmp_path, header, *rows)
    recorded = mapped(found)
    of = audited(found.files, recorded, stages_rubric(recorded))
    inversions = {"gpt-right": 0.08, "gpt-often": 0.06}

    def with_inversions(row: ResultRow) -> ResultRow:
        judge = str(row.scope.get("judge", "")).rpartition("/")[2]
        is_it = row.metric == "expected_inversions"
        return replace(row, estimate=inversions[judge]) if is_it else row

    shown = audit_of_systems(of.data, [with_inversions(row) for row in of.rows])
    assert shown is not None
    [ranking, *_] = shown.parts
    assert [row.cells[0] for row in ranking.rows] == ["gpt-often", "gpt-right"]
    assert ranking.explanation.startswith("gpt-often ranks 3 systems")
    assert "0.06 expected inversions" in ranking.explanation


def test_an_item_that_is_there_twice_is_named_whatever_its_column_is_called(
    tmp_path: Path,
) -> None:
    lines = [f"t{n},{1 + n % 5},{1 + n % 3},{1 + n % 4}" for n in range(20)]
    lines.insert(12, "t3,5,5,5")
    with pytest.raises(ConfigError) as error:
        proposal(tmp_path, "ticket,gpt,claude,ann_human", *lines)
    assert "ticket has 't3' in 2 rows (line 5 and line 14)" in str(error.value)


def test_copies_and_other_repeats_of_items_are_named_at_once(tmp_path: Path) -> None:
    lines = [f"t{n},{ANSWERS[n % 10]},{ANSWERS[n % 10]},{ANSWERS[-n % 10]}" for n in range(30)]
    lines += [*lines[3:8], "t9,no,yes,no"]
    with pytest.raises(ConfigError) as error:
        proposal(tmp_path, "ticket,gpt,claude,ann_human", *lines)
    said = str(error.value)
    assert "5 rows repeat another, such as that of 't3' (line 5 and line 32)" in said
    assert "ticket has 't9' in 2 rows (line 11 and line 37)" in said
    assert "'t3' in 2 rows" not in said


@pytest.mark.parametrize(("empty", "said"), [((2, 7, 9), True), ((), False), (range(40), False)])
def test_an_id_that_is_empty_in_some_rows_is_left_out_with_where(
    tmp_path: Path, empty: tuple[int, ...], said: bool
) -> None:
    lines = [
        f"{'' if n in empty else f'a{n}'},q{n // 2},{'xy'[n % 2]},{ANSWERS[n % 10]},"
        f"{ANSWERS[-n % 10]}"
        for n in range(60)
    ]
    found = proposal(tmp_path, "answer_id,question,system,gpt,claude", *lines)
    is_left = taken(found)["answer_id"] == "left out"
    assert is_left == bool(empty)
    where = "empty in 3 rows (line 4 and line 9 and line 11), and tells the other rows apart"
    assert (where in why(found, "answer_id")) == said


def columns_with(shared: str, **seldom: dict[int, str]) -> tuple[str, list[str]]:
    """A table of 60 rows in which judges and a person give marks in turn, but for some rows."""
    marks = shared.split()
    names = ["gpt", "claude", "human"]
    lines = [
        ",".join([str(n), *(seldom.get(one, {}).get(n, marks[(n + at) % len(marks)])
                            for at, one in enumerate(names))])
        for n in range(60)
    ]  # fmt: skip
    return ",".join(["id", *names]), lines


@pytest.mark.parametrize(
    ("shared", "seldom", "ends"),
    [
        # What one judge never gives is on the scale of the others, however seldom.
        ("2 3 4 5", {"gpt": {7: "1"}}, (1, 5)),
        ("2 3 4 5", {"human": {7: "1.0"}}, (1, 5)),
        ("3 4 5", {"gpt": {7: "1"}}, (1, 5)),
        ("1 2 3 4", {"gpt": {7: "5"}}, (1, 5)),
        ("1 2 3", {"gpt": dict.fromkeys((7, 8, 9), "4")}, (1, 4)),
        ("1 2 3", {"gpt": {7: "4"}, "human": {9: "4"}}, (1, 4)),
        ("1 2 3 4 5", {"gpt": dict.fromkeys((7, 8, 9), "0")}, (0, 5)),
        ("2/5 3/5 4/5", {"gpt": {7: "1/5"}}, (1, 5)),
        # Slips, other scales and what says that there is no score are not.
        ("1 2 3 4 5", {"gpt": {7: "0"}}, (1, 5)),
        ("1 2 3 4 5", {"gpt": {7: "6"}}, (1, 5)),
        ("1 2 3 4 5", {"gpt": {7: "9"}}, (1, 5)),
        ("0 1 2 3", {"gpt": {7: "5"}}, (0, 3)),
        ("0 1 2 3", {"gpt": {7: "12"}}, (0, 3)),
        ("2 3 4 5", {"gpt": dict.fromkeys((7, 8, 9), "-1")}, (2, 5)),
        ("2 3 4 5", {"gpt": dict.fromkeys((7, 8, 9), "99")}, (2, 5)),
    ],
)
def test_a_scale_has_the_ends_that_some_judge_never_gives(
    tmp_path: Path, shared: str, seldom: dict[str, dict[int, str]], ends: tuple[int, int]
) -> None:
    header, lines = columns_with(shared, **seldom)
    found = proposal(tmp_path, header, *lines)
    recorded = mapped(found)
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == ends
    rare = {value for of in seldom.values() for value in of.values()}
    read = {value for value in rare if recorded.decision(value) is not None}
    assert recorded.unlisted == ("refused" if rare == read else "unreadable")
    strays = [one.why for one in found.taken if one.role == "unreadable in part"]
    assert len(strays) == sum(not set(of.values()) <= read for of in seldom.values())


def test_percent_beyond_the_scores_of_a_judge_are_on_its_scale(tmp_path: Path) -> None:
    """Of many scores each column has its own: 3 and 97 are no slips beside 12 to 92."""
    shared = " ".join(str(12 + 8 * n) for n in range(11))
    header, lines = columns_with(shared, gpt={7: "3", 20: "97"}, human={9: "999"})
    recorded = mapped(proposal(tmp_path, header, *lines))
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == (3, 97)


def test_halves_keep_the_end_that_some_judge_never_gives(tmp_path: Path) -> None:
    header, lines = columns_with("1.5 2 2.5 3 3.5 4 4.5 5", human={7: "1"})
    recorded = mapped(proposal(tmp_path, header, *lines))
    assert recorded.stages == ("1", "1.5", "2", "2.5", "3", "3.5", "4", "4.5", "5")
    assert recorded.label("1") == 1


@pytest.mark.parametrize(
    ("names", "codes", "doubted"),
    [
        (("response1", "response2"), "012", True),
        (("Answer A", "Answer B"), "123", True),
        (("response1", "response2"), "01234", False),
        (("response", "remark"), "012", False),
    ],
)
def test_codes_of_two_answers_are_said_to_be_perhaps_no_order(
    tmp_path: Path, names: tuple[str, str], codes: str, doubted: bool
) -> None:
    lines = [f"{n},one {n},two {n},{codes[n % len(codes)]},{codes[-n % len(codes)]}"
             for n in range(60)]  # fmt: skip
    found = proposal(tmp_path, f"id,{','.join(names)},GPT-4.1,JudgeLM", *lines)
    assert mapped(found).scale
    said = [why(found, name) for name in names if taken(found)[name] == "left out"]
    assert all(("no order" in one) is doubted for one in said)
    assert bool(said) or not doubted


@pytest.mark.parametrize("judged", [("TRUE", "False"), ("1", "0"), ("PASS", "fail")])
def test_two_verdicts_in_other_words_are_read_as_one_pair(
    tmp_path: Path, judged: tuple[str, str]
) -> None:
    high, low = judged
    found = proposal(
        tmp_path, "id,GPT-4,llama,human",
        *graded([high, low, high], [high, high, low], ["Yes", "No", "Yes", ""]),
    )  # fmt: skip
    recorded = mapped(found)
    assert recorded.item.people == ("human",)
    assert [recorded.label(one) for one in ("No", "Yes")] == [1, 2]
    assert [recorded.decision(one) for one in (low, high)] == [1, 2]
    assert any(one.column == "human" and "Yes" in one.why for one in found.taken)


def test_one_and_zero_beside_scores_are_no_words(tmp_path: Path) -> None:
    found = proposal(
        tmp_path, "id,GPT-4,llama,human gate,human",
        *graded(list("12345"), list("23451"), ["yes", "no"], ["0", "1"]),
    )  # fmt: skip
    assert not mapped(found).truths
    assert found.mapping["verdicts"] == ["GPT-4", "llama"]


def test_verdicts_that_name_two_answers_are_of_pairs_of_systems(tmp_path: Path) -> None:
    answers = ["A", "B", "tie", "B", "A", "garbage", "B", "A"]
    found = proposal(
        tmp_path, "id,model_a,model_b,gpt-4,llama,human",
        *graded(["opt", "phi", "bloom"], ["phi", "bloom", "opt"], answers, answers[1:],
                ["A", "B", "tie", "B"]),
    )  # fmt: skip
    recorded = mapped(found)
    assert recorded.stages == ("A", "tie", "B")
    assert (recorded.item.system, recorded.item.second_system) == ("model_a", "model_b")
    assert recorded.unlisted == "unreadable"
    assert taken(found)["gpt-4"] == "judge"
