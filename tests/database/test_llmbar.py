"""LLMBar as shipped: its published table is met from the stored figures, line by line."""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis import running as analysis
from judge_gym.analysis.recorded import audited
from judge_gym.lab.importing import Imported, import_verdicts
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.judged import Judging
from judge_gym.recorded.mapping import load_recorded
from judge_gym.store import tables as t
from judge_gym.store.results import FindingRow, ResultRow, load_findings, load_results
from support.command_line import REPOSITORY, CommandLine
from support.postgres import temporary_database

pytestmark = pytest.mark.slow
FOLDER = REPOSITORY / "deployments" / "studies" / "llmbar"
JUDGES = ("GPT-4", "PaLM2", "Falcon", "ChatGPT-0301", "LLaMA2", "ChatGPT")
MAPPING = FOLDER / "mapping.yaml"
COLUMNS = {
    "accuracy_unswapped_percent": "accuracy_as_listed",
    "accuracy_swapped_percent": "accuracy_swapped",
    "accuracy_mean_percent": "accuracy_of_all",
    "accuracy_both_percent": "accuracy_every_order",
    "same_choice_percent": "same_choice",
}


class Audit:
    """LLMBar in a database, with its figures."""

    def __init__(self, url: str) -> None:
        self.engine = sa.create_engine(url, poolclass=sa.NullPool)
        recorded, rubric = load_recorded(MAPPING)
        with Session(self.engine) as session, session.begin():
            files = recorded_files([FOLDER], recorded)
            self.imported: Imported = import_verdicts(session, files, recorded, rubric)
        run_id = analysis.analyse(self.engine, "llmbar")
        with Session(self.engine) as session:
            self.rows: list[ResultRow] = load_results(session, run_id)
            self.findings: list[FindingRow] = load_findings(session, run_id)

    def figures(self, metric: str) -> dict[tuple[str, str, str], ResultRow]:
        """Category, judge and wording → the row of a metric."""
        return {
            (
                row.scope.get("category", ""),
                row.scope["judge"].removeprefix("recorded/"),
                row.scope["wording"],
            ): row
            for row in self.rows
            if row.metric == metric and "judge" in row.scope
        }


@pytest.fixture(scope="module")
def audit(postgres_server: str, migrated_template: str) -> Iterator[Audit]:
    with temporary_database(postgres_server, migrated_template) as url:
        yield Audit(url)


def published(path: Path = FOLDER / "published.csv") -> Iterator[tuple[tuple[str, str, str], dict]]:
    with path.open() as file:
        for line in csv.DictReader(file):
            yield (line["subset"], line["judge"], line["wording"]), line


def test_every_line_of_the_published_table_is_met_to_a_hundredth_of_a_point(audit: Audit) -> None:
    lines = dict(published())
    assert len(lines) == 228
    for column, metric in COLUMNS.items():
        own, beside = audit.figures(metric), audit.figures(f"{metric}_as_published")
        assert beside.keys() == lines.keys()
        for where, line in lines.items():
            value = float(line[column])
            assert 100 * (own[where].estimate or 0) == pytest.approx(value, abs=0.01), where
            assert 100 * (beside[where].floor or 0) == pytest.approx(value, abs=1e-9)
    kappas, compared = audit.figures("kappa_between_orders"), 0
    unread = audit.figures("unparseable_rate")
    for where, line in lines.items():
        _, judge, wording = where
        kappa = kappas[where].estimate
        # Published κ takes an unreadable answer for a choice of output 2.
        if kappa is not None and unread["", judge, wording].estimate == 0:
            assert kappa == pytest.approx(float(line["kappa_agreement"]), abs=1e-4), where
            compared += 1
    assert compared > 100


def test_published_kappas_are_met_with_the_codes_they_were_computed_with(audit: Audit) -> None:
    """The truth is coded 1 and 2, the choice 1 and 0 (0 also stands for none)."""
    query = (
        sa.select(
            t.Experiment.model, t.Experiment.config["wording"].astext, t.Document.category,
            t.Document.id, t.Document.truth_label, t.Sample.display_order, t.Sample.stages,
        )
        .select_from(t.Sample)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .join(t.ItemDocument, t.ItemDocument.item_id == t.Sample.item_id)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
    )  # fmt: skip
    chosen: dict[tuple[str, str, str], dict[tuple[int, bool], int]] = {}
    truth: dict[int, int] = {}
    with audit.engine.connect() as connection:
        for model, wording, category, document, label, order, stages in connection.execute(query):
            where = (category, model.removeprefix("recorded/"), wording)
            chosen.setdefault(where, {})[document, order[0] == 1] = int(stages == 1)
            truth[document] = 1 if label.startswith("Output 1") else 2
    for where, line in published():
        choices = chosen[where]
        items = sorted({document for document, _ in choices})
        listed, swapped = ([choices[item, order] for item in items] for order in (True, False))
        right = [truth[item] for item in items]
        mean = (kappa(listed, right) + kappa(swapped, right)) / 2
        assert mean == pytest.approx(float(line["kappa_mean"]), abs=1e-4), where
        between = kappa(listed, swapped)
        assert between == pytest.approx(float(line["kappa_agreement"]), abs=1e-4), where


