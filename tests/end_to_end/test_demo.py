"""The demo's tables recover what is planted in the simulated judges.

A recovery is a statement about sign, size or interval that follows from families.toml; each test
says which. The prompts are the same every time, so these are not lucky draws.
"""

import json
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from deployments.cli.results import MOST_LINES
from deployments.cli.sweep import DEMO
from judge_gym.planted.expected import accuracy, display_excess
from judge_gym.planted.families import planted
from judge_gym.seeds import canonical_json
from support.documents import blocks
from support.figures import Demo, figure
from support.kernels import printed
from support.notebooks import shown_by

pytestmark = pytest.mark.slow


def test_the_second_run_asks_nothing_and_has_equal_figures(demo: Demo) -> None:
    assert demo.asked > 3000
    assert demo.asked_again == 0
    assert demo.later_figures == demo.figures != []
    said = " Nothing was missing: no request was made; figures of analysis run 1."
    assert demo.second.output.replace(said, "") == demo.first.output


@pytest.mark.parametrize("part", ["w3-scoring", "w5-probe"])
def test_a_done_part_needs_no_prefect_server_and_makes_no_call(demo: Demo, part: str) -> None:
    calls = demo.value("SELECT count(*) FROM llm_calls")
    nobody = "http://127.0.0.1:9/api"  # a run that needed Prefect would fail
    ended = demo.command("sweep", "run", DEMO, "--only", part, PREFECT_API_URL=nobody).fine()
    assert "Nothing was missing: no request was made." in ended.output
    assert demo.value("SELECT count(*) FROM llm_calls") == calls


def test_the_headlines_and_the_next_steps_are_printed_and_the_report_written(demo: Demo) -> None:
    for words in ("Do judges disagree", "Be careful", "SIMULATED", "Report", "judge-gym "):
        assert words in demo.first.output, words
    assert len(demo.first.output.splitlines()) <= MOST_LINES
    assert len(demo.second.output.splitlines()) <= MOST_LINES
    reports = list((demo.command.data / "reports").glob("*.html"))
    assert len(reports) == 1
    page = reports[0].read_text()
    assert "simulated" in page.lower()
    assert "polarization" in page.lower()
    ids = Counter(re.findall(r'\sid="([^"]+)"', page))
    assert [name for name, count in ids.items() if count > 1] == []


def test_the_readme_shows_what_the_demo_prints(demo: Demo) -> None:
    """Line by line; `...` stands for lines that are left out."""
    [shown] = [block for block in blocks("README.md", "") if block.startswith("SIMULATED DATA")]
    _, begin, rest = demo.first.output.partition("SIMULATED DATA")
    printed_lines = iter([line.rstrip() for line in (begin + rest).splitlines()])
    skipping = False
    for line in shown.splitlines():
        if line.strip() == "...":
            skipping = True
        elif skipping:
            assert line in printed_lines, line  # consumes the lines before it
            skipping = False
        elif line:
            assert next(one for one in printed_lines if one) == line


def test_everything_is_marked_simulated(demo: Demo) -> None:
    assert all(row.simulated for row in demo.figures)
    assert demo.value("SELECT bool_and(simulated) FROM llm_calls") is True
    assert demo.value("SELECT bool_and(simulated) FROM analysis_runs") is True


FIGURES = """
import json, sys
from dataclasses import asdict
import sqlalchemy as sa
from sqlalchemy.orm import Session
from judge_gym.analysis.running import figures
from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.recoveries import with_expected
engine = sa.create_engine({url!r}, poolclass=sa.NullPool)
with Session(engine) as session:
    data = load_sweep_data(session, "demo")
    rows = with_expected(session, "demo", data, figures(data))
print(json.dumps([asdict(row) for row in rows]))
"""


def test_every_figure_is_the_same_on_every_kernel_of_linear_algebra(demo: Demo) -> None:
    # Through JSON as the printed rows are: it has lists and no tuples.
    stored = {
        (row.metric, row.scope_key): json.loads(json.dumps(asdict(row))) for row in demo.figures
    }
    for rows in printed(FIGURES.format(url=demo.url)):
        assert len(rows) > 700
        for row in rows:
            expected = stored[row["metric"], canonical_json(row.pop("scope"))]
            for name, value in row.items():
                told = expected[name]
                if isinstance(told, float):
                    told = pytest.approx(told, rel=0, abs=1e-6)
                assert value == told, (name, expected)


def test_no_judgement_failed(demo: Demo) -> None:
    assert demo.value("SELECT count(*) FROM samples WHERE status = 'failed'") == 0
    assert demo.value("SELECT count(*) FROM llm_calls WHERE status <> 'succeeded'") == 0


def test_judges_stand_further_apart_on_the_contested_concept(demo: Demo) -> None:
    """Leanings count by how contested a concept is; "fascism" is the more contested."""
    fascism, backsliding = (
        figure(
            demo.figures,
            "polarization",
            concept=concept,
            scoring_method="single",
            rubric="shared by sim/calm-1",
        )
        for concept in ("fascism", "democratic backsliding")
    )
    assert fascism.estimate > backsliding.estimate
    assert fascism.row.floor is not None
    assert fascism.estimate > fascism.row.floor
    assert fascism.row.p is not None
    assert fascism.row.p < 0.05


