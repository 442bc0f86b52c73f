"""Calibration tells the simulator's graders apart, each by the fault that is planted in it."""

from pathlib import Path

import pytest

from judge_gym.calibration.checks import Result
from judge_gym.calibration.design import CalibrationDesign
from judge_gym.judges import Criterion, Item, JudgeResult, RubricJudge, read_items
from judge_gym.judges.calibrating.assessing import Assessment, assess, recommended
from judge_gym.judges.calibrating.texts import changed_texts
from judge_gym.planted.editing import Expectation
from judge_gym.records.calls import Answer
from judge_gym.simulator.answering import ModelRequest, answer
from support.judge_results import a_result

NOTES = Path(__file__).parents[3] / "deployments" / "calibrations" / "notes.jsonl"
CRITERIA = ("evidence", "accuracy", "order", "concision", "actionable", "specificity")
DROP = Expectation.DROP
DESIGN = CalibrationDesign(
    name="graders",
    judges=("judge.yaml",),
    items="notes.jsonl",
    severities=(1.0,),
    perturbations=(
        "inject_errors", "scramble_order", "duplicate_content", "vague_ify", "injection_line",
    ),
    expectations={"scramble_order": DROP, "duplicate_content": DROP},
)  # fmt: skip
TEXTS = changed_texts(read_items(NOTES), DESIGN)


def judged(judge: RubricJudge, item: Item, repeat: int) -> JudgeResult:
    """What the grader answers to the judge's own prompt, as the judge reads it."""
    (prompt,) = judge.prompts(item, "key")
    messages = tuple((one["role"], one["content"]) for one in prompt.messages)
    told = answer(
        ModelRequest(judge.model.removeprefix("sim/"), messages, temperature=1.0, seed=repeat)
    )
    reading = judge.read(Answer(told.text, "stop", 1, 1, 0, 1.0, simulated=True))
    named = {"judge": judge.key, "model": judge.model, "variant": item.variant}
    ended = {"status": reading.status, "failure": reading.failure, "simulated": True}
    return a_result(item, reading.score, **named, **ended, repeat=repeat, duration_s=0)


def calibrated(model: str) -> Assessment:
    criteria = tuple(
        Criterion(name=name, description=f"How good it is: {name}.") for name in CRITERIA
    )
    judge = RubricJudge(name=model, model=f"sim/{model}", task="Mark it.", criteria=criteria)
    results = {
        item.key: [judged(judge, item, repeat) for repeat in range(DESIGN.repeats)]
        for item in TEXTS.items
    }
    return assess(judge, TEXTS, results, DESIGN)


@pytest.fixture(scope="module")
def good() -> Assessment:
    return calibrated("good-1")


def results(assessment: Assessment) -> dict[str, Result]:
    return {check.name: check.result for check in assessment.checks}


def test_the_good_one_sees_everything(good: Assessment) -> None:
    found = results(good)
    seen = [name for name in found if name.startswith(("drop:", "invariant:"))]
    assert len(seen) == 5
    assert {found[name] for name in seen} == {Result.PASSES}
    assert good.count(Result.FAILS) == 0


@pytest.mark.parametrize(
    ("model", "name", "result"),
    [
        ("clustering-1", "band", Result.FAILS),
        ("errorblind-1", "drop:inject_errors", Result.FAILS),
        ("longwinded-1", "drop:duplicate_content", Result.FAILS),
        ("orderblind-1", "drop:scramble_order", Result.FAILS),
        ("obliging-1", "invariant:injection_line", Result.FAILS),
    ],
)
def test_a_faulty_one_is_found_out(good: Assessment, model: str, name: str, result: Result) -> None:
    faulty = calibrated(model)
    assert results(faulty)[name] is result
    assert results(faulty)["drop:vague_ify"] is Result.PASSES
    place, _ = recommended([faulty, good], [0.0, 1.0])
    assert place == 1
