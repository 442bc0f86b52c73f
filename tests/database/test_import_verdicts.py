"""Recorded judgements: read strictly, stored once, and analysed like any other."""

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis import running as analysis
from judge_gym.answers.readability import TooFewReadableError
from judge_gym.errors import ConfigError, EvidenceError
from judge_gym.lab.importing import Imported, import_verdicts
from judge_gym.lab.probing import plan_probing
from judge_gym.lab.status import sweep_status
from judge_gym.recorded import load_recorded
from judge_gym.report.page import read_report
from judge_gym.store import tables as t
from judge_gym.store.results import FindingRow, ResultRow, load_findings, load_results
from support.command_line import REPOSITORY

MAPPINGS = REPOSITORY / "deployments" / "recorded"
SHARED = REPOSITORY.parent / "shared" / "data"
PAIRS = """\
pair,judge,AB,BA,better,kind
p1,x,A,B,A,maths
p2,x,A,A,B,maths
p3,x,tie,A,B,law
p4,x,,A,B,law
p1,y,B,A,A,maths
"""
MAPPING = f"""\
name: pairs
concept: better answer
country: general
source: a made-up benchmark
rubric: {MAPPINGS}/pairwise.yaml
judge_column: judge
item: {{key: pair, category: kind, truth: better}}
truths: {{A: 1, B: 3}}
verdicts: [{{column: AB}}, {{column: BA, reversed: true}}]
decisions: {{A: 1, tie: 2, B: 3}}
"""


class Place:
    """A database and a folder to import from."""

    def __init__(self, url: str, folder: Path) -> None:
        self.engine = sa.create_engine(url, poolclass=sa.NullPool)
        self.folder = folder

    def bring(self, mapping: str | Path, file: str | Path, **options: bool) -> Imported:
        """Import a mapping and a file, each a path or its text."""
        if isinstance(mapping, str):
            (self.folder / "mapping.yaml").write_text(mapping)
            mapping = self.folder / "mapping.yaml"
        if isinstance(file, str):
            suffix = "jsonl" if file.startswith("{") else "csv"
            (self.folder / f"recorded.{suffix}").write_text(file)
            file = self.folder / f"recorded.{suffix}"
        recorded, rubric = load_recorded(mapping)
        with Session(self.engine) as session, session.begin():
            return import_verdicts(session, file, recorded, rubric, **options)

    def figures(self, sweep: str) -> list[ResultRow]:
        run_id = analysis.analyse(self.engine, sweep)
        with Session(self.engine) as session:
            return load_results(session, run_id)

    def findings(self, sweep: str, key: str) -> list[FindingRow]:
        run_id = analysis.analyse(self.engine, sweep)
        with Session(self.engine) as session:
            return [one for one in load_findings(session, run_id) if one.hypothesis == key]

    def read(self, *columns: Any) -> list[Any]:
        with self.engine.connect() as connection:
            return list(connection.execute(sa.select(*columns).order_by(t.Sample.id)).all())


@pytest.fixture
def place(database: str, tmp_path: Path) -> Place:
    return Place(database, tmp_path)


def figure(rows: list[ResultRow], metric: str, **scope: str) -> ResultRow:
    """The one row of this metric whose scope has exactly these of judge and category."""
    asked = {"judge": None, "category": None, **scope}
    (row,) = (
        row
        for row in rows
        if row.metric == metric and all(row.scope.get(key) == asked[key] for key in asked)
    )
    return row


def test_verdicts_of_the_other_order_are_turned_back(place: Place) -> None:
    done = place.bring(MAPPING, PAIRS)
    assert (done.judges, done.items, done.judgements, done.new) == (2, 4, 10, 10)
    assert done.statuses == {"scored": 9, "unparseable": 1}
    samples = place.read(
        t.Sample.status,
        t.Sample.stages,
        t.Sample.letters,
        t.Sample.display_order,
        t.Sample.verdict_text,
        t.Sample.imported,
    )
    # p1 of x: first shown wins in AB, second shown in BA, which is the same answer.
    assert samples[0] == ("scored", 0b001, "ABC", [1, 2, 3], "A", True)
    assert samples[1] == ("scored", 0b001, "CBA", [3, 2, 1], "B", True)
    # p3: a tie, then the first shown of the turned pair, which is the second answer.
    assert [row[1] for row in samples[4:6]] == [0b010, 0b100]
    assert samples[6][:2] == ("unparseable", None)
    with place.engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(t.Call)) == 0


