"""The Firecrawl source through the real SDK, against a loopback server that speaks its v2 API."""

import asyncio
import itertools
import re
from contextlib import asynccontextmanager
from datetime import date, datetime

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port
from pydantic import SecretStr

from judge_gym.design.window import FirecrawlSource, Window
from judge_gym.errors import EvidenceError
from judge_gym.evidence import firecrawl
from judge_gym.evidence.documents import Dropped, RawDocument
from judge_gym.evidence.firecrawl import FirecrawlAccess, FirecrawlNews
from judge_gym.evidence.sources import collect

KEY = "fc-not-a-real-key"
BODY = "The fictional council of Norvania met for a long while. " * 5
NO_WAIT = {"Retry-After": "0"}


def news(name, **fields):
    return {"url": f"https://news.example.org/{name}", "title": name, "snippet": "…", **fields}


def found(*results):
    return {"success": True, "data": {"news": list(results)}, "creditsUsed": 2}


def page(text=BODY, **metadata):
    return {"success": True, "data": {"markdown": text, "metadata": metadata}}


def refused(status, headers=None):
    return web.json_response(
        {"success": False, "error": f"refused {KEY}"}, status=status, headers=headers
    )


class FakeFirecrawl:
    """Answers from a script: a list of answers per route, the last one repeated."""

    def __init__(self, search, pages=None):
        self.search = search if isinstance(search, list) else [search]
        self.pages = {
            url: answers if isinstance(answers, list) else [answers]
            for url, answers in (pages or {}).items()
        }
        self.searches, self.scrapes, self.headers = [], [], []

    async def on_search(self, request):
        self.headers.append(request.headers)
        self.searches.append(await request.json())
        return self._answer(self.search)

    async def on_scrape(self, request):
        asked = await request.json()
        self.scrapes.append(asked)
        return self._answer(self.pages.get(asked["url"], [page()]))

    @staticmethod
    def _answer(answers):
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if callable(answer):
            answer = answer()
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)

    @asynccontextmanager
    async def serving(self):
        app = web.Application()
        app.router.add_post("/v2/search", self.on_search)
        app.router.add_post("/v2/scrape", self.on_scrape)
        async with TestServer(app) as server:
            yield str(server.make_url(""))


def window(query="democracy quality", country="Norvania", most=5):
    return Window(
        query=query,
        country=country,
        start=date(2026, 11, 1),
        end=date(2026, 11, 7),
        max_documents=most,
        source=FirecrawlSource(),
    )


def gather(fake, wanted=None, **access):
    async def run():
        async with fake.serving() as url:
            access.setdefault("api_key", SecretStr(KEY))
            source = FirecrawlNews(
                FirecrawlAccess(api_url=url, **access), today=lambda: date(2026, 11, 7)
            )
            return await source.collect(wanted or window())

    return asyncio.run(run())


def failure(fake, wanted=None, **access):
    with pytest.raises(EvidenceError) as error:
        gather(fake, wanted, **access)
    assert KEY not in str(error.value)
    return str(error.value)


def test_search_asks_for_news_in_the_dates_and_pages_come_as_markdown():
    fake = FakeFirecrawl(
        found(news("a", date="Nov 5, 2026"), news("b", date="2 days ago"), news("c")),
        {"https://news.example.org/b": page(BODY + "b", publishedTime="2026-11-02T08:00:00Z")},
    )
    first, second, third = gather(fake)
    assert first == RawDocument(
        "search result 1", BODY, "https://news.example.org/a", "a", date(2026, 11, 5)
    )
    # The page's own date is more exact than an age; without either there is none.
    assert (second.published, third.published) == (date(2026, 11, 2), None)

    (asked,) = fake.searches
    assert asked["query"] == "democracy quality Norvania"
    assert asked["limit"] == 5
    assert [source["type"] for source in asked["sources"]] == ["news"]
    assert asked["tbs"] == "cdr:1,cd_min:11/01/2026,cd_max:11/07/2026"
    assert fake.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert [one["formats"] for one in fake.scrapes] == [["markdown"]] * 3


def test_an_age_is_used_when_the_page_has_no_date():
    (only,) = gather(FakeFirecrawl(found(news("a", date="2 days ago"))))
    assert only.published == date(2026, 11, 5)


