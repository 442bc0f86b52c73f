"""A study whose judgements go as batches; also as a process of its own, to be killed.

`python -m support.batched DATABASE BASE_URL TAG...` takes in what has ended and judges on.
"""

import asyncio
import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from judge_gym.asking.engine import collect_batches
from judge_gym.lab import judging, scoring
from judge_gym.store import tables as t
from support.rig import runtime_at
from support.study import Study

ROUNDS = 20
"""More than any batch that ends at once needs."""


async def judge_on(runtime: Any, tags: list[str]) -> Any:
    """One run of W3: take in what has ended, then judge what is missing; how it ended."""
    await collect_batches(runtime)
    with runtime.session() as session:
        missing, _ = scoring.plan_scoring(session, tags)
    units = [unit for units in missing.by_model.values() for unit in units]
    return await judging.judge(runtime, units)


async def judge_to_the_end(study: Study, tags: list[str]) -> int:
    """Run W3 again until nothing waits; how many runs it took."""
    for number in range(1, ROUNDS + 1):
        if not (await judge_on(study.runtime, tags))["waiting"]:
            return number
    raise AssertionError(f"something still waits after {ROUNDS} runs")


def outcomes(engine: sa.Engine) -> dict[str, list[Any]]:
    """Views, samples and probes with all they say, by natural key; no ids, times or routes."""
    sample = (
        sa.select(t.Experiment.tag, t.Arm.arm, t.EvidenceItem.key, t.Rubric.key, *_said(t.Sample))
        .join_from(t.Sample, t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.Rubric, t.Rubric.id == t.Arm.rubric_id)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .join(t.EvidenceItem, t.EvidenceItem.id == t.Sample.item_id)
        .order_by(t.Experiment.tag, t.Rubric.key, t.EvidenceItem.key, t.Arm.arm, t.Sample.replicate)
    )
    answered = sample.add_columns(t.Call.answer).outerjoin(t.Call, t.Call.id == t.Sample.call_id)
    probe = sample.add_columns(*_said(t.Probe)).join(t.Probe, t.Probe.sample_id == t.Sample.id)
    view = (
        sa.select(t.Document.key, *_said(t.View))
        .join(t.Document, t.Document.id == t.View.document_id)
        .order_by(t.Document.key, t.View.view)
    )
    queries = {
        "samples": answered,
        "probes": probe.order_by(t.Probe.replicate),
        "views": view,
    }
    with engine.connect() as connection:
        return {
            name: [tuple(row) for row in connection.execute(query)]
            for name, query in queries.items()
        }


def _said(table: Any) -> list[Any]:
    return [
        column
        for column in sa.inspect(table).columns
        if column.name not in ("id", "created_at") and not column.name.endswith("_id")
    ]


OPENAI, ANTHROPIC = "sim", "sim-anthropic"
"""The providers with a batch API of their own."""
ANTHROPICS_HEADERS = {"x-api-key": "none", "anthropic-version": "2023-06-01"}


def batches_at(base_url: str, provider: str = OPENAI) -> list[dict[str, Any]]:
    """The batches that the provider knows."""
    path = "/batches" if provider == OPENAI else "/messages/batches"
    request = urllib.request.Request(f"{base_url}{path}?limit=100", headers=ANTHROPICS_HEADERS)
    with urllib.request.urlopen(request, timeout=60) as reply:
        found: list[dict[str, Any]] = json.load(reply)["data"]
    return found


def set_faults(base_url: str, *faults: dict[str, Any]) -> None:
    """Put faults in force at the simulator, in place of those before."""
    body = json.dumps({"fault": faults}).encode()
    place = base_url.removesuffix("/v1") + "/faults"
    request = urllib.request.Request(
        place, body, {"Content-Type": "application/json"}, method="POST" if faults else "DELETE"
    )
    urllib.request.urlopen(request, timeout=60).close()


def faults_given(base_url: str) -> int:
    """How many faults of those in force the simulator has given."""
    place = base_url.removesuffix("/v1") + "/stats"
    with urllib.request.urlopen(place, timeout=60) as reply:
        return sum(json.load(reply)["faults"].values())


def start(database: str, base_url: str, tags: list[str]) -> "subprocess.Popen[bytes]":
    """Run `judge_on` once in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "support.batched", database, base_url, *tags],
        cwd=Path(__file__).parents[1],
    )


async def _main(database: str, base_url: str, *tags: str) -> None:
    async with runtime_at(database, base_url, batch=True) as runtime:
        await judge_on(runtime, list(tags))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
