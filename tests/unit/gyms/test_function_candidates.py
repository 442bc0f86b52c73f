"""A Python function as a candidate of a gym."""

import math
from pathlib import Path
from typing import Any

import pytest

from judge_gym.errors import ConfigError
from judge_gym.gyms.abstract import AbstractGym
from judge_gym.gyms.writing import Writer, WritingCase

CASES = [WritingCase(id=str(n), text=text) for n, text in enumerate(("One two.", "boom", "none"))]
CODE = """
def first(text):
    if text == "boom":
        raise RuntimeError("out of cheese")
    return "" if text == "none" else text.split()[0]
"""


def test_a_function_writes_and_fails_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_writers.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    writer = Writer(name="mine", function="own_writers:first")
    assert writer.asks is None
    gym = AbstractGym(name="g", corpus=tmp_path, candidates=(writer,), judge=tmp_path)
    runtime: Any = None  # nothing is stored of it
    made, raised, empty = gym.made(runtime, writer, CASES)
    assert (made.text, made.status) == ("One", "made")
    assert math.isnan(made.cost)
    assert raised.failure == "failed: RuntimeError: out of cheese"
    assert (empty.text, empty.status) == (None, "empty")
    missing = Writer(name="mine", function="own_writers:second")
    with pytest.raises(ConfigError, match="own_writers:second cannot be loaded"):
        gym.made(runtime, missing, CASES)


def test_a_candidate_has_a_model_or_a_function() -> None:
    with pytest.raises(ValueError, match="not both"):
        Writer(name="a", model="sim/good-1", prompt="Write.", function="a:b")
