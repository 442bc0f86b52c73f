"""Judge files and item files: what they mean, and what is said of one that cannot be used."""

from pathlib import Path

import pytest

from judge_gym.asking.budgeting import exceeded_error, spender_of
from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError, DataFileError, did_you_mean_id
from judge_gym.evidence.choosing import BY_OPTION, NamedBy
from judge_gym.judges import (
    CallableJudge,
    HttpJudge,
    Item,
    PairwiseJudge,
    Variant,
    load_judge,
    new_label,
    read_items,
)
from judge_gym.judges.item_files import read_item_file
from judge_gym.judges.label_files import collect_labels
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.reason_critic import critic_of
from judge_gym.records.judgements import MalformedAnswer
from judge_gym.store.spending import Spent

JUDGES = Path(__file__).parents[3] / "deployments" / "judges"
RUBRIC = """\
kind: rubric
name: notes
model: sim/good-1
task: Mark it.
criteria:
  - {name: clarity, description: It is clear., weight: 2}
"""


def written(folder: Path, text: str, name: str = "judge.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", ["notes", "admission", "answers"])
def test_the_examples_fit_their_items(name: str) -> None:
    judge = load_judge(JUDGES / f"{name}.yaml")
    items = read_items(JUDGES / f"{name}.jsonl")
    assert len(items) >= 4
    for item in items:
        judge.check(item)
        assert "ample" in item.context, "invented, and it says so"


def test_a_function_with_verdicts_is_told_how_to_name_them(tmp_path: Path) -> None:
    given = "kind: callable\nname: a\nfunction: 'grades:mine'\nverdicts: [pass, fail]\n"
    with pytest.raises(ConfigError) as refused:
        load_judge(written(tmp_path, given))
    assert "line 4: verdicts" in refused.value.message
    said = refused.value.remedy.partition("scale: ")[2].rstrip(".")
    mended = load_judge(
        written(tmp_path, given.replace("verdicts: [pass, fail]", f"scale: {said}"))
    )
    assert isinstance(mended, CallableJudge)
    assert [mended.scale.mark(name, "score") for name in ("fail", " pass ")] == [0, 1]
    with pytest.raises(MalformedAnswer, match="not one of fail, pass"):
        mended.scale.mark("maybe", "score")


def test_every_kind_is_read(tmp_path: Path) -> None:
    pair = load_judge(written(tmp_path, "{kind: pairwise, name: a, model: sim/good-1, task: t}"))
    own = load_judge(written(tmp_path, "{kind: callable, name: a, function: 'grades:mine'}"))
    http = load_judge(written(tmp_path, "{kind: http, name: a, url: 'http://127.0.0.1:1/j'}"))
    assert isinstance(pair, PairwiseJudge)
    assert isinstance(own, CallableJudge)
    assert isinstance(http, HttpJudge)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "kind: rubric\n",
            "",
            "kind is missing. Give rubric, binary, pairwise, callable, http, ensemble, routed or "
            "panel",
        ),
        ("kind: rubric", "kind: rubrik", "kind is 'rubrik'. Did you mean rubric?"),
        ("model: sim/good-1\n", "", "model is missing"),
        ("sim/good-1", "sim/goood",
         "line 3: model is 'sim/goood', which the simulator does not have. Did you mean sim/good-"),
        ("sim/good-1", "m1", "model is 'm1'. Use provider/model"),
        ("task:", "tusk:", "tusk is not a known key. Did you mean task?"),
        ("weight: 2", "weight: 0", "criteria[0].weight is 0. Use a number above 0"),
        ("weight: 2", "weight: two", "criteria[0].weight is 'two'. Use a number"),
        ("name: clarity", "name: 1st", "criteria[0].name"),
        ("task: Mark it.", "task: Mark it.\ntemperature: 3", "temperature is 3. Use a number from"),
        ("task: Mark it.", "task: Mark it.\nscale: {lowest: 5, highest: 1}", "highest is 1"),
        (RUBRIC, "just text", "'just text'"),
    ],
)  # fmt: skip
def test_a_faulty_file_is_named_with_key_and_value(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    file = written(tmp_path, RUBRIC.replace(old, new))
    with pytest.raises(ConfigError) as refused:
        load_judge(file)
    assert str(file) in refused.value.message
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("sampling", "message", "remedy"),
    [
        ("model: openai/gpt-5\ntemperature: 0",
         "line 4: temperature is 0.0, which openai/gpt-5 does not apply: it uses its default, 1.",
         "Write `temperature: 1`."),
        ("model: gemini/gemini-3.6-flash",
         "top_p is 1.0 by default, which gemini/gemini-3.6-flash does not apply",
         "Write `top_p: 0.95`."),
        ("model: openai/gpt-4o\nmax_tokens: 20000",
         "line 4: max_tokens is 20000, which openai/gpt-4o does not apply: it takes at most 16384",
         "Write a value that it applies."),
        ("model: anthropic/claude-sonnet-4-5\ntemperature: 0\ntop_p: 0.9",
         "anthropic/claude-sonnet-4-5 takes only one of temperature and top_p", ""),
    ],
)  # fmt: skip
def test_a_value_that_the_model_does_not_apply_is_named(
    tmp_path: Path, sampling: str, message: str, remedy: str
) -> None:
    file = written(tmp_path, RUBRIC.replace("model: sim/good-1", sampling))
    with pytest.raises(ConfigError) as refused:
        load_judge(file)
    assert refused.value.message.startswith(str(file))
    assert message in refused.value.message
    assert refused.value.remedy.startswith(remedy)


