"""Gym files and their corpora: what is read, what is refused, and what a search lacks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge_gym.errors import ConfigError, EvidenceError
from judge_gym.evidence.typed_rows import read_typed
from judge_gym.gyms import load_gym, searching
from judge_gym.gyms.apply import Learning
from judge_gym.gyms.cleanup import CleanupGym
from judge_gym.gyms.evaluating import read_gym
from judge_gym.gyms.searching import Unavailable, embedding
from judge_gym.gyms.writing import Writer

SAMPLES = Path(__file__).parents[3] / "deployments" / "gyms"
Write = Callable[[str], Path]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        (tmp_path / "gym.yaml").write_text(text)
        return tmp_path / "gym.yaml"

    return write


@pytest.mark.parametrize("name", ["apply", "cleanup", "abstract", "extract"])
def test_samples_can_be_read_wherever_one_stands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = read_gym(SAMPLES / f"{name}.yaml")
    assert loaded.gym.kind == name
    assert len(loaded.cases) > 7
    for candidate in loaded.gym.candidates:
        assert all(model.startswith("sim/") for model in candidate.asks or ())


POLICIES = "kind: cleanup\nname: x\ncorpus: c.jsonl\njudge: j.yaml\ncandidates:\n"


@pytest.mark.parametrize(
    ("candidates", "told"),
    [
        ("  - {name: a, by: words}", "link_from"),
        ("  - {name: a, by: judge}", "`judge`"),
        ("  - {name: a, by: judge, judge: j.yaml, link_from: 0.5}", "link_from"),
        ("  - {name: a, by: sound, link_from: 0.5}", "words, trigrams or judge"),
        ("  - {name: a, by: words, link_from: 2}", "above 0 and at most 1"),
        ("  - {name: a, by: words, link_from: 0.5}\n" * 2, "two candidates are called 'a'"),
    ],
)
def test_what_a_policy_cannot_decide_by_is_named(
    written: Write, candidates: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=r"gym.yaml") as raised:
        load_gym(written(POLICIES + candidates))
    assert told in str(raised.value)


def test_paths_are_found_from_where_the_file_is(written: Write) -> None:
    file = written(POLICIES + "  - {name: a, by: judge, judge: other/j.yaml}")
    gym = load_gym(file)
    assert isinstance(gym, CleanupGym)
    assert gym.corpus == file.parent / "c.jsonl"
    assert gym.candidates[0].judge == file.parent / "other/j.yaml"


def test_a_gym_that_is_not_there_is_told_by_its_kind(written: Write) -> None:
    with pytest.raises(ConfigError, match="apply, cleanup, abstract or extract"):
        load_gym(written("kind: climb\nname: x\n"))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "a"}, "line 2: there is no 'text'. The columns are 'id'"),
        ({"id": "one", "text": "x"}, "id is 'one', which "),
        ({"id": "a", "text": "a\0b"}, "line 2: text"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_by_its_line(
    tmp_path: Path, row: dict[str, Any], told: str
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, [{"id": "one", "text": "first", "more": 1}, row])))
    with pytest.raises(EvidenceError, match=told):
        read_typed(file, Learning)


def test_a_value_that_a_writers_model_does_not_apply_is_named(written: Write) -> None:
    writers = "  - {name: a, model: openai/gpt-5, prompt: Write., temperature: %s}"
    gym = "kind: abstract\nname: x\ncorpus: c.jsonl\njudge: j.yaml\ncandidates:\n"
    file = written(f"{gym}{writers % 0.5}\n")
    with pytest.raises(ConfigError) as refused:
        load_gym(file)
    assert refused.value.message == (
        f"{file}, line 6: candidates[0].temperature is 0.5, which openai/gpt-5 does not apply: it "
        "uses its default, 1."
    )
    assert load_gym(written(f"{gym}{writers % 1}\n")).candidates[0].asks == ("openai/gpt-5",)


def test_a_writer_is_a_model_with_a_prompt_or_neither() -> None:
    with pytest.raises(ValueError, match="or neither"):
        Writer(name="a", model="sim/calm-1")
    assert Writer(name="a").asks is None
    with pytest.raises(ValueError, match="no model 'sim/nobody-1'"):
        Writer(name="a", model="sim/nobody-1", prompt="Say it.")


def test_what_a_writer_is_called_and_may_spend_is_no_part_of_it() -> None:
    asked = {"model": "sim/calm-1", "prompt": "Say it."}
    one, other = Writer(name="a", **asked), Writer(name="b", budget={"max_calls": 1}, **asked)
    assert one.key == other.key
    assert one.key != Writer(name="a", **asked | {"prompt": "Say more."}).key


def test_without_a_package_there_are_no_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "EMBEDDERS", ("no_such_embedder",))
    with pytest.raises(Unavailable, match="no_such_embedder"):
        embedding(None, ["q"], ["t"])  # type: ignore[arg-type]


STAND_IN = """
class TextEmbedding:
    def embed(self, texts):
        for text in texts:
            if text == "?":
                raise OSError("no model here")
            yield [text.count("a"), text.count("b")]
"""


def test_an_embedding_package_ranks_by_the_cosine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In place of a package, which needs a model from elsewhere: its interface alone.
    (tmp_path / "stand_in_embedder.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(searching, "EMBEDDERS", ("no_such_embedder", "stand_in_embedder"))
    monkeypatch.setattr(searching, "FASTEMBED", "stand_in_embedder")
    # (1, 1) lies nearest to (2, 2), then (2, 1), then (0, 3)
    assert embedding(None, ["ab"], ["bbb", "aab", "aabb"]) == [[2, 1, 0]]  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match="no model here"):
        embedding(None, ["?"], ["t"])  # type: ignore[arg-type]