def test_the_country_is_not_repeated_when_the_query_names_it():
    fake = FakeFirecrawl(found())
    assert gather(fake, window(query="Courts in NORVANIA")) == []
    assert fake.searches[0]["query"] == "Courts in NORVANIA"


@pytest.mark.parametrize(
    "answer",
    [
        {"success": True, "data": {"news": []}},
        {"success": True, "data": {}},
        {"success": True, "data": None},
    ],
)
def test_an_empty_search_is_an_empty_window(answer):
    fake = FakeFirecrawl(answer)
    assert gather(fake) == []
    assert fake.scrapes == []


def test_a_key_from_the_environment_is_not_sent_to_another_server(monkeypatch):
    monkeypatch.setenv("FIRECRAWL_API_KEY", "fc-from-the-environment")
    fake = FakeFirecrawl(found())
    gather(fake, api_key=None)
    assert "Authorization" not in fake.headers[0]


def test_too_many_requests_are_tried_again():
    fake = FakeFirecrawl(
        [refused(429, NO_WAIT), found(news("a"))],
        {"https://news.example.org/a": [refused(429, NO_WAIT), refused(503, NO_WAIT), page()]},
    )
    (only,) = gather(fake)
    assert only.text == BODY
    assert (len(fake.searches), len(fake.scrapes)) == (2, 3)


def test_retries_are_bounded():
    fake = FakeFirecrawl([lambda: refused(429, NO_WAIT)])
    assert "Rate Limit Exceeded" in failure(fake, attempts=3)
    assert len(fake.searches) == 3


def test_a_service_that_asks_for_a_long_pause_is_not_hammered():
    fake = FakeFirecrawl([lambda: refused(429, {"Retry-After": "3600"})])
    assert "failed" in failure(fake)
    assert len(fake.searches) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (402, "Firecrawl's credits are used up (402). Add credits"),
        (401, "Firecrawl refused the key (401). Check FIRECRAWL_API_KEY"),
        (400, "The Firecrawl search at http://127.0.0.1:"),
    ],
)
def test_what_retrying_cannot_mend_is_said_at_once(status, message):
    fake = FakeFirecrawl([lambda: refused(status)])
    assert message in failure(fake)
    assert len(fake.searches) == 1


def test_credits_that_end_while_scraping_end_the_collection():
    fake = FakeFirecrawl(
        found(news("a"), news("b")), {"https://news.example.org/b": [lambda: refused(402)]}
    )
    assert "credits are used up" in failure(fake)


def html():
    return web.Response(text="<html>Bad gateway</html>", content_type="text/html")


@pytest.mark.parametrize(
    "body", [{"success": False, "error": "no"}, [1], {"success": True, "data": 7}, None]
)
def test_a_search_answer_that_is_not_firecrawls(body):
    answer = html if body is None else lambda: web.json_response(body)
    assert "The Firecrawl search at http://127.0.0.1:" in failure(FakeFirecrawl([answer]))


def test_nobody_listening():
    source = FirecrawlNews(FirecrawlAccess(api_url=f"http://127.0.0.1:{unused_port()}", attempts=2))
    with pytest.raises(EvidenceError, match="no connection"):
        asyncio.run(source.collect(window()))


def test_a_page_that_fails_is_dropped_alone():
    address = "https://news.example.org/"
    fake = FakeFirecrawl(
        found(*(news(name) for name in ("ok", "500", "html", "gone", "empty", "big", "moved"))),
        {
            f"{address}500": [lambda: refused(500, NO_WAIT)],
            f"{address}html": [html],
            f"{address}gone": page("Not found", statusCode=404),
            f"{address}empty": page(" \n"),
            f"{address}big": page("x" * (firecrawl.MAX_PAGE_CHARACTERS + 1)),
            f"{address}moved": page(url="http://169.254.169.254/latest"),
        },
    )
    first, *others = gather(fake, window(most=7), attempts=2)
    assert isinstance(first, RawDocument)
    assert [(one.title, one.reason) for one in others] == [
        ("500", "scrape_failed"),
        ("html", "scrape_failed"),
        ("gone", "scrape_failed"),
        ("empty", "unreadable"),
        ("big", "too_large"),
        ("moved", "unsafe_url"),
    ]
    assert all(KEY not in one.detail for one in others)
    assert sum(one["url"] == f"{address}500" for one in fake.scrapes) == 2


