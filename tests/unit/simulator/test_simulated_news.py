"""The simulator's news through the real SDK over real HTTP, on good days and bad."""

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path

import aiohttp
import pytest

from deployments.cli.serving import news_archive
from judge_gym.design.window import FirecrawlSource, Window
from judge_gym.errors import ConfigError, EvidenceError
from judge_gym.evidence.documents import RawDocument
from judge_gym.evidence.firecrawl import FirecrawlAccess, FirecrawlNews
from judge_gym.evidence.sources import collect
from judge_gym.simulator.faults.plan import NEWS_KINDS
from judge_gym.simulator.faults.reading import read_plan
from judge_gym.simulator.news import read_archive
from judge_gym.simulator.server import serving
from support.tiers import rest_slow

CORPUS = Path(__file__).parents[3] / "deployments" / "sweeps" / "corpora" / "valmora.jsonl"
WEEK = {"start": date(2026, 1, 5), "end": date(2026, 1, 11)}
NOW = {"retry_after": 0}


def window(most=50, query="courts elections press freedom", **dates):
    return Window(
        query=query,
        country="Valmora",
        max_documents=most,
        source=FirecrawlSource(),
        **(dates or WEEK),
    )


@asynccontextmanager
async def place(*faults, corpus=CORPUS):
    """The address of a simulator with these faults, and what asks it for /stats."""
    async with serving(news=corpus) as base, aiohttp.ClientSession() as session:
        url = base.removesuffix("/v1")
        await session.post(f"{url}/faults", json={"seed": 5, "fault": list(faults)})

        async def stats():
            async with session.get(f"{url}/stats") as response:
                return await response.json()

        yield url, stats


def gather(*faults, wanted=None, corpus=CORPUS, **access):
    """What the source gives, and the requests it took: `search` and `scrape`."""

    async def run():
        async with place(*faults, corpus=corpus) as (url, stats):
            source = FirecrawlNews(FirecrawlAccess(api_url=url, **access))
            return await source.collect(wanted or window()), (await stats())["news"]

    return asyncio.run(run())


def failure(*faults, **access):
    """What the source says when it cannot be used, and the requests it took."""

    async def run():
        async with place(*faults) as (url, stats):
            with pytest.raises(EvidenceError) as error:
                await FirecrawlNews(FirecrawlAccess(api_url=url, **access)).collect(window())
            return str(error.value), (await stats())["news"]

    return asyncio.run(run())


def rows():
    return [json.loads(line) for line in CORPUS.read_text().splitlines()]


def test_a_search_gives_the_articles_of_its_dates_marked_simulated():
    found, asked = gather()
    wanted = {row["url"] for row in rows() if "2026-01-05" <= row["date"] <= "2026-01-11"}
    assert 5 <= len(found) <= len(wanted)
    assert {one.url for one in found} <= wanted
    assert all(isinstance(one, RawDocument) and one.simulated for one in found)
    assert all(WEEK["start"] <= one.published <= WEEK["end"] for one in found)
    assert asked == {"search": 1, "scrape": len(found)}
    by_url = {row["url"]: row["text"] for row in rows()}
    assert all(one.text == by_url[one.url] for one in found)


def test_at_most_as_many_as_asked_for_best_first():
    few, asked = gather(wanted=window(most=3))
    many, _ = gather()
    assert few == many[:3]
    assert asked == {"search": 1, "scrape": 3}


def test_words_that_are_in_no_article_find_nothing():
    assert gather(wanted=window(query="zymurgy Valmora quixotry"))[0]  # the country is a word
    elsewhere = window(query="zymurgy quixotry").model_copy(update={"country": "Zembla"})
    assert gather(wanted=elsewhere) == ([], {"search": 1})


@pytest.mark.parametrize("year", [1999, 2025, 2031])
def test_the_corpus_recurs_so_that_any_fortnight_has_news(year):
    dates = {"start": date(year, 10, 1), "end": date(year, 10, 14)}
    found, _ = gather(wanted=window(**dates))
    assert len(found) >= 5
    assert all(dates["start"] <= one.published <= dates["end"] for one in found)
    assert len({one.url for one in found}) == len(found)


