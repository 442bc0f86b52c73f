"""A model whose every call fails stops early on each API, and its sweep is no success."""

from pathlib import Path

import pytest

from flows.sweep import sweep
from judge_gym.errors import JudgeGymError
from judge_gym.llm.breaker import ENOUGH_ALIKE
from support.flow_runs import error_of, run_flow, sample_counts
from support.simulation import Simulator
from support.sweeps import scoring_sweep
from support.vendors import MAIN_WIRES, SHIPPED, Wire

pytestmark = pytest.mark.slow

EACH = 40
"""Judgements of each of the two judges: 4 articles, 10 times."""


@pytest.mark.parametrize(
    ("kind", "words", "remedy"),
    [
        # One refusal is enough where every other call would meet it too.
        ("no_access", "{provider} refuses {model}", "grant the account access"),
        ("thought_only", "No more calls to {model} were made", "thinking_tokens"),
    ],
)
@pytest.mark.parametrize("wire", MAIN_WIRES, ids=lambda wire: wire.name)
def test_a_model_whose_every_call_fails_stops_early_and_the_sweep_is_no_success(
    place: pytest.MonkeyPatch, database: str, simulator: Simulator, tmp_path: Path,
    wire: Wire, kind: str, words: str, remedy: str,
) -> None:  # fmt: skip
    at_once = SHIPPED.by_name[wire.name].concurrency
    place.setenv(f"{wire.name.upper()}_BASE_URL", simulator.url.removesuffix("/v1") + wire.path)
    place.setenv(f"{wire.name.upper()}_API_KEY", "unread")
    simulator.use_faults({"kind": kind, "model": wire.model})
    before = simulator.statistics()["faults"].get(kind, 0)
    file = tmp_path / "refused.yaml"
    file.write_text(scoring_sweep("refused", "sim/calm-1", wire.asked, replicates=10))
    try:
        state = run_flow(sweep, str(file))
        given = simulator.statistics()["faults"][kind] - before
    finally:
        simulator.use_faults()
    assert state.is_failed()
    error = error_of(state)
    assert isinstance(error, JudgeGymError)
    assert words.format(provider=wire.name, model=wire.asked) in error.message
    assert remedy in error.remedy
    # Those in flight when it stopped end.
    assert 1 <= given <= (ENOUGH_ALIKE if kind == "thought_only" else 1) + at_once
    counts = sample_counts(database)
    # The other judge lost nothing, and what was not asked is missing, not an answer.
    assert sum(counts["sim/calm-1"].values()) == EACH
    failed = counts.get(wire.asked, {})
    assert sum(failed.values()) == (given if kind == "thought_only" else 0)
    assert set(failed) <= {"failed"}
