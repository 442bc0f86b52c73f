"""The report of an analysis run, from rows in a real database."""

import base64
import gzip
import json
import re
from pathlib import Path
from urllib.parse import quote_plus

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.errors import StoreError
from judge_gym.report.facts import read_facts
from judge_gym.report.page import read_report, render_page, save_report
from judge_gym.report.table import Table
from judge_gym.store import tables as t
from judge_gym.store.results import latest_run
from support.lab import SWEEP, Lab, labels, rubric

pytestmark = pytest.mark.slow

COMMON = {"rubric": {"provided": rubric(*labels(4))}}
ALPHA, BETA = "acme/alpha-1", "bolt/beta-1"
HOSTILE = "<script>alert(1)</script>"


def run_of(lab: Lab) -> int:
    """Analyse the lab's sweep; the id of the run."""
    lab.analyse()
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
    assert run is not None
    return run.id


def two_judges(lab: Lab, first: str = ALPHA, second: str = BETA, **fields: object) -> None:
    """Two judges a stage or more apart on three items, five times each."""
    lab.documents([None] * 3)
    lab.own(first, [[1] * 5, [2] * 5, [1] * 5], probes=[[0.8]] * 3, **COMMON, **fields)
    lab.own(second, [[4] * 5, [2] * 5, [2] * 5], probes=[[0.6]] * 3, **COMMON, **fields)


def add_ledger_row(session: Session, key: str, **fields: object) -> int:
    """Write a call; what is not given is that of a judgement that succeeded."""
    given = {
        "workflow": "w3-scoring",
        "agent": "scorer",
        "provider": "acme",
        "model": ALPHA,
        "messages": [],
        "template": "score",
        "template_hash": "h",
        "parameters": {},
        "status": "succeeded",
        "answer": "VERDICT: A",
        "attempts": 1,
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cost_usd": 0.25,
        "simulated": False,
    }
    call = t.Call(key=key, **{**given, **fields})
    session.add(call)
    session.flush()
    return call.id


def cells(table: Table) -> list[tuple[str, ...]]:
    return [row.cells for row in table.rows]


def test_a_page_holds_the_figures_of_its_run(database: str, tmp_path: Path) -> None:
    lab = Lab(database)
    two_judges(lab)
    run_id = run_of(lab)
    with Session(lab.engine) as session:
        path = save_report(read_report(session, run_id), tmp_path / "reports")
    assert path == tmp_path / "reports" / f"report-{SWEEP}.html"
    page = path.read_text(encoding="utf-8")
    # Divergences of 1, 0 and 1 bits over three items.
    assert re.search(r"0\.67 \[0\.00, 1\.00\]", page)
    assert f"analysis run {run_id}" in page
    assert "SIMULATED" not in page
    assert "Planted" not in page


def test_the_checklist_is_filled_from_the_records_of_the_study(database: str) -> None:
    lab = Lab(database)
    two_judges(lab)
    with Session(lab.engine) as session, session.begin():
        add_ledger_row(
            session, "score/1", experiment_id=session.scalars(sa.select(t.Experiment.id)).first()
        )
    run_id = run_of(lab)
    with Session(lab.engine) as session:
        report = read_report(session, run_id)
    assert report.checklist is not None
    values = dict(row[:2] for row in cells(report.checklist))
    assert values["Judges, by provider and model"] == f"{ALPHA}, {BETA}"
    assert values["Replicates for each item"] == "5"
    assert values["Prompts, by template and digest"] == "score h"
    assert values["Calls and cost"] == "1 (0 failed), 1 attempt, US$ 0.25"
    assert values["Plan before the first judgement"] == "none: everything explores"
    assert values["Settings other than the defaults"] != ""
    assert f"2 judges ({ALPHA}, {BETA}) gave 30 judgements on order." in report.methods


def test_names_from_outside_are_escaped_on_the_page(database: str, tmp_path: Path) -> None:
    lab = Lab(database)
    two_judges(lab, f"acme/{HOSTILE}", concept=f"order {HOSTILE}")
    run_id = run_of(lab)
    with Session(lab.engine) as session, session.begin():
        session.scalars(sa.select(t.Sweep)).one().description = HOSTILE
    with Session(lab.engine) as session:
        page = save_report(read_report(session, run_id), tmp_path).read_text(encoding="utf-8")
    assert page.count("<script") == 1
    assert "&lt;script&gt;" in page


