"""The measured sweep: invented articles, one or two simulated judges, a given rubric."""

import json
from pathlib import Path
from random import Random

from judge_gym.design.sweep import load_sweep
from judge_gym.lab.evidence import collect_window
from judge_gym.lab.rubrics import missing_rubrics
from judge_gym.lab.sweeps import RegisteredSweep, prepare
from judge_gym.runtime import Runtime

DOCUMENTS = 100
RUBRIC = Path(__file__).parents[1] / "deployments" / "sweeps" / "rubrics" / "backsliding.yaml"
_SENTENCES = (
    "The court in Valmora sat on Monday and heard the complaint of {n} newspapers.",
    "The minister answered every question of the members in a public session.",
    "Police closed the office of a broadcaster and held {n} members of the opposition.",
    "The government postponed the regional election by {n} months and gave no reason.",
    "The audit office published its report, and the cabinet promised to follow it.",
    "Demonstrators gathered in front of the assembly; {n} of them were fined.",
    "A new law lets the cabinet name the judges of the highest court.",
    "The electoral commission counted the votes again in {n} districts.",
)


def write_sweep(
    folder: Path,
    judgements: int,
    models: tuple[str, ...] = ("sim/calm-1",),
    *,
    name: str = "bench",
    **axes: object,
) -> Path:
    """Write the sweep file and its corpus: a multiple of 100 judgements of each model.

    Sweeps of other `axes` have other experiments.
    """
    rng = Random(1)
    articles = [
        {
            "title": f"Report {number} from Valmora",
            "url": f"https://valmora.example/{number}",
            "date": f"2026-01-{number % 28 + 1:02}",
            "text": " ".join(
                rng.choice(_SENTENCES).format(n=rng.randint(2, 90)) for _ in range(16)
            ),
        }
        for number in range(DOCUMENTS)
    ]
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(article) + "\n" for article in articles))
    file = folder / f"{name}.yaml"
    window = {
        "query": "courts, press and elections",
        "country": "Valmora",
        "max_documents": DOCUMENTS,
        "source": {"kind": "corpus", "path": str(corpus)},
    }
    block = {
        "window": "valmora",
        "concept": "democratic backsliding",
        "model": list(models),
        "rubric": {"provided": str(RUBRIC)},
        "evidence_view": "raw",
        "replicates": judgements // DOCUMENTS // len(models),
        **axes,
    }
    sweep = {"name": name, "windows": {"valmora": window}, "blocks": [block]}
    # JSON is YAML.
    file.write_text(json.dumps(sweep | {"utility_model": models[0]}))
    return file


async def prepared(runtime: Runtime, file: Path) -> RegisteredSweep:
    """Store the sweep and its rubric and collect its window, so that only judging is left."""
    sweep = load_sweep(file)
    run = prepare(runtime, sweep)
    for window in run.windows:
        await collect_window(runtime, window)
    with runtime.session() as session:
        missing_rubrics(session, list(sweep.experiments()))  # stores those that are provided
    return run
