"""What can go wrong with a news search beyond what can with any request: more kinds of fault."""

from typing import Annotated, Literal

from pydantic import Field

from judge_gym.design.legal import Legal
from judge_gym.simulator.faults.plan import Fault, RequestFault

_Routes = Annotated[tuple[Literal["search", "scrape"], ...], Legal("a list of search or scrape")]


class PaymentRequired(RequestFault):
    """402: the credits are used up."""

    kind: Literal["payment_required"] = "payment_required"
    routes: _Routes = Field(default=("search", "scrape"), min_length=1)


class TimedOut(RequestFault):
    """408: the service gave up on the page."""

    kind: Literal["timed_out"] = "timed_out"
    routes: _Routes = Field(default=("scrape",), min_length=1)


class OfSearch(RequestFault):
    """The search succeeds, and what it found is not what was asked for."""

    routes: Annotated[tuple[Literal["search"], ...], Legal("a list of search")] = ("search",)


class NoResults(OfSearch):
    """Nothing is found."""

    kind: Literal["no_results"] = "no_results"


class WrongDates(OfSearch):
    """The results are of other days than asked for."""

    kind: Literal["wrong_dates"] = "wrong_dates"
    days: int = Field(default=-400, ge=-40_000, le=40_000)
    """How far off they are."""


class OfPage(RequestFault):
    """The scrape succeeds, and the page is not the article."""

    routes: Annotated[tuple[Literal["scrape"], ...], Legal("a list of scrape")] = ("scrape",)


class HugePage(OfPage):
    """A page of this many characters."""

    kind: Literal["huge_page"] = "huge_page"
    characters: int = Field(default=3_000_000, ge=1, le=50_000_000)


class PageFailed(OfPage):
    """The page's own server answers with an error."""

    kind: Literal["page_failed"] = "page_failed"
    status: Literal[403, 404, 410, 451, 500, 503] = 404


class Redirected(OfPage):
    """The page has led elsewhere, such as to an address inside a network."""

    kind: Literal["redirected"] = "redirected"
    to: str = Field(default="http://169.254.169.254/latest/meta-data/", max_length=2_000)


NEWS_KINDS: tuple[type[Fault], ...] = (
    PaymentRequired, TimedOut, NoResults, WrongDates, HugePage, PageFailed, Redirected,
)  # fmt: skip
"""Every kind of fault that only news has."""