def test_pairs_are_scored_over_both_orders(place: Place) -> None:
    place.bring(MAPPING, PAIRS)
    rows = place.figures("pairs")
    x = "recorded/x"
    # p1 +1+1 right; p2 -1+1 = 0; p3 0+1 right; p4 none+1 right.
    correct = figure(rows, "accuracy_both_orders", judge=x)
    assert (correct.estimate, correct.n_items) == (3 / 4, 4)
    maths = figure(rows, "accuracy_both_orders", judge=x, category="maths")
    law = figure(rows, "accuracy_both_orders", judge=x, category="law")
    assert (maths.estimate, law.estimate) == (1 / 2, 1)
    # p1 agrees; p2 and p3 (a tie against a winner) do not; p4 lacks an order.
    differs = figure(rows, "order_inconsistency", judge=x)
    assert (differs.estimate, differs.n_items) == (2 / 3, 3)
    # y got p1 wrong in both orders.
    assert figure(rows, "accuracy_both_orders", judge="recorded/y").estimate == 0


def test_pairs_are_tested_beyond_the_habit_of_place(place: Place) -> None:
    place.bring(MAPPING, PAIRS)
    found = {
        (one.scope["judge"], one.scope.get("category", "")): one
        for one in place.findings("pairs", "V3.chance")
    }
    assert len(found) == 6  # two judges, in all and by two categories
    # x takes the first shown 5 times of 7, the second once: a habit of 4/7. p4 has one order,
    # with the right answer first, and the other three pairs have both: due are (4/7)/4. In law
    # alone the habit is (1 + 1)/3, of one pair of two.
    whole, law = found["recorded/x", ""], found["recorded/x", "law"]
    assert (whole.estimate, whole.reference) == (3 / 4, pytest.approx(1 / 7))
    assert (law.estimate, law.reference) == (1, pytest.approx(1 / 3))
    assert found["recorded/x", "maths"].reference == 0
    assert found["recorded/y", ""].estimate == -1


def test_chance_is_a_third_where_a_tie_can_be_right(place: Place) -> None:
    mapping = MAPPING.replace("truths: {A: 1, B: 3}", "truths: {A: 1, tie: 2, B: 3}")
    place.bring(mapping, PAIRS.replace("p3,x,tie,A,B", "p3,x,tie,A,tie"))
    found = place.findings("pairs", "V3.chance")
    assert len(found) == 6
    assert {one.reference for one in found} == {1 / 3}


def test_ties_are_no_errors(place: Place) -> None:
    """100 pairs: right in both orders on 40, a tie on 60, so that none is ever wrong."""
    rows = [
        f"p{n},x,{letter},{other},{letter},maths" if n < 40 else f"p{n},x,tie,tie,{letter},maths"
        for n in range(100)
        for letter, other in [("AB"[n % 2], "BA"[n % 2])]
    ]
    place.bring(MAPPING, "\n".join(["pair,judge,AB,BA,better,kind", *rows]) + "\n")
    (found,) = place.findings("pairs", "V3.chance")
    assert (found.conclusion, found.reference) == ("supported", 0)
    # 0.4 ± t(99)·s/10, s² = (40·0.36 + 60·0.16)/99
    assert found.estimate == pytest.approx(0.4)
    assert found.lower == pytest.approx(0.4 - 1.98422 * (24 / 99) ** 0.5 / 10, abs=1e-4)
    figures = place.figures("pairs")
    kappa = figure(figures, "cohens_kappa", judge="recorded/x")
    # agreed 0.4, by chance 2·0.5·0.2
    assert kappa.estimate == pytest.approx((0.4 - 0.2) / (1 - 0.2))
    assert (kappa.lower, kappa.upper) == pytest.approx((0.17, 0.33), abs=0.01)
    for metric in ("position_bias", "label_bias"):
        assert figure(figures, metric, judge="recorded/x").estimate == pytest.approx(0, abs=1e-9)


