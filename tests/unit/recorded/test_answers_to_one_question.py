"""Rows that answer one question count together, with a system, without one, and by wording."""

import csv
from pathlib import Path

import numpy as np
import pytest

from judge_gym.analysis.recorded import audited
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.mapping import Recorded, stages_rubric
from judge_gym.store.results import ResultRow

COPIES, QUESTIONS = 5, 30


def rows_of(folder: Path, copies: int, *, wordings: int, system: bool) -> list[ResultRow]:
    """Return the figures of scores of two judges, so many answers alike to each question."""
    rng = np.random.default_rng(5)
    rows = []
    for question in range(QUESTIONS):
        good = int(rng.integers(1, 6))
        for judge in ("near", "far"):
            for wording in range(wordings):
                score = int(np.clip(good + rng.integers(-1, 2), 1, 5))
                for copy in range(copies):
                    rows.append({
                        "id": f"a{question}-{copy}", "question": f"q{question}", "known": good,
                        "judge": judge, "wording": f"w{wording}", "score": score,
                        "system": "bot-1" if question % 2 else "bot-0",
                    })  # fmt: skip
    item = {"key": "id", "question": "question", "truth": "known"}
    mapping = {
        "concept": "verdicts", "name": "alike", "source": "drawn", "judge_column": "judge",
        "scale": {"lowest": 1, "highest": 5}, "verdicts": ["score"],
        "item": item | ({"system": "system"} if system else {}),
    } | ({"wording_column": "wording"} if wordings > 1 else {})  # fmt: skip
    folder.mkdir(exist_ok=True)
    file = folder / f"{copies}.csv"
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    recorded = Recorded.model_validate(mapping)
    files = recorded_files([file], recorded)
    return list(audited(files, recorded, stages_rubric(recorded)).rows)


@pytest.mark.parametrize("system", [False, True], ids=["without systems", "with systems"])
@pytest.mark.parametrize("wordings", [1, 3])
def test_answers_alike_to_one_question_narrow_no_interval(
    tmp_path: Path, wordings: int, *, system: bool
) -> None:
    once, copied = (
        {(row.metric, row.scope_key): row for row in rows_of(
            tmp_path, copies, wordings=wordings, system=system
        )}
        for copies in (1, COPIES)
    )  # fmt: skip
    assert copied.keys() >= {key for key, row in once.items() if row.lower is not None}
    compared, narrower = set(), []
    for key, one in once.items():
        more = copied[key]
        if (
            key[0].startswith("pooled_")
            or one.lower is None
            or one.upper is None
            or more.lower is None
            or more.upper is None
        ):
            continue
        assert one.estimate == pytest.approx(more.estimate, abs=0.02), key
        # Other draws of a few items move a width by some hundredths, α's correction by less.
        if more.upper - more.lower < 0.9 * (one.upper - one.lower):
            narrower.append((*key, one.lower, one.upper, more.lower, more.upper, one.estimate))
        compared.add(one.metric)
    assert compared >= {"accuracy", "cohens_kappa", "mean_score", "krippendorff_alpha_ordinal"}
    assert not narrower, "\n".join(map(str, narrower))
    assert compared >= {"accuracy_difference", "mean_error_correlation", "effective_votes"}