@pytest.mark.parametrize("model", ["openai/gpt-5", "anthropic/claude-opus-4-7", "nobody/model"])
def test_a_judge_at_the_defaults_of_its_model_can_be_read(tmp_path: Path, model: str) -> None:
    file = written(tmp_path, RUBRIC.replace("sim/good-1", model))
    assert load_judge(file).answered_by == model


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("function: grades", "Use module:function"),
        ("kind: http\nurl: ftp://x", "Use an address that begins with http:// or https://"),
    ],
)
def test_own_judges_are_named_rightly(tmp_path: Path, line: str, said: str) -> None:
    kind = "" if "kind" in line else "kind: callable\n"
    with pytest.raises(ConfigError) as refused:
        load_judge(written(tmp_path, f"{kind}name: a\n{line}\n"))
    assert said in refused.value.remedy


def test_a_threshold_of_the_gate_is_left_out_by_null(tmp_path: Path) -> None:
    file = tmp_path / "judge.yaml"
    for written, agreement in (("null", None), ("0.6", 0.6), ("", None)):
        file.write_text(
            "kind: callable\nname: own\nfunction: own:grade\n"
            f"gate:\n  items: items.csv\n  agreement: {written}\n  accuracy: null\n"
        )
        gate = load_judge(file).gate
        assert gate is not None
        assert (gate.agreement, gate.accuracy) == (agreement, None)