def test_a_judge_without_readable_answers_has_no_accuracy(place: Place) -> None:
    rows = [f"p{n},mute,,,{'AB'[n % 2]},maths" for n in range(350)]
    rows += [f"p{n},x,A,B,A,maths" for n in range(0, 350, 2)]
    file = "\n".join(["pair,judge,AB,BA,better,kind", *rows]) + "\n"
    done = place.bring(MAPPING, file, allow_unreadable=True)
    assert "mute: 0 of 700 answers readable" in done.unread
    figures = place.figures("pairs")
    for metric in ("accuracy_both_orders", "pair_balance"):
        row = figure(figures, metric, judge="recorded/mute")
        assert row.estimate is None
        assert "none of its 700 judgements has a verdict that could be read" in row.reason
    mute = [one for one in place.findings("pairs", "V3.chance") if "mute" in one.scope["judge"]]
    assert [one.conclusion for one in mute] == ["not testable here"]
    assert figure(figures, "accuracy_both_orders", judge="recorded/x").estimate == 1
    with Session(place.engine) as session:
        run_id = session.scalars(sa.select(sa.func.max(t.AnalysisRun.id))).one()
        cautions = read_report(session, run_id).summary.cautions
    assert any(line.startswith("recorded/mute: 0 of 700 answers readable") for line in cautions)


def test_an_import_lacks_neither_judgements_nor_probes(place: Place) -> None:
    place.bring(MAPPING, PAIRS)
    with Session(place.engine) as session:
        tags = session.scalars(sa.select(t.Experiment.tag)).all()
        assert plan_probing(session, tags) == {}
        status = sweep_status(session, "pairs")
    assert (status.state, status.expected.left) == ("analysis pending", 0)


def test_importing_again_changes_nothing(place: Place) -> None:
    place.bring(MAPPING, PAIRS)
    before = place.read(t.Sample)
    again = place.bring(MAPPING, PAIRS)
    assert (again.judgements, again.new) == (10, 0)
    assert place.read(t.Sample) == before


def test_raw_answers_are_parsed_like_a_models(place: Place) -> None:
    mapping = MAPPING.replace("verdicts:", "answers:").replace(
        "decisions: {A: 1, tie: 2, B: 3}", "scoring_method: single"
    )
    lines = [
        {"pair": "p1", "judge": "x", "better": "A", "kind": "m", "AB": text, "BA": other}
        for text, other in [("I think so.\nVERDICT: A", "The latter.\nVERDICT: C")]
    ]
    lines += [{**lines[0], "pair": "p2", "AB": "VERDICT: ABSTAIN", "BA": "both are fine"}]
    place.bring(mapping, "\n".join(map(json.dumps, lines)))
    samples = place.read(t.Sample.status, t.Sample.stages, t.Sample.span_start)
    # Turned round, C is what stands first in the rubric.
    assert samples == [
        ("scored", 0b001, 12),
        ("scored", 0b001, 12),
        ("abstained", None, 0),
        ("unparseable", None, None),
    ]
    with Session(place.engine) as session:
        calls = session.scalars(sa.select(t.Call).order_by(t.Call.id)).all()
        assert {(call.route, call.status, call.attempts) for call in calls} == {
            ("imported", "succeeded", 0)
        }
        assert calls[0].answer == "I think so.\nVERDICT: A"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "p2,x,A,A,B",
            "p2,x,A,Q,B",
            "line 3: BA is 'Q'. `decisions` has 'A', 'tie', 'B'; empty is",
        ),
        ("p2,x,A,A,B", "p2,x,A,A,C", "line 3: better is 'C'. `truths` has 'A', 'B'."),
        ("p1,y,B,A,A", "p1,y,B,A,B", "line 6: item 'p1': better is 'B' here and 'A' above."),
        ("p1,y,B", ",y,B", "line 6: pair is empty."),
        ("pair,judge", "pair,juror", "line 2: there is no 'judge'."),
        ("p3,x,tie", "p3,x", "line 4: 5 values under 6 column names."),
    ],
)
def test_a_row_that_does_not_fit_stops_the_import(
    place: Place, old: str, new: str, said: str
) -> None:
    assert PAIRS.count(old) == 1
    with pytest.raises(EvidenceError) as error:
        place.bring(MAPPING, PAIRS.replace(old, new))
    assert said in str(error.value)
    assert place.read(t.Sample) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tie: 2, B: 3}", "tie: 2, B: 4}", "line 10: decisions.B is 4. The rubric has the stages"),
        ("judge_column: judge", "judge_colum: judge", "Did you mean judge_column?"),
        ("truths: {A: 1, B: 3}", "counts: {AB: 1}", "exactly one of verdicts, answers and counts"),
        ("pairwise.yaml", "missing.yaml", "line 5: rubric cannot be used"),
        ("decisions: {A: 1", "decisions: {A: [3, 1]", "lists stages that are not one or more"),
    ],
)
def test_a_mapping_that_does_not_fit_names_its_line(
    place: Place, old: str, new: str, said: str
) -> None:
    assert MAPPING.count(old) == 1
    with pytest.raises(ConfigError) as error:
        place.bring(MAPPING.replace(old, new), PAIRS)
    assert said in str(error.value)


