"""Stored judgements as logs of Inspect: an `.eval` file for each judge.

The epochs are the replicates. A judgement without a score has the value NaN, which is a missing
score to Inspect, and says why in its explanation.
"""

import json
import math
import zipfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge_gym.analysis.frames import load
from judge_gym.errors import ConfigError
from judge_gym.seeds import digest

_SAMPLES = [
    "experiment", "concept", "model", "item_key", "titles", "truth_label", "truth_value", "arm",
    "replicate", "status", "failure", "stages", "score", "call_id", "simulated",
    "imported",
]  # fmt: skip
Row = Mapping[str, Any]


def export_sweep(sweep: str, folder: Path) -> list[Path]:
    """Write a log for each experiment and arm of a sweep; returns the files.

    Raises `ConfigError` for a folder that is there, and for a sweep without judgements.
    """
    rows = load("samples", sweep=sweep, columns=_SAMPLES).to_dict("records")
    calls = load("answers", sweep=sweep, columns=["call_id", "messages", "answer"])
    by_call = {row["call_id"]: row for row in calls.to_dict("records")}
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        call = by_call.get(row["call_id"], {})
        known = row["truth_label"] if _given(row["truth_label"]) else row["truth_value"]
        sample = _sample(
            item=row["item_key"],
            epoch=int(row["replicate"]) + 1,
            model=row["model"],
            messages=call.get("messages") or [{"role": "user", "content": _titles(row)}],
            answer=call.get("answer"),
            target=str(known) if _given(known) else "",
            scores={"score": row["score"]},
            said=f"stages {list(row['stages'])}" if row["status"] == "scored" else "",
            why=row["failure"] if _given(row["failure"]) else row["status"],
            metadata={key: row[key] for key in ("status", "arm", "simulated", "imported")},
        )
        groups.setdefault((row["experiment"], row["arm"]), []).append({"row": row, "is": sample})
    return _write(
        folder,
        {
            (f"{sweep}, {tag}" + (f", {arm}" if arm != "own" else ""), of[0]["row"]["model"]): [
                one["is"] for one in of
            ]
            for (tag, arm), of in groups.items()
        },
        f"sweep {sweep}",
    )


def export_judge(judge: str, folder: Path) -> list[Path]:
    """Write a log of the results of a judge, by its name or key; raises as `export_sweep`."""
    rows = load("judge_results").to_dict("records")
    samples: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if judge not in (row["judge"], row["judge_key"]):
            continue
        changed = f", {row['perturbation']} {row['severity']}" if row["perturbation"] else ""
        day = f", {row['review_day']}" if row["review_day"] else ""
        text = "\n\n".join(filter(_given, (row["context"], row["text"], row["second_text"])))
        answers = row["answers"] if isinstance(row["answers"], list) else []
        sample = _sample(
            item=f"{row['item']}{changed}{day} ({row['judge_item_id']})",
            epoch=int(row["repeat"]) + 1,
            model=row["model"],
            messages=[{"role": "user", "content": text}],
            answer=answers[-1] if answers else row["reason"],
            target=str(row["label"]) if _given(row["label"]) else "",
            scores={"score": row["score"], **(row["subscores"] or {})},
            said=row["reason"],
            why=row["failure"] if _given(row["failure"]) else row["status"],
            metadata={"status": row["status"], "simulated": row["simulated"]},
        )
        samples.setdefault((f"{row['judge']}, {row['judge_key']}", row["model"]), []).append(sample)
    return _write(folder, samples, f"judge {judge}")


def _given(value: Any) -> bool:
    return isinstance(value, str | int | float) and value == value and value != ""


def _titles(row: Row) -> str:
    return "\n".join(row["titles"]) if isinstance(row["titles"], list) else str(row["item_key"])


def _sample(
    *,
    item: str,
    epoch: int,
    model: str,
    messages: Iterable[Mapping[str, Any]],
    answer: Any,
    target: str,
    scores: Mapping[str, Any],
    said: str,
    why: str,
    metadata: Mapping[str, Any],
) -> dict[str, Any]:
    text = answer if isinstance(answer, str) else ""
    asked = [{"role": one["role"], "content": one["content"]} for one in messages]
    reply = {"role": "assistant", "content": text, "source": "generate", "model": model}
    return {
        "id": item,
        "epoch": epoch,
        "input": asked,
        "target": target,
        "messages": [*asked, reply],
        "output": {
            "model": model,
            "choices": [{"message": reply, "stop_reason": "stop"}],
            "completion": text,
        },
        "scores": {
            name: {
                "value": float(value) if _given(value) else math.nan,
                "answer": said if _given(value) else None,
                "explanation": said if _given(value) else why,
            }
            for name, value in scores.items()
        },
        "metadata": {
            key: bool(value) if key in ("simulated", "imported") else value
            for key, value in metadata.items()
        },
        "store": {},
        "events": [],
        "attachments": {},
        "model_usage": {},
    }


def _write(
    folder: Path, logs: Mapping[tuple[str, str], list[dict[str, Any]]], what: str
) -> list[Path]:
    if not logs:
        raise ConfigError(f"{what} has no judgements.", "Run it first, or check its name.")
    if folder.exists():
        raise ConfigError(f"{folder} exists.", "Name a new folder with --to.")
    folder.mkdir(mode=0o700, parents=True)  # it holds texts and answers
    now = datetime.now(UTC)
    files = []
    for (task, model), samples in logs.items():
        key = digest("inspect log", task, model)
        file = folder / f"{now:%Y-%m-%dT%H-%M-%S}-00-00_{key}_{key}.eval"
        _archive(file, _header(task, model, key, samples, now.isoformat()), samples)
        files.append(file)
    return files


def _header(
    task: str, model: str, key: str, samples: list[dict[str, Any]], now: str
) -> dict[str, Any]:
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    names = list(dict.fromkeys(name for sample in samples for name in sample["scores"]))
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": key, "run_id": key, "created": now, "task": task, "task_id": key,
            "task_version": 0, "task_args": {}, "model": model, "model_args": {},
            "dataset": {"name": task, "samples": len(ids), "sample_ids": ids},
            "config": {"epochs": max(sample["epoch"] for sample in samples)},
            "packages": {}, "scorers": [{"name": name} for name in names],
        },
        "plan": {"name": "judge-gym", "steps": []},
        "results": {
            "total_samples": len(samples), "completed_samples": len(samples),
            "scores": [_mean(name, samples) for name in names],
        },
        "stats": {"started_at": now, "completed_at": now, "model_usage": {}},
    }  # fmt: skip


def _mean(name: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of a score over the judgements that have one, and how many have none."""
    values = [sample["scores"][name]["value"] for sample in samples if name in sample["scores"]]
    scored = [value for value in values if not math.isnan(value)]
    mean = sum(scored) / len(scored) if scored else math.nan
    return {
        "name": name, "scorer": name, "scored_samples": len(scored),
        "unscored_samples": len(samples) - len(scored),
        "metrics": {"mean": {"name": "mean", "value": mean}},
    }  # fmt: skip


def _archive(file: Path, header: Mapping[str, Any], samples: list[dict[str, Any]]) -> None:
    start = {key: header[key] for key in ("version", "eval", "plan")}
    summaries = [
        {key: sample[key] for key in ("id", "epoch", "input", "target", "scores", "metadata")}
        for sample in samples
    ]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps(start))
        for sample in samples:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample))
        archive.writestr("summaries.json", json.dumps(summaries))
        archive.writestr("header.json", json.dumps(header))
