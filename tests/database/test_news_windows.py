"""News windows through W1: a failure leaves the window open, and what came is marked simulated."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.design.window import FirecrawlSource, Window
from judge_gym.errors import EvidenceError
from judge_gym.simulator.launch import running
from judge_gym.store import tables as t
from support.misbehaving import answers, misbehaving
from support.rig import KEY, KEY_NAME, run, runtime_at
from support.simulation import Simulator
from support.study import Study

CORPUS = Path(__file__).parents[2] / "deployments" / "sweeps" / "corpora" / "valmora.jsonl"
NEWS = Window(
    query="courts elections press freedom",
    country="Valmora",
    start=date(2026, 1, 5),
    end=date(2026, 1, 11),
    max_documents=6,
    source=FirecrawlSource(),
)

RUBRIC = {
    "provided": {
        "stages": [
            {"label": label, "criteria": ["a sign", "another sign", "a third sign"]}
            for label in ("No signs", "Few signs", "Many signs", "All signs")
        ]
    }
}


@pytest.fixture(scope="module")
def news() -> Any:
    with running(news=CORPUS) as url:
        yield Simulator(url)


async def studied(database: str, news: Simulator, work: Any, provider: str = "") -> None:
    url = news.url.removesuffix("/v1")
    async with runtime_at(database, provider or news.url, firecrawl_url=url) as runtime:
        await work(Study(runtime, NEWS))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"kind": "payment_required"}, "credits are used up"),
        ({"kind": "page_failed"}, "No page could be scraped"),
        ({"kind": "html", "routes": ["search"]}, "not Firecrawl's"),
        ({"kind": "rate_limit", "routes": ["search"], "retry_after": 600}, "Rate limit"),
    ],
)
def test_a_failure_leaves_the_window_open_and_the_same_step_goes_on(
    database: str, news: Simulator, fault: dict[str, Any], said: str
) -> None:
    async def work(study: Study) -> None:
        news.use_faults(fault)
        with pytest.raises(EvidenceError, match=said):
            await study.collect()
        assert study.all(sa.select(t.Window.collected_at)) == [None]
        assert study.all(sa.select(t.Document.id)) == []
        news.use_faults()
        assert await study.collect() == {"kept": 4, "duplicate_url": 1, "duplicate_content": 1}
        assert study.all(sa.select(t.Window.collected_at)) != [None]
        assert await study.collect() == {}

    run(studied(database, news, work))


def test_pages_that_fail_are_on_record_beside_those_that_came(
    database: str, news: Simulator
) -> None:
    async def work(study: Study) -> None:
        news.use_faults({"kind": "page_failed", "share": 0.5, "sticky": True})
        counts = await study.collect()
        news.use_faults()
        failed = counts["scrape_failed"]
        assert sum(counts.values()) == 6
        assert 0 < failed < 6
        why = sa.select(t.DroppedDocument.detail).filter_by(reason="scrape_failed")
        details = study.all(why)
        assert details == ["the page answered 404"] * failed

    run(studied(database, news, work))


def test_simulated_news_marks_all_that_is_made_of_it_whoever_answers(
    database: str, news: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge here is not the simulator, and its verdicts are still no findings."""
    monkeypatch.setenv(KEY_NAME, KEY)
    verdict = answers("The reasons.\n\nVERDICT: A")

    async def work(study: Study) -> None:
        (tag,) = study.register(study.experiment("real/m", replicates=1, rubric=RUBRIC))
        await study.collect()
        await study.make("cleaned")
        await study.write_rubrics([study.experiment("real/m", rubric=RUBRIC)], critic="real/m")
        await study.score([tag])
        await study.probe([tag])
        assert set(study.all(sa.select(t.Document.simulated))) == {True}
        assert set(study.all(sa.select(t.View.simulated))) == {True}
        assert set(study.all(sa.select(t.Sample.simulated))) == {True}
        assert set(study.all(sa.select(t.Probe.simulated))) == {True}
        assert set(study.all(sa.select(t.Call.simulated))) == {False}

    async def whole() -> None:
        async with misbehaving(verdict) as provider:
            await studied(database, news, work, provider.base_url)

    run(whole())
