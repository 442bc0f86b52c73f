"""Files of Inspect, promptfoo and AlpacaEval, made by the tools themselves (support/foreign)."""

import json
import shutil
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from judge_gym.errors import ConfigError, DataFileError
from judge_gym.recorded import content as content_module
from judge_gym.recorded import inspect_logs
from judge_gym.recorded.content import Left
from judge_gym.recorded.deriving import Derived, Options, derived, mapping_text
from judge_gym.recorded.formats import load_files
from judge_gym.recorded.mapping import Recorded, load_recorded, stages_rubric
from judge_gym.recorded.reading import Given, Judging, RecordedFiles, Recordings, read_recorded
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
    assert read.unread.left[Left.ERROR] == [
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
    assert graded.unread.left[Left.NO_SCORE] == [
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
    assert read.unread.left[Left.NOT_RUN] == [
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


def test_a_folder_may_hold_other_files(tmp_path: Path) -> None:
    for file in JUDGING:
        shutil.copy(file, tmp_path)
    (tmp_path / "notes.json").write_text('{"by": "me"}')
    _, read = only(tmp_path)
    assert len(read.windows["judging"].judgements) == 2
    assert read.unread.left[Left.OTHER_FILE] == ["notes.json: not inspect"]
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
    assert {name.partition(": ")[0] for name in copies} == {f"b-{second}"}
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
    assert {name.partition(": ")[0] for name in left} == {"ended.json"}
    assert not any("only here" in name for name in left)
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
    assert "second wins" in preferred
    assert "judges agree beyond chance by Krippendorff's α of" in preferred
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
