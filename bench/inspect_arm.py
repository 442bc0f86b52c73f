"""Inspect AI on the same prompts, in its own environment: `python bench/inspect_arm.py PROMPTS`.

Tuned according to its documentation: the same number of connections and samples as the others, no
display, no realtime log, a large log buffer. The measured part is one `eval`, after a warm-up with
a single sample unless `cold`. Only the model is called; nothing is scored.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.solver import generate

from bench.meter import Meter

MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser}


def main(prompts: Path, *, warm: bool = True) -> None:
    """Evaluate everything; needs BENCH_BASE_URL and BENCH_API_KEY."""
    bodies = [json.loads(line) for line in prompts.read_text().splitlines()]
    first, rest = (bodies[:1], bodies[1:]) if warm else ([], bodies)
    with tempfile.TemporaryDirectory() as logs:
        if first:
            evaluate(first, logs)
        meter = Meter()
        with meter:
            answered = evaluate(rest, logs)
            meter.facts["calls"] = answered


def evaluate(bodies: list[dict[str, Any]], logs: str) -> int:
    """Send every prompt once; returns the number of answers."""
    given = bodies[0]
    samples = [
        Sample(
            input=[MESSAGES[one["role"]](content=one["content"]) for one in body["messages"]],
            id=number,
        )
        for number, body in enumerate(bodies, 1)
    ]
    config = GenerateConfig(
        temperature=given["temperature"], top_p=given["top_p"], max_tokens=given["max_tokens"]
    )
    [log] = eval(
        Task(dataset=MemoryDataset(samples), solver=generate(), config=config),
        model=f"openai-api/bench/{given['model']}",
        log_dir=logs,
        display="none",
        max_connections=100,
        max_samples=100,
        log_realtime=False,
        log_buffer=1000,
    )
    if log.status != "success" or log.results is None:
        sys.exit(f"Inspect ended with {log.status}: {log.error}")
    return log.results.completed_samples


if __name__ == "__main__":
    os.environ.setdefault("BENCH_API_KEY", "none")
    main(Path(sys.argv[1]), warm="cold" not in sys.argv)
