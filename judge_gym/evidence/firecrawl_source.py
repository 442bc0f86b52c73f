"""News from a Firecrawl search: the window's query and dates in, full pages as markdown out.

Search and scrape are two steps because a search that scrapes loses the date of each result.
Everything that comes back is outside text: bounded, never followed, and `agent_hints` (text
addressed to a model) never read.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from judge_gym.design.window import Window
from judge_gym.errors import EvidenceError
from judge_gym.evidence.dates import parse_age, parse_date
from judge_gym.evidence.documents import Dropped, RawDocument, Reason
from judge_gym.evidence.firecrawl_client import (
    CallFailed,
    FirecrawlAccess,
    FirecrawlClient,
    firecrawl,
)
from judge_gym.evidence.urls import is_public

MAX_RESULTS = 100
"""What one Firecrawl search returns at most."""
MAX_PAGE_CHARACTERS = 2_000_000
SIMULATOR_MARK = "judge-gym-simulator"
"""What the simulator's scrape ids begin with. A service makes the id, so no page can fake it."""

_ENDS_EVERYTHING = {
    401: ("Firecrawl refused the key (401).", "Check FIRECRAWL_API_KEY."),
    402: ("Firecrawl's credits are used up (402).", "Add credits, then collect the window again."),
}


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True)
class FirecrawlNews:
    """News search as a source of documents."""

    access: FirecrawlAccess
    today: Callable[[], date] = _today
    """The day ages like "2 days ago" count from."""

    async def collect(self, window: Window) -> list[RawDocument | Dropped]:
        """Search for `window` and scrape each result, in the order of the search.

        A page that fails drops that page alone. Raises `EvidenceError` when the search fails,
        the key is refused, the credits end, or scraping failed and left not one page.
        """
        if window.max_documents > MAX_RESULTS:
            raise EvidenceError(
                f"max_documents is {window.max_documents}, one news search returns at most "
                f"{MAX_RESULTS}.",
                "Lower it, or split the window by dates.",
            )
        async with firecrawl(self.access) as client:
            return await _Collecting(client, self.access, self.today()).run(window)


def search_query(window: Window) -> str:
    """Return what is searched for: the window's query, with its country when that lacks it."""
    if window.country.casefold() in window.query.casefold():
        return window.query
    return f"{window.query} {window.country}"


def search_dates(window: Window) -> str | None:
    """Return the date range in the search engine's form, days inclusive; None without dates."""
    if window.start is None or window.end is None:
        return None
    return f"cdr:1,cd_min:{window.start:%m/%d/%Y},cd_max:{window.end:%m/%d/%Y}"


@dataclass(frozen=True)
class _Collecting:
    client: FirecrawlClient
    access: FirecrawlAccess
    today: date

    async def run(self, window: Window) -> list[RawDocument | Dropped]:
        results = await self._search(window)
        slots = asyncio.Semaphore(self.access.at_once)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._page(number, result, slots))
                    for number, result in enumerate(results[: window.max_documents], start=1)
                ]
        except* EvidenceError as failures:
            raise failures.exceptions[0] from failures
        pages = [task.result() for task in tasks]
        _refuse_total_failure(pages)
        surplus = [
            _dropped(one, "over_limit", f"the window asked for {window.max_documents} results")
            for one in results[window.max_documents :]
        ]
        return [*pages, *surplus]

    async def _search(self, window: Window) -> Sequence[Any]:
        try:
            return await self.client.search_news(
                search_query(window), search_dates(window), window.max_documents
            )
        except CallFailed as failure:
            raise self._error(failure, "search") from failure

    async def _page(
        self, number: int, result: Any, slots: asyncio.Semaphore
    ) -> RawDocument | Dropped:
        url = getattr(result, "url", None) or ""
        if not url:
            return _dropped(result, "unreadable", f"search result {number} has no address")
        if not is_public(url):
            return _dropped(result, "unsafe_url", "not a page of the public web")
        try:
            async with slots:
                page = await self.client.scrape(url)
        except CallFailed as failure:
            if failure.status in _ENDS_EVERYTHING:
                raise self._error(failure, "scrape") from failure
            return _dropped(result, "scrape_failed", failure.detail)
        return self._document(number, result, page)

    def _document(self, number: int, result: Any, page: Any) -> RawDocument | Dropped:
        text, about = page.markdown or "", page.metadata_typed
        if about.url and not is_public(about.url):
            return _dropped(result, "unsafe_url", f"led to {about.url}")
        if about.status_code is not None and about.status_code >= 400:
            return _dropped(result, "scrape_failed", f"the page answered {about.status_code}")
        if not text.strip():
            return _dropped(result, "unreadable", "the page has no text")
        if len(text) > MAX_PAGE_CHARACTERS:
            return _dropped(result, "too_large", f"{len(text)} characters")
        listed = result.date or ""
        return RawDocument(
            origin=f"search result {number}",
            url=result.url,
            title=result.title or about.title or "",
            text=text,
            published=parse_date(about.published_time or "")
            or parse_date(listed)
            or parse_age(listed, self.today),
            simulated=(about.scrape_id or "").startswith(SIMULATOR_MARK),
        )

    def _error(self, failure: CallFailed, action: str) -> EvidenceError:
        if failure.status in _ENDS_EVERYTHING:
            return EvidenceError(*_ENDS_EVERYTHING[failure.status])
        return EvidenceError(
            f"The Firecrawl {action} at {self.access.api_url} failed: {failure.detail}",
            "Check JUDGE_GYM_FIRECRAWL_URL, then collect the window again.",
        )


def _refuse_total_failure(pages: Sequence[RawDocument | Dropped]) -> None:
    """An empty window would be frozen as if there had been no news."""
    failed = [one for one in pages if isinstance(one, Dropped) and one.reason == "scrape_failed"]
    if failed and not any(isinstance(one, RawDocument) for one in pages):
        raise EvidenceError(
            f"No page could be scraped: {len(failed)} of {len(pages)} failed; the first, "
            f"{failed[0].url}: {failed[0].detail}",
            "Collect the window again later.",
        )


def _dropped(result: Any, reason: Reason, detail: str) -> Dropped:
    url, title = getattr(result, "url", None), getattr(result, "title", None)
    return Dropped(url or "", title or "", reason, detail)
