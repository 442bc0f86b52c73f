"""What `judge-gym calibrate --plan` and `judge compare` say before anything is asked."""

import json
from pathlib import Path

from typer.testing import CliRunner

from deployments.cli.app import app
from judge_gym.errors import ConfigError

EXAMPLES = Path(__file__).parents[3] / "deployments" / "calibrations"


def invoked(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})


def test_a_plan_counts_what_would_be_asked(tmp_path):
    texts = ["It rose by 3.", "It fell.", "Five and 6 are numbers."]
    lines = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(texts)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    (tmp_path / "good.yaml").write_text((EXAMPLES / "good.yaml").read_text())
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: mine\njudges: [good.yaml]\nitems: items.jsonl\nrepeats: 4\n"
        "perturbations: [vague_ify, injection_line]\nseverities: [0.5, 1]\n"
    )
    said = " ".join(invoked("calibrate", file, "--plan").output.split())
    # two texts have numbers, changed at two severities; three get an order at one
    assert "10 texts, 4 times each: 40 judgements by each judge, 40 in all" in said
    assert "vague_ify │ drop │ 0.5, 1 │ 4 │ 1" in said


def test_the_same_judge_is_not_compared_with_itself():
    good = EXAMPLES / "good.yaml"
    ended = invoked("judge", "compare", good, good, "--items", EXAMPLES / "notes.jsonl")
    assert isinstance(ended.exception, ConfigError)
    assert "are the same judge" in str(ended.exception)