def kappa(first: list[int], second: list[int]) -> float:
    """Cohen's κ of two lists of codes."""
    n = len(first)
    observed = np.mean([one == other for one, other in zip(first, second, strict=True)])
    counts = Counter(first), Counter(second)
    expected = sum(counts[0][code] * counts[1][code] for code in (0, 1, 2)) / n**2
    return float((observed - expected) / (1 - expected))


def test_answers_say_what_the_winners_say_but_for_261(audit: Audit) -> None:
    compared = audit.imported.compared
    assert compared is not None
    assert (audit.imported.judgements, audit.imported.judges, audit.imported.items) == (
        *(54_470, 6, 419),
    )
    assert compared.answers == 48_470
    assert compared.readable.total() / compared.answers > 0.999
    # Where one answer names both outputs, the recorded winner is often the first one.
    assert compared.contradicting.total() == 261
    assert compared.contradicting.most_common(1) == [(Judging("PaLM2", "CoT"), 146)]


def test_a_published_accuracy_is_a_check_of_the_measurement(audit: Audit) -> None:
    found = [one for one in audit.findings if one.hypothesis == "V3.published"]
    assert len(found) == 228
    assert all(one.estimate == pytest.approx(one.reference, abs=1e-4) for one in found)
    assert "refuted" not in {one.conclusion for one in found}


def test_the_audit_gives_the_ranges_over_wordings(audit: Audit) -> None:
    """Eight wordings that all six judges have; figures recomputed from the file."""
    right = audit.figures("accuracy_of_all")
    first = audit.figures("first_shown_share")
    wordings = {wording for _, judge, wording in right if judge == "PaLM2"}
    assert len(wordings) == 8
    gpt4 = [right["", "GPT-4", wording].estimate for wording in wordings]
    assert (round(100 * min(gpt4)), round(100 * max(gpt4))) == (76, 87)
    falcon = [first["", "Falcon", wording].estimate for wording in wordings]
    assert (round(min(falcon), 2), round(max(falcon), 2)) == (0.77, 0.93)


def test_six_judges_are_worth_two(audit: Audit) -> None:
    """As computed elsewhere from the file, where an answer without a winner is wrong."""
    [votes], [mean] = (
        [
            row
            for row in audit.rows
            if row.metric == metric
            and row.scope.get("wording") == "Vanilla"
            and row.scope.get("category", "") == ""
        ]
        for metric in ("effective_votes", "mean_error_correlation")
    )
    assert votes.estimate == pytest.approx(1.952, abs=5e-4)
    assert mean.estimate == pytest.approx(0.4148, abs=5e-5)


def test_an_audit_without_a_database_has_the_same_figures(audit: Audit) -> None:
    recorded, rubric = load_recorded(MAPPING)
    found = audited(recorded_files([FOLDER], recorded), recorded, rubric)
    stored = {(row.metric, row.scope_key): row for row in audit.rows}
    compared = [row for row in found.rows if not row.metric.startswith("longer_")]
    assert len(compared) > 6000
    for row in compared:
        other = stored[row.metric, row.scope_key]
        assert (row.estimate, row.lower, row.upper, row.n, row.p) == (
            *(other.estimate, other.lower, other.upper, other.n, other.p),
        )


def test_accuracy_over_wordings_is_the_mean_of_the_eight_shared_ones(audit: Audit) -> None:
    rows = [row for row in audit.rows if row.metric == "accuracy_over_wordings"]
    right = audit.figures("accuracy_of_all")
    shared = {wording for _, judge, wording in right if judge == "PaLM2"}
    assert {row.scope["judge"] for row in rows} == {f"recorded/{judge}" for judge in JUDGES}
    for row in rows:
        judge = row.scope["judge"].removeprefix("recorded/")
        values = [right["", judge, wording].estimate or 0 for wording in shared]
        assert row.estimate == pytest.approx(np.mean(values), abs=1e-12)
        assert (row.n, row.n_items) == (2 * 8 * 419, 419)


def test_the_study_writes_the_readme_s_picture_and_the_paper_s_table(tmp_path: Path) -> None:
    command = CommandLine(tmp_path, in_process=True)
    file = command.folder / "llmbar.svg"
    printed = command("audit", FOLDER, "--mapping", MAPPING, "--picture", file).fine().output
    assert texts(file) == texts(REPOSITORY / "docs" / "pictures" / "llmbar.svg")
    # A line of the paper's table, and what it leaves out.
    assert "89.7 / 89.7  83.7 / 83.7  85.4 / 85.4  96.0 / 96.0" in printed
    assert "228 accuracies compared, and 1,140 figures in all" in printed
    assert "the largest difference is 0.00 points" in printed
    assert "for 13 of 15 pairs of judges" in " ".join(printed.split())
    assert not list(command.data.glob("postgres*"))


def texts(file: Path) -> list[str]:
    """What a picture says, its figures among them."""
    return [str(node.text) for node in ElementTree.parse(file).iter() if node.tag.endswith("text")]
