"""A model reads whether reasons contradict their scores, of judges with planted ones."""

import json
import re
from pathlib import Path

import pytest

from judge_gym.judges import JudgeResult, load_judge
from judge_gym.judges.reason_critic import criticism, reasons_of
from judge_gym.simulator.grading import BLAMING, PRAISING
from support.command_line import REPOSITORY, CommandLine
from support.judge_results import a_result
from support.simulation import Simulator

NOTES = REPOSITORY / "deployments" / "calibrations" / "notes.jsonl"
GOOD = REPOSITORY / "deployments" / "judges" / "notes.yaml"
REPEATS = 4


def judge_file(folder: Path, critic: str) -> Path:
    """A judge three in ten of whose reasons say the opposite of its marks, with a critic."""
    text = re.sub(r"(?m)^model: .*$", "model: sim/twofaced-1", GOOD.read_text())
    text = text.partition("\ngate:")[0] + f"\nreason_critic: {critic}\n"
    file = folder / "twofaced.yaml"
    file.write_text(text)
    return file


@pytest.mark.slow
def test_a_critic_finds_the_planted_contradictions_once(
    command: CommandLine, simulator: Simulator
) -> None:
    file = judge_file(command.folder, "{model: sim/good-1}")
    arguments = ("judge", "score", file, "--items", NOTES, "--repeats", str(REPEATS), "--json")
    told = json.loads(command(*arguments).fine().output)
    planted = {
        (one["item"], one["repeat"])
        for one in told["results"]
        if one["reason"] in (PRAISING, BLAMING)
    }
    found = {(one["item"], one["repeat"]) for one in told["contradictions"]}
    assert {one["found_by"] for one in told["contradictions"]} == {"model"}
    # The critic is right in 95% of readings, and three reasons in ten are planted.
    assert len(planted & found) >= 0.8 * len(planted) > 10
    assert len(planted & found) >= 0.75 * len(found)
    critic = told["reason_critic"]
    assert critic["asked"] == critic["read"] == 22 * REPEATS
    answered = simulator.answered()
    again = json.loads(command(*arguments).fine().output)
    assert simulator.answered() == answered
    assert again["contradictions"] == told["contradictions"]


@pytest.mark.slow
def test_a_critic_that_stops_at_its_budget_loses_no_judgement(command: CommandLine) -> None:
    file = judge_file(command.folder, "{model: sim/good-1, budget: {max_calls: 5}}")
    ended = command("judge", "score", file, "--items", NOTES)
    assert ended.code == 4
    assert "22 judgements: 22 scored" in ended.output
    assert "0 of 22" not in ended.output
    assert "answers are missing or could not be read" in ended.output
    assert "max_calls" in ended.errors


def test_a_reason_is_shown_with_its_result_and_what_that_means(tmp_path: Path) -> None:
    judge = load_judge(judge_file(tmp_path, "{model: sim/good-1}"))
    assert judge.key == judge.model_copy(update={"reason_critic": None}).key

    def result(item: str, reason: str, **more: object) -> JudgeResult:
        given = {"score": 80.0, "subscores": {"evidence": 80.0}, **more}
        return a_result(item, judge=judge.key, reason=reason, simulated=True, **given)

    said = [
        result("a", "Hardly a source."),
        result("b", " "),
        result("c", "Unreadable.", score=None, status="unparseable"),
    ]
    [(first, item)] = reasons_of(judge, said)
    assert first.item == "a"
    assert item.text == "REASON\nHardly a source.\n\nRESULT\nevidence: 80\nin all: 80"
    assert item.context.startswith("Scores from 0, the worst, to 100, the best.\nevidence: ")
    none = criticism(judge, said, {})
    assert (none.asked, none.read, none.contradictions) == (1, 0, [])
    assert "1 of its answers are missing" in str(none)


@pytest.mark.parametrize(
    ("name", "critic", "problem"),
    [
        ("answers.yaml", "{model: sim/good-1}", "is of a judge of pairs"),
        ("notes.yaml", "{model: sim/goood-1}", "which the simulator does not have"),
        ("notes.yaml", "sim/good-1", "reason_critic"),
    ],
)
def test_a_critic_that_cannot_be_asked_is_refused(
    command: CommandLine, name: str, critic: str, problem: str
) -> None:
    file = command.folder / name
    text = (GOOD.parent / name).read_text().partition("\ngate:")[0]
    file.write_text(f"{text}\nreason_critic: {critic}\n")
    ended = command("judge", "check", file)
    assert ended.code == 2
    assert problem in ended.errors