def test_items_of_both_formats_are_alike(tmp_path: Path) -> None:
    rows = '{"id": 7, "text": "a, b", "context": "c", "truth": "x", "more": [1]}\n{"text": "d"}\n'
    table = 'id,text,context,truth,more\n7,"a, b",c,x,y\n,d,,,\n'
    lines = read_items(written(tmp_path, rows, "items.jsonl"))
    cells = read_items(written(tmp_path, table, "items.csv"))
    told = [(item.id, item.text, item.second, item.context, item.truth) for item in lines]
    assert told == [("7", "a, b", None, "c", "x"), ("2", "d", None, "", None)]
    assert told == [(item.id, item.text, item.second, item.context, item.truth) for item in cells]
    assert len({item.corpus for item in lines}) == 1
    assert lines[0].corpus != cells[0].corpus


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}',
            "items.jsonl line 1 has, too",
        ),
        ('{"text": ""}', "line 1: text is empty"),
        ('{"text": 5}', "line 1: text is 5: "),
        ('{"text": "a"}\nnot json', "line 2: not JSON"),
        ('{"text": "a\\u0000b"}', "line 1: text is 'a"),
        ("\n", "has no row"),
    ],
)
def test_a_faulty_item_is_named_with_file_and_line(tmp_path: Path, rows: str, said: str) -> None:
    file = written(tmp_path, rows, "items.jsonl")
    with pytest.raises(DataFileError) as refused:  # bad input: the command exits with 3
        read_items(file)
    assert str(file) in refused.value.message
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "items.json",
            '{\n"rows": [{"text": "a"}]}',
            "one JSON object (keys 'rows')",
        ),
        ("items.json", '{\n"a": 1, "b": 2}\n', "one JSON object (keys 'a', 'b')"),
        ("items.jsonl", '{"id": "a",\n"text": "x"}\n', "does not end on its line"),
        ("items.jsonl", '{"id": "a",\n"text": ', "not JSON"),
        ("items.json", "text", "not JSON"),
    ],
)
def test_a_json_object_is_not_called_something_else(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    with pytest.raises(DataFileError) as refused:
        read_items(written(tmp_path, content, name))
    assert said in refused.value.message
    assert refused.value.remedy


def test_files_are_named_by_text_and_wrong_fields_are_a_clear_error(tmp_path: Path) -> None:
    file = written(tmp_path, '{"text": "x"}\n', "items.jsonl")
    assert read_items(str(file)) == read_items(file)
    with pytest.raises(ConfigError, match="'trut' is not a field of an item"):
        read_items(file, {"trut": "x"})


@pytest.mark.parametrize("given", ["", None, 5, {"text": "a"}])
def test_what_is_no_item_is_a_clear_error(given: object) -> None:
    judge = load_judge(JUDGES / "notes.yaml")
    with pytest.raises(ConfigError, match="item"):
        judge.check(given) if given != "" else judge.score(given)  # type: ignore[arg-type]


def test_a_function_with_wrong_fields_is_a_clear_error() -> None:
    def grade(item: dict[str, object]) -> int:
        return 1

    with pytest.raises(ConfigError, match="scale is a list of 2"):
        CallableJudge.of(grade, version="1", scale=(0, 1))


def test_an_item_is_the_texts_that_a_judge_sees() -> None:
    item = Item(id="1", text="x", corpus="c")
    variant = Variant(perturbation="add_fluff", severity=0.5, seed=1)
    beside = {"id": "2", "corpus": "d", "truth": 1.0, "category": "k", "simulated": True}
    assert item.model_copy(update={**beside, "variant": variant}).key == item.key
    changes = [{"text": "y"}, {"second": "z"}, {"context": "z"}]
    assert len({item.key, *(item.model_copy(update=one).key for one in changes)}) == 4


def test_judges_of_pairs_take_pairs_alone() -> None:
    pair = load_judge(JUDGES / "answers.yaml")
    single = load_judge(JUDGES / "notes.yaml")
    with pytest.raises(ConfigError, match="'7' has one text"):
        pair.check(Item(id="7", text="x"))
    with pytest.raises(ConfigError, match="'7' has a second text"):
        single.check(Item(id="7", text="x", second="y"))


PAIR = "id,text,second,one,two\np1,a,b,lynx,orca\n"
BOTS = {"system": "one", "second_system": "two"}


@pytest.mark.parametrize(
    ("row", "column"), [("p2,c,d,,orca", "one is empty"), ("p2,c,d,lynx,", "two is empty")]
)
def test_a_pair_names_both_systems_or_none(tmp_path: Path, row: str, column: str) -> None:
    file = written(tmp_path, f"{PAIR}{row}\n", "pairs.csv")
    with pytest.raises(DataFileError) as refused:
        read_items(file, BOTS)
    assert "pairs.csv line 3" in refused.value.message
    assert column in refused.value.message
    unnamed = read_items(written(tmp_path, f"{PAIR}p2,c,d,,\n", "none.csv"), BOTS)
    assert [item.systems for item in unnamed] == [("lynx", "orca"), ()]


def test_an_empty_answer_is_not_to_be_removed(tmp_path: Path) -> None:
    file = written(tmp_path, "id,text,system\n1,x,A\n2,,B\n", "items.csv")
    with pytest.raises(DataFileError, match="line 3: text is empty") as refused:
        read_items(file)
    assert "--fields text=text" in refused.value.remedy
    assert "[no answer]" in refused.value.remedy
    assert "Mend or remove" not in refused.value.remedy


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pairs.csv", "q,a,b\n1,x,y\n2,,z\n3,x, \n"),
        ("pairs.jsonl", '{"q": 1, "a": "x", "b": "y"}\n{"q": 2, "a": null, "b": "z"}\n'
                        '{"q": 3, "a": "x", "b": ""}\n'),
    ],
)  # fmt: skip
def test_an_empty_answer_is_judged_where_its_column_is_named(
    tmp_path: Path, name: str, content: str
) -> None:
    file = written(tmp_path, content, name)
    read = read_item_file(file, {"id": "q", "text": "a", "second": "b"})
    texts = [(item.text, item.second) for item in read.items]
    assert texts == [("x", "y"), ("[no answer]", "z"), ("x", "[no answer]")]
    assert read.unanswered == ("2", "3")
    said = read.said(CallableJudge(name="own", function="grades:own"))
    assert "2 items with an empty answer, judged as [no answer]: 2, 3." in said


