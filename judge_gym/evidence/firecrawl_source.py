"""News from a Firecrawl search: the window's query and dates in, full pages as markdown out.

The only module that imports firecrawl, and only when a search runs. Search and scrape are two
steps because a search that scrapes loses the date of each result. Everything that comes back is
outside text: bounded, never followed, and `agent_hints` (text addressed to a model) never read.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from pydantic import SecretStr

from judge_gym.design.window import Window
from judge_gym.errors import EvidenceError
from judge_gym.evidence.dates import parse_age, parse_date
from judge_gym.evidence.documents import Dropped, RawDocument, Reason
from judge_gym.evidence.normal_text import normal_line
from judge_gym.evidence.urls import is_public

MAX_RESULTS = 100
"""What one Firecrawl search returns at most."""
MAX_PAGE_CHARACTERS = 2_000_000
MAX_WAIT_SECONDS = 60.0
"""A service that asks for a longer pause is not waited for."""

_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_ENDS_EVERYTHING = {
    401: ("Firecrawl refused the key (401).", "Check FIRECRAWL_API_KEY."),
    402: ("Firecrawl's credits are used up (402).", "Add credits, then collect the window again."),
}


@dataclass(frozen=True)
class FirecrawlAccess:
    """How to reach Firecrawl; a self-hosted one needs no key."""

    api_url: str = "https://api.firecrawl.dev"
    api_key: SecretStr | None = None
    timeout_seconds: float = 60.0
    """For one request, from first to last byte."""
    attempts: int = 4
    """How often one request is tried in all."""
    at_once: int = 4
    """Pages scraped at the same time."""


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
        the key is refused, the credits end, or not one of the pages found could be scraped.
        """
        if window.max_documents > MAX_RESULTS:
            raise EvidenceError(
                f"max_documents is {window.max_documents}, one news search returns at most "
                f"{MAX_RESULTS}.",
                "Lower it, or split the window by dates.",
            )
        # Deferred: importing firecrawl costs a second that no other source pays.
        from firecrawl.v2 import AsyncFirecrawlClient

        # An empty key, unlike None, keeps the SDK from sending one it finds in the environment
        # to whatever server the address names.
        key = self.access.api_key.get_secret_value() if self.access.api_key else ""
        client = AsyncFirecrawlClient(
            api_key=key,
            api_url=self.access.api_url.rstrip("/"),
            timeout=self.access.timeout_seconds,
            max_retries=1,
        )
        try:
            return await _Collecting(client, self.access, key, self.today()).run(window)
        finally:
            await client.async_http_client.close()


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


class _CallFailed(Exception):
    """One request that gave no usable answer, after its retries."""

    def __init__(self, detail: str, status: int | None, transient: bool, wait: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        try:
            self.wait_seconds: float | None = max(0.0, float(wait))
        except ValueError:
            self.wait_seconds = None
        self.transient = transient and (self.wait_seconds or 0.0) <= MAX_WAIT_SECONDS


@dataclass(frozen=True)
class _Collecting:
    client: Any
    access: FirecrawlAccess
    key: str = field(repr=False)
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

    async def _search(self, window: Window) -> list[Any]:
        try:
            found = await self._call(
                lambda: self.client.search(
                    search_query(window),
                    limit=window.max_documents,
                    sources=["news"],
                    tbs=search_dates(window),
                    timeout=self._server_timeout(),
                )
            )
        except _CallFailed as failure:
            raise self._error(failure, "search") from failure
        return list(found.news or [])

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
                page = await self._call(
                    lambda: self.client.scrape(
                        url,
                        formats=["markdown"],
                        only_main_content=True,
                        remove_base64_images=True,
                        timeout=self._server_timeout(),
                        auto_resume=False,
                    )
                )
        except _CallFailed as failure:
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
        )

    async def _call(self, request: Callable[[], Awaitable[Any]]) -> Any:
        """Answer of `request`, tried again while it may pass; raises `_CallFailed`."""
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.access.attempts),
            retry=retry_if_exception(lambda e: isinstance(e, _CallFailed) and e.transient),
            wait=_pause,
            reraise=True,
        )
        return await retrying(self._once, request)

    async def _once(self, request: Callable[[], Awaitable[Any]]) -> Any:
        import httpx
        from firecrawl import FirecrawlError

        try:
            async with asyncio.timeout(self.access.timeout_seconds):
                return await request()
        except FirecrawlError as error:
            headers = error.response.headers if error.response is not None else {}
            raise _CallFailed(
                self._said(error),
                error.status_code,
                transient=error.status_code in _TRANSIENT,
                wait=headers.get("retry-after", ""),
            ) from error
        except TimeoutError as error:
            detail = f"no answer within {self.access.timeout_seconds:g} s"
            raise _CallFailed(detail, None, transient=True) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            mistyped = isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL)
            detail = f"no connection: {self._said(error)}"
            raise _CallFailed(detail, None, transient=not mistyped) from error
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            # What the SDK raises when the answer is not the JSON it expects.
            detail = f"the answer is not Firecrawl's: {self._said(error)}"
            raise _CallFailed(detail, None, transient=False) from error

    def _said(self, error: Exception) -> str:
        said = normal_line(f"{error}" or type(error).__name__, 300)
        return said.replace(self.key, "***") if self.key else said

    def _error(self, failure: _CallFailed, action: str) -> EvidenceError:
        if failure.status in _ENDS_EVERYTHING:
            return EvidenceError(*_ENDS_EVERYTHING[failure.status])
        return EvidenceError(
            f"The Firecrawl {action} at {self.access.api_url} failed: {failure.detail}",
            "Check JUDGE_GYM_FIRECRAWL_URL, then collect the window again.",
        )

    def _server_timeout(self) -> int:
        """Milliseconds the server may take, a little less than we wait."""
        return max(1, int(self.access.timeout_seconds * 900))


def _pause(state: Any) -> float:
    """Seconds before the next attempt: what the service asked for, else longer each time."""
    from tenacity import wait_random_exponential

    failure = state.outcome.exception()
    if isinstance(failure, _CallFailed) and failure.wait_seconds is not None:
        return failure.wait_seconds
    return wait_random_exponential(multiplier=0.5, max=20)(state)


def _refuse_total_failure(pages: list[RawDocument | Dropped]) -> None:
    """An empty window would be frozen as if there had been no news."""
    failed = [one for one in pages if isinstance(one, Dropped) and one.reason == "scrape_failed"]
    if failed and len(failed) == len(pages):
        raise EvidenceError(
            f"None of the {len(failed)} pages found could be scraped; the first, "
            f"{failed[0].url}: {failed[0].detail}",
            "Collect the window again later.",
        )


def _dropped(result: Any, reason: Reason, detail: str) -> Dropped:
    url, title = getattr(result, "url", None), getattr(result, "title", None)
    return Dropped(url or "", title or "", reason, detail)
