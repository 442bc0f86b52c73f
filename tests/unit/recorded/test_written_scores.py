"""Scores that are not stages: half points, wide scales, fractions, digits of other scripts."""

from pathlib import Path

import numpy as np
import pytest

from judge_gym.analysis.recorded import audited
from judge_gym.errors import ConfigError, DataFileError
from judge_gym.lab.recorded_answers import Repeats
from judge_gym.metrics.written_scores import written_figures
from judge_gym.recorded.derived import Options
from judge_gym.recorded.deriving import derived
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.formats import load_files
from judge_gym.recorded.judged import Unread
from judge_gym.recorded.mapping import Recorded, ScoreScale, as_number, stages_rubric
from judge_gym.recorded.proposing import propose
from judge_gym.report.file_cautions import file_cautions


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
        (0, 100, "80%", 9),
        (0, 100, "9.5 %", 1),
        (0, 100, "٨٠٪", 9),
        (0, 100, "120%", None),
        (1, 5, "4%", None),
        (0, 1, "1%", None),
        (0, 100, "%", None),
        (1, 5, "4/5", 4),
        (1, 5, "4 / 5.", 4),
        (1, 5, "Score: 4", 4),
        (1, 5, "overall rating = 4.5/5", 5),
        (1, 5, "4 out of 5", 4),
        (1, 5, "1 star", 1),
        (1, 5, "Rating: 4 Stars", 4),
        (1, 5, "4 out of 5 stars", 4),
        (1, 5, "4 stars out of 5", 4),
        (1, 5, "4 stars out of 10", None),
        (1, 5, "4 starlings", None),
        (1, 5, "five stars", None),
        (1, 5, "★★★☆☆", 3),
        (1, 5, "⭐️⭐️ ", 2),
        (1, 5, "★★☆", None),
        (1, 5, "☆☆☆☆☆", None),
        (1, 5, "★★★ good", None),
        (1, 5, "4/10", None),
        (1, 5, "1/2/5", None),
        (1, 5, "Score: high", None),
        (1, 5, "4 of the criteria", None),
        (1, 5, "3 or 4", None),
        (1, 5, "high", None),
        (1, 5, "1e999", None),
    ],
)
def test_a_score_has_a_stage_on_any_scale(lowest, highest, written, stage):
    scale = ScoreScale(lowest=lowest, highest=highest)
    assert scale.stage(written) == stage
    assert len(stages_rubric_of(scale).stages) == len(scale.labels)


def stages_rubric_of(scale: ScoreScale):
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


@pytest.mark.parametrize("after", ["%", " %", "/100"])
def test_decimal_commas_stand_before_percent_and_the_end_of_a_scale(tmp_path, after):
    scores = (10.5, 20.25, 35.5, 80.0)
    written = [f"{one:.2f}".replace(".", ",") + after for one in scores]
    file = tmp_path / "scores.csv"
    file.write_text(
        "id;gpt-4;claude;human\n" + "".join(f"{n};{v};{v};{v}\n" for n, v in enumerate(written))
    )
    _, files = load_files([file])
    recorded = Recorded.model_validate(propose(files).mapping)
    assert recorded.scale is not None
    assert recorded.scale.highest == 100
    found = figures(recorded, file)
    means = [value for (name, _), value in found.items() if name == "written_mean"]
    assert means == pytest.approx([np.mean(scores)] * 2)


@pytest.mark.parametrize(("other", "refused"), [("0.8", True), ("80", False), ("1", False)])
def test_percent_beside_fractions_are_two_scales(tmp_path, other, refused):
    file = rows(tmp_path, {"gpt-4": ["80%", other, "20%"]}, ["80%", "80%", "20%"])
    recorded = mapping(scale={"lowest": 0, "highest": 100}, verdicts=["score"])
    if not refused:
        figures(recorded, file)
        return
    with pytest.raises(DataFileError) as error:
        figures(recorded, file)
    assert "numbers without the sign from 0.8 to 0.8: fractions" in str(error.value)


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


