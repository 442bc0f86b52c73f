"""News from Firecrawl: a window's query and dates in, full pages as markdown out.

The only module that imports firecrawl, and only when a search runs. Search and scrape are two
requests, because a search that scrapes loses the date of each result. All content is untrusted:
lengths are bounded, links are not followed, and `agent_hints` (text addressed to a model) is not
read.
"""

import asyncio
import itertools
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import chain, zip_longest
from typing import Any

from pydantic import SecretStr

from judge_gym.design.window import Window
from judge_gym.errors import EvidenceError
from judge_gym.evidence.dates import parse_age, parse_date
from judge_gym.evidence.documents import Dropped, RawDocument, Reason
from judge_gym.evidence.hidden_text import HIDDEN_SELECTORS
from judge_gym.evidence.normal_text import normal_line
from judge_gym.evidence.urls import is_public
from judge_gym.retry_after import retry_after_seconds

_LOG = logging.getLogger(__name__)
MAX_WAIT_SECONDS = 900.0
"""Longest pause that the service may demand; a collection waits so long for a rate limit to end."""
UNNAMED_WAIT_SECONDS = 180.0
"""As long for a rate limit that names no pause: the service counts requests by the minute."""
_TRANSIENT = frozenset({408, 425, 500, 502, 503, 504})
_LIMITED = 429
_RETRY_IN = re.compile(
    r"(?:retry|try again) (?:after|in) (\d+(?:\.\d+)?) ?(ms|s|sec|seconds?|m|min|minutes?)?\b",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "m": 60.0, "mi": 60.0}
_LIMITED_IN_WORDS = re.compile(r"rate limit|too many requests", re.IGNORECASE)


@dataclass(frozen=True)
class FirecrawlAccess:
    """Address, key and limits of Firecrawl; a self-hosted server needs no key."""

    api_url: str = "https://api.firecrawl.dev"
    api_key: SecretStr | None = None
    timeout_seconds: float = 60.0
    """For one request, from first to last byte."""
    attempts: int = 4
    """Attempts per request, the first included."""
    at_once: int = 4
    """Pages scraped at the same time."""


class CallFailed(Exception):
    """A request that failed after its retries."""

    def __init__(self, detail: str, status: int | None, transient: bool, wait: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.wait_seconds = retry_after_seconds(wait)
        if self.wait_seconds is None:
            self.wait_seconds = _named_wait(detail)
        self.transient = transient and (self.wait_seconds or 0.0) <= MAX_WAIT_SECONDS


def _named_wait(message: str) -> float | None:
    """Return the seconds after which a message says to come back, None when it does not."""
    match = _RETRY_IN.search(message)
    if match is None:
        return None
    return float(match[1]) * _UNITS.get((match[2] or "s").lower()[:2], 1.0)


@dataclass
class _RateLimit:
    """How long the service keeps all requests of a client back."""

    attempts: int
    until: float = 0.0
    """On the clock of the event loop."""
    waits: int = 0
    """Since a request was last answered."""
    waited_s: float = 0.0
    """In these."""

    async def turn(self) -> None:
        """Wait until requests may be sent."""
        clock = asyncio.get_running_loop().time
        while (left := self.until - clock()) > 0:
            await asyncio.sleep(left)

    def refused(self, failure: CallFailed, tries: int) -> bool:
        """Note a refusal of a request sent so often; returns whether to wait and send it again."""
        clock = asyncio.get_running_loop().time()
        if clock < self.until:  # others were refused meanwhile, and wait already
            return True
        wait = failure.wait_seconds
        longest = UNNAMED_WAIT_SECONDS if wait is None else MAX_WAIT_SECONDS
        if wait is None:
            wait = min(2.0 ** (self.waits + 1), 60.0)
        # A service that wants a request back at once gets it a few times.
        again = tries < self.attempts if wait < 1 else self.waited_s + wait <= longest
        if again:
            self.until = clock + wait
            self.waits += 1
            self.waited_s += wait
            if wait >= 1:
                _LOG.warning("Firecrawl limits requests: waiting %.0f s.", wait)
        return again

    def passed(self) -> None:
        """Note a request that was not refused."""
        self.waits, self.waited_s = 0, 0.0


@dataclass(frozen=True)
class FirecrawlClient:
    """The two requests that a news window needs; each raises `CallFailed`."""

    sdk: Any
    access: FirecrawlAccess
    key: str = field(repr=False)
    limit: _RateLimit

    async def search_news(self, query: str, dates: str | None, limit: int) -> Sequence[Any]:
        """Return the news results for `query`, best first; `dates` in the search engine's form."""
        response = await self._call(
            lambda: self.sdk.search(
                query, limit=limit, sources=["news"], tbs=dates, timeout=self._server_timeout()
            )
        )
        return response.news or []

    async def scrape(self, url: str) -> Any:
        """Return the page at `url` as markdown, without hidden elements."""
        return await self._call(
            lambda: self.sdk.scrape(
                url,
                formats=["markdown"],
                only_main_content=True,
                exclude_tags=list(HIDDEN_SELECTORS),
                remove_base64_images=True,
                timeout=self._server_timeout(),
                auto_resume=False,
            )
        )

    async def _call(self, request: Callable[[], Awaitable[Any]]) -> Any:
        """Return the response, after retries of transient failures; raises `CallFailed`.

        A rate limit keeps back every request, for as long as the service asks.
        """
        for tries in itertools.count(1):
            await self.limit.turn()
            try:
                response = await self._retried(request)
            except CallFailed as failure:
                if failure.status != _LIMITED or not self.limit.refused(failure, tries):
                    raise
            else:
                self.limit.passed()
                return response
        raise AssertionError("the last refusal raises")

    async def _retried(self, request: Callable[[], Awaitable[Any]]) -> Any:
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.access.attempts),
            retry=retry_if_exception(lambda e: isinstance(e, CallFailed) and e.transient),
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
            message = self._message(error)
            # A proxy or a self-hosted service may word it with status 200.
            limited = error.status_code == 200 and _LIMITED_IN_WORDS.search(message)
            raise CallFailed(
                message,
                _LIMITED if limited else error.status_code,
                transient=error.status_code in _TRANSIENT,
                wait=headers.get("retry-after", ""),
            ) from error
        except TimeoutError as error:
            detail = f"no answer within {self.access.timeout_seconds:g} s"
            raise CallFailed(detail, None, transient=True) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            mistyped = isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL)
            detail = f"no connection: {self._message(error)}"
            raise CallFailed(detail, None, transient=not mistyped) from error
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            # The SDK raises these when the response is not the JSON it expects.
            detail = f"the answer is not Firecrawl's: {self._message(error)}"
            raise CallFailed(detail, None, transient=False) from error

    def _message(self, error: Exception) -> str:
        message = normal_line(f"{error}" or type(error).__name__, 300)
        return message.replace(self.key, "***") if self.key else message

    def _server_timeout(self) -> int:
        """Return the server's time limit in milliseconds, slightly below our own."""
        return max(1, int(self.access.timeout_seconds * 900))


