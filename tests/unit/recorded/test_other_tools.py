"""Files of Inspect, promptfoo and AlpacaEval, made by the tools themselves (support/foreign)."""

import json
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from judge_gym.errors import ConfigError, DataFileError
from judge_gym.recorded import content as content_module
from judge_gym.recorded import inspect_logs
from judge_gym.recorded.content import Left
from judge_gym.recorded.derived import Derived, Options
from judge_gym.recorded.deriving import derived, mapping_text
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.formats import load_files
from judge_gym.recorded.judged import Given, Judging, Recordings
from judge_gym.recorded.mapping import Recorded, load_recorded, stages_rubric
from judge_gym.recorded.reading import read_recorded
from support.command_line import CommandLine

MADE = Path(__file__).parents[2] / "support" / "foreign" / "made"
JUDGING = [MADE / "judging-strict.eval", MADE / "judging-lenient.eval"]


def derive(*paths: Path, chosen: str = "", **options: object) -> tuple[RecordedFiles, Derived]:
    kind, files = load_files(paths, chosen)
    return files, derived(files, kind, Options(**options))


def read(files: RecordedFiles, recorded: Recorded) -> Recordings:
    return read_recorded(files, recorded, stages_rubric(recorded).scale_size)


def only(*paths: Path, **options: object) -> tuple[Recorded, Recordings]:
    files, found = derive(*paths, **options)
    [recorded] = found.readings
    return recorded, read(files, recorded)


def judgements(recordings: Recordings, judge: str) -> list[Given]:
    [window] = recordings.windows.values()
    return window.judgements[Judging(judge)]


def choices(recordings: Recordings, judge: str) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for given in judgements(recordings, judge):
        found.setdefault(given.item, []).append(given.choice)
    return found


def test_models_are_the_judges_where_their_answers_are_the_targets() -> None:
    recorded, read = only(*JUDGING)
    assert recorded.stages == ("bad", "good")
    [window] = read.windows.values()
    assert {key: item.truth for key, item in window.items.items()} == {
        "eggs": 2, "rice": 2, "pasta": 2, "tea": 1, "bread": 1, "soup": 1,
    }  # fmt: skip
    # Three epochs of six samples, without the one that ended with an error.
    strict = choices(read, "mockllm/strict")
    assert {key: len(of) for key, of in strict.items()} == {
        "eggs": 3, "rice": 3, "pasta": 3, "tea": 3, "bread": 2, "soup": 3,
    }  # fmt: skip
    assert all(of == (window.items[item].truth,) for item, given in strict.items() for of in given)
    lenient = choices(read, "mockllm/lenient")
    assert lenient["tea"] == [(2,)] * 3
    # An answer that is no target is not read as one.
    assert lenient["pasta"] == [None] * 3
    [refusal, *_] = [
        given for given in judgements(read, "mockllm/lenient") if given.item == "pasta"
    ]
    assert refusal.verdict == refusal.behind == "I would rather not say."
    assert list(map(str, read.unread.left[Left.ERROR])) == [
        f"judging-{name}.eval: sample bread, epoch 2: RuntimeError('the oven is off')"
        for name in ("strict", "lenient")
    ]


def test_a_verdict_is_right_exactly_where_inspect_says_so() -> None:
    files, found = derive(*JUDGING)
    rows = [row.values for content in files.contents.values() for row in content.rows]
    right = Counter((row["model"], row["value"] == "C") for row in rows)
    [recorded] = found.readings
    recordings = read(files, recorded)
    [window] = recordings.windows.values()
    ours = Counter(
        (judging.judge, given.choice == (window.items[given.item].truth,))
        for judging, of in window.judgements.items()
        for given in of
    )
    assert ours == right
    assert right == {
        ("mockllm/strict", True): 17, ("mockllm/lenient", True): 11, ("mockllm/lenient", False): 6
    }  # fmt: skip


def test_scorers_are_the_judges_of_what_a_model_wrote() -> None:
    files, found = derive(MADE / "grading.eval")
    by_name = {recorded.name: recorded for recorded in found.readings}
    # The scorer with two values has two criteria; length and style are numbers of their own.
    assert set(by_name) == {
        "grading-scorers", "grading-style-short", "grading-style-clear", "grading-length",
    }  # fmt: skip
    grades = by_name["grading-scorers"]
    assert grades.stages == ("incorrect", "partly correct", "correct")
    graded = read(files, grades)
    # Both epochs have the same answer, so they are repeats: C, P, I, and a grade that is missing.
    assert choices(graded, "model_graded_qa by mockllm/grader") == {
        "eggs": [(3,)] * 2, "rice": [(3,)] * 2, "pasta": [(3,)] * 2, "tea": [(2,)] * 2,
        "bread": [(1,)] * 2, "soup": [None] * 2,
    }  # fmt: skip
    assert choices(graded, "includes") == {
        "eggs": [(3,)] * 2, "rice": [(3,)] * 2, "pasta": [(3,)] * 2, "tea": [(1,)] * 2,
        "bread": [(1,)] * 2, "soup": [(1,)] * 2,
    }  # fmt: skip
    [behind, *_] = [g.behind for g in judgements(graded, "model_graded_qa by mockllm/grader")]
    assert behind is not None
    assert behind.endswith("GRADE: I")
    [window] = graded.windows.values()
    assert "Soup is warm." in window.items["soup"].text
    assert list(map(str, graded.unread.left[Left.NO_SCORE])) == [
        f"length of grading.eval: sample soup, epoch {epoch}" for epoch in (1, 2)
    ]


