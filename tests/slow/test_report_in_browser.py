"""The report in Chromium: from a figure to prompts, downloads, and what axe-core finds."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote_plus

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.judges import Criterion, Item, JudgeResult, PairwiseJudge, RubricJudge
from judge_gym.judges.aligning.candidates import AlignmentCandidate
from judge_gym.judges.aligning.loading import load as load_alignment
from judge_gym.judges.aligning.running import AlignmentOutcome, AlignmentReport, Tried, side_by_side
from judge_gym.judges.aligning.sealing import SealedSetUse
from judge_gym.judges.aligning.splitting import LabelUse
from judge_gym.judges.benchmarking import load_set, report_of
from judge_gym.model_names import Answered
from judge_gym.report.alignment import alignment_report
from judge_gym.report.benchmark import benchmark_report
from judge_gym.report.judge_review import review_report
from judge_gym.report.judge_study import StudyPage, save_study
from judge_gym.report.page import read_report, save_report
from judge_gym.report.scopes import evidence_link
from judge_gym.report.table import plain_table
from judge_gym.store import tables as t
from judge_gym.store.judges import ReviewRow
from judge_gym.store.results import latest_run
from support.chromium import Browser, chromium
from support.command_line import REPOSITORY
from support.judge_results import a_result
from support.lab import SWEEP, Lab, labels, rubric
from support.waiting import until

ALPHA, BETA = "acme/alpha-1", "bolt/beta-1"
HOSTILE = "<img src=x onerror=alert(1)>"
AXE = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
VIOLATIONS = """axe.run({resultTypes: ["violations"], preload: false}).then((found) =>
    JSON.stringify(found.violations.filter(({impact}) => ["serious", "critical"].includes(impact))
        .map(({id, nodes}) => [id, nodes.map((node) => node.html.slice(0, 200))])))"""

pytestmark = pytest.mark.slow


@pytest.fixture
def page(database: str, tmp_path: Path) -> Path:
    """The report of two judges and three items, each judgement with a call."""
    lab = Lab(database)
    lab.documents([None] * 3)
    common = {"rubric": {"provided": rubric(*labels(4))}}
    lab.own(ALPHA, [[1] * 5, [2] * 5, [1] * 5], probes=[[0.8]] * 3, **common)
    lab.own(BETA, [[4] * 5, [2] * 5, [2] * 5], probes=[[0.6]] * 3, **common)
    with Session(lab.engine) as session, session.begin():
        call = t.Call(
            key="judgement", workflow="w3-scoring", agent="scorer", provider="acme", model=ALPHA,
            messages=[{"role": "user", "content": f"What stage is this? {HOSTILE}"}],
            template="score", template_hash="h", parameters={}, status="succeeded",
            answer=f"VERDICT: A {HOSTILE}", attempts=1, simulated=False,
        )  # fmt: skip
        session.add(call)
        session.flush()
        session.execute(sa.update(t.Sample).values(call_id=call.id))
    lab.analyse()
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        return save_report(read_report(session, run.id), tmp_path)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with chromium(tmp_path / "profile") as opened:
        yield opened


def test_two_clicks_lead_from_a_figure_to_prompts_and_answers(page: Path, browser: Browser) -> None:
    of_beta = [("concept", "order"), ("judge", BETA)]
    browser.open(page.as_uri(), "Can it be trusted?", "3 of 3 items, 30 judgements")
    browser.value(f"document.querySelector('table a[href=\"{evidence_link(of_beta)}\"]').click()")
    shown = browser.shows("3 of 3 items, 15 judgements")
    assert "What stage is this?" not in shown
    browser.value("document.querySelector('details.item:not([hidden]) > summary').click()")
    shown = browser.shows(f"What stage is this? {HOSTILE}", f"VERDICT: A {HOSTILE}")
    assert f"{BETA} order" in shown
    assert f"{ALPHA} order" not in shown[shown.index("15 judgements") :]
    browser.value("document.querySelector('#filter [type=reset]').click()")
    browser.shows("3 of 3 items, 30 judgements")
    browser.value("document.querySelector('#filter [name=search]').focus()")
    browser.type("no such words")
    browser.shows("0 of 3 items, 0 judgements")
    assert browser.asked == set()


def test_a_point_of_a_picture_leads_to_the_answers_behind_it(page: Path, browser: Browser) -> None:
    click = "document.querySelector('{}').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
    browser.open(page.as_uri(), "Can it be trusted?", "3 of 3 items, 30 judgements")
    assert "What stage is this?" not in browser.text()
    # A cell of the map: an item and two families.
    browser.value(click.format('#plot-polarization-item-by-item a[href^="#document-"]'))
    browser.shows("families alpha and beta", f"What stage is this? {HOSTILE}")
    # A claim: all judgements of its concept; again, after another filter.
    for _ in range(2):
        browser.value(click.format("#plot-the-claims-beside-their-margins a"))
        shown = browser.shows("3 of 3 items, 30 judgements")
        assert "families" not in shown[shown.index("30 judgements") :][:40]
        browser.value(f"document.querySelector('#filter [name=judge]').value = {json.dumps(BETA)}")
        browser.value("document.querySelector('#filter').dispatchEvent(new Event('input'))")
        browser.shows("3 of 3 items, 15 judgements")


def test_an_item_with_a_page_of_its_own_opens_with_the_filter(
    page: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    monkeypatch.setattr("judge_gym.report.page.MAX_ON_PAGE", 2)
    with Session(sa.create_engine(database)) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        save_report(read_report(session, run.id), page.parent)
    address = f"{page.as_uri()}#evidence?judge={quote_plus(BETA)}"
    browser.open(address, "3 of 3 items, 15 judgements")
    browser.value("document.querySelector('.item a.own-page').click()")
    shown = browser.shows("1 of 1 items, 5 judgements", f"What stage is this? {HOSTILE}")
    assert f"{ALPHA} order" not in shown


def test_tables_and_pictures_are_downloaded_as_they_are_shown(page: Path, browser: Browser) -> None:
    browser.open(page.as_uri(), "Can it be trusted?")
    # The link to what is saved is not followed: that may load the page anew.
    browser.value(
        "window.saved = []; HTMLAnchorElement.prototype.click = () => {};"
        "URL.createObjectURL = (blob) => { saved.push(blob); return '#'; }"
    )
    browser.value("document.querySelector('#polarization .tools button').click()")
    browser.value("document.querySelector('figure .tools button').click()")
    texts = "Promise.all(saved.map((blob) => blob.text())).then(JSON.stringify)"
    found = browser.ask("Runtime.evaluate", expression=texts, awaitPromise=True)
    csv, svg = json.loads(found["result"]["value"])
    assert csv.splitlines()[0].startswith("group,group,P,floor P0,")
    assert "0.67 [0.00, 1.00]" in csv
    drawn = f"new DOMParser().parseFromString({json.dumps(svg)}, 'image/svg+xml')"
    assert browser.value(f"{drawn}.querySelector('parsererror') === null")
    assert "var(--" not in svg


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """The page of a benchmark of four sums, one of them judged wrongly."""
    rows = [
        {"id": n, "subset": "s", "prompt": "Which?", "chosen": f"{n}", "rejected": f"{n}!"}
        for n in range(4)
    ]
    (tmp_path / "set.jsonl").write_text("\n".join(map(json.dumps, rows)))
    mapping = REPOSITORY / "deployments" / "benchmarks" / "chosen-rejected.yaml"
    chosen = load_set(tmp_path / "set.jsonl", mapping)
    judge = PairwiseJudge(name="pair", model="sim/good-1", task=HOSTILE)
    said = {"judge": judge.key, "model": judge.model, "reason": HOSTILE, "simulated": True}
    results = [
        a_result(
            item,
            float(place > 0),
            subscores={"as_given": float(place > 0), "swapped": float(place > 0)},
            verdict="first" if place else "second",
            **said,
        )
        for place, item in enumerate(chosen.items)
    ]
    report = report_of(chosen, [judge], [results], [Answered(judge.model)], [0.0])
    return benchmark_report(report).save(tmp_path).path


@pytest.fixture
def review(tmp_path: Path) -> Path:
    """The page of a review of a judge that has drifted."""
    check = {
        "name": "drift", "question": "the mean score moved by less than 5 points", "action": "",
        "result": "fails", "reason": "12 points", "metric": "score_drift", "estimate": 12.0,
        "lower": 10.0, "upper": 14.0,
    }  # fmt: skip
    figures = {
        "judge": HOSTILE, "alternative": None, "since": "2026-01-01", "checks": [check],
        "figures": [], "judgements": {"scored": 2}, "missing": 0, "usd_a_judgement": None,
        "verdict": "use with care",
    }  # fmt: skip
    criterion = Criterion(name="worth", description="Its worth.")
    judge = RubricJudge(name="one", model="sim/good-1", task="Mark it.", criteria=(criterion,))
    row = ReviewRow("r", "It was cheap.", figures, "reconsider", "It moved.", True,
                    judge.record.config)  # fmt: skip
    return review_report("r", date(2026, 1, 2), [row]).save(tmp_path).path


@pytest.fixture
def alignment(tmp_path: Path) -> Path:
    """The page of an alignment with a gain, beside a proposal that could not be used."""
    loaded = load_alignment(REPOSITORY / "deployments" / "alignments" / "tickets.yaml")
    judge, texts = loaded.judge, loaded.parts.texts[LabelUse.TEST]

    said = {"judge": judge.key, "model": judge.model, "reason": HOSTILE, "simulated": True}

    def scored(score: Callable[[Item], float]) -> dict[str, list[JudgeResult]]:
        return {item.key: [a_result(item, score(item), **said)] for item in texts}

    before, after = (
        scored(lambda item: 1 + len(item.text) % 5),
        scored(lambda item: float(item.truth or 1)),
    )
    test = side_by_side(judge, texts, before, after)
    tried = Tried(
        AlignmentCandidate("rubric 1", judge.model_copy(update={"task": HOSTILE})), test, 0.0
    )
    failed = Tried(AlignmentCandidate("rubric 2", None, HOSTILE))
    at = datetime(2026, 1, 2, tzinfo=UTC)
    report = AlignmentReport(
        loaded, AlignmentOutcome.LOOKED_AT, (tried, failed), tried,
        SealedSetUse(at, texts, (at,), 1), test, (0.0, 0.0), 0.0, 9,
    )  # fmt: skip
    return alignment_report(report, "judge-aligned.yaml", tmp_path).save(tmp_path).path


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The page of a study of judges, of 30 items with long words."""
    rows = [(f"{HOSTILE}-{n}", "word" * 60, n) for n in range(30)]
    table = plain_table(HOSTILE, ("item", "text", "score"), rows)
    page = StudyPage(
        "scores-one", "Scores of one", f"It was right. {HOSTILE}", [table], [HOSTILE], True,
        ("scores-one.json",), where="/tmp/" + "folder" * 60,
    )  # fmt: skip
    written = save_study(page, tmp_path, {"name": HOSTILE})
    assert written.page
    return written.page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 390])
