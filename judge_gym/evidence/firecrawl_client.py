"""Requests to Firecrawl through its SDK: which are made, what is tried again, how they fail.

The only module that imports firecrawl, and only when a search runs. What the answers mean is in
`firecrawl_source`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from judge_gym.evidence.hidden_text import HIDDEN_SELECTORS
from judge_gym.evidence.normal_text import normal_line
from judge_gym.retry_after import retry_after_seconds

MAX_WAIT_SECONDS = 60.0
"""A service that asks for a longer pause is not waited for."""
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


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


class CallFailed(Exception):
    """One request that gave no usable answer, after its retries."""

    def __init__(self, detail: str, status: int | None, transient: bool, wait: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.wait_seconds = retry_after_seconds(wait)
        self.transient = transient and (self.wait_seconds or 0.0) <= MAX_WAIT_SECONDS


@dataclass(frozen=True)
class FirecrawlClient:
    """The two requests that a news window needs; each raises `CallFailed`."""

    sdk: Any
    access: FirecrawlAccess
    key: str = field(repr=False)

    async def search_news(self, query: str, dates: str | None, limit: int) -> Sequence[Any]:
        """Return the news results for `query`, best first; `dates` as the search engine has it."""
        found = await self._call(
            lambda: self.sdk.search(
                query, limit=limit, sources=["news"], tbs=dates, timeout=self._server_timeout()
            )
        )
        return found.news or []

    async def scrape(self, url: str) -> Any:
        """Return the page at `url` as markdown, without what its readers do not see."""
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
        """Answer of `request`, tried again while it may pass; raises `CallFailed`."""
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
            raise CallFailed(
                self._said(error),
                error.status_code,
                transient=error.status_code in _TRANSIENT,
                wait=headers.get("retry-after", ""),
            ) from error
        except TimeoutError as error:
            detail = f"no answer within {self.access.timeout_seconds:g} s"
            raise CallFailed(detail, None, transient=True) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            mistyped = isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL)
            detail = f"no connection: {self._said(error)}"
            raise CallFailed(detail, None, transient=not mistyped) from error
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            # What the SDK raises when the answer is not the JSON it expects.
            detail = f"the answer is not Firecrawl's: {self._said(error)}"
            raise CallFailed(detail, None, transient=False) from error

    def _said(self, error: Exception) -> str:
        said = normal_line(f"{error}" or type(error).__name__, 300)
        return said.replace(self.key, "***") if self.key else said

    def _server_timeout(self) -> int:
        """Milliseconds the server may take, a little less than we wait."""
        return max(1, int(self.access.timeout_seconds * 900))


@asynccontextmanager
async def firecrawl(access: FirecrawlAccess) -> AsyncIterator[FirecrawlClient]:
    """Open a client, closed in the end."""
    # Deferred: importing firecrawl costs a second that no other source pays.
    from firecrawl.v2 import AsyncFirecrawlClient

    # An empty key, unlike None, keeps the SDK from sending one it finds in the environment to
    # whatever server the address names.
    key = access.api_key.get_secret_value() if access.api_key else ""
    sdk = AsyncFirecrawlClient(
        api_key=key,
        api_url=access.api_url.rstrip("/"),
        timeout=access.timeout_seconds,
        max_retries=1,
    )
    try:
        yield FirecrawlClient(sdk, access, key)
    finally:
        await sdk.async_http_client.close()


def _pause(state: Any) -> float:
    """Seconds before the next attempt: what the service asked for, else longer each time."""
    from tenacity import wait_random_exponential

    failure = state.outcome.exception()
    if isinstance(failure, CallFailed) and failure.wait_seconds is not None:
        return failure.wait_seconds
    return wait_random_exponential(multiplier=0.5, max=20)(state)
