"""Recorded judgements: read strictly, stored once, and analysed like any other."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis import running as analysis
from judge_gym.analysis.figures.scale_directions import VOTES_REFUSED
from judge_gym.analysis.recorded import audited
from judge_gym.answers.readability import TooFewReadableError
from judge_gym.errors import ConfigError, EvidenceError
from judge_gym.lab.importing import Imported, import_verdicts
from judge_gym.lab.probing import plan_probing
from judge_gym.lab.status import sweep_status
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.mapping import load_recorded
from judge_gym.report.page import read_report, render_page
from judge_gym.report.recorded import audit_report
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

    def bring(
        self, mapping: str | Path, file: str | Path, *more: Path, **options: bool
    ) -> Imported:
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
            files = recorded_files([file, *more], recorded)
            return import_verdicts(session, files, recorded, rubric, **options)

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


AUDITED = """\
pair,judge,swapped,wording,winner,better,first,second
p1,x,no,plain,A,A,long answer,short
p1,x,yes,plain,A,A,long answer,short
p2,x,no,plain,B,A,long answer,short
p2,x,yes,plain,A,A,long answer,short
p3,x,no,plain,B,B,even,same
p3,x,yes,plain,,B,even,same
p1,y,no,plain,B,A,long answer,short
p1,y,yes,plain,B,A,long answer,short
p2,y,no,plain,A,A,long answer,short
p2,y,yes,plain,B,A,long answer,short
p3,y,no,plain,B,B,even,same
p3,y,yes,plain,B,B,even,same
"""
AUDIT_MAPPING = f"""\
name: audited
concept: better answer
country: general
source: a made-up benchmark
rubric: {MAPPINGS}/winner.yaml
judge_column: judge
wording_column: wording
swapped_column: swapped
item: {{key: pair, truth: better, texts: {{first: 1, second: 2}}}}
truths: {{A: 1, B: 2}}
verdicts: [{{column: winner, own_order: true}}]
decisions: {{A: 1, B: 2}}
"""


@pytest.mark.parametrize(
    ("wording", "name"),
    [
        ("plain", "plain"),
        (
            "Which answer is better? Think of both. " * 5,
            "Which answer is better? Think of both. W… ",
        ),
    ],
    ids=["name", "whole prompt"],
)
def test_an_audit_has_the_figures_of_an_import(place: Place, wording: str, name: str) -> None:
    place.bring(AUDIT_MAPPING, AUDITED.replace(",plain,", f",{wording},"))
    stored = {(row.metric, row.scope_key): row for row in place.figures("audited")}
    recorded, rubric = load_recorded(place.folder / "mapping.yaml")
    found = audited(recorded_files([place.folder / "recorded.csv"], recorded), recorded, rubric)
    lengths = {"longer_share", "longer_right_share"}
    alike = [row for row in found.rows if row.metric not in lengths]
    assert len(alike) >= 50
    for row in alike:
        other = stored[row.metric, row.scope_key]
        assert replace(row, remarks=()) == replace(other, remarks=()), row
    # Of p1 and p2, where one answer is longer, and it is the right one: x 3 of 4, y 1 of 4.
    shares = {row.scope.get("judge"): row for row in found.rows if row.metric in lengths}
    assert {judge: row.estimate for judge, row in shares.items()} == {
        "recorded/x": 0.75,
        "recorded/y": 0.25,
        None: 1.0,
    }
    page = render_page(audit_report(found, recorded))
    assert "12 judgements of 3 pairs" in page
    assert "it is right in 100% of pairs): x 0.75, y 0.25." in page
    assert f"1 empty answer, unreadable for the judge and no other: x, wording {name}" in page
    assert "1 of 6 answers" not in page
    assert "Evidence</h2>" not in page


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


def test_chance_knows_which_answers_can_be_right(place: Place) -> None:
    mapping = MAPPING.replace("truths: {A: 1, B: 3}", "truths: {A: 1, tie: 2, B: 3}")
    file = PAIRS.replace("p3,x,tie,A,B", "p3,x,tie,A,tie").replace("p1,y,B,A,A,maths\n", "")
    place.bring(mapping, file)
    found = {
        one.scope.get("category", ""): one.reference for one in place.findings("pairs", "V3.chance")
    }
    # x says A, A of p1 (A), A, B of p2 (B), tie, B of p3 (tie) and B of p4 (B): by its own shares
    # 2/7*3/7 + 2/7*1/7 + 3/7*3/7 > 1/3. Maths has two answers, and so has law: 1/2 > 4/9.
    assert found == {"": pytest.approx(17 / 49), "maths": 1 / 2, "law": 1 / 2}


def test_one_true_answer_leaves_nothing_to_guess(place: Place) -> None:
    mapping = MAPPING.replace(", {column: BA, reversed: true}", "")
    place.bring(mapping, PAIRS.replace("A,B,law", "A,A,law").replace("A,B,maths", "A,A,maths"))
    found = place.findings("pairs", "V3.chance")
    assert {one.conclusion for one in found} == {"not testable here"}
    assert any("the same stage throughout" in one.reason for one in found)


def test_a_coin_is_not_better_than_guessing(place: Place) -> None:
    """One order and two answers that are ever right, under a rubric with a tie between."""
    rng = np.random.default_rng(11)
    said = rng.choice(["A", "tie", "B"], 120, p=[0.475, 0.05, 0.475])
    truth = rng.choice(["A", "B"], 120)
    rows = [f"p{n},coin,{said[n]},{truth[n]}" for n in range(120)]
    mapping = MAPPING.replace(", {column: BA, reversed: true}", "").replace(", category: kind", "")
    place.bring(mapping, "\n".join(["pair,judge,AB,better", *rows]) + "\n")
    (found,) = place.findings("pairs", "V3.chance")
    assert (found.reference, found.conclusion) == (1 / 2, "inconclusive")


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
    position = figure(figures, "position_bias", judge="recorded/x")
    assert position.estimate == pytest.approx(0, abs=1e-9)
    # The file has an order and no letters: a label bias would be that of position again.
    label = figure(figures, "label_bias", judge="recorded/x")
    assert label.estimate is None
    assert "without letters" in label.because


@pytest.mark.slow
def test_a_judge_without_readable_answers_has_no_accuracy(place: Place) -> None:
    rows = [f"p{n},mute,,,{'AB'[n % 2]},maths" for n in range(350)]
    rows += [f"p{n},x,A,B,A,maths" for n in range(0, 350, 2)]
    file = "\n".join(["pair,judge,AB,BA,better,kind", *rows]) + "\n"
    done = place.bring(MAPPING, file, allow_unreadable=True)
    assert "mute: 0 of 700 answers readable" in done.too_few
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
            "line 3: BA is 'Q'. `decisions` has 'A', 'tie', 'B'. Leave a cell empty",
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


FLAT = MAPPING.replace(", category: kind", "").replace(
    "{column: AB}, {column: BA, reversed: true}", "shown"
)


def flat(*verdicts: str, items: int = 20) -> str:
    """Return a row for each verdict of an item by one judge."""
    rows = [f"q{item},one,A,{verdict}" for item in range(items) for verdict in verdicts]
    return "\n".join(["pair,judge,better,shown", *rows]) + "\n"


def test_a_copy_of_a_row_is_refused_unless_repeats_are_meant(place: Place) -> None:
    with pytest.raises(EvidenceError, match=r"recorded\.csv line 3: the row is a copy of line 2"):
        place.bring(FLAT, flat("A", "A"))
    assert place.read(t.Sample) == []
    done = place.bring(f"{FLAT}repeats: true\n", flat("A", "A"))
    assert done.judgements == 40
    assert (done.repeats.sizes, done.repeats.opposite) == ({2: 20}, {})


def test_a_copy_of_a_row_in_another_file_is_refused_where_the_file_has_no_part(
    place: Place,
) -> None:
    other = place.folder / "second.csv"
    other.write_text(flat("A"))
    said = r"second\.csv line 2: the row is a copy of \S*recorded\.csv line 2"
    with pytest.raises(EvidenceError, match=said):
        place.bring(FLAT, flat("A"), other)
    assert FLAT.count("judge_column: judge") == 1
    named = FLAT.replace("judge_column: judge", "judge_column: '{file}'")
    assert place.bring(named, flat("A"), other).judgements == 40


def test_an_order_that_is_not_declared_shows_in_the_repeats(place: Place) -> None:
    done = place.bring(FLAT, flat("A", "B") + "q0,one,A,tie\n")
    assert (done.repeats.sizes, done.repeats.both_orders) == ({2: 19, 3: 1}, 0)
    assert [*done.repeats.opposite.values()] == [(20, 20)]
    # A tie is not the opposite of a choice.
    assert place.bring(FLAT, flat("A", "tie")).repeats.opposite == {}
    declared = place.bring(MAPPING, PAIRS).repeats
    assert (declared.both_orders, declared.opposite) == (declared.sizes.total(), {})


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


NESTED = f"""\
name: nested
concept: better answer
country: general
source: a made-up benchmark
rubric: {MAPPINGS}/pairwise.yaml
judge: "{{file.judge}}"
file_pattern: "(?P<judge>[^/]+)_judges"
wording_column: prompt.name
swapped_column: swapped
item: {{key: "{{set}}/{{id}}", truth: label}}
truths: {{"A>B": 1, "B>A": 3}}
answers: ["judgments[0].text"]
answer_forms: {{"[[A>>B]]": 1, "[[A>B]]": 1, "[[A=B]]": 2, "[[B>A]]": 3, "[[B>>A]]": 3}}
"""


def nested(text: str, *, swapped: object = False, wording: str = "plain", item: int = 1) -> str:
    row = {
        "set": "s",
        "id": item,
        "label": "A>B",
        "swapped": swapped,
        "prompt": {"name": wording},
        "judgments": [{"text": text}],
    }
    return json.dumps(row)


def test_nested_answers_of_a_file_for_each_judge_are_read_without_a_script(place: Place) -> None:
    folder = place.folder / "answers"
    folder.mkdir()
    (folder / "first_judges.jsonl").write_text(
        "\n".join(
            [
                nested("My final verdict is: [[A>>B]]"),
                nested("My final verdict is: [[B>A]]", swapped=True),
                nested("I refuse to say [[A>B]]", wording="curt"),
            ]
        )
    )
    (folder / "second_judges.jsonl").write_text(
        "\n".join([nested("[[A=B]]"), nested("[[A>B]]", swapped="1")])
    )
    done = place.bring(NESTED, folder, allow_unreadable=True)
    assert (done.judges, done.wordings, done.items, done.judgements) == (2, 2, 1, 5)
    with place.engine.connect() as connection:
        columns = (t.Experiment.model, t.Experiment.config["wording"].astext)
        stored = connection.execute(sa.select(*columns).order_by(t.Experiment.id)).all()
    assert stored == [
        ("recorded/first", "plain"),
        ("recorded/first", "curt"),
        ("recorded/second", "plain"),
    ]
    # Turned round, B is what stands first in the rubric.
    assert place.read(t.Sample.status, t.Sample.stages, t.Sample.display_order) == [
        ("scored", 0b001, [1, 2, 3]),
        ("scored", 0b001, [3, 2, 1]),
        ("unparseable", None, [1, 2, 3]),
        ("scored", 0b010, [1, 2, 3]),
        ("scored", 0b100, [3, 2, 1]),
    ]
    assert place.bring(NESTED, folder, allow_unreadable=True).new == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("judgments[0].text", "judgments[0].txt", "no 'txt' in judgments[0]. Did you mean text?"),
        ("judgments[0].text", "judgment[0].text", "there is no 'judgment'. Did you mean judgments"),
        ("judgments[0].text", "judgments[0]", "judgments[0] is a mapping with 'text', not text"),
        ("judgments[0].text", "judgments.text", "Name an entry: judgments[0].text."),
        ("judgments[0].text", "judgments.0.text", "Name an entry: judgments[0].text."),
        (
            "{file.judge}",
            "{file.judge}{fil}",
            "there is no 'fil'. The row has 'set', 'id', 'label', 'swapped',",
        ),
        ("judgments[0].text", "prompt[0].text", "prompt is a mapping with 'name', not a list"),
        ("prompt.name", "prompt.nam", "no 'nam' in prompt. Did you mean name? prompt has 'name'."),
        ("swapped_column: swapped", "swapped_column: set", "set is 's'. `swapped` has '0', '1'"),
        ("{file.judge}", "{file.juror}", "file_pattern has no group 'juror'. It gives {file}, {fi"),
    ],
)
def test_a_value_that_is_not_where_the_mapping_says_is_named(
    place: Place, old: str, new: str, said: str
) -> None:
    assert old in NESTED
    file = place.folder / "first_judges.jsonl"
    file.write_text(nested("[[A>B]]"))
    with pytest.raises(EvidenceError) as error:
        place.bring(NESTED.replace(old, new, 1), file)
    assert str(error.value).startswith(f"{file} line 1: ")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(?P<judge>[^/]+)_judges", "(?P<judge>x", "file_pattern is not a regular expression"),
        ("(?P<judge>[^/]+)_judges", "(?P<judge>y)", "file_pattern '(?P<judge>y)' is not in the n"),
        ("{file.judge}", "{file.judge", "judge has braces that do not close"),
        ("{file.judge}", "first", "file_pattern is given, and no column has {file}"),
        ('[[B>>A]]": 3', '[[B>>A]]": 5', "answer_forms.[[B>>A]] is 5. The rubric has the stages"),
        ('answers: ["judgments[0].text"]', "counts: {set: 1}", "answer_forms comes with answers"),
        ('key: "{set}/{id}"', "key: set, file: other.jsonl", "other.jsonl does not exist"),
        ("name: nested", "name: nested\nfiles: '*.csv'", "files is '*.csv', which fits no file of"),
    ],
)
def test_a_mapping_with_a_mistake_names_the_key(
    place: Place, old: str, new: str, said: str
) -> None:
    assert old in NESTED
    folder = place.folder / "answers"
    folder.mkdir()
    (folder / "first_judges.jsonl").write_text(nested("[[A>B]]"))
    with pytest.raises(ConfigError) as error:
        place.bring(NESTED.replace(old, new, 1), folder)
    assert said in str(error.value)


def test_answers_behind_decisions_are_compared_with_them(place: Place) -> None:
    (place.folder / "items.csv").write_text("id,better,text\n1,A,which?\n2,B,what?\n")
    mapping = f"""\