def test_what_was_kept_out_of_a_window_is_counted_by_reason(database: str) -> None:
    lab = Lab(database)
    two_judges(lab)
    with Session(lab.engine) as session, session.begin():
        window = session.scalars(sa.select(t.Window)).one()
        for reason in ("too_short", "too_short", "outside_dates"):
            session.add(
                t.DroppedDocument(
                    window_id=window.id, url="", title="", reason=reason, detail="as the test says"
                )
            )
        window.source = {"kind": "corpus", "path": "/home/someone/news/c.jsonl"}
    run_id = run_of(lab)
    with Session(lab.engine) as session:
        windows = read_facts(session, run_id).windows
    [row] = [dict(zip(windows.columns, one, strict=True)) for one in cells(windows)]
    assert (row["window"], row["documents"]) == ("spring", "3")
    assert row["kept out"] == "1 outside dates, 2 too short"
    assert row["source"] == "corpus c.jsonl"


def test_calls_are_summed_over_the_sweep_and_nothing_else(database: str) -> None:
    lab = Lab(database)
    two_judges(lab)
    with Session(lab.engine) as session, session.begin():
        first, second = session.scalars(sa.select(t.Experiment.id).order_by(t.Experiment.id))
        add_ledger_row(session, "score/1", experiment_id=first, attempts=3)
        add_ledger_row(
            session,
            "score/2",
            experiment_id=second,
            status="failed",
            answer=None,
            cost_usd=None,
            completion_tokens=None,
        )
        add_ledger_row(session, "score/3", experiment_id=second, cost_usd=None)
        add_ledger_row(session, "score/of another sweep")
    run_id = run_of(lab)
    with Session(lab.engine) as session:
        calls = read_facts(session, run_id).calls
    assert calls.columns == (
        *("agent", "model", "calls", "failed", "attempts"),
        *("tokens in", "tokens out", "cost (US$)"),
    )
    both = (ALPHA, "3", "1", "5", "300", "40", "0.25 + unknown")
    assert cells(calls) == [("scorer", *both), ("", "", *both[1:])]
    # A call that failed has no answer to pay for.
    [note] = calls.notes
    assert note.startswith(f"The cost is unknown for 1 call: {ALPHA} is in no price list")


def test_the_cause_of_an_unknown_cost_is_that_the_run_was_stopped(database: str) -> None:
    lab = Lab(database)
    two_judges(lab)
    lost = {"kind": "unknown_outcome", "at_most_usd": 0.5, "at": "2026-01-05T12:00:00Z"}
    with Session(lab.engine) as session, session.begin():
        first, second = session.scalars(sa.select(t.Experiment.id).order_by(t.Experiment.id))
        add_ledger_row(session, "score/1", experiment_id=first, attempts=3, errors=[lost, lost])
        add_ledger_row(session, "score/2", experiment_id=second, cost_usd=None)
    run_id = run_of(lab)
    with Session(lab.engine) as session:
        unpriced, stopped = read_facts(session, run_id).calls.notes
    assert "unknown for 1 call: " in unpriced
    assert "price list" in unpriced
    assert "unknown for 2 calls: " in stopped
    assert "was stopped before the answer came" in stopped
    assert "price list" not in stopped


def test_the_calls_of_rubrics_and_views_belong_to_the_sweep_that_uses_them(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[1]])
    with Session(lab.engine) as session, session.begin():
        rubric_key = session.scalars(sa.select(t.Rubric.key)).one()
        document = session.scalars(sa.select(t.Document.id)).one()
        utility = {"model": "acme/alpha-mini", "workflow": "w2-rubric"}
        add_ledger_row(session, f"rubric/{rubric_key}/0", workflow="w2-rubric", agent="rubricer")
        add_ledger_row(session, f"critic/{rubric_key}", agent="critic", **utility)
        add_ledger_row(session, "critic/another", agent="critic", **utility)
        call = add_ledger_row(
            session, "view/1", workflow="w1-evidence", agent="neutralizer", model="other/editor"
        )
        session.add(
            t.View(
                document_id=document,
                view="neutralized",
                status="ready",
                text="text",
                method="other/editor",
                call_id=call,
            )
        )
    run_id = run_of(lab)
    with Session(lab.engine) as session:
        facts = read_facts(session, run_id)
    assert [(row.heading, *row.cells[:3]) for row in facts.calls.rows] == [
        ("w1-evidence", "neutralizer", "other/editor", "1"),
        ("w2-rubric", "critic", "acme/alpha-mini", "1"),
        ("w2-rubric", "rubricer", ALPHA, "1"),
        ("all", "", "", "3"),
    ]
    # The critic is of a judge's family, the neutralizer is not.
    [warning] = facts.warnings
    assert "acme/alpha-mini" in warning
    assert "(alpha)" in warning