def test_a_recurrence_is_found_again_at_its_address():
    archive = read_archive(CORPUS)
    (found, *_) = archive.search("court", date(2025, 10, 1), date(2025, 10, 14))
    assert archive.page(found.url) == found
    assert archive.page("https://nowhere.example/a") is None


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"kind": "payment_required"}, "Firecrawl's credits are used up (402)"),
        ({"kind": "unauthorized", "routes": ["search"]}, "Firecrawl refused the key (401)"),
        ({"kind": "html", "routes": ["search"]}, "the answer is not Firecrawl's"),
        ({"kind": "invalid_json", "routes": ["search"]}, "the answer is not Firecrawl's"),
        ({"kind": "rate_limit", "routes": ["search"], "retry_after": 3600}, "Rate limit reached"),
        ({"kind": "rate_limit", "routes": ["search"], "retry_after": 86_400, "form": "date"},
         "Rate limit reached"),
    ],
)  # fmt: skip
def test_a_search_that_cannot_be_mended_by_waiting_fails_at_once(fault, said):
    message, asked = failure(fault)
    assert said in message
    assert asked == {"search": 1}


@pytest.mark.parametrize(
    "fault",
    rest_slow(
        [
            {"kind": "rate_limit", **NOW},
            {"kind": "rate_limit", "form": "date", **NOW},
            {"kind": "timed_out"},
            {"kind": "server_error", "status": 500},
            {"kind": "server_error", "status": 502},
            {"kind": "server_error", "status": 503},
            {"kind": "cut"},
            {"kind": "slow_first_byte", "seconds": 30},
            {"kind": "stall", "seconds": 30},
        ],
        7,
    ),
    ids=lambda fault: f"{fault['kind']}{fault.get('status', '')}{fault.get('form', '')}",
)
def test_what_may_pass_is_tried_again(fault):
    """The first search and the first page of three meet it once."""
    once = {**fault, "max_count": 1}
    found, asked = gather(
        {**once, "routes": ["search"]},
        {**once, "routes": ["scrape"]},
        wanted=window(most=3),
        timeout_seconds=1.0,
    )
    assert [type(one) for one in found] == [RawDocument] * 3
    assert asked == {"search": 2, "scrape": 4}


def test_tries_are_bounded_and_the_failure_is_said():
    message, asked = failure({"kind": "server_error", "routes": ["search"]}, attempts=2)
    assert "The Firecrawl search at http://127.0.0.1:" in message
    assert "status 500" in message
    assert asked == {"search": 2}


@pytest.mark.parametrize(
    ("fault", "reason", "detail"),
    [
        ({"kind": "page_failed", "status": 451}, "scrape_failed", "the page answered 451"),
        ({"kind": "html", "routes": ["scrape"]}, "scrape_failed", "not Firecrawl's"),
        ({"kind": "timed_out"}, "scrape_failed", "took too long"),
        ({"kind": "huge_page"}, "too_large", "3000000 characters"),
        ({"kind": "redirected"}, "unsafe_url", "led to http://169.254.169.254/"),
        ({"kind": "redirected", "to": "file:///etc/passwd"}, "unsafe_url", "led to file:"),
    ],
)
def test_pages_that_fail_are_kept_out_one_by_one_with_the_reason(fault, reason, detail):
    """Half of the pages, the same at every attempt."""
    found, _ = gather({**fault, "share": 0.5, "sticky": True}, attempts=1)
    out = [one for one in found if not isinstance(one, RawDocument)]
    assert 0 < len(out) < len(found)
    assert {one.reason for one in out} == {reason}
    assert all(detail in one.detail for one in out)


@pytest.mark.parametrize("kind", ["page_failed", "timed_out"])
def test_when_every_page_fails_nothing_is_collected(kind):
    message, _ = failure({"kind": kind}, attempts=1)
    assert "No page could be scraped" in message


def test_credits_that_end_between_pages_end_the_collection():
    message, _ = failure({"kind": "payment_required", "routes": ["scrape"], "from_call": 3})
    assert "credits are used up" in message