def test_numbers_are_stages_by_their_values_or_by_cuts() -> None:
    files, found = derive(MADE / "grading.eval", criteria=("style",))
    short, clear = found.readings
    # 5 minus a third of the words: six answers of 3 to 9 words.
    assert short.scale is not None
    assert (short.scale.lowest, short.scale.highest) == (2, 4)
    assert choices(read(files, short), "style")["eggs"] == [(2,)] * 2
    assert clear.scale is not None
    recorded, cut = only(MADE / "grading.eval", criteria=("length",), cuts=(0.4, 0.75))
    assert recorded.stages == ("below 0.4", "0.4 or more", "0.75 or more")
    # Letters over 50: 35 of the eggs' answer, 40 of the pasta's, 15 of the tea's.
    found_choices = choices(cut, "length")
    assert found_choices["eggs"] == [(2,)] * 2
    assert found_choices["pasta"] == [(3,)] * 2
    assert found_choices["tea"] == [(1,)] * 2


def test_a_scorer_is_the_known_answer_of_another() -> None:
    recorded, read = only(
        MADE / "grading.eval", criteria=("model_graded_qa",), truth="scores.includes"
    )
    [window] = read.windows.values()
    assert {key: item.truth for key, item in window.items.items()} == {
        "eggs": 3, "rice": 3, "pasta": 3, "tea": 1, "bread": 1, "soup": 1,
    }  # fmt: skip
    assert recorded.item.truth == "scores.includes"


def test_a_cancelled_log_names_what_it_lacks() -> None:
    _, read = only(MADE / "cancelled.eval")
    assert sorted(choices(read, "includes")) == ["bread", "eggs", "rice", "tea"]
    assert list(map(str, read.unread.left[Left.NOT_RUN])) == [
        f"cancelled.eval (cancelled): sample {name}, epoch 1" for name in ("pasta", "soup")
    ]


def test_a_json_log_reads_like_an_eval_file() -> None:
    _, in_json = only(MADE / "short.json")
    files, found = derive(MADE / "grading.eval", criteria=("includes", "model_graded_qa"))
    whole = read(files, found.readings[0])
    for judge in ("includes", "model_graded_qa by mockllm/grader"):
        expected = {item: of[:1] for item, of in choices(whole, judge).items()}
        assert choices(in_json, judge) == {item: expected[item] for item in ("eggs", "rice", "tea")}


def test_promptfoo_names_graders_and_their_errors() -> None:
    recorded, read = only(MADE / "promptfoo.json", truth="vars.label")
    assert recorded.concept == "answers"
    [window] = read.windows.values()
    assert len(window.items) == 6
    by_text = {item.text: item for item in window.items.values()}
    strict, lenient = (choices(read, f"openai:chat:{name}") for name in ("strict", "lenient"))
    eggs, water, soup = (
        by_text[text].key
        for text in ("About ten minutes in boiling water.", "Boil the water.", "Soup is warm.")
    )
    # --repeat 2 gives the same output, so two judgements of one item.
    assert (strict[eggs], lenient[eggs]) == ([(2,)] * 2, [(2,)] * 2)
    assert (strict[water], lenient[water]) == ([(1,)] * 2, [(2,)] * 2)
    # promptfoo counts a grader's unreadable answer as failed; here it is no verdict.
    assert (strict[soup], lenient[soup]) == ([(1,)] * 2, [None] * 2)
    assert by_text["Soup is warm."].truth == 1
    _, lines = only(MADE / "promptfoo.jsonl", truth="vars.label")
    assert lines.windows["promptfoo-answers"].judgements == window.judgements
    scored, _ = only(MADE / "promptfoo.json", cuts=(0.5, 0.9))
    assert scored.decisions == {"0": 1, "0.25": 1, "0.5": 2, "1": 3}


def test_alpaca_eval_gives_preferences_of_pairs() -> None:
    recorded, read = only(MADE / "annotations.json")
    assert recorded.stages == ("first", "tie", "second")
    assert recorded.item.system == "", "one system against the reference"
    assert not recorded.pairwise, "the file does not record the order that was shown"
    # The first answers have the known word for eggs, rice and salt. Strict wants more of a
    # difference than that to water, and lenient does not answer about the soup.
    assert list(choices(read, "strict").values()) == [
        [(1,)], [(2,)], [(2,)], [(3,)], [(1,)], [(3,)],
    ]  # fmt: skip
    assert list(choices(read, "lenient").values()) == [
        [(1,)], [(1,)], [(3,)], [(3,)], [(1,)], [None],
    ]  # fmt: skip


def test_alpaca_eval_with_its_order_compares_places(tmp_path: Path) -> None:
    raw = json.loads((MADE / "annotations.json").read_text())
    for number, one in enumerate(raw):
        one["is_switched_outputs"] = bool(number % 2)
        one["preference"] = 1.8 if one["preference"] == 2 else one["preference"]
    (tmp_path / "annotations.json").write_text(json.dumps(raw))
    files, found = derive(tmp_path / "annotations.json")
    [recorded] = found.readings
    assert found.weighted == 4
    assert recorded.pairwise
    given = judgements(read(files, recorded), "strict")
    assert [one.reversed for one in given] == [False, True] * 3
    # Preferences are of the outputs as the file has them, whatever was shown first.
    assert [one.choice for one in given] == [(1,), (2,), (2,), (3,), (1,), (3,)]


def test_a_printed_mapping_reads_the_same(tmp_path: Path) -> None:
    for paths, options in (
        (JUDGING, {}),
        ([MADE / "promptfoo.json"], {"truth": "vars.label"}),
        ([MADE / "annotations.json"], {}),
        ([MADE / "grading.eval"], {"criteria": ("includes", "model_graded_qa")}),
    ):
        recorded, expected = only(*paths, **options)
        YAML(typ="safe").dump(dict(mapping_text(recorded)), tmp_path / "mapping.yaml")
        again, rubric = load_recorded(tmp_path / "mapping.yaml")
        assert again == recorded
        _, files = load_files(paths, again.format)
        assert read_recorded(files, again, rubric.scale_size) == expected


