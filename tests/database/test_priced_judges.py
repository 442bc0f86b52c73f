"""What judges of known prices cost, measured over real HTTP: a second one, and a cheaper one."""

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import sqlalchemy as sa
from aiohttp import web

from judge_gym.calibration.design import load_calibration
from judge_gym.judges.calibrating.estimating import CalibrationFindings, read_findings
from judge_gym.judges.calibrating.judging import load_judges, load_originals, load_texts
from judge_gym.judges.judging import judge_items
from judge_gym.judges.reviewing.cases import load_review
from judge_gym.judges.reviewing.findings import store_findings
from judge_gym.llm.providers import Price
from judge_gym.report.calibration import asking, calibration_report
from judge_gym.report.markdown import judge_review
from support.misbehaving import Step, answers, misbehaving
from support.rig import KEY, KEY_NAME, Prices, calls, run, runtime_at

# An answer of 100 prompt tokens and 20 completion tokens costs 0.0002, 0.0005 and 0.002 dollars.
PRICES = {
    "cheap": Price(prompt=1, completion=5),
    "other": Price(prompt=3, completion=10),
    "strong": Price(prompt=10, completion=50),
}
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
WRONG = {"cheap": (6, 7), "other": (4, 5), "strong": ()}
CALIBRATION = """
name: priced
judges: [cheap.yaml, other.yaml, strong.yaml]
items: items.jsonl
repeats: 2
perturbations: [tone]
severities: [1.0]
"""
JUDGE = """
kind: rubric
name: {name}
model: real/{name}
task: Mark the note.
criteria: [{{name: evidence, description: It has evidence.}}]
"""