def test_a_row_without_the_column_of_answers_has_no_empty_answer(tmp_path: Path) -> None:
    file = written(tmp_path, '{"a": "x", "b": "y"}\n{"a": "x"}\n', "mixed.jsonl")
    read = read_item_file(file, {"text": "a", "second": "b"})
    assert [item.second for item in read.items] == ["y", None]
    with pytest.raises(DataFileError, match="there is no 'a'"):
        read_item_file(written(tmp_path, '{"a": "x"}\n{"b": "y"}\n', "gap.jsonl"), {"text": "a"})


@pytest.mark.parametrize(
    "rows", ["txt\na\n", "id,text\n1,a\n2,\n", "Text,TEXT\na,b\n", "text,truht\na,5\n"]
)
def test_a_message_names_only_the_place_where_columns_can_be_mapped(
    tmp_path: Path, rows: str
) -> None:
    file = written(tmp_path, rows, "items.csv")
    for named_by, there, absent in (
        (BY_OPTION, "--fields", "fields: {"),
        (NamedBy("the review file", "fresh_fields"), "`fresh_fields: {", "--fields"),
        (None, "", "fields"),
    ):
        with pytest.raises(DataFileError) as refused:
            read_item_file(file, named_by=named_by)
        assert there in refused.value.remedy
        assert absent not in refused.value.remedy


def test_numbers_of_rows_as_ids_are_told(tmp_path: Path) -> None:
    rows = "answer_no,text,day\nA-1,the first,mon\nB-202,the second,mon\n"
    file = written(tmp_path, rows, "items.csv")
    judge = CallableJudge(name="own", function="grades:own")
    unmapped = read_item_file(file)
    said = unmapped.said(judge)
    assert "Ids are row numbers: no column is mapped to id." in said
    assert "--fields id=answer_no" in said
    assert "'day'" not in said
    assert "'text'" not in said
    mapped = read_item_file(file, {"id": "answer_no"}).said(judge)
    assert "row numbers" not in mapped
    labels = collect_labels([new_label("B-202", "kim", 1)])
    with pytest.raises(DataFileError, match="B-202") as refused:
        unmapped.with_labels(labels, judge)
    assert "--fields id=answer_no" in refused.value.remedy
    assert "Did you mean" not in refused.value.remedy


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("B-202", ""),
        ("A-077", ""),
        ("b-077 ", "B-077"),
        ("B-O77", "B-077"),
        ("7", "7"),
        ("", ""),
        ("007", "7"),
        ("7.0", "7"),
        ("70", ""),
        ("7.5", ""),
    ],
)
def test_only_the_same_id_is_meant(typed: str, meant: str) -> None:
    found = did_you_mean_id(typed, ["202", "B-077", "7"])
    assert found == (f"Did you mean {meant}? " if meant else "")


def test_spaces_around_systems_do_not_count_and_their_case_does(tmp_path: Path) -> None:
    rows = "id,text,system\n1,x,B\n2,y,b \n3,z, B\n"
    read = read_item_file(written(tmp_path, rows, "items.csv"))
    assert [item.system for item in read.items] == ["B", "b", "B"]
    said = read.said(CallableJudge(name="own", function="grades:own"))
    assert "'B' (2) and 'b' (1)" in said


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ("budget: {max_calls: 1}", "budget.max_calls"),
        ("reason_critic: {model: sim/good-1, budget: {max_calls: 1}}",
         "reason_critic.budget.max_calls"),
    ],
)  # fmt: skip
def test_a_budget_that_is_used_up_names_its_key_and_file(
    tmp_path: Path, more: str, key: str
) -> None:
    file = written(tmp_path, f"{RUBRIC}{more}\n", "mine.yaml")
    judge = load_judge(file)
    bounded = critic_of(judge) or judge
    assert isinstance(bounded, ModelJudge)
    assert bounded.budget == Budget(max_calls=1), "its place is no part of a budget"
    used = Spent(calls=1, cost_usd=0, unpriced=0, ended=1, failed=0)
    error = exceeded_error(spender_of(bounded), used)
    assert error is not None
    assert f"Raise {key} in {file}" in error.remedy
    assert "reached" in error.message
