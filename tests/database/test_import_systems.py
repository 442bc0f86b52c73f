"""Imports of judgements of several systems: stored figures by system are those of an audit."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis import running as analysis
from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.recorded import audited
from judge_gym.lab.importing import import_verdicts
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.mapping import load_recorded
from judge_gym.report.page import read_report
from judge_gym.store.results import ResultRow, load_results

MAPPING = """
name: systems
concept: right
country: general
source: made up
judge_column: judge
stages: [fail, pass]
families: {mine: acme, bot-1: acme}
item: {key: id, text: text, system: system, question: question, category: topic, truth: right}
verdicts: [{column: verdict}]
"""
BY_SYSTEM = {
    "system_judged", "system_people", "system_bias", "system_sensitivity", "system_specificity",
    "system_youden", "system_readable", "order_inversions", "own_family_difference",
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """60 questions, answered by three systems, judged by one judge of the first's family."""
    rng = np.random.default_rng(2)
    with (tmp_path / "judged.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "text", "system", "question", "topic", "right", "judge", "verdict"])
        for question in range(60):
            for system, good in enumerate((0.8, 0.5, 0.3)):
                right = rng.random() < good
                judged = right if rng.random() < 0.85 else not right
                writer.writerow([
                    f"a{question}-{system}", f"Answer {question} of {system}", f"bot-{system + 1}",
                    f"q{question}", ("late", "broken")[question % 2], "pass" if right else "fail",
                    "mine", "pass" if judged else "fail",
                ])  # fmt: skip
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    return tmp_path / "judged.csv"


def stored_figures(engine: sa.Engine, sweep: str) -> dict[tuple[str, frozenset[Any]], ResultRow]:
    """Analyse an import; metric and scope → its row."""
    run_id = analysis.analyse(engine, sweep)
    with Session(engine) as session:
        rows = load_results(session, run_id)
    return {(row.metric, frozenset(row.scope.items())): row for row in rows}


def test_figures_by_system_of_an_import_are_those_of_an_audit(database: str, file: Path) -> None:
    recorded, rubric = load_recorded(file.with_name("mapping.yaml"))
    files = recorded_files([file], recorded)
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with Session(engine) as session, session.begin():
        import_verdicts(session, files, recorded, rubric)
    stored = stored_figures(engine, recorded.name)
    with Session(engine) as session:
        truth = load_sweep_data(session, recorded.name).truth
    rows = [row for row in audited(files, recorded, rubric).rows if row.estimate is not None]
    of_systems = [row for row in rows if "system" in row.scope or row.metric in BY_SYSTEM]
    assert {row.scope.get("system") for row in of_systems} >= {"bot-1", "bot-2", "bot-3"}
    for row in of_systems:
        found = stored[row.metric, frozenset(row.scope.items())]
        assert (found.n, found.n_items) == (row.n, row.n_items), row
        if row.metric in BY_SYSTEM:
            assert found.estimate == pytest.approx(row.estimate, abs=1e-9), row
            assert found.lower == pytest.approx(row.lower, abs=1e-9), row
    assert {row.metric for row in of_systems} >= {"system_sensitivity", "order_inversions"}
    # The category is of its own, beside the system.
    assert set(truth.category) == {"late", "broken"}
    assert set(truth.family) == {"acme", "bot-2", "bot-3"}
    assert len(set(truth.question)) == 60
    with engine.connect() as connection:
        parts = connection.execute(sa.text("SELECT system, category FROM analysis.accuracy")).all()
    systems = {("bot-1", None), ("bot-2", None), ("bot-3", None)}
    assert set(parts) == {(None, None), (None, "late"), (None, "broken"), *systems}


def test_labels_of_several_people_are_imported_and_compared_as_by_an_audit(
    database: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    lines = ["id,text,system,question,one,two,ann,ben"]
    for question, system in np.ndindex(40, 2):
        given = rng.integers(1, 6, 4)
        ben = given[3] if question % 3 else ""
        said = f"{given[0]},{given[1]},{given[2]},{ben}"
        lines.append(f"a{question}-{system},Answer {question},bot-{system},q{question},{said}")
    (tmp_path / "judged.csv").write_text("\n".join(lines))
    (tmp_path / "mapping.yaml").write_text(
        "name: people\nconcept: right\nsource: made up\njudge: '{column}'\nverdicts: [one, two]\n"
        "scale: {lowest: 1, highest: 5}\n"
        "item: {key: id, text: text, system: system, question: question, people: [ann, ben]}\n"
    )
    recorded, rubric = load_recorded(tmp_path / "mapping.yaml")
    files = recorded_files([tmp_path / "judged.csv"], recorded)
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    for _ in range(2):
        with Session(engine) as session, session.begin():
            labels = import_verdicts(session, files, recorded, rubric).labels
        assert labels is not None
        assert (labels.people, labels.stored) == (2, 80 + 52)
    # The set of labels has another name where it is stored.
    stored = {
        (row.metric, row.scope.get("judge"), row.scope.get("system")): row.estimate
        for row in stored_figures(engine, recorded.name).values()
    }
    for row in audited(files, recorded, rubric).rows:
        if row.metric.startswith(("people_", "majority_", "system_corrected")):
            about = (row.metric, row.scope.get("judge"), row.scope.get("system"))
            assert stored[about] == pytest.approx(row.estimate, abs=1e-9), row


def test_pairs_of_systems_of_an_import_are_ranked_as_by_an_audit(
    database: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    lines = ["pair,text,one,two,right,verdict"]
    for n in range(90):
        one, two = rng.permutation(3)[:2]
        people = rng.random() < 0.5 + 0.2 * (one - two)
        judged = people if rng.random() < 0.8 else not people
        won = ["first" if first else "second" for first in (people, judged)]
        lines.append(f"p{n},Pair {n},bot-{one},bot-{two},{','.join(won)}")
    (tmp_path / "pairs.csv").write_text("\n".join(lines))
    (tmp_path / "mapping.yaml").write_text(
        "name: pairs\nconcept: better\nsource: made up\njudge: mine\nstages: [first, second]\n"
        "item: {key: pair, text: text, system: one, second_system: two, truth: right}\n"
        "verdicts: [verdict]\n"
    )
    recorded, rubric = load_recorded(tmp_path / "mapping.yaml")
    files = recorded_files([tmp_path / "pairs.csv"], recorded)
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with Session(engine) as session, session.begin():
        import_verdicts(session, files, recorded, rubric)
    stored = stored_figures(engine, recorded.name)
    rows = [row for row in audited(files, recorded, rubric).rows if row.estimate is not None]
    kept = [row for row in rows if row.metric in {*BY_SYSTEM, "first_shown_bias"}]
    assert {row.scope.get("system") for row in kept} >= {"bot-0", "bot-1", "bot-2"}
    for row in kept:
        found = stored[row.metric, frozenset(row.scope.items())]
        assert found.estimate == pytest.approx(row.estimate, abs=1e-9), row
    assert "first_shown_bias" in {row.metric for row in kept}


def test_rows_in_another_order_and_form_are_stored_with_the_same_figures(
    database: str, file: Path
) -> None:
    """Imported figures are seeded by the rows, not by the digest of their file."""
    rows = list(csv.DictReader(file.open(newline="")))
    # Each row twice, the second time by a judge that says `pass` to every third.
    rows += [
        {**row, "judge": "theirs", "verdict": "fail" if place % 3 else "pass"}
        for place, row in enumerate(rows)
    ]
    stored = []
    for name in ("first", "second"):
        order = np.random.default_rng(len(stored)).permutation(len(rows))
        judged = file.with_name(f"{name}.jsonl")
        judged.write_text("".join(json.dumps(rows[place]) + "\n" for place in order))
        if not stored:
            judged = judged.with_suffix(".csv")
            with judged.open("w", newline="") as handle:
                writer = csv.DictWriter(handle, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        mapping = file.with_name(f"{name}.yaml")
        mapping.write_text(MAPPING.replace("name: systems", f"name: {name}"))
        recorded, rubric = load_recorded(mapping)
        engine = sa.create_engine(database, poolclass=sa.NullPool)
        with Session(engine) as session, session.begin():
            import_verdicts(session, recorded_files([judged], recorded), recorded, rubric)
        run_id = analysis.analyse(engine, name)
        with Session(engine) as session:
            stored.append({
                json.dumps([row.metric, {**row.scope, "window": ""}], sort_keys=True): vars(row)
                | {"scope": ""}
                for row in load_results(session, run_id)
            })  # fmt: skip
    assert len(stored[0]) > 50
    assert stored[1] == stored[0]


def test_copies_of_the_answers_to_a_question_narrow_no_interval(
    database: str, tmp_path: Path
) -> None:
    """Four equal answers to each of 60 questions say no more than one, and half are labelled."""
    rng, right = np.random.default_rng(5), np.arange(60) % 3 > 0
    judged = [np.where(rng.random(60) < 0.8, right, ~right) for _ in range(2)]
    words, found = ("fail", "pass"), {}
    for copies in (1, 4):
        lines = ["id,text,question,label,one,two"]
        for n, copy in np.ndindex(60, copies):
            label = words[int(right[n])] if n < 30 else ""
            said = ",".join(words[int(of[n])] for of in judged)
            lines.append(f"a{n}-{copy},Answer {n},q{n},{label},{said}")
        (tmp_path / "copies.csv").write_text("\n".join(lines))
        (tmp_path / "mapping.yaml").write_text(
            f"name: copies-{copies}\nconcept: right\nsource: made up\njudge: '{{column}}'\n"
            "stages: [fail, pass]\nverdicts: [one, two]\n"
            "item: {key: id, text: text, question: question, truth: label}\n"
        )
        recorded, rubric = load_recorded(tmp_path / "mapping.yaml")
        files = recorded_files([tmp_path / "copies.csv"], recorded)
        engine = sa.create_engine(database, poolclass=sa.NullPool)
        with Session(engine) as session, session.begin():
            import_verdicts(session, files, recorded, rubric)
        run_id = analysis.analyse(engine, recorded.name)
        with Session(engine) as session:
            rows = [row for row in load_results(session, run_id) if row.estimate is not None]
        found[copies] = {
            (row.metric, *(row.scope.get(name) for name in ("judge", "stage", "term"))): (
                row.estimate if row.lower is None else row.upper - row.lower
            )
            for row in rows
            if row.metric.startswith(("corrected_", "labels_half_width", "regression"))
            and not str(row.scope.get("term", "")).startswith("variance")
            and row.scope.get("part", "now") == "now"
        }
    assert {metric for metric, *_ in found[4]} == {
        "corrected_mean", "corrected_mean_stratified", "corrected_share",
        "corrected_share_rogan_gladen", "labels_half_width", "regression",
        "regression_ordered_logit", "regression_mixed_model",
    }  # fmt: skip
    with Session(engine) as session:
        summary = read_report(session, run_id).summary
    assert "240 items of 60 questions" in summary.ran
    assert any("120 items" in caution for caution in summary.cautions)
    for about, width in found[4].items():
        # The mixed model takes judges' own errors on items of one question as independent.
        if about[0] != "regression_mixed_model" or about[-1] == "intercept":
            assert width > 0.8 * found[1][about], about
