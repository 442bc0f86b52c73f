"""`judge_gym.analysis`: the views as DataFrames, two lines away."""

import subprocess
import sys

import pandas as pd
import pytest
import sqlalchemy as sa

from judge_gym.analysis import describe, load
from judge_gym.errors import StoreError
from judge_gym.store import views
from judge_gym.store.read_only import READER, create_roles
from support.lab import SWEEP, Lab
from support.logins import login

pytestmark = pytest.mark.slow

ALPHA, BETA = "acme/alpha-1", "acme/beta-1"


@pytest.fixture
def lab(database: str) -> Lab:
    lab = Lab(database)
    lab.documents([None, 0.5])
    lab.own(ALPHA, [[2, "abstained"], [(1, 4), 3]], probes=[[0.75], []], scoring_method="subset")
    lab.own(BETA, [[1, 1], [1, 1]], tag="the-other")
    return lab


@pytest.fixture
def url(lab: Lab) -> str:
    return lab.engine.url.render_as_string(hide_password=False)


def test_samples_come_typed_with_what_is_missing_missing(url: str) -> None:
    samples = load("samples", sweep=SWEEP, url=url)
    assert len(samples) == 8
    kinds = samples.dtypes.astype(str)
    assert kinds["model"] == kinds["status"] == kinds["arm"] == "category"
    assert kinds["stage"] == kinds["replicate"] == "Int64"
    assert kinds["simulated"] == "boolean"
    assert kinds["score"] == kinds["truth_value"] == "float64"
    assert kinds["created_at"] == "datetime64[us, UTC]"
    first, abstained, both, last = samples[samples["model"] == ALPHA].to_dict("records")
    assert (first["stages"], first["stage"], first["first_probability"]) == ([2], 2, 0.75)
    assert abstained["stages"] is None
    assert pd.isna(abstained["stage"])
    assert pd.isna(abstained["score"])
    assert (both["stages"], both["titles"], both["truth_value"]) == ([1, 4], ["Document 1"], 0.5)
    assert last["score"] == pytest.approx(2 / 3)


OF_NO_SWEEP = {
    "decisions",
    "stage_sets",
    "judge_results",
    "calibration_checks",
    "judge_reviews",
    "alignment_looks",
    "panel_scores",
    "panel_consensus",
}


def test_every_view_loads_for_a_sweep(lab: Lab, url: str) -> None:
    lab.analyse()
    for view in describe(url=url)["view"]:
        frame = load(view, sweep=None if view in OF_NO_SWEEP else SWEEP, url=url)
        with lab.engine.connect() as connection:
            rows = connection.execute(
                sa.select(sa.func.count()).select_from(sa.text(f"analysis.{view}"))
            )
            assert len(frame) == rows.scalar_one(), view
    assert list(frame.columns) == list(describe(view, url=url)["column"])


def test_an_experiment_is_chosen_by_its_tag(url: str) -> None:
    assert set(load("samples", experiment="the-other", url=url)["model"]) == {BETA}
    assert set(load("failures", experiment="the-other", url=url)["scored"]) == {4}
    assert set(load("rubrics", experiment="the-other", url=url)["owner_model"]) == {BETA}


def test_columns_can_be_chosen(url: str) -> None:
    frame = load("samples", columns=["score", "model"], url=url)
    assert sorted(frame.columns) == ["model", "score"]


@pytest.mark.parametrize(
    ("view", "given", "said"),
    [
        ("sample", {}, "no view 'sample'.*samples"),
        ("samples", {"sweep": "nothing"}, f"no sweep 'nothing'.*{SWEEP}"),
        ("samples", {"experiment": "nobody"}, "no experiment 'nobody'.*the-other"),
        ("samples", {"columns": ["scores"]}, "no column 'scores'.*score"),
        ("samples", {"sweep": SWEEP, "experiment": "the-other"}, "not both"),
        ("stage_sets", {"sweep": SWEEP}, "cannot be limited to a sweep"),
        ("results", {"experiment": "the-other"}, "cannot be limited to an experiment"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(
    url: str, view: str, given: dict[str, object], said: str
) -> None:
    with pytest.raises(StoreError, match=said):
        load(view, url=url, **given)


def test_a_reader_needs_no_more_than_its_role(lab: Lab, url: str) -> None:
    create_roles(lab.engine)
    with login(url, READER) as reader:
        assert len(load("samples", sweep=SWEEP, url=reader)) == 8


def test_a_database_without_views_says_how_to_get_them(postgres_server: str) -> None:
    with pytest.raises(StoreError, match="no views") as refused:
        load("samples", url=postgres_server)
    assert "judge-gym" in refused.value.remedy


def test_the_database_of_the_settings_is_the_one(
    lab: Lab, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "from judge_gym.analysis import load\nprint(len(load('samples')))"
    monkeypatch.setenv("JUDGE_GYM_DATABASE_URL", url)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "8\n", done.stderr


def test_text_that_looks_like_nothing_stays_text(lab: Lab, url: str) -> None:
    awkward = ["", "NULL", "NA", 'a "quoted", line\nand =1+1', "\\N"]
    with lab.engine.begin() as connection:
        for place, title in enumerate(awkward):
            connection.execute(
                sa.text(
                    "INSERT INTO dropped_documents (window_id, url, title, reason, detail) "
                    "SELECT id, :place, :title, 'short', '' FROM windows"
                ),
                {"place": str(place), "title": title},
            )
    frame = load("dropped", url=url).sort_values("url")
    assert list(frame["title"]) == awkward
    with lab.engine.connect() as connection:
        assert "dropped" in views.names(connection)
