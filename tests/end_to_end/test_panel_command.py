"""`judge-gym panel run` and `panel evaluate`: what a person sees, and what a program reads."""

import json
import os
import signal

import pytest

from judge_gym.panel import PanelState
from support.command_line import REPOSITORY, CommandLine
from support.launcher import Launcher
from support.simulation import Simulator
from support.waiting import until

pytestmark = pytest.mark.slow

PANELS = REPOSITORY / "deployments" / "panels"


@pytest.mark.slow
def test_a_run_goes_on_after_ctrl_c_and_the_same_again_asks_nothing(
    command: CommandLine, launcher: Launcher, simulator: Simulator
) -> None:
    arguments = ("panel", "run", PANELS / "library.yaml")
    before = simulator.answered()
    simulator.use_faults({"kind": "slow_first_byte", "seconds": 3600, "model": "lenient-1"})
    try:
        launcher.start(*arguments, folder=command.folder, environment=command.variables())
        until(lambda: simulator.answered() - before == 3, "the third rater's answer")
        os.kill(launcher.pid, signal.SIGINT)
        assert launcher.wait() == 130
    finally:
        simulator.use_faults()
    waited, stopped = launcher.errors().splitlines()
    assert "for 1 answer that may be billed" in waited
    assert stopped == "Stopped. Progress is saved. Rerun the command to resume."

    first = command(*arguments).fine().output
    for told in ("rater_b", "Feasibility and clarity", "trial", "Consensus: ", "SIMULATED"):
        assert told in first
    assert first.count("done, from an earlier run") == 2
    # One call was in flight at Ctrl-C: of a simulated model it can have cost nothing.
    assert "4 calls cost 0 (simulated)." in first

    before = simulator.answered()
    told = command(*arguments, "--json-lines").fine().output
    assert simulator.answered() == before
    states = [PanelState.model_validate_json(line) for line in told.splitlines()]
    assert [state.phase for state in states] == [
        "idle",
        *["rater_a"] * 2,
        *["rater_b"] * 2,
        *["rater_c"] * 2,
        "consensus",
        "done",
    ]
    assert "open-hours fund" not in told


def test_a_labelled_set_is_evaluated_into_json_and_a_page(
    command: CommandLine, simulator: Simulator
) -> None:
    labelled = command.folder / "labelled.jsonl"
    lines = (PANELS / "labelled.jsonl").read_text().splitlines(keepends=True)
    labelled.write_text("".join(lines[:5]))
    before = simulator.answered()
    panel = PANELS / "two-families.yaml"
    ended = command("panel", "evaluate", panel, "--corpus", labelled, "--json").fine()
    assert simulator.answered() - before == 5 * 4
    assert "only with --known" in ended.errors  # this simulator was there before
    told = json.loads(ended.output)
    assert (told["documents"], told["left_out"], told["simulated"]) == (5, {}, True)
    found = {(row["what"], row["whom"], row["metric"]): row for row in told["figures"]}
    assert found["whole", "Dempster-Shafer", "accuracy"]["n_items"] == 5
    assert found["items", "rater_a and rater_c", "error_correlation"]["n"] == 15
    assert found["items", "all raters", "effective_votes"]["n"] == 15
    assert found["whole", "more while it pays", "saved_cost"]["reason"] == ""
    assert (command.data / "reports" / "panel-two-families-evaluation.html").is_file()


def test_what_cannot_be_reviewed_and_who_failed_is_one_line(
    command: CommandLine, simulator: Simulator
) -> None:
    file = command.folder / "document.json"
    file.write_text('{"id": "d", "title": "t", "items": []}')
    ended = command("panel", "run", file)
    assert ended.code == 2
    assert "document.json, line 1: items does not fit: a document has 1 to 50" in ended.errors
    file.write_text(json.dumps({"id": "d", "title": "t", "items": [{"id": "a", "text": "Go."}]}))
    simulator.use_faults({"kind": "empty", "role": "rater"})
    try:
        ended = command("panel", "run", file, "--json-lines")
    finally:
        simulator.use_faults()
    assert ended.code == 1
    assert PanelState.model_validate_json(ended.output.splitlines()[-1]).phase == "error"
    assert "0 of 3 raters gave a review" in ended.errors
    assert "only failed calls are made again" in ended.errors
