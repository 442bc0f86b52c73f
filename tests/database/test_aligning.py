"""Alignments on a real database and a provider on loopback: gains that hold, and gains by luck."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

from judge_gym.answers.readability import TooFewReadableError
from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.calibration.alignment_file import AlignmentSplit
from judge_gym.errors import ConfigError, StoreError
from judge_gym.judges import Item, Judge
from judge_gym.judges.aligning.loading import load
from judge_gym.judges.aligning.running import (
    AlignmentOutcome,
    AlignmentReport,
    align,
    read_alignment,
)
from judge_gym.judges.aligning.splitting import LabelUse, part_of
from judge_gym.judges.aligning.writing import aligned_path, check_writable, write_judge
from judge_gym.judges.gate_texts import load_gate
from judge_gym.report.alignment import (
    alignment_json,
    alignment_report,
    planned_look,
    seal,
    sentence,
)
from judge_gym.store import tables as t
from support.misbehaving import completion, misbehaving
from support.rig import count, run, runtime_at

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("key")]

JUDGE = """
kind: binary
name: tickets
model: real/m
task: Decide whether the summary of a ticket may be sent.
temperature: 0
verdicts:
  - {name: good, description: It may be sent.}
  - {name: bad, description: It may not be sent.}
"""
FILE = "name: tickets\njudge: judge.yaml\nitems: items.jsonl\n"
EXAMPLES = "candidates: {examples: 4, rubrics: 0}\n"
PROPOSED = "candidates: {examples: 0, rubrics: 2}\nproposer: {model: real/p}\n"
NUMBER = re.compile(r"ticket (\d+)")
Answering = Callable[[str, int], str]
"""From the prompt and the number of the ticket that is judged to the verdict."""


def items(first: int, last: int) -> list[dict[str, Any]]:
    """Tickets; every third of them is bad."""
    return [
        {"id": str(n), "text": f"Summary of ticket {n}.", "truth": right(n)}
        for n in range(first, last)
    ]


def right(number: int) -> str:
    return "bad" if number % 3 == 0 else "good"


def place(folder: Path, more: str, number: int = 120, judge: str = JUDGE) -> Path:
    (folder / "judge.yaml").write_text(judge)
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items(0, number))))
    file = folder / "align.yaml"
    file.write_text(FILE + more)
    return file


def answering(verdict: Answering, proposals: Callable[[int], str] = str) -> Any:
    """A step that judges by a function, and proposes by another, given how often it has."""
    proposed = 0

    async def step(request: web.Request) -> web.StreamResponse:
        nonlocal proposed
        body = await request.json()
        prompt = "\n".join(one["content"] for one in body["messages"] if one["role"] == "user")
        if body["model"] == "p":
            proposed += 1
            text = proposals(proposed)
        else:
            number = int(NUMBER.findall(prompt)[-1])
            text = json.dumps({"reason": "", "decision": verdict(prompt, number)})
        return web.json_response(completion(text))

    return step


def aligned(
    database: str, step: Any, *files: Path, look_again: bool = False
) -> tuple[list[AlignmentReport], list[int]]:
    """Align each file; returns the reports and how many requests had been made after each."""

    async def work() -> tuple[list[AlignmentReport], list[int]]:
        reports, requests = [], []
        async with (
            misbehaving(step) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            for file in files:
                loaded = load(file)
                reports.append(await align(runtime, loaded, look_again=look_again))
                requests.append(len(provider.requests))
                read = read_alignment(runtime, loaded, look_again=look_again)
                told = [alignment_json(one, "", file) for one in (reports[-1], read)]
                assert told[0] == told[1]
                assert len(provider.requests) == requests[-1]
        return reports, requests

    found: tuple[list[AlignmentReport], list[int]] = run(work())
    return found


def learns(prompt: str, number: int) -> str:
    """Right once examples are shown; before, everything is good."""
    return right(number) if "EXAMPLES" in prompt else "good"


def test_a_gain_that_is_real_survives_and_is_written_once(database: str, tmp_path: Path) -> None:
    file = place(tmp_path, EXAMPLES, judge=f"{JUDGE}gate: {{items: items.jsonl}}\n")
    (first, again), requests = aligned(database, answering(learns), file, file)
    assert first.outcome is AlignmentOutcome.SURVIVES
    parts = first.loaded.parts
    training, development, test = (parts.count(part) for part in LabelUse)
    assert training + development + test == 120
    # The judge before judges every text, the candidate development and test.
    assert requests[0] == 120 + development + test
    assert requests[1] == requests[0]
    assert sentence(again) == sentence(first)
    assert seal(again) == seal(first)
    assert first.test is not None
    # A judge that finds everything good has κ = 0; one that is always right has 1.
    assert first.test.before.estimate == pytest.approx(0)
    assert first.test.after.estimate == pytest.approx(1)
    bad = sum(right(int(item.id)) == "bad" for item in parts.texts[LabelUse.TEST])
    assert first.test.apart == (pytest.approx(100 * bad / test), 0)
    assert count(sa.create_engine(database), t.AlignmentLook) == 1

    target = aligned_path(file.with_name("judge.yaml"))
    assert write_judge(first, target, replace=False)
    written = target.read_text()
    assert not write_judge(again, target, replace=False)
    judge = Judge.from_file(target)
    assert judge.name == "tickets-aligned"
    assert first.chosen is not None
    assert first.chosen.candidate.judge is not None
    assert judge.key == first.chosen.candidate.judge.key
    assert judge.provenance is not None
    assert judge.provenance.survives
    assert judge.provenance.test.gain == pytest.approx(1)
    assert judge.provenance.labels == {
        "training": training, "development": development, "test": test
    }  # fmt: skip
    gate = load_gate(judge)
    assert len(gate.texts) == 120 - 4
    assert "4 texts in the judge's examples: left out." in gate.said()
    assert gate.aligned_on == 120 - 4 - test
    shown = {example["text"] for example in json.loads(judge.model_dump_json())["examples"]}
    assert len(shown) == 4
    assert shown <= {item.text for item in parts.texts[LabelUse.TRAINING]}
    assert not any(item.text in written for item in parts.texts[LabelUse.TEST])
    target.write_text(JUDGE)
    with pytest.raises(ConfigError, match="exists"):
        check_writable(target, file.with_name("judge.yaml"), replace=False)
    with pytest.raises(ConfigError, match="exists"):
        write_judge(first, target, replace=False)
    assert write_judge(first, target, replace=True)
    assert target.read_text() == written


def test_luck_on_development_does_not_survive(database: str, tmp_path: Path) -> None:
    def lucky(prompt: str, number: int) -> str:
        item = Item(id="1", text=f"Summary of ticket {number}.")
        if "EXAMPLES" in prompt and part_of(item, AlignmentSplit()) is LabelUse.DEVELOPMENT:
            return right(number)
        return "bad" if number % 7 < 3 else "good"

    file = place(tmp_path, EXAMPLES)
    (report,), _ = aligned(database, answering(lucky), file)
    assert report.outcome is AlignmentOutcome.NOT_SHOWN
    assert report.test is not None
    assert report.test.gain.estimate == 0
    assert "did not survive the test set" in sentence(report)
    assert "Keep tickets" in sentence(report)
    page = alignment_report(report, "", tmp_path).save(tmp_path).path
    assert "no interval" in page.read_text(encoding="utf-8")


def test_a_candidate_that_is_worse_on_the_test_set_fails(database: str, tmp_path: Path) -> None:
    def trap(prompt: str, number: int) -> str:
        item = Item(id="1", text=f"Summary of ticket {number}.")
        known = part_of(item, AlignmentSplit()) is LabelUse.DEVELOPMENT
        own = right(number) if number % 4 else "good"
        return own if "EXAMPLES" not in prompt else right(number) if known else "good"

    (report,), _ = aligned(database, answering(trap), place(tmp_path, EXAMPLES))
    assert report.outcome is AlignmentOutcome.WORSE
    assert "is worse" in sentence(report)


def test_without_a_gain_the_test_set_stays_sealed(database: str, tmp_path: Path) -> None:
    file = place(tmp_path, EXAMPLES)
    (report,), (requests,) = aligned(database, answering(lambda *_: "good"), file)
    assert report.outcome is AlignmentOutcome.NO_GAIN
    assert report.look is None
    assert count(sa.create_engine(database), t.AlignmentLook) == 0
    parts = report.loaded.parts
    assert requests == parts.count(LabelUse.TRAINING) + 2 * parts.count(LabelUse.DEVELOPMENT)


def test_proposals_are_tried_and_bad_ones_are_failures(database: str, tmp_path: Path) -> None:
    good = {
        "task": "Decide. A ticket whose number 3 divides is BAD.",
        "verdicts": {"good": {"description": "Not so."}, "bad": {"description": "So."}},
    }

    def proposals(count: int) -> str:
        return json.dumps(good) if count == 2 else json.dumps({"task": "x"})

    def verdict(prompt: str, number: int) -> str:
        return right(number) if "number 3 divides" in prompt else "good"

    file = place(tmp_path, PROPOSED)
    (report, again), (requests, still) = aligned(
        database, answering(verdict, proposals), file, file
    )
    assert report.outcome is AlignmentOutcome.SURVIVES
    failed = [one for one in report.tried if one.candidate.judge is None]
    assert [one.candidate.failure for one in failed] == ["it has task, not task, verdicts"]
    assert still == requests
    test, development = (
        report.loaded.parts.count(p) for p in (LabelUse.TEST, LabelUse.DEVELOPMENT)
    )
    assert report.calls == requests == 120 + 2 + development + test
    told = alignment_json(report, "", tmp_path)
    assert told["result"] == "passes"
    assert told == alignment_json(again, "", tmp_path)


def test_texts_that_were_looked_at_are_used_up(database: str, tmp_path: Path) -> None:
    step = answering(learns)
    file = place(tmp_path, EXAMPLES)
    (first,), _ = aligned(database, step, file)
    other = tmp_path / "other.yaml"
    other.write_text(file.read_text().replace("examples: 4", "examples: 2"))
    (refused,), _ = aligned(database, step, other)
    # The test part is the same, but another candidate is chosen.
    assert refused.outcome is AlignmentOutcome.USED_UP
    assert "used up" in sentence(refused)
    assert "used up" in seal(refused)
    assert "sealed" not in seal(refused)
    # By what, and when: all texts of the test at the one look of the first alignment.
    assert first.look is not None
    used = f"{len(first.look.items)} texts by {first.loaded.design.name} at "
    assert f"{used}{first.look.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" in sentence(refused)
    assert refused.sealed is not None
    assert used in planned_look(refused.sealed, look_again=False)
    # A judge that was aligned on this test may be shown its look again; another makes no calls.
    for of, look_again, calls in ((False, False, True), (True, True, True), (True, False, False)):
        sealed = replace(refused.sealed, is_used_up=of)
        planned = planned_look(sealed, look_again=look_again)
        assert ("No calls would be made" not in planned) is calls
    assert first.sealed is not None
    assert planned_look(first.sealed, look_again=False) == ""
    assert refused.look is None
    (again,), _ = aligned(database, step, other, look_again=True)
    assert again.outcome is AlignmentOutcome.LOOKED_AT
    assert "looked at 2 times" in sentence(again)
    assert again.look is not None
    assert again.look.earlier == (first.look.at,)
    (same,), (more,) = aligned(database, step, other)
    assert (same.outcome, more) == (AlignmentOutcome.LOOKED_AT, 0)
    # Neither is a set sealed that others looked at, where no candidate is good enough to be tested.
    third = tmp_path / "third.yaml"
    third.write_text(file.read_text().replace("examples: 4", "examples: 3"))
    (unshown,), _ = aligned(database, answering(lambda *_: "good"), third)
    assert unshown.outcome is AlignmentOutcome.NO_GAIN
    seen = f"{len(first.look.items)} of its {len(first.look.items)} texts"
    for said in (sentence(unshown), seal(unshown)):
        assert seen in said
        assert "sealed" not in said

    # New labels move no text, and make a fresh test set.
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items(0, 240))))
    (fresh,), _ = aligned(database, step, other)
    assert fresh.outcome is AlignmentOutcome.SURVIVES
    assert fresh.look is not None
    for part in LabelUse:
        before, after = (
            {item.key for item in report.loaded.parts.texts[part]} for report in (first, fresh)
        )
        assert before < after
    assert fresh.look.spared == first.loaded.parts.count(LabelUse.TEST)
    assert not {item.key for item in fresh.look.items} & {item.key for item in first.look.items}


def test_too_few_labels_are_no_success(database: str, tmp_path: Path) -> None:
    (report,), (requests,) = aligned(database, answering(learns), place(tmp_path, EXAMPLES, 20))
    assert (report.outcome, requests) == (AlignmentOutcome.TOO_FEW, 0)
    assert sentence(report).startswith("Too few labels: development has ")


def test_a_budget_stops_the_candidates(database: str, tmp_path: Path) -> None:
    file = place(tmp_path, EXAMPLES + "budget: {max_calls: 5}\n")
    with pytest.raises(BudgetExceededError, match="Alignment 'tickets' has reached its budget"):
        aligned(database, answering(learns), file)

    async def read() -> AlignmentReport:
        async with runtime_at(database, "http://127.0.0.1:9/v1") as runtime:
            return read_alignment(runtime, load(file))

    with pytest.raises(StoreError, match="has not judged every text"):
        run(read())
    file.write_text(file.read_text().replace("max_calls: 5", "max_calls: 500"))
    (report,), _ = aligned(database, answering(learns), file)
    assert report.outcome is AlignmentOutcome.SURVIVES


def test_a_candidate_that_leaves_texts_out_is_not_chosen(database: str, tmp_path: Path) -> None:
    def picky(prompt: str, number: int) -> str:
        return (right(number) if number % 3 else "perhaps") if "EXAMPLES" in prompt else "good"

    file = place(tmp_path, EXAMPLES)
    (report,), _ = aligned(database, answering(picky), file)
    assert report.outcome is AlignmentOutcome.NO_GAIN
    [tried] = report.tried
    assert tried.development is not None
    assert tried.development.covered < 0.8


def test_a_candidate_that_leaves_texts_of_the_test_out_is_not_used(
    database: str, tmp_path: Path
) -> None:
    def silent(prompt: str, number: int) -> str:
        item = Item(id="1", text=f"Summary of ticket {number}.")
        if "EXAMPLES" in prompt and part_of(item, AlignmentSplit()) is LabelUse.TEST:
            return right(number) if number % 2 else "perhaps"
        return learns(prompt, number)

    (report,), _ = aligned(database, answering(silent), place(tmp_path, EXAMPLES))
    assert report.outcome is AlignmentOutcome.UNREADABLE
    assert "are needed. Keep tickets." in sentence(report)


def test_a_judge_that_cannot_be_read_is_not_aligned(database: str, tmp_path: Path) -> None:
    with pytest.raises(TooFewReadableError, match="tickets"):
        aligned(database, answering(lambda *_: "perhaps"), place(tmp_path, EXAMPLES))


def test_another_split_of_an_aligned_judge_is_refused(database: str, tmp_path: Path) -> None:
    file = place(tmp_path, EXAMPLES)
    (report,), _ = aligned(database, answering(learns), file)
    write_judge(report, tmp_path / "next.yaml", replace=False)
    file.write_text(file.read_text().replace("judge.yaml", "next.yaml") + "split: {seed: 1}\n")
    with pytest.raises(ConfigError, match="texts that this judge was made from"):
        load(file)
    file.write_text(file.read_text().replace("seed: 1", "seed: 0"))
    assert load(file).parts.shown == 4
