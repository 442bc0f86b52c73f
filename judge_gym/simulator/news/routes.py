"""The routes `/v2/search` and `/v2/scrape` in Firecrawl's format, a fault plan in their way."""

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from judge_gym.seeds import canonical_json, digest
from judge_gym.simulator.chat import FINGERPRINT
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.injector import INJECTOR
from judge_gym.simulator.faults.spoiling import deliver, refusal
from judge_gym.simulator.json_http import read_json
from judge_gym.simulator.news import faults
from judge_gym.simulator.news.archive import LONGEST_RANGE, Archive, Article
from judge_gym.simulator.refusals import Refusal, read_model
from judge_gym.simulator.stats import STATS

NewsRoute = Literal["search", "scrape"]
_ARCHIVE = web.AppKey("archive", Archive)
_RANGE = re.compile(r"cdr:1,cd_min:(\d{1,2}/\d{1,2}/\d{4}),cd_max:(\d{1,2}/\d{1,2}/\d{4})")
_SNIPPET_CHARACTERS = 160


class _Body(BaseModel):
    """The fields that are read; others a client may send change nothing."""

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
    route: NewsRoute, answer: Callable[[Archive, Any, plan.Fault | None], dict[str, Any]]
) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.StreamResponse:
        body, injector = await read_json(request), request.app[INJECTOR]
        archive = request.app[_ARCHIVE]
        if archive.is_empty:  # else a search would seem to have found nothing
            raise Refusal("This simulator has no news; start it with --news PATH.", status=404)
        request.app[STATS].news[route] += 1
        subject = plan.Subject(route, digest(route, canonical_json(body)))
        fault = injector.meet(subject) if injector.active else None
        if isinstance(fault, plan.Refused):
            raise refusal(fault)
        if isinstance(fault, faults.PaymentRequired):
            raise Refusal("Insufficient credits (simulated).", status=402)
        if isinstance(fault, faults.TimedOut):
            raise Refusal("The page took too long (simulated).", status=408)
        response = web.json_response({"success": True, "data": answer(archive, body, fault)})
        if isinstance(fault, plan.Delivered):
            return await deliver(fault, request, response)
        return response

    return handle


def _search(archive: Archive, body: Any, fault: plan.Fault | None) -> dict[str, Any]:
    asked = read_model(_Search, body)
    if [source.type for source in asked.sources] != ["news"]:
        raise Refusal('sources: the simulator has news alone; ask for ["news"]', "sources")
    if asked.scrapeOptions is not None:
        raise Refusal("scrapeOptions: search first, then scrape each page", "scrapeOptions")
    start, end = _dates(asked.tbs) if asked.tbs else (None, None)
    found = [] if isinstance(fault, faults.NoResults) else archive.search(asked.query, start, end)
    late = timedelta(days=fault.days if isinstance(fault, faults.WrongDates) else 0)
    listed = enumerate(found[: asked.limit], start=1)
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
        said = "tbs: not a range such as cdr:1,cd_min:11/01/2026,cd_max:11/07/2026"
        raise Refusal(said, "tbs") from None
    if end - start > LONGEST_RANGE:
        raise Refusal(f"tbs: a range has at most {LONGEST_RANGE.days} days", "tbs")
    return start, end


def _scrape(archive: Archive, body: Any, fault: plan.Fault | None) -> dict[str, Any]:
    url = read_model(_Scrape, body).url
    article = archive.page(url)
    if article is None:
        said = "The simulator fetches nothing: this is no article of its corpus."
        raise Refusal(said, "url", status=404)
    text, about = article.text, {"statusCode": 200, "url": url}
    if isinstance(fault, faults.HugePage):
        text = (text * (fault.characters // max(1, len(text)) + 1))[: fault.characters]
    elif isinstance(fault, faults.PageFailed):
        text, about = f"Error {fault.status}", about | {"statusCode": fault.status}
    elif isinstance(fault, faults.Redirected):
        about |= {"url": fault.to}
    made = {"title": article.title, "sourceURL": url, "scrapeId": f"{FINGERPRINT}-{digest(url)}"}
    return {"markdown": text, "metadata": {**made, **about}}
