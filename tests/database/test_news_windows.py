"""News windows through W1: a failure leaves the window open, and what came is marked simulated."""

from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.design.window import FirecrawlSource, Window
from judge_gym.errors import EvidenceError, StoreError
from judge_gym.lab.evidence import EmptyWindowError
from judge_gym.runtime import Runtime
from judge_gym.simulator.launch import running
from judge_gym.store import tables as t
from judge_gym.store import windows
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
        ({"kind": "rate_limit", "routes": ["search"], "retry_after": 3600}, "Rate limit"),
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


@pytest.mark.parametrize(
    ("fault", "dropped"),
    [
        ({"kind": "no_results"}, {}),
        ({"kind": "redirected", "to": "http://10.0.0.1/"}, {"unsafe_url": 6}),
        ({"kind": "wrong_dates", "days": 400}, {"outside_dates": 6}),
    ],
)
def test_a_window_without_a_document_is_a_failure_with_its_reasons_on_record(
    database: str, news: Simulator, fault: dict[str, Any], dropped: dict[str, int]
) -> None:
    async def work(study: Study) -> None:
        news.use_faults(fault)
        for _ in range(2):  # what the first attempt stored is replaced
            with pytest.raises(EmptyWindowError) as failure:
                await study.collect()
            assert failure.value.counts == {"kept": 0, **dropped}
            assert "allow_empty" in failure.value.remedy
            assert Counter(study.all(sa.select(t.DroppedDocument.reason))) == dropped
            assert study.all(sa.select(t.Window.collected_at)) == [None]
        news.use_faults()
        assert (await study.collect())["kept"] == 4

    run(studied(database, news, work))


def test_a_window_may_be_allowed_to_be_empty(database: str, news: Simulator) -> None:
    allowed = NEWS.model_copy(update={"source": FirecrawlSource(allow_empty=True)})
    assert allowed.key == NEWS.key

    async def work(runtime: Runtime) -> None:
        study = Study(runtime, allowed)
        news.use_faults({"kind": "no_results"})
        assert await study.collect() == {"kept": 0}
        news.use_faults()
        assert await study.collect() == {}

    async def whole() -> None:
        url = news.url.removesuffix("/v1")
        async with runtime_at(database, news.url, firecrawl_url=url) as runtime:
            await work(runtime)

    run(whole())


def test_a_window_is_collected_again_until_something_is_made_of_it(
    database: str, news: Simulator
) -> None:
    async def work(study: Study) -> None:
        await study.collect()
        [number] = study.all(sa.select(t.Window.id))
        with study.runtime.session() as session:
            windows.reopen(session, number)
        assert study.all(sa.select(t.Document.id)) == []
        assert study.all(sa.select(t.DroppedDocument.id)) == []
        assert (await study.collect())["kept"] == 4
        await study.make("cleaned")
        await study.make("neutralized")
        with (
            pytest.raises(StoreError, match="has views, made from its documents"),
            study.runtime.session() as session,
        ):
            windows.reopen(session, number)
        assert len(study.all(sa.select(t.Document.id))) == 4

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