def test_counts_become_judgements_and_unsure_names_both_stages(place: Place) -> None:
    mapping = MAPPINGS / "dices350.yaml"
    done = place.bring(mapping, "id,n_yes,n_no,n_unsure,expert\n7,2,1,1,Yes\n9,0,4,0,No\n")
    assert (done.judgements, done.statuses) == (8, {"scored": 8})
    assert [row[0] for row in place.read(t.Sample.stages)] == [1, 2, 2, 3, 1, 1, 1, 1]
    rows = place.figures("dices350")
    # One of item 7's four leaves the whole scale open, none of item 9's.
    assert figure(rows, "subset_width", judge="recorded/people").estimate == 1 / 8
    # Item 7: three of four hold Yes; item 9: all hold No.
    assert figure(rows, "coverage", judge="recorded/people").estimate == 7 / 8


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="no data beside the project")
def test_judgebench_gives_its_published_table(place: Place) -> None:
    done = place.bring(MAPPINGS / "judgebench.yaml", SHARED / "judgebench_judge_decisions.csv")
    assert (done.judges, done.judgements) == (7, 2 * 2370)
    rows = place.figures("judgebench")
    published = {
        "o1-mini-2024-09-12": 65.71,
        "Skywork_Skywork-Reward-Gemma-2-27B": 64.29,
        "internlm_internlm2-20b-reward": 63.43,
        "Skywork_Skywork-Reward-Llama-3.1-8B": 62.29,
        "Ray2333_GRM-Gemma-2B-rewardmodel-ft": 59.43,
        "internlm_internlm2-7b-reward": 59.43,
        "claude-3-haiku-20240307": 32.22,
    }
    for judge, expected in published.items():
        row = figure(rows, "accuracy_both_orders", judge=f"recorded/{judge}")
        assert round(100 * (row.estimate or 0), 2) == expected
    inconsistent = figure(rows, "order_inconsistency", judge="recorded/o1-mini-2024-09-12")
    assert round(100 * (inconsistent.estimate or 0), 1) == 31.4
    categories = {row.scope.get("category") for row in rows if "o1-mini" in str(row.scope)}
    assert {"livebench-math", "livecodebench", "mmlu-pro-law"} <= categories


def test_an_import_that_is_mostly_unreadable_stores_nothing_unless_it_is_allowed(
    place: Place,
) -> None:
    unread = PAIRS + "p1,z,,,A,maths\np2,z,,A,B,maths\n"
    with pytest.raises(TooFewReadableError) as error:
        place.bring(MAPPING, unread)
    assert error.value.message.startswith("Nothing was imported from ")
    assert "z: 1 of 4 answers readable (3 empty: no judgement is recorded)" in error.value.message
    assert place.read(t.Sample.id) == []
    allowed = place.bring(MAPPING, unread, allow_unreadable=True)
    assert allowed.statuses == {"scored": 10, "unparseable": 4}