def test_simulated_judges_are_compared_with_what_is_planted(database: str) -> None:
    lab = Lab(database)
    two_judges(lab, "sim/calm-1", "sim/constant-1", simulated=True, evidence_view="raw")
    run_id = run_of(lab)
    with Session(lab.engine) as session:
        report = read_report(session, run_id)
    assert report.facts.run.simulated
    assert report.wholly_simulated
    assert all(table.simulated for table in report.results)
    planted = {table.title: table for table in report.planted.tables}
    assert [row[0] for row in cells(planted["Planted parameters"])] == ["calm", "constant"]
    pairs = planted["Recovered: Leaning: polarization by pair"]
    [cells_of_pair] = cells(pairs)
    pair = dict(zip(pairs.columns, cells_of_pair, strict=True))
    assert pair["pair"] == "calm and constant"
    assert (pair["planted"], pair["recovered"]) == ("0.00 and 0.00", "0.67 [0.00, 1.00]")
    # calm-1 reads a text that says nothing at 0.5 +- 0.04, the border of stages 2 and 3 (noise
    # 0.05), and constant-1 is always in stage 3: between no and all the divergence there is.
    assert 0 < float(pair["expected"]) < 1


def test_one_real_judge_among_simulated_ones_forbids_the_comparison(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    lab.own("sim/calm-1", [[1, 2], [3, 3]], simulated=True, evidence_view="raw", **COMMON)
    lab.own(ALPHA, [[1, 2], [2, 3]], simulated=False, evidence_view="raw", **COMMON)
    run_id = run_of(lab)
    with Session(lab.engine) as session:
        report = read_report(session, run_id)
    assert report.facts.run.simulated
    assert not report.wholly_simulated
    assert report.planted.tables == ()
    [outcomes] = [table for table in report.results if table.title.startswith("Abstention")]
    assert [row[:2] for row in cells(outcomes)] == [(ALPHA, "real"), ("sim/calm-1", "simulated")]


def test_a_sweep_without_evidence_has_a_report_that_counts_none(database: str) -> None:
    lab = Lab(database)
    two_judges(lab)
    number = run_of(lab)
    with Session(lab.engine) as session, session.begin():
        session.execute(sa.update(t.Window).values(collected_at=None))
    with Session(lab.engine) as session:
        assert "0 documents" in read_report(session, number).summary.ran


def test_an_untested_claim_of_judges_that_are_there_says_what_it_needs(database: str) -> None:
    lab = Lab(database)
    two_judges(lab, "sim/calm-1", "sim/calm-2")
    number = run_of(lab)
    with Session(lab.engine) as session:
        cautions = read_report(session, number).summary.cautions
    [untested] = [line for line in cautions if line.startswith("Not tested: ")]
    assert "disagreement (it needs two judge families" in untested
    assert "known answers (none here)" in untested


def test_a_run_that_does_not_exist_is_an_error_that_says_so(database: str) -> None:
    lab = Lab(database)
    with Session(lab.engine) as session, pytest.raises(StoreError, match="no analysis run 41"):
        read_report(session, 41)


def judged_document(lab: Lab, answer: str, reasoning: str = "", **sample: object) -> str:
    """One document with one judgement, as this answer gave it; the page's section of evidence."""
    lab.documents([None])
    experiment_id = lab.judge(ALPHA, **COMMON)
    arm_id = lab.arm(experiment_id)
    lab.samples(arm_id, [[2]])
    with Session(lab.engine) as session, session.begin():
        call_id = add_ledger_row(session, "judgement", answer=answer)
        session.execute(sa.update(t.Sample).values(call_id=call_id, **sample))
        session.execute(sa.update(t.Call).values(reasoning=reasoning))
        document = session.scalars(sa.select(t.Document)).one()
        document.title = f"Title {HOSTILE}"
        document.text = f"Text {HOSTILE} ends."
        document.url = "javascript:alert(2)"
        session.add(
            t.View(
                document_id=document.id,
                view="cleaned",
                status="failed",
                failure="nothing left",
                method="library",
            )
        )
        session.add(
            t.DroppedDocument(
                window_id=document.window_id,
                url="",
                title=HOSTILE,
                reason="too_short",
                detail="3 characters",
            )
        )
    with Session(lab.engine) as session:
        page = render_page(read_report(session, run_of(lab)))
    return page[page.index('<h2 id="evidence">') : page.index('<h2 id="methods">')]


def test_evidence_shows_views_answers_and_where_the_verdict_was_read(database: str) -> None:
    answer = f"Because {HOSTILE}.\nVERDICT: B\nbye"
    start = answer.index("VERDICT")
    shown = judged_document(Lab(database), answer, span_start=start, span_end=start + 10)
    assert "<mark>VERDICT: B</mark>\nbye" in shown
    assert "Because &lt;script&gt;" in shown
    assert "Text &lt;script&gt;alert(1)&lt;/script&gt; ends." in shown
    assert "nothing left" in shown
    assert "not asked for" in shown
    assert "<strong>too short</strong>: &lt;script&gt;" in shown
    assert "stage 2, Stage 2" in shown
    assert "javascript:" not in shown
    assert "<script" not in shown


def test_the_reasoning_of_a_model_is_flagged_cut_and_never_marked(database: str) -> None:
    thought = f"VERDICT: D {HOSTILE} " + "x" * 10_000
    shown = judged_document(
        Lab(database), "VERDICT: B", reasoning=thought, span_start=0, span_end=10
    )
    flag, text = shown.index("not read for the verdict"), shown.index("VERDICT: D")
    assert shown.index("<mark>VERDICT: B</mark>") < flag < text
    assert shown.count("<mark>") == 1
    assert "VERDICT: D &lt;script&gt;alert(1)&lt;/script&gt; x" in shown
    assert "<script" not in shown
    assert 500 < shown.count("x") < 1_100
    assert "x […]" in shown


def test_a_figure_leads_to_its_judgements_and_each_to_its_prompt(database: str) -> None:
    lab = Lab(database)
    two_judges(lab)
    asked = [{"role": "system", "content": "Be fair."}, {"role": "user", "content": HOSTILE}]
    with Session(lab.engine) as session, session.begin():
        call_id = add_ledger_row(session, "judgement", messages=asked, parameters={"seed": 7})
        session.execute(sa.update(t.Sample).values(call_id=call_id))
    with Session(lab.engine) as session:
        page = render_page(read_report(session, run_of(lab)))
    in_tables = set(re.findall(r'<a href="#evidence\?([^"]*)">', page))
    judge = f"judge={quote_plus(ALPHA)}"
    assert {f"concept=order&amp;{judge}", "concept=order&amp;pair=alpha+and+beta"} <= in_tables
    about = f'data-judge="{ALPHA}" data-family="alpha" data-concept="order" data-outcome="scored"'
    assert page.count(f'<details class="judgement" {about}>') == 15
    # Thirty judgements with one prompt: it is packed once.
    assert page.count('<details data-prompt="0">') == 30
    assert "100 tokens in, 20 tokens out" in page
    [packed] = re.findall(r'<div id="prompts" hidden>(.*?)</div>', page)
    [prompt] = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert prompt == f"[system]\nBe fair.\n\n[user]\n{HOSTILE}\n\n[parameters]\nseed: 7"


def test_a_judgement_without_reasoning_shows_none(database: str) -> None:
    assert "not read for the verdict" not in judged_document(Lab(database), "VERDICT: B")


def test_a_long_answer_is_cut_and_its_verdict_is_not(database: str) -> None:
    answer = "x" * 10_000 + "VERDICT: B"
    shown = judged_document(Lab(database), answer, span_start=10_000, span_end=10_010)
    assert "x […] <mark>VERDICT: B</mark>" in shown
    assert shown.count("x") < 5_000