def test_rows_are_read_by_the_names_of_their_columns(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("Item,model,score,label\na,x,1,2\na,y,2,2\nb,x,3,3\nb,y,5,3\n")
    recorded, read = only(table)
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == (1, 5)
    assert choices(read, "y") == {"a": [(2,)], "b": [(5,)]}
    assert [item.truth for item in read.windows["table"].items.values()] == [2, 3]
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        "".join(
            json.dumps({"id": name, "judge": "x", "verdict": verdict}) + "\n"
            for name, verdict in (("a", "Pass"), ("b", "fail"))
        )
    )
    recorded, read = only(lines)
    assert choices(read, "x") == {"a": [(2,)], "b": [(1,)]}
    table.write_text("answer,judge,score\na,x,1\n")
    with pytest.raises(ConfigError, match="no column is the item") as error:
        derive(table)
    assert "item_id" in str(error.value.remedy)


@pytest.mark.parametrize(
    "header",
    ["Item ID,Judge,Score,Gold", "item-id,RATER ,rating,Label", "itemId,judge,grade,truth"],
)
def test_names_of_columns_are_read_however_they_are_spelled(tmp_path: Path, header: str) -> None:
    table = tmp_path / "table.csv"
    table.write_text(f"{header}\na,x,1,2\na,y,2,2\nb,x,3,3\nb,y,5,3\n")
    _, read = only(table)
    assert choices(read, "y") == {"a": [(2,)], "b": [(5,)]}
    assert [item.truth for item in read.windows["table"].items.values()] == [2, 3]
    table.write_text(f"item_id,{header}\n1,a,x,1,2\n")
    with pytest.raises(ConfigError, match="are both called 'item_id'"):
        derive(table)


@pytest.mark.parametrize(
    ("score", "path"), [({"value": 4}, "verdicts: [score.value]"), ([4], 'verdicts: ["score[0]"]')]
)
def test_a_score_inside_an_object_is_named_by_its_path(
    tmp_path: Path, score: object, path: str
) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps({"id": "a", "judge": "x", "score": score}) + "\n")
    with pytest.raises(ConfigError, match="score is a") as error:
        derive(lines)
    assert path in str(error.value.remedy)


def test_a_last_item_that_sums_up_the_others_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    rows = [f"t{n},{judge},{1 + n % 5}\n" for judge in "xy" for n in range(9)]
    rows += [f"Grand total,{judge},3\n" for judge in "xy"]
    table.write_text(f"item,judge,score\n{''.join(rows)}")
    with pytest.raises(ConfigError, match="the item 'Grand total' may sum up the others"):
        derive(table)
    # One of several items with such words is an item.
    table.write_text(f"item,judge,score\n{''.join([*rows[-2:], *rows[:-2]])}")
    assert len(only(table)[1].windows["table"].items) == 10
    table.write_text(f"item,judge,score\n{''.join(rows).replace('Grand total', 'sum 2')}")
    assert len(only(table)[1].windows["table"].items) == 10


@pytest.mark.parametrize(
    ("scores", "code"),
    [
        (["1", "2", "3", "4", "5", "-1"], "-1"),
        (["0", "0.25", "0.5", "1", "-1.0"], "-1.0"),
        (["1", "2", "5", "99", "3"], "99"),
        ([*map(str, range(101)), "999"], "999"),
        ([*map(str, range(102)), "999"], ""),
        (["-1", "0", "1"], ""),
        (["-2", "-1", "4"], ""),
        (["-0.5", "1", "2"], ""),
    ],
)
def test_a_number_that_may_stand_for_no_score_is_refused_by_its_place(
    tmp_path: Path, scores: list[str], code: str
) -> None:
    table = tmp_path / "table.csv"
    rows = [f"t{n},x,{score}\n" for n, score in enumerate(scores)]
    table.write_text(f"item,judge,score\n{''.join(rows)}")
    if not code:
        derive(table)
        return
    line = 2 + scores.index(code)
    with pytest.raises(
        ConfigError, match=rf"score is {code} in 1 row \(table.csv line {line}\)"
    ) as error:
        derive(table)
    assert "unlisted: unreadable" in str(error.value.remedy)


@pytest.mark.parametrize(
    ("codes", "scores"),
    [
        (("-1", "99"), "12345"),
        (("98", "99"), "1234567"),
        (("-99", "-98"), "12345"),
        (("-9", "-1"), "12345"),
        (("-2", "-1"), "12345"),
        (("-1", "97", "99"), "012"),
    ],
)
def test_numbers_that_may_stand_for_no_score_are_refused_together(
    tmp_path: Path, codes: tuple[str, ...], scores: str
) -> None:
    table = tmp_path / "table.csv"
    rows = [f"t{n},x,{score}\n" for n, score in enumerate([*scores, *codes])]
    table.write_text(f"item,judge,score\n{''.join(rows)}")
    with pytest.raises(ConfigError) as error:
        derive(table)
    for line, code in enumerate(codes, start=2 + len(scores)):
        assert f"{code} in 1 row (table.csv line {line})" in error.value.message
    assert f"lowest: {scores[0]}, highest: {scores[-1]}" in str(error.value.remedy)