@asynccontextmanager
async def firecrawl(access: FirecrawlAccess) -> AsyncIterator[FirecrawlClient]:
    """Open a client for the block."""
    # Deferred: importing firecrawl costs a second that no other source pays.
    from firecrawl.v2 import AsyncFirecrawlClient

    # With None the SDK sends a key from the environment to any server; with "" it sends none.
    key = access.api_key.get_secret_value() if access.api_key else ""
    sdk = AsyncFirecrawlClient(
        api_key=key,
        api_url=access.api_url.rstrip("/"),
        timeout=access.timeout_seconds,
        max_retries=1,
    )
    try:
        yield FirecrawlClient(sdk, access, key, _RateLimit(access.attempts))
    finally:
        await sdk.async_http_client.close()


def _pause(state: Any) -> float:
    """Return seconds until the next attempt: as the service demands, else exponential."""
    from tenacity import wait_random_exponential

    failure = state.outcome.exception()
    if isinstance(failure, CallFailed) and failure.wait_seconds is not None:
        return failure.wait_seconds
    return wait_random_exponential(multiplier=0.5, max=20)(state)


MAX_RESULTS = 100
"""Most results of one Firecrawl search."""
MAX_PAGE_CHARACTERS = 2_000_000
SIMULATOR_MARK = "judge-gym-simulator"
"""Prefix of the simulator's scrape ids. The service creates the id, so no page can fake it."""

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
    """Returns the day that ages such as "2 days ago" refer to."""

    async def collect(self, window: Window) -> list[RawDocument | Dropped]:
        """Search for `window` and scrape each result, in the order of the search.

        A window of more documents than one search returns is searched by parts of its dates.
        A page that fails is dropped. Raises `EvidenceError` when the search fails, the key is
        refused, the credits end, the service limits requests for longer than it is waited for, or
        every scrape failed.
        """
        async with firecrawl(self.access) as client:
            return await _Collecting(client, self.access, self.today()).run(window)


def search_query(window: Window) -> str:
    """Return the window's query, with its country appended unless it names it."""
    if window.country.casefold() in window.query.casefold():
        return window.query
    return f"{window.query} {window.country}"


