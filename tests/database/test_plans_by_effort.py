"""What a plan takes from the past: answers at one reasoning effort say nothing of another."""

from pathlib import Path

import sqlalchemy as sa

from judge_gym.design.sweep import load_sweep
from judge_gym.lab.planning import PlanLine, plan_sweep
from judge_gym.lab.sweeps import prepare
from judge_gym.simulator.server import serving
from judge_gym.store import tables as t
from judge_gym.store.calls import Past, past_answers
from support.rig import run, runtime_at
from support.study import Study, corpus, window

SWEEP = """\
name: efforts
utility_model: sim/calm-1
windows:
  week: {country: Valmora, query: courts, max_documents: 2, source: {kind: corpus, path: c.jsonl}}
blocks:
  - concept: democratic backsliding
    window: week
    model: sim/calm-1
    evidence_view: raw
    reasoning_effort: [low, high]
    max_tokens: 900
    replicates: 2
"""
MODEL = "sim/calm-1"
CALLS = 2 * 2
"""Judgements at each effort: two documents, two replicates."""
LONGEST = 900
"""`max_tokens` of the sweep."""
ROOM = 16_384
"""For thinking, at any effort: `thinking_tokens` of a provider that sets none."""


def add_answer(study: Study, key: str, effort: str | None, tokens: int, latency_ms: float) -> None:
    """Add an answer to the scorer to the ledger."""
    parameters = {"max_tokens": 1000} | ({"reasoning_effort": effort} if effort else {})
    row = t.Call(
        key=key, workflow="w3-scoring", agent="scorer", provider="sim", model=MODEL, messages=[],
        template="score", template_hash="h", parameters=parameters, status="succeeded",
        answer="VERDICT: A", completion_tokens=tokens, latency_ms=latency_ms,
    )  # fmt: skip
    study.change(lambda session: session.add(row))


def test_an_effort_without_a_past_is_estimated_by_its_room(database: str, tmp_path: Path) -> None:
    corpus(tmp_path, 2, "c.jsonl")
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    sweep = load_sweep(tmp_path / "sweep.yaml")

    async def work() -> None:
        async with serving() as base_url, runtime_at(database, base_url) as runtime:
            study = Study(runtime, window(tmp_path / "c.jsonl"))

            def judgements() -> PlanLine:
                providers = runtime.providers
                plan = study.change(lambda session: plan_sweep(session, sweep, providers))
                (line,) = (line for line in plan.lines if line.workflow == "w3-scoring")
                return line

            # Usually 400 tokens, and the room; of high, and of no effort, only the past is known.
            assert judgements().left.answer_tokens == 2 * CALLS * (400 + ROOM)
            bound = judgements().whole.answer_tokens
            # Each may be cut and requested again.
            assert bound == 2 * 2 * CALLS * (LONGEST + ROOM)
            add_answer(study, "a", "high", 2000, 3000)
            add_answer(study, "b", "high", 4000, 5000)
            add_answer(study, "c", None, 10, 1000)
            assert judgements().left.answer_tokens == CALLS * 3000 + CALLS * (400 + ROOM)
            add_answer(study, "d", "low", 100, 500)
            add_answer(study, "e", "low", 300, 1500)
            assert judgements().left.answer_tokens == CALLS * 3000 + CALLS * 200
            assert judgements().whole.answer_tokens == bound
            past = study.change(lambda session: past_answers(session, [MODEL]))
            assert past == {
                (MODEL, "scorer", "high"): Past(3000, 4),
                (MODEL, "scorer", "low"): Past(200, 1),
                (MODEL, "scorer", None): Past(10, 1),
            }

            # What is done at one effort leaves the other as it was.
            ready = prepare(runtime, sweep)
            (study.window,) = sweep.windows.values()
            await study.collect()
            experiments = list(sweep.experiments())
            await study.write_rubrics(experiments)
            (low,) = (one.name for one in experiments if one.reasoning_effort == "low")
            assert low in ready.tags
            await study.score([low])
            line = judgements()
            assert (line.calls, line.done) == (2 * CALLS, CALLS)
            assert line.left.answer_tokens == CALLS * 3000
            study.change(lambda session: session.execute(sa.update(t.Sample).values(_FAILED)))
            line = judgements()
            assert line.failed == CALLS
            lows = study.change(lambda session: past_answers(session, [MODEL]))
            mean = lows[MODEL, "scorer", "low"].answer_tokens
            assert mean is not None
            assert line.retry.answer_tokens == round(CALLS * mean)

    run(work())


_FAILED = {"status": "failed", "failure": "server", "stages": None}