@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ("page", "Can it be trusted?"),
        ("benchmark", "May these judges be used?"),
        ("review", "May these judges be used?"),
        ("alignment", "Whether the gain survives"),
        ("study", "Scores of one"),
    ],
)
def test_axe_finds_nothing_serious(
    shown: str, words: str, scheme: str, width: int, browser: Browser,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    page: Path = request.getfixturevalue(shown)
    browser.ask("Emulation.setEmulatedMedia", features=[
        {"name": "prefers-color-scheme", "value": scheme}
    ])  # fmt: skip
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900,
                deviceScaleFactor=1, mobile=width < 500)  # fmt: skip
    browser.open(page.as_uri(), words)
    browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.value(AXE)
    found = browser.ask("Runtime.evaluate", expression=VIOLATIONS, awaitPromise=True)
    assert json.loads(found["result"]["value"]) == []
    assert browser.value("document.documentElement.scrollWidth") <= width


def test_the_first_screen_fits_a_laptop(page: Path, browser: Browser) -> None:
    browser.ask("Emulation.setDeviceMetricsOverride", width=1300, height=900,
                deviceScaleFactor=1, mobile=False)  # fmt: skip
    browser.open(page.as_uri(), "Can it be trusted?")
    assert browser.value("document.querySelector('nav').getBoundingClientRect().bottom") <= 900


def test_what_is_folded_is_printed_but_for_the_evidence(page: Path, browser: Browser) -> None:
    browser.open(page.as_uri(), "Can it be trusted?")
    visible = "document.querySelector('{} {}').checkVisibility({{contentVisibilityAuto: true}})"
    folded, prompt = visible.format("details.more", "table"), visible.format(".item", ".text")
    assert not browser.value(folded)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    # What `content-visibility: auto` hides is settled with the next frame.
    until(lambda: browser.value(folded), "the folded table in print", every=0.1)
    assert not browser.value(prompt)