def test_a_folder_may_hold_other_files(tmp_path: Path) -> None:
    for file in JUDGING:
        shutil.copy(file, tmp_path)
    (tmp_path / "notes.json").write_text('{"by": "me"}')
    _, read = only(tmp_path)
    assert len(read.windows["judging"].judgements) == 2
    assert list(map(str, read.unread.left[Left.OTHER_FILE])) == ["notes.json: not inspect"]
    shutil.copy(MADE / "promptfoo.json", tmp_path)
    with pytest.raises(ConfigError, match=r"several tools.*inspect.*promptfoo"):
        derive(tmp_path)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("judging-strict.eval", "judging-strict.eval"),
        ("promptfoo.json", "promptfoo.jsonl"),
        ("annotations.json", "annotations.json"),
    ],
)
def test_a_judgement_that_two_files_have_is_read_once(
    tmp_path: Path, first: str, second: str
) -> None:
    shutil.copy(MADE / first, tmp_path / f"a-{first}")
    shutil.copy(MADE / second, tmp_path / f"b-{second}")
    _, alone = only(tmp_path / f"a-{first}")
    _, both = only(tmp_path)
    [window], [of_both] = alone.windows.values(), both.windows.values()
    assert of_both.judgements == window.judgements
    copies = both.unread.left.pop(Left.COPY)
    assert len(copies) >= sum(map(len, window.judgements.values()))
    assert {one.file for one in copies} == {f"b-{second}"}
    assert both.unread.left == alone.unread.left


def test_a_run_begun_again_is_no_repeat(tmp_path: Path) -> None:
    finished = json.loads((MADE / "short.json").read_text())
    ended = json.loads((MADE / "short.json").read_text()) | {"status": "cancelled"}
    for sample in ended["samples"]:
        sample["uuid"] = f"another {sample['uuid']}"
    ended["samples"].append(ended["samples"][0] | {"id": "only here", "uuid": "new"})
    (tmp_path / "ended.json").write_text(json.dumps(ended))
    (tmp_path / "finished.json").write_text(json.dumps(finished))
    _, alone = only(MADE / "short.json")
    _, both = only(tmp_path)
    for judge, given in choices(alone, "includes").items():
        assert choices(both, "includes")[judge] == given
    assert "only here" in choices(both, "includes")
    left = both.unread.left[Left.SUPERSEDED]
    assert {one.file for one in left} == {"ended.json"}
    assert not any("only here" in one.what for one in left)
    assert both.unread.unfinished == len(ended["samples"][-1]["scores"])
    # Of two that ended early, the later one is read.
    (tmp_path / "finished.json").write_text(json.dumps(finished | {"status": "error"}))
    _, neither = only(tmp_path)
    assert choices(neither, "includes") == choices(both, "includes")
    assert neither.unread.left[Left.SUPERSEDED] == left
    [window] = neither.windows.values()
    assert neither.unread.unfinished == sum(map(len, window.judgements.values()))


def test_what_an_eval_lacks_is_told_of_it_alone(tmp_path: Path) -> None:
    for name in ("judging-strict.eval", "grading.eval"):
        shutil.copy(MADE / name, tmp_path)
    failed = json.loads((MADE / "short.json").read_text())
    failed["eval"]["task"] = "failing"
    for sample in failed["samples"]:
        sample |= {"error": {"message": "off"}, "scores": {}}
    (tmp_path / "failing.json").write_text(json.dumps(failed))
    files, found = derive(tmp_path)
    errors = {
        str(one.only["task"]): read(files, one).unread.left.get(Left.ERROR, [])
        for one in found.readings
    }
    assert [len(of) for _, of in sorted(errors.items())] == [0, 1]
    assert "failing.json: sample eggs" in found.unread["failing"]


def damaged(file: Path, kind: str) -> None:
    """Write a file that cannot be read."""
    whole = (MADE / "grading.eval").read_bytes()
    if kind == "cut":
        file.write_bytes(whole[: len(whole) // 2])
    elif kind == "flipped":
        middle = len(whole) // 3
        file.write_bytes(whole[:middle] + bytes(64) + whole[middle + 64 :])
    elif kind == "empty zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a.txt", "a")
    elif kind == "deep":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("header.json", "[" * 200_000)
    elif kind == "no eval":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("header.json", '{"eval": [1]}')
    elif kind == "wrong types":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("header.json", '{"eval": {"scorers": 3}, "status": "success"}')
            archive.writestr("samples/a.json", '{"id": 1, "scores": {"a": {"value": 1}}}')
    else:
        file.write_text(kind)


@pytest.mark.parametrize(
    "kind",
    ["cut", "flipped", "empty zip", "deep", "no eval", "wrong types", "", "hello", '{"eval": {"a'],
)
def test_a_damaged_file_is_one_error_that_names_it(tmp_path: Path, kind: str) -> None:
    file = tmp_path / ("log.eval" if len(kind) > 5 and kind[0] != "{" else "log.json")
    damaged(file, kind)
    with pytest.raises(DataFileError) as error:
        derive(file)
    assert str(file) in error.value.message
    assert error.value.remedy


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, "zstd"])
def test_no_more_is_decompressed_than_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: int | str
) -> None:
    monkeypatch.setattr(inspect_logs, "MAX_ENTRY_BYTES", 50_000)
    file = tmp_path / "log.eval"
    if method == "zstd":
        # Inspect's own compression: its events are longer than the limit.
        monkeypatch.setattr(inspect_logs, "MAX_ENTRY_BYTES", 5_000)
        shutil.copy(MADE / "grading.eval", file)
    else:
        with zipfile.ZipFile(file, "w", int(method)) as archive:
            archive.writestr("header.json", '{"eval": {}, "status": "success"}')
            archive.writestr("samples/a.json", b" " * 10_000_000)
    with pytest.raises(DataFileError, match=r"is longer than \d+,000 bytes"):
        derive(file)
    monkeypatch.setattr(content_module, "MAX_ARRAY_BYTES", 1_000)
    with pytest.raises(DataFileError, match="longer than 1,000 bytes"):
        derive(MADE / "short.json")


