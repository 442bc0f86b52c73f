"""Token probabilities of simulated judges: their calibration is what is planted in the judges."""

from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from judge_gym.analysis.running import analyse
from judge_gym.design.sweep import load_sweep
from judge_gym.lab.sweeps import prepare
from judge_gym.simulator.server import serving
from judge_gym.store.results import load_results
from support.command_line import SWEEPS
from support.rig import run, runtime_at
from support.study import Study

SWEEP = f"""
name: letters
windows:
  claims:
    country: arithmetic
    max_documents: 24
    source: {{kind: benchmark, path: {SWEEPS}/corpora/claims.jsonl}}
blocks:
  - task_type: benchmark
    concept: correctness of the claim
    window: claims
    model: [sim/accurate-1, sim/calm-1, sim/first-1]
    rubric: {{provided: {SWEEPS}/rubrics/claims.yaml}}
    scale_size: 2
    evidence_view: raw
    replicates: 3
    logprobs: true
    ground_truth: {{source: arithmetic, per_item: true}}
"""


@pytest.mark.slow
def test_the_calibration_of_letters_is_what_is_planted(database: str, tmp_path: Path) -> None:
    file = tmp_path / "letters.yaml"
    file.write_text(SWEEP)
    sweep = load_sweep(file)
    experiments = list(sweep.experiments())

    async def work() -> None:
        async with serving() as url, runtime_at(database, url) as runtime:
            study = Study(runtime, experiments[0].window)
            prepare(runtime, sweep)
            await study.up_to_scores(*experiments)
            run_id = analyse(runtime.engine, sweep.name)
            with Session(runtime.engine) as session:
                rows = [row for row in load_results(session, run_id) if row.expected is not None]
        gaps = {row.scope["judge"]: row for row in rows if row.metric == "letter_overconfidence"}
        assert set(gaps) == {"sim/accurate-1", "sim/calm-1", "sim/first-1"}
        assert all(row.holds_expected for row in gaps.values()), gaps
        # Right with probability 0.9, known to it: 0.9² + 0.1² - 0.9 of overconfidence. The square
        # of what is missing is 0.01 whether it is right or wrong, so that it has no interval.
        assert gaps["sim/accurate-1"].expected == pytest.approx(-0.08)
        squares = {row.scope["judge"]: row for row in rows if row.metric == "letter_brier_score"}
        accurate = squares["sim/accurate-1"]
        assert accurate.expected == pytest.approx(0.01)
        assert (accurate.estimate, accurate.holds_expected) == (pytest.approx(0.01), None)
        assert squares["sim/first-1"].holds_expected

    run(work())