def test_a_simulator_without_news_says_so_instead_of_finding_nothing():
    with pytest.raises(EvidenceError, match="has no news; start it with --news"):
        gather(corpus=None)


@pytest.mark.parametrize(
    ("fault", "reasons"),
    [({"kind": "no_results"}, {}), ({"kind": "wrong_dates"}, {"outside_dates": 5})],
)
def test_results_that_are_none_or_of_other_days_leave_an_empty_window(fault, reasons):
    async def run():
        async with place(fault) as (url, _):
            return await collect(window(most=5), FirecrawlAccess(api_url=url))

    collected = asyncio.run(run())
    assert collected.documents == ()
    assert collected.dropped_by_reason() == reasons


def test_addresses_of_a_corpus_that_are_not_public_are_never_asked_for(tmp_path):
    bad = ["http://127.0.0.1:1/a", "http://2130706433/a", "http://[::1]/a", "file:///etc/passwd"]
    text = "The court of Valmora heard the press. " * 8
    corpus = tmp_path / "hostile.jsonl"
    corpus.write_text(
        "\n".join(
            json.dumps({"title": "T", "url": url, "date": "2026-01-06", "text": f"{n} {text}"})
            for n, url in enumerate([*bad, "https://news.example/a"])
        )
    )
    day = date(2026, 1, 6)
    found, asked = gather(corpus=corpus, wanted=window(start=day, end=day))
    assert sorted(getattr(one, "reason", "kept") for one in found) == ["kept"] + ["unsafe_url"] * 4
    assert asked == {"search": 1, "scrape": 1}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"query": ""}, "query"),
        ({"query": "a", "limit": 101, "sources": ["x"]}, "limit"),
        ({"query": "a"}, "the simulator has news alone"),
        ({"query": "a", "sources": [{"type": "news"}], "tbs": "qdr:w"}, "tbs: not a range"),
        ({"query": "a", "sources": [{"type": "news"}], "tbs":
          "cdr:1,cd_min:01/01/1900,cd_max:01/01/2026"}, "at most 3660 days"),
        ({"query": "a", "sources": [{"type": "news"}], "scrapeOptions": {}}, "search first"),
    ],
)  # fmt: skip
def test_refusals_have_firecrawls_shape(body, said):
    async def run():
        async with (
            place() as (url, _),
            aiohttp.ClientSession() as session,
            session.post(f"{url}/v2/search", json=body) as response,
        ):
            return response.status, await response.json()

    status, answer = asyncio.run(run())
    assert status == 400
    assert answer["success"] is False
    assert said in answer["error"]


def test_every_kind_of_fault_of_news_can_be_asked_for_and_no_other_key():
    names = [kind.model_fields["kind"].default for kind in NEWS_KINDS]
    plan = read_plan({"fault": [{"kind": name} for name in names]}, Path("x"))
    assert [type(fault) for fault in plan.faults] == list(NEWS_KINDS)
    with pytest.raises(ConfigError, match="routes"):
        read_plan({"fault": [{"kind": "huge_page", "routes": ["search"]}]}, Path("x"))


def test_lines_that_are_no_articles_are_left_out(tmp_path):
    file = tmp_path / "news.jsonl"
    file.write_text(
        '{"title": "a", "url": "u/a", "text": "A court ruled.", "date": "2026-01-05"}\n\nnot json\n'
        '{"title": "b", "url": "u/b", "text": "A court sat.", "date": "one day"}\n'
        '{"title": "c", "url": "u/c", "text": 4}\n{"title": "d", "text": "A court met."}\n'
    )
    assert [article.url for article in read_archive(file).search("court")] == ["u/a"]
    with pytest.raises(EvidenceError, match="cannot be read"):
        read_archive(tmp_path / "nowhere.jsonl")


def test_the_command_serves_any_corpus_as_news(tmp_path):
    (tmp_path / "news.csv").write_text(
        "headline;link;published;body\nCourt rules;u/1;2026-01-05;The court ruled.\n"
        "Bad;u/2;someday;The court sat.\n"
    )
    (found,) = news_archive(tmp_path).search("court")
    assert (found.url, found.title, found.published) == ("u/1", "Court rules", date(2026, 1, 5))