def test_files_are_audited_as_typed(tmp_path: Path) -> None:
    command = CommandLine(tmp_path, in_process=True)
    shown = command("audit", *JUDGING).fine().output
    # 6 of 6 items; of 5 items with a readable answer lenient has 4 right (14 answers, 3 wrong).
    assert "1.00 [0.61, 1.00]" in shown
    assert "0.79 [" in shown
    assert "the oven is off" in shown
    assert list(tmp_path.rglob("audit-*-judging.html"))
    shutil.copy(JUDGING[0], tmp_path / "copy.eval")
    copied = " ".join(command("audit", JUDGING[0], tmp_path / "copy.eval").fine().output.split())
    assert "17 judgements left out as copies of those in another file: " in copied
    assert "copy.eval (17)" in copied
    preferred = " ".join(command("audit", MADE / "annotations.json").fine().output.split())
    # By AlpacaEval's name; the preferences of its strict annotator are 1, 1.5, 1.5, 2, 1 and 2.
    assert "strict 0.500 [" in preferred
    assert "discrete win rate" in preferred
    assert "beyond chance, with Krippendorff's α of" in preferred
    forced = command("audit", MADE / "short.json", "--format", "promptfoo")
    assert forced.code == 2
    assert "no results of promptfoo" in forced.errors
    printed = command("audit", MADE / "annotations.json", "--show-mapping").fine().output
    (tmp_path / "mapping.yaml").write_text(printed)
    refused = command(
        "audit", MADE / "annotations.json", "--mapping", "mapping.yaml", "--truth", "a"
    )
    assert refused.code != 0
    assert "--show-mapping" in refused.errors


def test_a_score_that_is_no_stage_is_noted_with_what_reads_it(tmp_path: Path) -> None:
    log = json.loads((MADE / "short.json").read_text())
    first = log["samples"][0]
    log["eval"]["scorers"] = None
    log["samples"] = [
        {
            **first,
            "id": str(number),
            "uuid": str(number),
            "scores": {"close": {"value": number / 16}, "fits": {"value": "CI"[number % 2]}},
        }
        for number in range(13)
    ]
    (tmp_path / "log.json").write_text(json.dumps(log))
    _, found = derive(tmp_path)
    [why] = found.unread.values()
    assert "--scorer close --cut 0.38" in why
    recorded, read = only(tmp_path, criteria=("close",), cuts=(0.38,))
    assert [of for [of] in choices(read, "close").values()] == [(1,)] * 7 + [(2,)] * 6
    assert recorded.stages == ("below 0.38", "0.38 or more")


def altered(tmp_path: Path, change: Callable[[dict], None], made: str = "short.json") -> Path:
    """Return a made JSON file after a change."""
    log = json.loads((MADE / made).read_text())
    change(log)
    file = tmp_path / made
    file.write_text(json.dumps(log))
    return file


def answering(targets: Sequence[str], answers: Sequence[str]) -> Callable[[dict], None]:
    """Return a change to samples with these targets and answers, graded by `match`."""

    def change(log: dict) -> None:
        first = log["samples"][0]
        log["eval"]["scorers"] = [{"name": "match"}]
        log["samples"] = [
            {
                **first, "id": number, "uuid": str(number), "target": target,
                "scores": {
                    "match": {"value": "CI"[target not in answer], "answer": answer}
                },
            }
            for number, (target, answer) in enumerate(zip(targets, answers, strict=True))
        ]  # fmt: skip

    return change


@pytest.mark.parametrize(
    "targets",
    [["Yes", "No"] * 4, [" Yes", " No"] * 4, [" Yes", "No "] * 4, [["Yes"], ["No"]] * 4],
)
def test_spaces_do_not_decide_who_judges(tmp_path: Path, targets: list[str]) -> None:
    plain = ["Yes", "No"] * 4
    file = altered(tmp_path, answering(plain, ["Yes"] * 2 + plain[2:]))
    log = json.loads(file.read_text())
    for sample, target in zip(log["samples"], targets, strict=True):
        sample["target"] = target
    file.write_text(json.dumps(log))
    recorded, found = only(file)
    assert recorded.judge_column == "model"
    [window] = found.windows.values()
    assert [item.truth for item in window.items.values()] == [2, 1] * 4
    [[*given]] = window.judgements.values()
    assert [one.choice for one in given] == [(2,), (2,), *[(2,), (1,)] * 3]


@pytest.mark.parametrize("targets", [("Yes", "No"), ("true", "false"), ("1", "0"), ("C", "I")])
def test_the_target_of_a_question_is_no_known_grade(
    tmp_path: Path, targets: tuple[str, str]
) -> None:
    file = altered(tmp_path, answering(targets * 4, [f"{one}, as stated" for one in targets * 4]))
    files, found = derive(file)
    [recorded] = found.readings
    assert recorded.item.truth == ""
    assert not any(
        item.truth for item in read(files, recorded).windows[recorded.name].items.values()
    )
    assert any("--truth metadata.human" in note for note in found.notes)
    named, _ = only(file, truth="target")
    assert named.item.truth == "target"


@pytest.mark.parametrize(
    ("grades", "column", "values", "known"),
    [
        ("CI", "target", ("Yes", "No"), None),
        ("10", "label", ("true", "false"), None),
        (("pass", "fail"), "target", ("yes", "no"), None),
        (("pass", "fail"), "target", ("Pass", "Fail"), (2, 1)),
        ("10", "label", ("1", "0"), (2, 1)),
        ("CI", "gold", ("C", "I"), (2, 1)),
        ("CI", "gold", ("correct", "incorrect"), None),
        ("51", "truth", ("3", "4"), (3, 4)),
        ("51", "truth", ("3", "6"), None),
    ],
)
def test_a_known_answer_is_a_column_of_verdicts(
    tmp_path: Path,
    grades: Sequence[str],
    column: str,
    values: tuple[str, str],
    known: tuple[int, int] | None,
) -> None:
    lines = [f"q{number},j,{grades[number // 2 % 2]},{values[number % 2]}" for number in range(8)]
    file = tmp_path / "table.csv"
    file.write_text("\n".join([f"item,judge,grade,{column}", *lines]))
    files, found = derive(file)
    [recorded] = found.readings
    assert recorded.item.truth == (column if known else "")
    window = read(files, recorded).windows["table"]
    assert [item.truth for item in window.items.values()] == [*(known or (None, None))] * 4
    [note] = found.notes
    assert column in note
    assert ("--truth" in note) is not known or known


