"""Texts that invite a wrong reading, for every scoring method, each with its right reading.

`hostile_verdicts.jsonl` holds kind, method, answer and reading: letters, ABSTAIN, or null where
the answer asserts no single verdict. Stages are A to D and ABSTAIN is offered.
"""

import json
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from judge_gym.answers.verdict import (
    Grammar,
    Verdict,
    parse_structured_verdict,
    parse_verdict,
)
from judge_gym.design.experiment import ScoringMethod

TEXTS = [
    json.loads(line)
    for line in (Path(__file__).parent / "hostile_verdicts.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("text", TEXTS, ids=[f"{one['kind']}-{one['answer']}" for one in TEXTS])
def test_hostile_texts_have_their_right_reading(text):
    method = text["method"]
    parse = parse_structured_verdict if method == "structured_json" else parse_verdict
    read = parse(text["answer"], Grammar(tuple("ABCD"), subset=method == "subset", abstain=True))
    found = (",".join(read.letters) or "ABSTAIN") if isinstance(read, Verdict) else None
    assert found == text["reading"], read


def test_the_texts_cover_every_scoring_method_and_both_outcomes():
    assert {text["method"] for text in TEXTS} == set(get_args(ScoringMethod))
    assert len({(text["method"], text["answer"]) for text in TEXTS}) == len(TEXTS)
    readable = Counter(text["reading"] is not None for text in TEXTS)
    assert min(readable.values()) >= 40