def test_a_fixed_display_shows_the_planted_display_bias(demo: Demo) -> None:
    """In a fixed display the stage shown first and the one lettered A are both stage 1.

    first-1 takes it with probability 0.20 + 0.15 whatever it reads, which scores 0; in a random
    display the stage taken so scores (0 + 1/3 + 2/3 + 1)/4 = 0.5 on average. So randomising
    raises the mean score by 0.35 x 0.5 = 0.175.
    """
    first = planted()["first"]
    expected = (first.first_bias + first.label_a_bias) * 0.5
    assert expected == pytest.approx(0.175)
    found = figure(demo.figures, "contrast", axis="presentation", judge="sim-mistral/first-1")
    assert (found.row.scope["from"], found.row.scope["to"]) == ("fixed", "random")
    assert found.lower <= expected <= found.upper
    assert found.lower > 0


def test_a_random_display_recovers_position_and_label_bias(demo: Demo) -> None:
    first = planted()["first"]
    for metric, excess in (
        ("position_bias", display_excess(first.first_bias, stages=4)),
        ("label_bias", display_excess(first.label_a_bias, stages=4)),
    ):
        found = figure(
            [row for row in demo.figures if row.estimate is not None],
            metric,
            judge="sim-mistral/first-1",
        )
        assert found.lower <= excess <= found.upper
        # 16 items are too few for an interval that surely keeps off 0.
        assert found.estimate > 0


def test_neutralizing_shrinks_the_tone_effect(demo: Demo) -> None:
    """tonal-1 reads emotive wording as more of the concept; the neutralized view has none."""
    found = figure(demo.figures, "contrast", axis="evidence_view", judge="sim/tonal-1")
    assert (found.row.scope["from"], found.row.scope["to"]) == ("raw", "neutralized")
    assert found.upper < 0


def test_a_rivals_rubric_lowers_the_loyal_judges_confidence_and_the_sham_less(demo: Demo) -> None:
    swap = figure(demo.figures, "swap_sensitivity", judge="sim-anthropic/sure-1")
    sham = figure(demo.figures, "sham_sensitivity", judge="sim-anthropic/sure-1")
    # Planted loyalty is 0.25, of which clipping at 1 may hide a part.
    assert -0.30 < swap.estimate < -0.10
    assert swap.upper < 0
    assert swap.upper < sham.lower


@pytest.mark.parametrize("judge", ["calm-1", "high-1"])
def test_a_judge_without_loyalty_does_not_mind_a_rivals_rubric(demo: Demo, judge: str) -> None:
    found = figure(demo.figures, "swap_sensitivity", judge=f"sim/{judge}")
    assert found.lower - 0.02 <= 0 <= found.upper + 0.02


@pytest.mark.parametrize("judge", ["accurate-1", "calm-1", "constant-1"])
def test_accuracy_on_known_answers_is_the_planted_one(demo: Demo, judge: str) -> None:
    found = figure(demo.figures, "accuracy", judge=f"sim/{judge}", window="claims")
    [family] = [one for one in planted().values() if judge in one.models]
    assert found.lower <= accuracy(family) <= found.upper


@pytest.mark.parametrize(
    ("notebook", "metrics"),
    [
        ("01_polarization", ["polarization"]),
        ("02_entrenchment", ["entrenchment", "overconfidence", "overconfidence_mixed"]),
        ("03_swap", ["swap_sensitivity", "sham_sensitivity"]),
        ("04_regression", ["regression"]),
    ],
)
def test_a_notebook_marks_its_charts_and_computes_the_stored_figures_again(
    demo: Demo, notebook: str, metrics: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside each stored figure, to six digits, stands the one computed from the samples."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    shown = shown_by(notebook, demo.command.variables())
    assert len(shown.charts) >= 2
    assert all("SIMULATED" in chart for chart in shown.charts)
    stored = [row.estimate for row in demo.figures if row.metric in metrics]
    told = [f"{estimate:.6f}" for estimate in stored if estimate is not None]
    assert told
    assert [one for one in told if shown.last.count(one) < 2] == []


def test_every_table_is_printed_where_all_is_asked_for(demo: Demo) -> None:
    printed = demo.command("demo", "--all").fine()
    opening = ("Polarization", "Abstention", "Accuracy", "Recovery in short", "Database")
    for words in (*opening, "Where the variance is", "What the judges say together, by rule"):
        assert words in printed.output, words


def test_the_claims_are_printed_for_programs(demo: Demo) -> None:
    printed = demo.command("demo", "--json").fine()
    assert "Nothing was missing" in printed.errors
    values = json.loads(printed.output)
    claims = {(row["hypothesis"], row["scope"].get("concept")): row for row in values["claims"]}
    apart = claims["H1", "fascism"]
    assert (apart["conclusion"], apart["check"], apart["simulated"]) == ("supported", False, True)
    assert apart["margin"] < apart["lower"] < apart["estimate"] < apart["upper"]
    assert Path(values["report"]).is_file()
    assert "figures" not in values


def test_the_report_has_every_plot_drawn_and_marked(demo: Demo) -> None:
    [report] = (demo.command.data / "reports").glob("*.html")
    sections = report.read_text().split('<section class="plot"')[1:]
    titles = [re.search("<h3>(.*?)</h3>", section) for section in sections]
    assert {title[1] for title in titles if title} == {
        "The claims beside their margins",
        "Where judges disagree most",
        "Polarization item by item",
        "Stated against realised agreement",
        "Confidence under other rubrics",
        "What the judges said",
        "Response curves",
        "Which sets of stages were chosen",
        "Which setting moves what",
        "Effects of the design axes",
        "Specification curve",
    }
    assert len(sections) == len(titles) == 11
    for section in sections:
        drawn = section.split("</section>")[0]
        assert 'aria-label="SIMULATED. ' in drawn