OLD = [MADE / "old-strict.json", MADE / "old-lenient.json"]


def test_logs_before_graders_and_identifiers_lose_no_run_and_no_epoch() -> None:
    recorded, found = only(*OLD)
    assert Left.COPY not in found.unread.left
    # Grades by question and epoch, of another text each: CIC and IIC, CCC and CIC.
    for judge, expected in (("strict", "CICIIC"), ("lenient", "CCCCIC")):
        given = judgements(found, f"model_graded_qa by {judge}")
        assert [one.choice for one in given] == [({"C": 2, "I": 1}[grade],) for grade in expected]
    [window] = found.windows.values()
    assert len(window.items) == 6
    assert all("(1)" in item.text or "(2)" in item.text for item in window.items.values())
    assert found.unread.apart == []
    assert recorded.item.truth == ""
    twice, again = OLD[0], OLD[0].with_name("old-strict.json")
    _, alone = only(twice, again)
    assert sum(map(len, alone.windows[recorded.name].judgements.values())) == 12


def test_graders_that_no_log_names_are_judges_by_their_runs(tmp_path: Path) -> None:
    def unnamed(log: dict) -> None:
        for score in log["results"]["scores"]:
            score["params"] = {}

    for file in OLD:
        altered(tmp_path, unnamed, file.name)
    files, found = derive(tmp_path)
    [recorded] = found.readings
    [window] = read(files, recorded).windows.values()
    assert {judging.judge: len(given) for judging, given in window.judgements.items()} == {
        "includes": 12,
        "model_graded_qa (old-strict.json)": 6,
        "model_graded_qa (old-lenient.json)": 6,
    }
    assert sum("does not name the grader of model_graded_qa" in one for one in found.notes) == 2


def test_a_log_without_samples_is_called_that(tmp_path: Path) -> None:
    for header in (MADE / "old-header.json", altered(tmp_path, lambda log: log.pop("samples"))):
        with pytest.raises(ConfigError, match="the log has no samples") as error:
            derive(header)
        assert "log_samples" in str(error.value.remedy)
    for file in (*OLD, MADE / "old-header.json"):
        shutil.copy(file, tmp_path)
    (tmp_path / "short.json").unlink()
    _, found = only(tmp_path)
    assert list(map(str, found.unread.left[Left.NO_SAMPLES])) == ["old-header.json"]


def test_a_sample_with_one_score_is_of_the_scorer_of_the_log(tmp_path: Path) -> None:
    def oldest(log: dict) -> None:
        del log["eval"]["scorers"]
        log["results"] = {"scorer": {"name": "includes"}, "metrics": {}}
        for sample in log["samples"]:
            sample["score"] = sample.pop("scores")["includes"]

    _, found = only(altered(tmp_path, oldest))
    _, expected = only(MADE / "short.json", criteria=("includes",))
    assert choices(found, "includes") == choices(expected, "includes")


@pytest.mark.parametrize(
    ("value", "read_mean", "without"),
    [("N", 0.5, 1), ("I", 1 / 3, 0), ("P", 0.5, 0)],
)
def test_a_mean_that_the_log_reports_otherwise_is_told(
    tmp_path: Path, value: str, read_mean: float, without: int
) -> None:
    def graded(log: dict) -> None:
        log["results"]["scores"] = [
            {"name": "includes", "scorer": "includes", "metrics": {"accuracy": {"value": 1 / 3}}}
        ]
        for sample, grade in zip(log["samples"], ("C", "I", value), strict=True):
            sample["scores"] = {"includes": {"value": grade}}

    recorded, found = only(altered(tmp_path, graded))
    told = [(one.name, one.read, one.without) for one in found.unread.apart]
    # Inspect counts N as 0, which is no grade here; I is 0 for both; P is 0.5.
    expected = [] if value == "I" else [("includes", pytest.approx(read_mean), without)]
    assert told == expected
    assert recorded.item.truth == ""


def test_promptfoo_of_version_2_has_a_default_grader_and_unreadable_grades() -> None:
    files, found = derive(MADE / "promptfoo-old.json")
    by_concept = {recorded.concept: read(files, recorded) for recorded in found.readings}
    assert set(by_concept) == {"It answers the question.", "clear"}
    default = by_concept["It answers the question."]
    [window] = default.windows.values()
    given = choices(default, "openai:chat:lenient")
    # Lenient does not grade the soup's first answer: the file has pass false, with the reason.
    assert {item.text: given[key] for key, item in window.items.items()} == {
        "About ten minutes in boiling water.": [(2,)], "Eggs come from hens.": [(1,)],
        "Boil the water.": [(2,)], "Let it cool to 80 degrees first.": [(2,)],
        "Soup is warm.": [None], "Cook it for twenty minutes.": [(2,)],
    }  # fmt: skip
    assert len(choices(by_concept["clear"], "openai:chat:strict")) == 6
    assert list(found.unread) == ["checks"]
    [apart] = by_concept["clear"].unread.apart
    # 1, 0, 0.25, 1, 0, 1 against three that passed.
    assert (apart.reported, apart.read) == (pytest.approx(3.25 / 6), 0.5)
    assert apart.of_scores