def marks() -> Step:
    """A provider that gives a note 80 points, or too few where the model is wrong about it.

    The cheap model differs with itself where it is wrong, and once answers nothing of use.
    """
    asked: Counter[tuple[str, str]] = Counter()

    async def step(request: web.Request) -> web.StreamResponse:
        sent = await request.json()
        found = re.search(r"Note (\d+) .*", sent["messages"][1]["content"])
        assert found
        model, text, note = sent["model"], found[0], int(found[1])
        times = asked[model, text]
        asked[model, text] += 1
        if (model, note, times) == ("cheap", 0, 0):
            return await answers("Rather good.", usage=USAGE)(request)
        low = 20 + 20 * (times % 2) * (model == "cheap")
        points = low if note in WRONG[model] else 80
        said = json.dumps({"reason": "", "scores": {"evidence": points}})
        return await answers(said, usage=USAGE)(request)

    return step


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve notes, of which eight have a known score, and three judges."""
    monkeypatch.setenv(KEY_NAME, KEY)
    for name in PRICES:
        (tmp_path / f"{name}.yaml").write_text(JUDGE.format(name=name))
    items = [
        {"id": str(n), "text": f"Note {n} is here. It rained."} | ({"truth": 80} if n < 8 else {})
        for n in range(12)
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    (tmp_path / "calibration.yaml").write_text(CALIBRATION)
    return tmp_path / "calibration.yaml"


def reported(database: str, file: Path, prices: Prices) -> CalibrationFindings:
    design = load_calibration(file)
    judges = load_judges(design)

    async def work() -> CalibrationFindings:
        async with (
            misbehaving(marks()) as provider,
            runtime_at(database, provider.base_url, prices=prices) as runtime,
        ):
            with runtime.session() as session:
                texts = load_texts(session, design, load_originals(design, judges))
            for judge in judges:
                await judge_items(runtime, judge, texts.items, repeats=design.repeats)
            return read_findings(runtime, design)

    report: CalibrationFindings = run(work())
    return report


@pytest.mark.slow
def test_each_way_to_ask_has_what_it_cost_and_got_right(database: str, file: Path) -> None:
    report = reported(database, file, PRICES)
    # The cheap judge was asked 17 times about eight texts, and strayed on the last two.
    cheap, other, strong = 17 / 8 * 0.0002, 2 * 0.0005, 2 * 0.002
    expected = {
        "cheap alone": (6 / 8, cheap),
        "cheap, then strong on the 10% in most doubt": (7 / 8, cheap + strong / 8),
        "other alone": (6 / 8, other),
        "cheap, then strong on the 25% in most doubt": (1, cheap + strong / 4),
        "cheap, then strong on the 50% in most doubt": (1, cheap + strong / 2),
        "cheap and other, then strong where they differ": (1, cheap + other + strong / 2),
        "strong alone": (1, strong),
    }
    found = {one.name: (one.accuracy.estimate, one.cost.estimate) for one in report.policies}
    assert list(found) == list(expected), "from cheap to dear"
    assert found == {name: pytest.approx(pair) for name, pair in expected.items()}
    # Eight texts cannot show that so little is lost, though nothing is: 0 of 73 would.
    says = asking(report)
    assert "strong meets the most labels: 8 of 8" in says
    # The best judge is not compared with itself, nor called the cheapest.
    assert "No cheaper way to ask is shown to lose" in says
    assert "strong alone is the cheapest" not in says
    assert "costs 0.00143 USD a text in place of 0.004 and loses 0 here" in says
    assert "about 73 would show it, you have 8." in says

    def without_cost(name: str) -> str:
        policies = [
            replace(one, cost=replace(one.cost, estimate=None)) if one.name == name else one
            for one in report.policies
        ]
        return asking(replace(report, policies=policies))

    assert "cheaper than strong alone is not known" in without_cost("strong alone")
    assert "No cheaper way to ask whose cost is known" in without_cost("other alone")

    # 24 texts twice, and the cheap judge once more about the first one, as it is and changed
    ledger = Counter[str]()
    for call in calls(sa.create_engine(database, poolclass=sa.NullPool)).values():
        ledger[call.model] += call.cost_usd
    assert report.costs == pytest.approx([50 * 0.0002, 48 * 0.0005, 48 * 0.002])
    assert report.costs == pytest.approx([float(ledger[f"real/{name}"]) for name in PRICES])

    page = calibration_report(report).save(file.parent).path.read_text()
    assert '<td class="number">0.000425</td>' in page
    assert "SIMULATED" not in page
    assert page.count("it needs 20 labelled items and 2 others, and there are 8 and 4") == 3


REVIEW = """
name: priced
time_zone: UTC
reviews:
  - judge: strong.yaml
    items: items.jsonl
    decision: It was chosen.
    alternatives:
      - change: {model: real/cheap}
      - change: {name: newer, criteria: [{name: evidence, description: It has sources.}]}
"""
DAY = date(2026, 1, 2)


async def marks_alike(request: web.Request) -> web.StreamResponse:
    """A provider whose models mark alike, give or take a point, and stricter by another rubric."""
    sent = await request.json()
    text = sent["messages"][1]["content"]
    found = re.search(r"Note (\d+) ", text)
    assert found
    note = int(found[1])
    points = 35 + 5 * note + (sent["model"] == "cheap") * (note % 2)
    points -= (30 + note % 3) * ("It has sources." in str(sent["messages"]))
    said = json.dumps({"reason": "", "scores": {"evidence": points}})
    return await answers(said, usage=USAGE)(request)


def test_a_review_weighs_a_cheaper_model_and_another_rubric(database: str, file: Path) -> None:
    (file.parent / "review.yaml").write_text(REVIEW)
    review = load_review(file.parent / "review.yaml")

    async def work() -> str:
        async with (
            misbehaving(marks_alike) as provider,
            runtime_at(database, provider.base_url, prices=PRICES, data_dir=file.parent) as runtime,
        ):
            for one in review.asked(DAY):
                await judge_items(runtime, one.judge, one.items, review_day=one.review_day)
            return judge_review(DAY, store_findings(runtime, review, DAY))

    page = run(work())
    assert "It judges alike for 0.0002 instead of 0.002 USD." in page
    assert "It does not judge alike, and is not shown to be better." in page
    assert page.count("**reconsider**") == 1
