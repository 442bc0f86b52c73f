"""A pytest plugin: the gate of a judge as a test. Name it in `conftest.py`::

    pytest_plugins = ["judge_gym.testing"]

and write::

    def test_the_judge_may_be_merged(judge_gate):
        assert_gate(judge_gate("judge.yaml"))

Judgements are stored, so tests of an unchanged judge make no calls. The settings (database, keys)
are those of `judge-gym`.

PYTEST_DONT_REWRITE: it has no assertions, and a test may import it before pytest does.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge_gym.calibration.checks import Result
from judge_gym.judges import Judge
from judge_gym.judges.base import run_now
from judge_gym.judges.gate import GateReport, run_gate
from judge_gym.judges.gate_texts import load_gate, rule_of
from judge_gym.report.gate import gate_markdown
from judge_gym.runtime import runtime

RunGate = Callable[..., GateReport]


@pytest.fixture(scope="session")
def judge_gate() -> RunGate:
    """Run the gate of a judge: `judge_gate(judge, **changes)`, with a `Judge` or its file.

    `changes` are fields of the gate, such as `agreement=0.6` or `items="labelled.jsonl"`; a judge
    without a gate needs `items`. Returns a `GateReport`.
    """
    return gate_of


def gate_of(judge: Judge | str | Path, **changes: Any) -> GateReport:
    """Return what the gate of a judge finds, as `judge_gate` does."""
    chosen = judge if isinstance(judge, Judge) else Judge.from_file(judge)
    if chosen.gate or changes:
        chosen = chosen.model_copy(update={"gate": rule_of(chosen.gate, changes)})
    loaded = load_gate(chosen)
    if certificate := loaded.certified():  # a refusal needs no database
        certificate.warn()

    async def work() -> GateReport:
        async with runtime() as current:
            return await run_gate(current, loaded)

    return run_now(work())


def assert_gate(report: GateReport, *, allow_cannot_tell: bool = False) -> None:
    """Fail the test unless every check passes by its 95% interval, and say which do not.

    With `allow_cannot_tell` a check that is open does not fail it.
    """
    __tracebackhide__ = True
    allowed = {Result.PASSES, Result.CANNOT_TELL} if allow_cannot_tell else {Result.PASSES}
    if report.result not in allowed:
        pytest.fail(gate_markdown([report]), pytrace=False)