def test_when_every_page_fails_the_window_is_not_taken_for_empty():
    fake = FakeFirecrawl(
        found(news("a"), news("b")),
        {f"https://news.example.org/{name}": page("x", statusCode=403) for name in "ab"},
    )
    assert "No page could be scraped: 2 of 2 failed" in failure(fake)


def test_one_page_without_text_does_not_make_failures_an_empty_window():
    fake = FakeFirecrawl(
        found(news("a"), news("b")),
        {"https://news.example.org/a": page(" "), "https://news.example.org/b": [html]},
    )
    assert "No page could be scraped: 1 of 2 failed" in failure(fake)


def test_a_date_to_wait_for_is_waited_for():
    past = {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}
    fake = FakeFirecrawl([refused(429, past), found(news("a"))])
    assert len(gather(fake)) == 1
    far = {"Retry-After": "Fri, 31 Dec 9998 23:59:59 GMT"}
    fake = FakeFirecrawl([lambda: refused(429, far)])
    assert "failed" in failure(fake)
    assert len(fake.searches) == 1


def test_what_a_page_hides_is_asked_to_be_left_out():
    fake = FakeFirecrawl(found(news("a")))
    gather(fake)
    assert {"[hidden]", "[style*='display:none']"} <= set(fake.scrapes[0]["excludeTags"])


def test_addresses_that_are_not_public_are_never_scraped():
    bad = [
        "file:///etc/passwd",
        "http://localhost/x",
        "http://10.0.0.1/",
        "http://[::1]/",
        "\ud800",
    ]
    fake = FakeFirecrawl(found(*({"url": url, "title": "t"} for url in bad), {"title": "none"}))
    dropped = gather(fake, window(most=10))
    assert [one.reason for one in dropped] == ["unsafe_url"] * 5 + ["unreadable"]
    assert fake.scrapes == []


def test_results_beyond_the_limit_are_counted_and_not_paid_for():
    fake = FakeFirecrawl(found(*(news(str(number)) for number in range(9))))
    results = gather(fake, window(most=3))
    assert [isinstance(one, Dropped) for one in results] == [False] * 3 + [True] * 6
    assert {one.reason for one in results[3:]} == {"over_limit"}
    assert len(fake.scrapes) == 3


class ManyNews(FakeFirecrawl):
    """A service with so many articles on each day, of which a search returns its limit."""

    def __init__(self, by_day):
        super().__init__(found())
        self.by_day = by_day

    async def on_search(self, request):
        asked = await request.json()
        self.searches.append(asked)
        first, last = (
            datetime.strptime(day, "%m/%d/%Y").date()
            for day in re.findall(r"\d+/\d+/\d+", asked["tbs"])
        )
        names = [
            f"{day}-{number}"
            for day, count in self.by_day.items()
            if first <= day <= last
            for number in range(count)
        ]
        return web.json_response(found(*map(news, names[: asked["limit"]])))


def test_a_window_of_more_than_one_search_returns_is_searched_by_parts_that_fit():
    """130 articles on two of seven days: the week is full, its halves are not."""
    fake = ManyNews({date(2026, 11, 2): 60, date(2026, 11, 6): 70})
    results = gather(fake, window(most=1000))
    assert len({one.url for one in results}) == 130
    ranges = [re.findall(r"11/(\d+)/", asked["tbs"]) for asked in fake.searches]
    assert ranges == [["01", "07"], ["01", "04"], ["05", "07"]]
    # Neither part comes first: a smaller limit would keep some of each.
    assert [one.url.split("/")[-1] for one in results[:2]] == ["2026-11-02-0", "2026-11-06-0"]


def test_a_day_with_more_than_one_search_returns_gives_its_best():
    fake = ManyNews({date(2026, 11, 2): 250, date(2026, 11, 3): 5})
    results = gather(fake, window(most=1000))
    assert len({one.url for one in results}) == 105
    assert all(asked["limit"] == 100 for asked in fake.searches)


def test_a_window_within_one_search_is_searched_once():
    fake = ManyNews({date(2026, 11, 2): 250})
    assert len(gather(fake, window(most=100))) == 100
    assert len(fake.searches) == 1


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (lambda: refused(429, NO_WAIT), "limits requests"),
        (lambda: refused(500, NO_WAIT), "The service fails"),
        (lambda: refused(403), "Correct what the service names"),
        (lambda: web.Response(text="<html>hello</html>", content_type="text/html"), "_URL"),
    ],
)
def test_the_remedy_fits_the_cause(answer, remedy):
    said = failure(FakeFirecrawl(answer), attempts=2)
    assert remedy in said
    assert ("JUDGE_GYM_FIRECRAWL_URL" in said) == (remedy == "_URL")


