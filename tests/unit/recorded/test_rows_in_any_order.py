"""The same rows in another order, form, file or name have the same figures, to the last digit."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from judge_gym.analysis.recorded import audited
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.mapping import Recorded, stages_rubric
from judge_gym.store.results import ResultRow

Rows = list[dict[str, str]]
JUDGES = {"near": 0.9, "far": 0.65, "mine": 0.75}
"""How often each is right."""


def scored(rng: np.random.Generator) -> tuple[dict[str, object], Rows]:
    """Return scores of answers of three systems, twice by each judge, and two people's labels."""
    rows = []
    for question in range(30):
        for system in range(3):
            good = int(rng.integers(1, 6))
            people = [str(np.clip(good + rng.integers(-1, 2), 1, 5)) for _ in range(2)]
            for judge, right in JUDGES.items():
                for wording in ("plain", "curt"):
                    for _ in range(2):
                        score = good if rng.random() < right else int(rng.integers(1, 6))
                        half = "" if rng.random() < 0.8 or score == 5 else ".5"
                        rows.append({
                            "id": f"a{question}-{system}", "text": f"Answer {question} {system}",
                            "system": f"bot-{system}", "question": f"q{question}",
                            "topic": ("late", "broken")[question % 2], "judge": judge,
                            "wording": wording, "score": f"{score}{half}",
                            "ann": people[0], "ben": people[1] if question % 3 else "",
                        })  # fmt: skip
    return {
        "wording_column": "wording",
        "scale": {"lowest": 1, "highest": 5},
        "families": {"mine": "acme", "bot-1": "acme"},
        "item": {
            "key": "id", "text": "text", "system": "system", "question": "question",
            "category": "topic", "people": ["ann", "ben"],
        },
        "verdicts": ["score"],
    }, rows  # fmt: skip


def of_pairs(rng: np.random.Generator) -> tuple[dict[str, object], Rows]:
    """Return verdicts on pairs of answers of three systems in both orders, with known answers."""
    rows = []
    for pair in range(40):
        one, two = rng.permutation(3)[:2]
        better = "AB"[rng.random() < 0.5]
        for judge, right in JUDGES.items():
            for swapped in ("no", "yes"):
                for _ in range(2):
                    won = better if rng.random() < right else "AB"["BA".index(better)]
                    rows.append({
                        "id": f"p{pair}", "text": f"Pair {pair}", "one": f"bot-{one}",
                        "two": f"bot-{two}", "judge": judge, "swapped": swapped,
                        "better": better, "score": won,
                    })  # fmt: skip
    return {
        "stages": ["A", "B"],
        "swapped_column": "swapped",
        "item": {
            "key": "id", "text": "text", "system": "one", "second_system": "two",
            "truth": "better",
        },
        "verdicts": [{"column": "score", "own_order": True}],
    }, rows  # fmt: skip


def written(folder: Path, name: str, rows: Rows) -> list[Path]:
    """Write rows in the form that the name ends with, half of them in each of two files."""
    folder.mkdir()
    paths = [folder / f"{part}-{name}" for part in "ba"]
    for path, own in zip(paths, (rows[::2], rows[1::2]), strict=True):
        with path.open("w", newline="") as handle:
            if path.suffix == ".csv":
                writer = csv.DictWriter(handle, list(rows[0]))
                writer.writeheader()
                writer.writerows(own)
            else:
                handle.writelines(json.dumps(row) + "\n" for row in own)
    return paths


def audit(described: dict[str, object], folder: Path, name: str, rows: Rows) -> list[ResultRow]:
    """Audit rows written under a name; nothing but that name differs in the figures' scopes."""
    recorded = Recorded.model_validate(
        {
            "concept": "right", "source": "made up", "judge_column": "judge",
            "name": Path(name).stem, "repeats": True, **described,
        }
    )  # fmt: skip
    files = recorded_files(written(folder, name, rows), recorded)
    return list(audited(files, recorded, stages_rubric(recorded)).rows)


def by_scope(rows: list[ResultRow]) -> dict[str, ResultRow]:
    """Return metric and scope, without the name of what was read, → figure."""
    found = {
        json.dumps([row.metric, {**row.scope, "window": ""}], sort_keys=True): row for row in rows
    }
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("described", [scored, of_pairs])
def test_figures_are_alike_for_rows_in_any_order_form_and_name(
    tmp_path: Path, described: Callable[[np.random.Generator], tuple[dict[str, object], Rows]]
) -> None:
    mapping, rows = described(np.random.default_rng(5))
    first = by_scope(audit(mapping, tmp_path / "first", "first.csv", rows))
    assert sum(row.lower is not None for row in first.values()) > 50
    for seed, name in enumerate(("second.csv", "third.jsonl")):
        order = np.random.default_rng(seed).permutation(len(rows))
        shuffled = [rows[place] for place in order]
        again = by_scope(audit(mapping, tmp_path / name, name, shuffled))
        assert again.keys() == first.keys()
        for key, row in first.items():
            other = again[key]
            assert vars(other) | {"scope": row.scope} == vars(row), key