def search_dates(start: date | None, end: date | None) -> str | None:
    """Return the date range in the search engine's form, days inclusive; None without dates."""
    if start is None or end is None:
        return None
    return f"cdr:1,cd_min:{start:%m/%d/%Y},cd_max:{end:%m/%d/%Y}"


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
        except ExceptionGroup as failures:
            # Not `except*`: what is raised in it stays in a group on Python 3.11.2 (Debian 12).
            own = failures.subgroup(EvidenceError)
            if own is None:
                raise
            raise own.exceptions[0] from failures
        pages = [task.result() for task in tasks]
        _refuse_total_failure(pages)
        surplus = [
            _dropped(one, "over_limit", f"the window asked for {window.max_documents} results")
            for one in results[window.max_documents :]
        ]
        return [*pages, *surplus]

    async def _search(self, window: Window) -> Sequence[Any]:
        """Return the results, best first; those of several parts of the dates in turns."""
        parts = await self._parts(window, window.start, window.end)
        in_turns = chain.from_iterable(zip_longest(*parts))
        return [result for result in in_turns if result is not None]

    async def _parts(
        self, window: Window, start: date | None, end: date | None
    ) -> list[Sequence[Any]]:
        """Return the results of each part of these dates: halves, until each fits one search.

        A day is not divided further: of a day with more results, the best are taken.
        """
        limit = min(window.max_documents, MAX_RESULTS)
        try:
            results = await self.client.search_news(
                search_query(window), search_dates(start, end), limit
            )
        except CallFailed as failure:
            raise self._error(failure, "search") from failure
        fits = window.max_documents <= MAX_RESULTS or len(results) < MAX_RESULTS
        if fits or start is None or end is None or start == end:
            return [results]
        middle = start + (end - start) // 2
        return [
            *await self._parts(window, start, middle),
            *await self._parts(window, middle + timedelta(days=1), end),
        ]

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
            if failure.status in (*_ENDS_EVERYTHING, _LIMITED):
                raise self._error(failure, "scrape") from failure
            return _dropped(result, "scrape_failed", failure.detail)
        return self._document(number, result, page)

    def _document(self, number: int, result: Any, page: Any) -> RawDocument | Dropped:
        text, metadata = page.markdown or "", page.metadata_typed
        if metadata.url and not is_public(metadata.url):
            return _dropped(result, "unsafe_url", f"led to {metadata.url}")
        if metadata.status_code is not None and metadata.status_code >= 400:
            return _dropped(result, "scrape_failed", f"the page answered {metadata.status_code}")
        if not text.strip():
            return _dropped(result, "unreadable", "the page has no text")
        if len(text) > MAX_PAGE_CHARACTERS:
            return _dropped(result, "too_large", f"{len(text)} characters")
        listed = result.date or ""
        return RawDocument(
            origin=f"search result {number}",
            url=result.url,
            title=result.title or metadata.title or "",
            text=text,
            published=parse_date(metadata.published_time or "")
            or parse_date(listed)
            or parse_age(listed, self.today),
            simulated=(metadata.scrape_id or "").startswith(SIMULATOR_MARK),
        )

    def _error(self, failure: CallFailed, action: str) -> EvidenceError:
        if failure.status in _ENDS_EVERYTHING:
            return EvidenceError(*_ENDS_EVERYTHING[failure.status])
        return EvidenceError(
            f"The Firecrawl {action} at {self.access.api_url} failed: {failure.detail}",
            _remedy(failure),
        )


def _remedy(failure: CallFailed) -> str:
    status = failure.status
    if status == 429:
        return (
            "The service limits requests, and nothing of the window is stored yet. Rerun later to "
            "collect the window."
        )
    if status is not None and status >= 500:
        return "The service fails. Rerun later to collect the window."
    if status is not None and status >= 400:
        return "Correct what the service names, then rerun to collect the window."
    if failure.transient:
        return (
            "Rerun later to collect the window. If nothing answers, check JUDGE_GYM_FIRECRAWL_URL."
        )
    return "Check JUDGE_GYM_FIRECRAWL_URL, then rerun to collect the window."


def _refuse_total_failure(pages: Sequence[RawDocument | Dropped]) -> None:
    """Raise when every scrape failed: an empty window would be frozen as one without news."""
    failed = [
        page for page in pages if isinstance(page, Dropped) and page.reason == "scrape_failed"
    ]
    if failed and not any(isinstance(page, RawDocument) for page in pages):
        raise EvidenceError(
            f"No page could be scraped: {len(failed)} of {len(pages)} failed; the first, "
            f"{failed[0].url}: {failed[0].detail}",
            "Collect the window again later.",
        )


def _dropped(result: Any, reason: Reason, detail: str) -> Dropped:
    url, title = getattr(result, "url", None), getattr(result, "title", None)
    return Dropped(url or "", title or "", reason, detail)
