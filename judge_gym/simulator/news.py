"""News search on loopback: as much of Firecrawl's v2 API as a news window needs.

Nothing is ever fetched: a page is an article of the corpus or it is unknown. Each page carries the
simulator's mark in its scrape id, so that its evidence is marked as simulated too. The corpus
recurs: after its last day it begins again, backwards too, so that any dates find news. Each
recurrence has addresses of its own.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from judge_gym.seeds import canonical_json, digest
from judge_gym.simulator.chat import FINGERPRINT
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.injection import INJECTOR, deliver
from judge_gym.simulator.files import json_lines
from judge_gym.simulator.http import STATS, Refusal, read_json, read_model
from judge_gym.simulator.vendors.registry import OPENAI

LONGEST_RANGE = timedelta(days=3_660)
_SHORTEST_WORD = 4
_RECURRENCE = re.compile(r"[?&]recurrence=(-?\d{1,6})$")


@dataclass(frozen=True)
class Article:
    """An article on the day it appears."""

    url: str
    title: str
    text: str
    published: date | None


class Archive:
    """Articles with an address, in the order of their corpus."""

    def __init__(self, articles: Iterable[Article] = ()) -> None:
        self._articles = [article for article in articles if article.url]
        self._by_url = {article.url: article for article in reversed(self._articles)}
        days = [article.published for article in self._articles if article.published]
        self._period = max(days) - min(days) + timedelta(days=1) if days else timedelta(days=1)

    @property
    def is_empty(self) -> bool:
        """Whether it has no article with an address."""
        return not self._articles

    def search(
        self, query: str, start: date | None = None, end: date | None = None
    ) -> list[Article]:
        """Return the articles with a word of `query`, those with most of its words first.

        Dates are inclusive. With dates, undated articles are left out.
        """
        words = _stems(query)
        ranked: list[tuple[int, str, Article]] = []
        for article in self._articles:
            matches = len(words & _stems(f"{article.title} {article.text}"))
            if matches:
                appearing = self._appearing(article, start, end)
                ranked += [(-matches, version.url, version) for version in appearing]
        return [article for *_, article in sorted(ranked, key=lambda entry: entry[:2])]

    def page(self, url: str) -> Article | None:
        """Return the article at an address, or None."""
        if (article := self._by_url.get(url)) is not None:
            return article
        match = _RECURRENCE.search(url)
        article = self._by_url.get(url[: match.start()]) if match else None
        return self._recurring(article, int(match[1])) if match and article else None

    def _appearing(self, article: Article, start: date | None, end: date | None) -> list[Article]:
        if start is None or end is None:
            return [article]
        if article.published is None:
            return []
        first = math.ceil((start - article.published) / self._period)
        last = math.floor((end - article.published) / self._period)
        return [self._recurring(article, number) for number in range(first, last + 1)]

    def _recurring(self, article: Article, number: int) -> Article:
        if number == 0 or article.published is None:
            return article
        sign = "&" if "?" in article.url else "?"
        return replace(
            article,
            url=f"{article.url}{sign}recurrence={number}",
            published=article.published + number * self._period,
        )


def read_archive(path: Path | None) -> Archive:
    """Return the archive of a JSON Lines file; an empty one for None.

    A line has a `title`, `url`, `text` and `date` (2026-01-05); lines that cannot be read are left
    out. Raises `EvidenceError` for an unusable file.
    """
    rows = (_article(row) for _, row in json_lines(path) if row) if path else ()
    return Archive(article for article in rows if article)


def _article(row: Mapping[str, Any]) -> Article | None:
    title, url, text, day = (row.get(name) or "" for name in ("title", "url", "text", "date"))
    try:
        published = date.fromisoformat(day) if day else None
    except (TypeError, ValueError):
        return None
    return Article(str(url), str(title), text, published) if isinstance(text, str) else None


def _stems(text: str) -> set[str]:
    """Return the words of four letters and more, plurals as singulars."""
    words = re.findall(rf"[^\W_]{{{_SHORTEST_WORD},}}", text.lower())
    return {word.removesuffix("s") for word in words}


NewsRoute = Literal["search", "scrape"]
_ARCHIVE = web.AppKey("archive", Archive)
_RANGE = re.compile(r"cdr:1,cd_min:(\d{1,2}/\d{1,2}/\d{4}),cd_max:(\d{1,2}/\d{1,2}/\d{4})")
_SNIPPET_CHARACTERS = 160


class _Body(BaseModel):
    """The fields that are read; others are ignored."""

    model_config = ConfigDict(extra="ignore")


class _Source(_Body):
    type: str


class _Search(_Body):
    query: str = Field(min_length=1, max_length=1_000)
    limit: int = Field(default=5, ge=1, le=100)
    sources: list[_Source] = Field(default_factory=list)
    tbs: str | None = None
    scrapeOptions: dict[str, Any] | None = None  # noqa: N815 — as the API has it


class _Scrape(_Body):
    url: str = Field(min_length=1, max_length=4_000)


def add_news_routes(app: web.Application, archive: Archive) -> None:
    """Serve `archive` under `/v2`."""
    app[_ARCHIVE] = archive
    app.router.add_post("/v2/search", _served("search", _search))
    app.router.add_post("/v2/scrape", _served("scrape", _scrape))


def _served(
    route: NewsRoute, answer: Callable[[Archive, Any, plan.InjectedFault | None], dict[str, Any]]
) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.StreamResponse:
        body, injector = await read_json(request), request.app[INJECTOR]
        archive = request.app[_ARCHIVE]
        if archive.is_empty:  # an empty result would look like a search without matches
            raise Refusal("This simulator has no news; start it with --news PATH.", status=404)
        request.app[STATS].news[route] += 1
        subject = plan.Subject(route, digest(route, canonical_json(body)))
        fault = injector.fault_for(subject) if injector.active else None
        if isinstance(fault, plan.Refused):
            raise OPENAI.fault(fault)
        if isinstance(fault, plan.PaymentRequired):
            raise Refusal("Insufficient credits (simulated).", status=402)
        if isinstance(fault, plan.TimedOut):
            raise Refusal("The page took too long (simulated).", status=408)
        response = web.json_response({"success": True, "data": answer(archive, body, fault)})
        if isinstance(fault, plan.Delivered):
            return await deliver(fault, request, response)
        return response

    return handle


def _search(archive: Archive, body: Any, fault: plan.InjectedFault | None) -> dict[str, Any]:
    query = read_model(_Search, body)
    if [source.type for source in query.sources] != ["news"]:
        raise Refusal('sources: the simulator has news alone; ask for ["news"]', "sources")
    if query.scrapeOptions is not None:
        raise Refusal("scrapeOptions: search first, then scrape each page", "scrapeOptions")
    start, end = _dates(query.tbs) if query.tbs else (None, None)
    articles = [] if isinstance(fault, plan.NoResults) else archive.search(query.query, start, end)
    late = timedelta(days=fault.days if isinstance(fault, plan.WrongDates) else 0)
    listed = enumerate(articles[: query.limit], start=1)
    return {"news": [_result(position, article, late) for position, article in listed]}


def _result(position: int, article: Article, late: timedelta) -> dict[str, Any]:
    result = {
        "title": article.title,
        "url": article.url,
        "snippet": article.text[:_SNIPPET_CHARACTERS],
        "position": position,
    }
    if article.published:
        result["date"] = f"{article.published + late:%b %d, %Y}"
    return result


def _dates(tbs: str) -> tuple[date, date]:
    """Return the days of a range such as `cdr:1,cd_min:11/01/2026,cd_max:11/07/2026`."""
    match = _RANGE.fullmatch(tbs)
    try:
        days = match.groups() if match else ("", "")
        start, end = (datetime.strptime(day, "%m/%d/%Y").date() for day in days)
    except ValueError:
        message = "tbs: not a range such as cdr:1,cd_min:11/01/2026,cd_max:11/07/2026"
        raise Refusal(message, "tbs") from None
    if end - start > LONGEST_RANGE:
        raise Refusal(f"tbs: a range has at most {LONGEST_RANGE.days} days", "tbs")
    return start, end


def _scrape(archive: Archive, body: Any, fault: plan.InjectedFault | None) -> dict[str, Any]:
    url = read_model(_Scrape, body).url
    article = archive.page(url)
    if article is None:
        message = "The simulator fetches nothing: this is no article of its corpus."
        raise Refusal(message, "url", status=404)
    text, about = article.text, {"statusCode": 200, "url": url}
    if isinstance(fault, plan.HugePage):
        text = (text * (fault.characters // max(1, len(text)) + 1))[: fault.characters]
    elif isinstance(fault, plan.PageFailed):
        text, about = f"Error {fault.status}", about | {"statusCode": fault.status}
    elif isinstance(fault, plan.Redirected):
        about |= {"url": fault.to}
    metadata = {
        "title": article.title,
        "sourceURL": url,
        "scrapeId": f"{FINGERPRINT}-{digest(url)}",
    }
    return {"markdown": text, "metadata": {**metadata, **about}}