name: compared
concept: better answer
country: general
source: a made-up benchmark
rubric: {MAPPINGS}/winner.yaml
judge_column: judge
swapped_column: swapped
item: {{key: id, file: items.csv, truth: better, text: text}}
truths: {{A: 1, B: 2}}
verdicts: [{{column: winner, own_order: true, answer: answer}}]
decisions: {{"1": 1, "2": 2}}
answer_forms: {{Output (a): 1, Output (b): 2}}
"""
    rows = """\
id,judge,swapped,winner,answer
1,x,no,1,Output (a)
1,x,yes,1,Output (b)
2,x,no,2,Output (a)
2,x,yes,2,
2,x,yes,,Output (b)
"""
    done = place.bring(mapping, rows)
    assert done.statuses == {"scored": 4, "unparseable": 1}
    assert done.compared is not None
    assert done.compared.answers == 3
    assert (done.compared.readable.total(), done.compared.contradicting.total()) == (3, 1)
    # The decision counts, also where the answer says otherwise.
    assert [row[0] for row in place.read(t.Sample.stages)] == [0b01, 0b01, 0b10, 0b10, None]
    with Session(place.engine) as session:
        assert len(session.scalars(sa.select(t.Call.answer)).all()) == 4
        assert session.scalars(sa.select(t.Document.text)).all() == ["which?", "what?"]
    with pytest.raises(EvidenceError, match=r"item '3' is not in .*items\.csv\. It has '1', '2'"):
        place.bring(mapping, rows + "3,x,no,1,\n")


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


def test_scores_without_a_rubric_have_the_figures_of_an_audit(place: Place) -> None:
    mapping, file = MAPPINGS / "scores" / "mapping.yaml", MAPPINGS / "scores" / "scores.csv"
    assert place.bring(mapping, file).statuses == {"scored": 11, "unparseable": 1}
    stored = place.figures("scores")
    recorded, rubric = load_recorded(mapping)
    computed = audited(recorded_files([file], recorded), recorded, rubric).rows
    for judge in ("recorded/alpha", "recorded/beta"):
        for metric in ("accuracy", "stage_error", "cohens_kappa_quadratic"):
            here, there = (figure(rows, metric, judge=judge) for rows in (stored, list(computed)))
            assert (here.estimate, here.lower, here.n) == (there.estimate, there.lower, there.n)
    # |5 - 5|, |2 - 1|, |4 - 4|, |3 - 3| and |1 - 2|; the answer without a label counts nowhere.
    assert figure(stored, "stage_error", judge="recorded/alpha").estimate == pytest.approx(0.4)


def test_systems_without_known_answers_have_a_page_that_says_why_they_are_not_ranked(
    place: Place,
) -> None:
    key = "item: {key: pair, category: kind, truth: better}\ntruths: {A: 1, B: 3}\n"
    assert key in MAPPING
    mapping = MAPPING.replace(key, "item: {key: pair, system: one, second_system: other}\n")
    place.bring(mapping, "pair,one,other,judge,AB,BA\np1,m,n,x,A,B\np2,m,o,x,A,A\np3,n,o,y,B,A\n")
    run_id = analysis.analyse(place.engine, "pairs")
    with Session(place.engine) as session:
        page = render_page(read_report(session, run_id))
    assert "Missing: 20 of m, 20 of n, 20 of o" in page


def test_an_import_names_no_votes_where_a_scale_may_run_the_other_way(place: Place) -> None:
    mapping = MAPPINGS / "scores" / "mapping.yaml"
    rows = ["answer,judge,score,editor,text"]
    for item in range(20):
        label, near = item % 5 + 1, min(5, item % 5 + 1 + (item == 7))
        given = {"alpha": label, "beta": near, "gamma": 6 - near}
        rows += [f"a{item},{judge},{score},{label},A text" for judge, score in given.items()]
    place.bring(mapping, "\n".join(rows) + "\n")
    figures = place.figures("scores")
    gamma = figure(figures, "labels_correlation", judge="recorded/gamma")
    assert gamma.upper is not None
    assert gamma.upper < 0
    votes = figure(figures, "effective_votes")
    assert (votes.estimate, votes.because) == (None, VOTES_REFUSED)