def results_of(*assertions: dict) -> dict:
    """Results of promptfoo: three tests, each with these assertions, of which every other holds."""
    results = []
    for test in range(3):
        given = [{"pass": bool((test + at) % 2), "score": (test + at) % 2, "reason": "r",
                  "assertion": one} for at, one in enumerate(assertions)]  # fmt: skip
        grading = {"pass": True, "score": 1, "componentResults": given}
        results.append({"testIdx": test, "provider": {"id": "m"}, "gradingResult": grading,
                        "response": {"output": f"text {test}"}})  # fmt: skip
    return {"results": {"version": 3, "results": results}}


RUBRIC = {"type": "llm-rubric", "value": "It is polite."}


def test_a_rubric_of_promptfoo_and_its_opposite_are_two_audits(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results_of(RUBRIC, {**RUBRIC, "type": "not-llm-rubric"})))
    _, found = derive(file)
    assert [one.concept for one in found.readings] == ["It is polite.", "not: It is polite."]
    # A metric that both have says what a pass means.
    named = [{**one, "metric": "tone"} for one in (RUBRIC, {**RUBRIC, "type": "not-llm-rubric"})]
    file.write_text(json.dumps(results_of(*named)))
    files, found = derive(file)
    [recorded] = found.readings
    assert {str(one) for one in read(files, recorded).windows["results"].judgements} == {
        "llm-rubric", "not-llm-rubric",
    }  # fmt: skip


