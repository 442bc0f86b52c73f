"""Scores that are not stages: half points, wide scales, fractions, digits of other scripts."""

from pathlib import Path

import numpy as np
import pytest

from judge_gym.analysis.recorded import audited
from judge_gym.metrics.written_scores import written_figures
from judge_gym.recorded.derived import Options
from judge_gym.recorded.deriving import derived
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.formats import load_files
from judge_gym.recorded.mapping import Recorded, Scale, as_number, stages_rubric


@pytest.mark.parametrize(
    ("lowest", "highest", "written", "stage"),
    [
        (1, 10, "7", 7),
        (1, 10, "8.5", 9),
        (1, 10, "8.4", 8),
        (1, 10, "-1", None),
        (1, 10, "10.5", None),
        (0, 9, "0.0", 1),
        (1, 5, "٤", 4),
        (1, 5, "४.०", 4),
        (1, 5, "３", 3),
        (0, 100, "0", 1),
        (0, 100, "9.9", 1),
        (0, 100, "10", 2),
        (0, 100, "100", 10),
        (0, 100, "101", None),
        (0.0, 1.0, "0.35", 4),
        (-1, 1, "-0.6", 1),
        (1, 5, "high", None),
        (1, 5, "1e999", None),
    ],
)
def test_a_score_has_a_stage_on_any_scale(lowest, highest, written, stage):
    scale = Scale(lowest=lowest, highest=highest)
    assert scale.stage(written) == stage
    assert len(stages_rubric_of(scale).stages) == len(scale.labels)


def stages_rubric_of(scale: Scale):
    return stages_rubric(mapping(scale=scale.model_dump()))


def mapping(**more: object) -> Recorded:
    given = {
        "name": "scores",
        "concept": "quality",
        "source": "made up",
        "judge_column": "judge",
        "item": {"key": "item", "truth": "truth"},
        "verdicts": ["score"],
    }
    return Recorded.model_validate({**given, **more})


def test_digits_of_any_script_are_a_number():
    assert as_number("٨٫٥") == 8.5
    assert as_number("१०") == 10.0
    assert as_number("8½") is None


def test_distance_and_correlation_are_in_points_of_the_file():
    item, score = np.array([0, 1, 1, 2, 3, 4]), np.array([1.5, 2.0, 3.0, 3.5, 5.0, 9.0])
    known = np.array([1.0, 2.0, 3.0, 4.0, np.nan])
    mean, error, correlation = written_figures(item, score, known)
    # By item: 1.5, 2.5, 3.5, 5 and 9; errors 0.5, (0 + 1)/2, 0.5 and 1.
    assert mean.estimate == pytest.approx((1.5 + 2.5 + 3.5 + 5 + 9) / 5)
    assert (error.estimate, error.n_items) == (pytest.approx(2.5 / 4), 4)
    assert correlation.estimate == pytest.approx(1.0)


def test_without_known_answers_there_is_a_mean_alone():
    (mean,) = written_figures(np.array([0, 1]), np.array([0.25, 0.75]), np.full(2, np.nan))
    assert mean.estimate == 0.5


def figures(recorded: Recorded, file: Path) -> dict[tuple[str, str], float | None]:
    found = audited(recorded_files([file], recorded), recorded, stages_rubric(recorded))
    return {
        (row.metric, str(row.scope["judge"]).removeprefix("recorded/")): row.estimate
        for row in found.rows
        if row.metric.startswith("written_") and "category" not in row.scope
    }


def rows(folder: Path, scores: dict[str, list[str]], truth: list[str]) -> Path:
    lines = ["item,judge,score,truth"]
    for judge, given in scores.items():
        lines += [
            f"i{number},{judge},{score},{known}"
            for number, (score, known) in enumerate(zip(given, truth, strict=True))
        ]
    file = folder / "scores.csv"
    file.write_text("\n".join(lines), "utf-8")
    return file


TRUTH = ["1", "2", "3", "4", "5"]


def test_half_points_are_scores_and_have_distance_and_correlation(tmp_path):
    file = rows(
        tmp_path, {"a": ["1.5", "2", "3.5", "4", "5"], "b": ["5", "4.5", "3", "2", "1"]}, TRUTH
    )
    found = figures(mapping(scale={"lowest": 1, "highest": 5}), file)
    assert found["written_error", "a"] == pytest.approx(0.2)
    assert found["written_correlation", "a"] == pytest.approx(1.0)
    assert found["written_error", "b"] == pytest.approx((4 + 2.5 + 0 + 2 + 4) / 5)
    assert found["written_correlation", "b"] == pytest.approx(-1.0)


def test_whole_scores_are_their_stages_and_need_no_other_figure(tmp_path):
    file = rows(tmp_path, {"a": ["2", "2", "3", "4", "5"]}, TRUTH)
    assert figures(mapping(scale={"lowest": 1, "highest": 5}), file) == {}


@pytest.mark.parametrize("cuts", [(), (49.0,)])
def test_more_than_ten_values_have_distance_and_correlation_without_a_mapping(tmp_path, cuts):
    truth = [str(number) for number in range(1, 100, 7)]
    given = [str(number + 3) if number % 2 else str(number - 3) for number in map(int, truth)]
    file = rows(tmp_path, {"a": given}, truth)
    kind, files = load_files([file])
    read = derived(files, kind, Options(truth="truth", cuts=cuts))
    (recorded,) = read.readings
    assert any("--cut 53" in note for note in read.notes) is not bool(cuts)
    found = figures(recorded, file)
    assert found["written_error", "a"] == pytest.approx(3.0)
    assert found["written_correlation", "a"] is not None


def test_people_are_the_known_scores_where_there_is_no_truth(tmp_path):
    lines = ["item,judge,score,ann,ben", "a,j,2.5,2,3", "b,j,4,3,4", "c,j,1,1,1"]
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(lines), "utf-8")
    recorded = mapping(
        scale={"lowest": 1, "highest": 5}, item={"key": "item", "people": ["ann", "ben"]}
    )
    assert figures(recorded, file)["written_error", "j"] == pytest.approx((0 + 0.5 + 0) / 3)
