"""Reading benchmarks by their mappings: real files, and what is said of files that do not fit."""

import json
from collections import Counter
from pathlib import Path

import pytest

from judge_gym.benchmarks.files import PairItem, ScoredItem, load_benchmark, read_benchmark
from judge_gym.errors import ConfigError, EvidenceError

REPOSITORY = Path(__file__).parents[3]
MAPPINGS = REPOSITORY / "deployments" / "benchmarks"
SHARED = REPOSITORY.parent / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")

PAIR = {"pair_id": "p1", "source": "maths", "question": "1+1?", "response_model": "m",
        "response_A": "2", "response_B": "3", "label": "A>B"}  # fmt: skip


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def fault(tmp_path, mapping, rows):
    with pytest.raises(EvidenceError) as error:
        read_benchmark(
            written(tmp_path / "set.jsonl", rows), load_benchmark(MAPPINGS / f"{mapping}.yaml")
        )
    return str(error.value).replace(str(tmp_path), "")


@needs_shared
def test_judgebench():
    benchmark = load_benchmark(MAPPINGS / "judgebench.yaml")
    items = read_benchmark(SHARED / "judgebench_sample.jsonl", benchmark)
    rows = [json.loads(line) for line in (SHARED / "judgebench_sample.jsonl").open()]
    assert [one.key for one in items] == [row["pair_id"] for row in rows]
    kinds = Counter(one.category.split("-")[0] for one in items)
    assert sum(kinds.values()) == len(rows) == 90
    expected = {"A>B": "first", "B>A": "second"}
    assert [one.better for one in items] == [expected[row["label"]] for row in rows]


@needs_shared
def test_llmbar():
    benchmark = load_benchmark(MAPPINGS / "llmbar.yaml")
    items = read_benchmark(SHARED / "llmbar_natural_manual.jsonl", benchmark)
    assert Counter(one.category for one in items).most_common()[0] == ("Natural", 100)
    assert len(items) == len({one.key for one in items}) == 146
    assert {one.better for one in items} == {"first", "second"}


def test_chosen_and_rejected(tmp_path):
    row = {"id": 3, "subset": "chat", "prompt": "Hi", "chosen": "Hello.", "rejected": "No."}
    benchmark = load_benchmark(MAPPINGS / "chosen-rejected.yaml")
    (item,) = read_benchmark(written(tmp_path / "set.jsonl", [row]), benchmark)
    assert item == PairItem("3", "chat", "Hi", "Hello.", "No.", "first")


def test_scored_texts(tmp_path):
    rows = [{"id": "a", "text": "Fine.", "score": 4.5}, {"id": "b", "text": "Bad.", "score": "1"}]
    benchmark = load_benchmark(MAPPINGS / "scored.yaml")
    found = read_benchmark(written(tmp_path / "set.jsonl", rows), benchmark)
    assert found == [ScoredItem("a", "", "", "Fine.", 4.5), ScoredItem("b", "", "", "Bad.", 1.0)]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**PAIR, "label": "A"}, "label is 'A'. `truths` has 'A>B', 'B>A'."),
        ({**PAIR, "response_B": " "}, "response_B is empty."),
        ({**PAIR, "response_B": "2"}, "response_A and response_B are the same text."),
        ({**PAIR, "question": ["x"]}, "question is list, not text or a number."),
        ({k: v for k, v in PAIR.items() if k != "source"}, "there is no 'source'. The row has"),
        (PAIR, "pair_id is 'p1', as on line 1."),
    ],
)
def test_a_bad_row_is_named(tmp_path, row, said):
    other = row if row is PAIR else {**row, "pair_id": "p2"}
    assert fault(tmp_path, "judgebench", [PAIR, other]).startswith(f"/set.jsonl line 2: {said}")


@pytest.mark.parametrize("score", ["high", 6, None, "nan"])
def test_a_score_off_the_scale_is_named(tmp_path, score):
    said = fault(tmp_path, "scored", [{"id": 1, "text": "x", "score": score}])
    assert "line 1: score is" in said
    assert "Use a number from 1 to 5." in said


def test_an_empty_file_and_a_broken_line(tmp_path):
    benchmark = load_benchmark(MAPPINGS / "judgebench.yaml")
    path = tmp_path / "set.jsonl"
    path.write_text("")
    with pytest.raises(EvidenceError, match="has no row"):
        read_benchmark(path, benchmark)
    path.write_text("{")
    with pytest.raises(EvidenceError, match="line 1: not JSON"):
        read_benchmark(path, benchmark)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('truths: {"A>B": first, "B>A": second}', "", "truth comes with truths"),
        ("  truth: label", "  better: first", "truth comes with truths"),
        ("second}", "third}", "Use a mapping of values to first or second."),
        ("key: [pair_id]", "key: []", "key"),
        ("pair:", "pairs:", "is not a known key. Did you mean pair?"),
    ],
)
def test_a_bad_mapping_is_named(tmp_path, old, new, said):
    text = (MAPPINGS / "judgebench.yaml").read_text()
    assert old in text
    path = tmp_path / "mapping.yaml"
    path.write_text(text.replace(old, new))
    with pytest.raises(ConfigError) as error:
        load_benchmark(path)
    assert said in str(error.value)
    assert "mapping.yaml, line " in str(error.value)