def test_several_rubrics_under_one_metric_of_promptfoo_are_told(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    polite, short = ({**RUBRIC, "value": f"It is {word}."} for word in ("polite", "short"))
    for assertions, notes in (
        ([{**polite, "metric": "tone"}, {**short, "metric": "tone"}], 1),
        ([{**polite, "metric": "tone"}, {**polite, "metric": "tone"}], 0),
        ([polite, short], 0),
    ):
        file.write_text(json.dumps(results_of(*assertions)))
        _, found = derive(file)
        assert sum("several rubrics have this metric" in one for one in found.notes) == notes


def test_a_result_of_promptfoo_with_one_assertion_needs_no_list_of_them(tmp_path: Path) -> None:
    given = results_of(RUBRIC)
    for result in given["results"]["results"]:
        result["gradingResult"] = result["gradingResult"]["componentResults"][0]
    file = tmp_path / "results.json"
    file.write_text(json.dumps(given))
    _, found = only(file)
    assert list(choices(found, "llm-rubric").values()) == [[(1,)], [(2,)], [(1,)]]


def test_a_score_of_inspect_that_is_a_list_is_said_to_be_no_number(tmp_path: Path) -> None:
    def listed(log: dict) -> None:
        for sample in log["samples"]:
            sample["scores"] = {key: {"value": ["C", "I"]} for key in sample["scores"]}

    with pytest.raises(ConfigError, match="no judgement of inspect") as error:
        derive(altered(tmp_path, listed))
    assert "neither text nor a number" in str(error.value.remedy)


@pytest.mark.parametrize(
    ("reason", "readable"),
    [
        ("No output", False),
        ("Could not extract JSON from llm-rubric response", False),
        ("llm-rubric produced malformed response: Soup is good.", False),
        ("Model grader produced a malformed response:\nPerhaps", False),
        ("API call error: Error: Request timed out", False),
        ("OpenAI API error: 429 Too Many Requests", False),
        ("LLM-proposed evaluation result is not in JSON format: Perhaps", False),
        ("Anthropic API key is not set. Set the ANTHROPIC_API_KEY environment variable.", False),
        ("Error: fetch failed", False),
        ("Error: the answer names no time.", True),
        ("The answer says that the API key is not set.", True),
        ("No output is given for the second part", True),
        ("The answer has a malformed response in it.", True),
    ],
)
@pytest.mark.parametrize("kind", ["llm-rubric", "not-llm-rubric"])
def test_a_grader_of_promptfoo_that_gave_no_grade_did_not_fail_the_answer(
    tmp_path: Path, kind: str, reason: str, readable: bool
) -> None:
    def fails(found: dict) -> None:
        for result in found["results"]["results"]:
            graded = result["gradingResult"]["componentResults"][0]
            graded["assertion"]["type"] = kind
        graded["reason"], graded["pass"], graded["score"] = reason, False, 0

    files, found = derive(altered(tmp_path, fails, "promptfoo-old.json"))
    rubric = (
        "not: It answers the question." if kind.startswith("not-") else "It answers the question."
    )
    [recorded] = [one for one in found.readings if one.concept == rubric]
    assert choices(read(files, recorded), "openai:chat:lenient")["5"] == [
        (1,) if readable else None
    ]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("first", ["results", "config"])
def test_promptfoo_is_told_by_its_results_however_written(
    tmp_path: Path, indent: int | None, first: str
) -> None:
    whole = json.loads((MADE / "promptfoo-old.json").read_text())
    file = tmp_path / "results.json"
    file.write_text(json.dumps({first: whole.pop(first), **whole}, indent=indent))
    assert load_files([file])[0] == "promptfoo"


def preferences(tmp_path: Path, **wins: Sequence[float]) -> Path:
    rows = [
        {
            "instruction": f"Question {number}?", "output_1": f"Reference {number}.",
            "generator_1": "reference", "output_2": f"{system} {number}.", "generator_2": system,
            "annotator": "weighted", "preference": preference,
        }
        for system, of in wins.items()
        for number, preference in enumerate(of)
    ]  # fmt: skip
    file = tmp_path / "annotations.json"
    file.write_text(json.dumps(rows))
    return file


def test_an_error_of_alpaca_evals_grader_is_no_verdict(tmp_path: Path) -> None:
    file = preferences(tmp_path, ours=[1, 2, 1.5, -1, 2, 1.5, 1])
    rows = json.loads(file.read_text())
    rows[3]["raw_completion"] = "refused"
    rows[4]["raw_completion"] = rows[6]["preference_raw_completion"] = " "
    rows[5] |= {"raw_completion": None, "output_2": rows[5]["output_1"]}  # nobody was asked
    rows.append(rows[0] | {"instruction": "Another?", "preference": "error"})
    file.write_text(json.dumps(rows))
    content = load_files([file])[1].contents
    [chosen] = [[row.values["choice"] for row in one.rows] for one in content.values()]
    assert chosen == ["first", "second", "tie", "", "", "tie", "", ""]
    rows[0]["preference"] = 3
    file.write_text(json.dumps(rows))
    with pytest.raises(DataFileError, match="preference is 3"):
        load_files([file])


def test_an_assertion_of_promptfoo_without_a_grade_is_no_verdict(tmp_path: Path) -> None:
    def ungraded(found: dict) -> None:
        for result in found["results"]["results"]:
            graded = result["gradingResult"]["componentResults"][0]
        graded["pass"] = graded["score"] = None

    files, found = derive(altered(tmp_path, ungraded, "promptfoo-old.json"))
    [recorded] = [one for one in found.readings if one.concept == "It answers the question."]
    assert choices(read(files, recorded), "openai:chat:lenient")["5"] == [None]


def test_a_weighted_win_rate_is_the_mean_preference(tmp_path: Path) -> None:
    command = CommandLine(tmp_path, in_process=True)
    # 8 of 10 above a half: 0.8 discrete; (8 · 0.55 + 2 · 0.05)/10 weighted.
    file = preferences(tmp_path, ours=[1.55] * 8 + [1.05] * 2)
    shown = " ".join(command("audit", file).fine().output.split())
    assert "weighted 0.450 [" in shown
    assert "] 0.800 [" in shown
    assert "By system" not in shown


def test_several_systems_are_told_apart_before_they_are_pooled(tmp_path: Path) -> None:
    command = CommandLine(tmp_path, in_process=True)
    file = preferences(tmp_path, a=[2] * 9 + [1], b=[2] * 10, c=[2] * 3 + [1.5] + [1] * 6)
    shown = command("audit", file).fine().output
    by_system, pooled = shown.split("Audit of recorded judgements")
    lines = [line.split() for line in by_system.splitlines() if " weighted " in line]
    assert [(line[0], line[2]) for line in lines] == [
        ("b", "1.000"),
        ("a", "0.900"),
        ("c", "0.350"),
    ]
    assert "of all 3 systems together" in pooled
    assert "weighted 0.750 [" in " ".join(pooled.split())
    [page] = tmp_path.rglob("audit-*-annotations.html")
    assert page.read_text().index("By system") < page.read_text().index("Audit of recorded")


def test_mt_bench_is_read_by_system_in_its_own_scores(tmp_path: Path) -> None:
    scores = {"good": (8, 9, 7, 8), "poor": (2, 3, 4, -1)}
    single = tmp_path / "gpt-4_single.jsonl"
    single.write_text(
        "".join(
            json.dumps(
                {"question_id": 81 + place, "model": model, "judge": ["gpt-4", "single-v1"],
                 "judgment": f"Rating: [[{score}]]", "score": score, "turn": 1}
            ) + "\n"
            for model, of in scores.items()
            for place, score in enumerate(of)
        )
    )  # fmt: skip
    command = CommandLine(tmp_path, in_process=True)
    shown = " ".join(command("audit", single).fine().output.split())
    assert re.search(r"good gpt-4 0\.78 \[[^]]*\] 8\.00 \[[^]]*\] 4 ", shown)
    assert re.search(r"poor gpt-4 0\.22 \[[^]]*\] 3\.00 \[[^]]*\] 3 ", shown)
    assert "'-1'" in shown
    single.write_text(single.read_text().replace('"score": 9', '"score": 9.5'))
    shown = " ".join(command("audit", single).fine().output.split())
    # (8 + 9.5 + 7 + 8)/4 and (2 + 3 + 4)/3, as written.
    assert re.search(r"good gpt-4 8\.12 \[[^]]*\] 4 poor gpt-4 3\.00 ", shown)
    pairs = tmp_path / "gpt-4_pair.jsonl"
    winners = ("model_1", "model_2", "tie", "error")
    pairs.write_text(
        "".join(
            json.dumps(
                {"question_id": number, "model_1": "x", "model_2": "y", "judge": ["gpt-4", "pair"],
                 "g1_winner": winners[number % 4], "g2_winner": winners[number // 4], "turn": 1}
            ) + "\n"
            for number in range(16)
        )
    )  # fmt: skip
    _, found = only(pairs)
    [window] = found.windows.values()
    systems = {(item.system, item.second_system) for item in window.items.values()}
    assert systems == {("x", "y")}
    shown = " ".join(command("audit", pairs).fine().output.split())
    # x and y have the same part in the winners of both games.
    assert "win rate" in shown
    assert re.search(r"x gpt-4 0\.500 \[", shown)
    [[*given]] = window.judgements.values()
    assert [one.choice for one in given[:4]] == [(1,), (1,), (3,), (1,)]
    assert sum(one.choice is None for one in given) == 8


def test_a_system_of_plain_rows_makes_items_of_its_answers(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    lines = [f"q{q},j,{1 + (q + s) % 3},{name}" for q in range(6) for s, name in enumerate("xy")]
    file.write_text("\n".join(["item,judge,score,system", *lines]))
    recorded, found = only(file)
    assert recorded.item.system == "system"
    [window] = found.windows.values()
    assert len(window.items) == 12
    assert found.unread.again == []
    assert {item.system for item in window.items.values()} == {"x", "y"}