def test_an_answer_that_never_comes_ends_at_the_timeout():
    async def run():
        answered = asyncio.Event()

        async def silent(request):
            await answered.wait()
            return web.json_response(found())

        app = web.Application()
        app.router.add_post("/v2/search", silent)
        async with TestServer(app) as server:
            access = FirecrawlAccess(
                api_url=str(server.make_url("")), timeout_seconds=0.2, attempts=1
            )
            try:
                await FirecrawlNews(access).collect(window())
            finally:
                answered.set()

    with pytest.raises(EvidenceError, match=r"no answer within 0\.2 s|no connection: .*[Tt]imeout"):
        asyncio.run(run())


def test_a_news_window_from_search_to_documents():
    address = "https://news.example.org/"
    fake = FakeFirecrawl(
        found(
            news("in", date="Nov 5, 2026"),
            news("late", date="Nov 8, 2026"),
            news("undated", date="3 months ago"),
            news("short", date="Nov 5, 2026"),
            news("in?utm_source=feed", date="Nov 5, 2026"),
        ),
        {f"{address}short": page("Brief.")},
    )

    async def run():
        async with fake.serving() as url:
            return await collect(window(), FirecrawlAccess(api_url=url))

    collected = asyncio.run(run())
    assert [one.canonical_url for one in collected.documents] == [f"{address}in"]
    assert collected.dropped_by_reason() == {
        "outside_dates": 1,
        "undated": 1,
        "too_short": 1,
        "duplicate_url": 1,
    }


def test_the_key_is_not_shown():
    assert KEY not in repr(FirecrawlNews(FirecrawlAccess(api_key=SecretStr(KEY))))


class Quota(FakeFirecrawl):
    """A service that answers so many scrapes, then refuses some, and so on."""

    def __init__(self, count, answered, refusals, headers=None, words="Rate limit exceeded."):
        super().__init__(found(*(news(str(number), date="Nov 5, 2026") for number in range(count))))
        self.turns = itertools.cycle([True] * answered + [False] * refusals)
        self.headers_of_refusal, self.words = headers, words
        self.refused = 0

    async def on_scrape(self, request):
        if next(self.turns):
            return await super().on_scrape(request)
        self.refused += 1
        return web.json_response(
            {"success": False, "error": self.words}, status=429, headers=self.headers_of_refusal
        )


def test_pages_beyond_the_limit_a_minute_are_waited_for_and_none_is_dropped(monkeypatch):
    waits = []

    async def waited(self):
        waits.append(self.waits)
        self.until = 0.0  # the pause is over

    monkeypatch.setattr(firecrawl._RateLimit, "turn", waited)
    fake = Quota(25, 10, 6, words="Rate limit exceeded. Please retry after 34s, resets at noon")
    results = gather(fake, window(most=25))
    assert len(results) == 25
    assert all(isinstance(one, RawDocument) for one in results)
    assert fake.refused >= 6
    assert max(waits) > 0


@pytest.mark.parametrize(
    ("headers", "words"),
    [({"Retry-After": "3600"}, "Rate limit exceeded."), (None, "Please retry after 2000s")],
)
def test_a_limit_that_lasts_too_long_leaves_the_window_open(headers, words):
    fake = Quota(6, 3, 1000, headers, words)
    assert "Rerun later to collect the window" in failure(fake, wanted=window(most=6))


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit exceeded. Consumed (req/min): 11. Please retry after 34s, resets at", 34),
        ("try again in 1500 ms", 1.5),
        ("Try again in 10 minutes", 600),
        ("retry after 7", 7),
        ("Too many requests", None),
    ],
)
def test_the_pause_that_a_message_names(message, seconds):
    assert firecrawl._named_wait(message) == seconds


def test_a_limit_in_the_words_of_an_answer_with_status_200_is_waited_for():
    refusal = {"success": False, "error": "Rate limit exceeded, retry after 0s"}
    fake = FakeFirecrawl(found(news("a")), {"https://news.example.org/a": [refusal, page()]})
    assert [one.text for one in gather(fake)] == [BODY]