def test_percent_without_a_mapping_are_means_in_percent(tmp_path):
    """(80 + 90 + 10) / 3 = 60, and of the other judge 50."""
    file = rows(tmp_path, {"a": ["80%", "90%", "10%"], "b": ["50 %", "40%", "60%"]}, [""] * 3)
    kind, files = load_files([file])
    (recorded,) = derived(files, kind, Options()).readings
    means = figures(recorded, file)
    assert means["written_mean", "a"] == pytest.approx(60)
    assert means["written_mean", "b"] == pytest.approx(50)


def test_a_judge_may_write_its_scores_in_several_forms(tmp_path):
    """(1 + 1 + 4 + 4) / 4 in points; the scale ends at 5, though no score does."""
    file = rows(
        tmp_path, {"a": ["1/5", "Score: 1", "4", "Rating: 4/5"], "b": ["2", "2.5", "1", "3"]},
        [""] * 4,
    )  # fmt: skip
    kind, files = load_files([file])
    (recorded,) = derived(files, kind, Options()).readings
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == (1, 5)
    means = figures(recorded, file)
    assert means["written_mean", "a"] == pytest.approx(2.5)
    assert means["written_mean", "b"] == pytest.approx(8.5 / 4)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (["4/5", "7/10", "1/5"], "are of two scales"),
        (["80%", "0.8", "70%"], "'0.8' has none"),
        (["80%", "120%", "70%"], "'120%' is not from"),
    ],
)
def test_numbers_of_two_meanings_are_not_guessed(tmp_path, scores, said):
    file = rows(tmp_path, {"a": scores, "b": ["80%", "70%", "60%"]}, [""] * 3)
    kind, files = load_files([file])
    with pytest.raises(ConfigError) as error:
        derived(files, kind, Options())
    assert said in str(error.value)


def test_raw_answers_that_are_scores_alone_need_no_verdict_line(tmp_path):
    answers = ["1/5", "Score: 1", "4", "A good one.\\nVERDICT: D", "I cannot say."]
    file = tmp_path / "answers.jsonl"
    lines = (f'{{"item": "{n}", "judge": "a", "answer": "{one}"}}' for n, one in enumerate(answers))
    file.write_text("\n".join(lines))
    asked = mapping(
        scale={"lowest": 1, "highest": 5}, verdicts=[], answers=["answer"], item={"key": "item"}
    )
    found = audited(recorded_files([file], asked), asked, stages_rubric(asked))
    by_metric = {row.metric: row.estimate for row in found.rows if "judge" in row.scope}
    assert by_metric["unparseable_rate"] == pytest.approx(1 / 5)
    assert by_metric["mean_score"] == pytest.approx((0 + 0 + 3 / 4 + 3 / 4) / 4)


@pytest.mark.parametrize("stored", [False, True])
def test_an_import_says_that_it_stores_half_points_as_stages(stored: bool) -> None:
    unread = Unread(between={"3.5": None})
    [said] = file_cautions(Repeats(), unread, mapped=True, stored=stored)
    assert "3.5" in said
    assert ("stored as the nearest" in said) is stored
    assert ("scores as written" in said) is not stored


def test_stars_are_numbers_also_where_only_some_show_the_empty_ones(tmp_path):
    """(3 + 5 + 2 + 1 + 4) / 5 = 3, the middle of 1 to 5."""
    stars = ["★★★☆☆", "5 stars", "⭐⭐", "★☆☆☆☆", "★★★★"]
    file = rows(tmp_path, {"a": stars, "b": ["1 star"] * 5}, [""] * 5)
    kind, files = load_files([file])
    (recorded,) = derived(files, kind, Options()).readings
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == (1, 5)
    found = audited(files, recorded, stages_rubric(recorded)).rows
    means = {str(row.scope["judge"]): row.estimate for row in found if row.metric == "mean_score"}
    assert means["recorded/a"] == pytest.approx(0.5)
