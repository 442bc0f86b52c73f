"""Fault plans: the tables of a plan and the fields of each kind of fault.

Values only. `injection` decides which request meets which fault and carries it out, `reading` reads
plans from TOML files and requests.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from judge_gym.errors import did_you_mean
from judge_gym.model_names import is_simulated_model, planted_name
from judge_gym.planted.families import family_named, planted, served_models, stand_ins
from judge_gym.simulator.answering import ROLES

if TYPE_CHECKING:
    Role = str
else:
    Role = Literal[tuple(ROLES)]
Route = Literal["chat", "line", "files", "batches", "search", "scrape", "fate"]
"""Where a fault strikes: a chat request, a line of a batch, a request to `/v1/files` or
`/v1/batches`, a search for news, the scraping of a page, or what becomes of a whole batch."""


_ALMOST = 0.75
"""How alike two names are from which on one is the other misspelt."""


@dataclass(frozen=True)
class Subject:
    """A request about to be served. Equal keys mean equal content: another attempt."""

    route: Route
    key: str
    model: str = ""
    role: Role | None = None


class InjectedFault(BaseModel):
    """The fields of every kind of fault: how often, and when."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: str
    share: float = Field(default=1.0, ge=0, le=1)
    """Share of the requests concerned that meet this fault, of those no earlier table took."""
    sticky: bool = False
    """Whether a request that meets it once meets it at every attempt."""
    max_count: int | None = Field(default=None, ge=0)
    """Most times it is given."""
    from_call: int = Field(default=1, ge=1)
    """The first of the requests concerned that may meet it, counted from 1."""
    to_call: int | None = Field(default=None, ge=1)
    """The last of them that may."""
    from_seconds: float = Field(default=0.0, ge=0, le=1e9)
    """Seconds after the plan came into force from which it is given."""
    to_seconds: float | None = Field(default=None, ge=0, le=1e9)
    """Seconds after which it is given no more."""

    @model_validator(mode="after")
    def _windows_are_in_order(self) -> "InjectedFault":
        if self.to_call is not None and self.to_call < self.from_call:
            raise ValueError(f"to_call {self.to_call} is before from_call {self.from_call}")
        if self.to_seconds is not None and self.to_seconds < self.from_seconds:
            raise ValueError(
                f"to_seconds {self.to_seconds:g} is before from_seconds {self.from_seconds:g}"
            )
        return self

    def concerns(self, subject: Subject) -> bool:
        """Whether it applies to `subject`."""
        raise NotImplementedError

    def in_window(self, call: int, seconds: float) -> bool:
        """Whether the `call`-th request concerned (from 1), at `seconds`, may meet it."""
        calls = self.from_call <= call and (self.to_call is None or call <= self.to_call)
        late = self.to_seconds is not None and seconds > self.to_seconds
        return calls and self.from_seconds <= seconds and not late


def _is_planted(family: str) -> str:
    if family not in planted():
        raise ValueError(f"there is no family {family!r}; use {', '.join(sorted(planted()))}")
    return family


def _is_judge(model: str) -> str:
    """Refuse a name that is almost that of a simulated judge; any other is that of a stand-in."""
    names = [planted_name(one) for one in served_models()]
    name = planted_name(model)
    # A stand-in is named after a real model, so that the real one's name is no mistake for it.
    of_real = {one for family in stand_ins().values() for one in family.models}
    own = [one for one in names if one not in of_real]
    close = get_close_matches(name, own, n=1, cutoff=_ALMOST)
    if name not in names and (close or is_simulated_model(model)):
        raise ValueError(
            f"the simulator has no judge {model!r}. {did_you_mean(name, names)}"
            f"Use {', '.join(names)}, or the name of a real model that it stands in for"
        )
    return model


class RequestFault(InjectedFault):
    """Strikes single requests."""

    model: Annotated[str, AfterValidator(_is_judge)] | None = None
    """Only requests for this model, with or without its provider `sim`."""
    family: Annotated[str, AfterValidator(_is_planted)] | None = None
    """Only requests that this family of judges answers."""
    role: Role | None = None
    """Only requests with this task."""
    routes: tuple[Route, ...] = ("chat",)

    def concerns(self, subject: Subject) -> bool:
        return (
            subject.route in self.routes
            and (self.model is None or planted_name(self.model) == planted_name(subject.model))
            and self.role in (None, subject.role)
            and (self.family is None or family_named(subject.model) == self.family)
        )


class Refused(RequestFault):
    """The request is refused, with a status that is not 200, and nothing is answered."""

    routes: tuple[Literal["chat", "line", "files", "batches", "search", "scrape"], ...] = Field(
        default=("chat",), min_length=1
    )


class RateLimit(Refused):
    """429."""

    kind: Literal["rate_limit"] = "rate_limit"
    code: Literal["rate_limit_exceeded", "insufficient_quota", "credit_balance_exhausted"] = (
        "rate_limit_exceeded"
    )
    retry_after: float = Field(default=1.0, ge=0, le=86_400)
    """Seconds."""
    form: Literal["seconds", "date", "absent", "retry_info", "reset_header"] = "seconds"
    """How it is said: in Retry-After, as a date with whole seconds, rounded up; in the body, as
    Google does; or in the headers of the limit itself. An API without such a place says nothing."""


class ServerError(Refused):
    """A failure on the provider's side."""

    kind: Literal["server_error"] = "server_error"
    status: Literal[500, 502, 503, 529] = 500


class Overloaded(Refused):
    """Too much to do at the moment: each API has its own status and code for it."""

    kind: Literal["overloaded"] = "overloaded"


class Quota(Refused):
    """The credit is used up."""

    kind: Literal["quota"] = "quota"


class SpendLimit(Refused):
    """The account has reached its limit of spending."""

    kind: Literal["spend_limit"] = "spend_limit"
    own: bool = False
    """Whether the account set it for itself; Anthropic then has another status."""


class Unauthorized(Refused):
    """A wrong key."""

    kind: Literal["unauthorized"] = "unauthorized"


class NoAccess(Refused):
    """The account has no access to the model."""

    kind: Literal["no_access"] = "no_access"


class Retired(Refused):
    """The model is no longer served."""

    kind: Literal["retired"] = "retired"
    status: Literal[404, 410] | None = None
    """The API's own when not given."""


class ContextTooLong(Refused):
    """A prompt over the model's context."""

    kind: Literal["context_too_long"] = "context_too_long"


class ContentPolicy(Refused):
    """The request is refused for its content."""

    kind: Literal["content_policy"] = "content_policy"


class Delivered(RequestFault):
    """The answer is made, and would be charged, but does not arrive as it should."""

    routes: tuple[Literal["chat", "files", "batches", "search", "scrape"], ...] = Field(
        default=("chat",), min_length=1
    )


class SlowFirstByte(Delivered):
    """Nothing arrives for a while, then everything."""

    kind: Literal["slow_first_byte"] = "slow_first_byte"
    seconds: float = Field(default=5.0, ge=0, le=3600)


class Stall(Delivered):
    """The headers and half of the body arrive, the rest after a while."""

    kind: Literal["stall"] = "stall"
    seconds: float = Field(default=30.0, ge=0, le=3600)


class Cut(Delivered):
    """The connection closes after half of the body."""

    kind: Literal["cut"] = "cut"
    seconds: float = Field(default=0.0, ge=0, le=3600)
    """From the half to the end of the connection."""


class Reset(Delivered):
    """The connection is reset before the first byte."""

    kind: Literal["reset"] = "reset"


class InvalidJson(Delivered):
    """A whole response whose body is half of the JSON."""

    kind: Literal["invalid_json"] = "invalid_json"


class Html(Delivered):
    """A web page instead of the answer, as from a proxy or a login wall."""

    kind: Literal["html"] = "html"
    status: Literal[200, 403, 502, 503] = 200
    characters: int = Field(default=0, ge=0, le=50_000_000)
    """The least length of the page."""


class WrongContent(RequestFault):
    """The response is well formed, and its content is wrong."""

    routes: tuple[Literal["chat", "line"], ...] = Field(default=("chat",), min_length=1)


class EmptyAnswer(WrongContent):
    """An empty answer."""

    kind: Literal["empty"] = "empty"


class Length(WrongContent):
    """Half of the text, with the finish reason `length`."""

    kind: Literal["length"] = "length"


class ContentRefusal(WrongContent):
    """The finish reason `content_filter` and a refusal in place of the text."""

    kind: Literal["refusal"] = "refusal"


class Safety(WrongContent):
    """A refusal with status 200, in the API's own shape."""

    kind: Literal["safety"] = "safety"
    reason: str = Field(default="", max_length=100)
    """The API's own category or finish reason, such as "cyber" or "RECITATION"."""
    at: Literal["answer", "prompt"] = "answer"
    """Which of the two is refused, where the API tells them apart."""


class ThoughtOnly(WrongContent):
    """Thinking took all the room: an empty answer that was cut."""

    kind: Literal["thought_only"] = "thought_only"


class NativeFinish(WrongContent):
    """The whole answer, with one of the API's rarer finish reasons."""

    kind: Literal["native_finish"] = "native_finish"
    value: str = Field(default="error", min_length=1, max_length=100)


class ErrorIn200(WrongContent):
    """A failure with status 200, as OpenRouter has it."""

    kind: Literal["error_in_200"] = "error_in_200"
    where: Literal["body", "choice"] = "body"


class Cached(WrongContent):
    """A part of the prompt was read from the provider's cache, or written to it."""

    kind: Literal["cached"] = "cached"
    read: float = Field(default=0.5, ge=0, le=0.5)
    """Share of the prompt's tokens, rounded down."""
    written: float = Field(default=0.0, ge=0, le=0.5)
    """Share of the prompt's tokens, rounded down; only Anthropic counts them."""


class MalformedVerdict(WrongContent):
    """An answer to a scorer's prompt without a readable verdict."""

    kind: Literal["malformed_verdict"] = "malformed_verdict"
    role: Role | None = "scorer"


class WrongModel(WrongContent):
    """The answer names another model than the one asked."""

    kind: Literal["wrong_model"] = "wrong_model"
    answered_by: str = Field(default="another-model", min_length=1, max_length=200)


class MissingUsage(WrongContent):
    """The answer has no token counts."""

    kind: Literal["missing_usage"] = "missing_usage"


class Fate(InjectedFault):
    """Strikes whole batches; a batch is another attempt when its input file has equal content."""

    def concerns(self, subject: Subject) -> bool:
        return subject.route == "fate"


class BatchHalfFailed(Fate):
    """A share of the lines, exact to the line, fails with 500."""

    kind: Literal["batch_half_failed"] = "batch_half_failed"
    lines: float = Field(default=0.5, ge=0, le=1)


class BatchExpired(Fate):
    """The batch runs out of time with only the first lines answered."""

    kind: Literal["batch_expired"] = "batch_expired"
    done: float = Field(default=0.5, ge=0, le=1)
    """Share of the lines answered by then."""


class BatchVanished(Fate):
    """The batch is created and later unknown to the provider."""

    kind: Literal["batch_vanished"] = "batch_vanished"
    after: float = Field(default=0.0, ge=0, le=1e9)
    """Seconds after its creation."""


class BatchOutOfOrder(Fate):
    """The output has its lines in another order than the input."""

    kind: Literal["batch_out_of_order"] = "batch_out_of_order"


class BatchDuplicateLines(Fate):
    """A share of the output's lines, at least one, is duplicated."""

    kind: Literal["batch_duplicate_lines"] = "batch_duplicate_lines"
    lines: float = Field(default=0.2, ge=0, le=1)


class BatchFailed(Fate):
    """The batch does not pass validation."""

    kind: Literal["batch_failed"] = "batch_failed"
    code: str = Field(default="token_limit_exceeded", min_length=1, max_length=100)


AnyFate = (
    BatchHalfFailed
    | BatchExpired
    | BatchVanished
    | BatchOutOfOrder
    | BatchDuplicateLines
    | BatchFailed
)
_Routes = tuple[Literal["search", "scrape"], ...]


class PaymentRequired(RequestFault):
    """402: the credits are used up."""

    kind: Literal["payment_required"] = "payment_required"
    routes: _Routes = Field(default=("search", "scrape"), min_length=1)


class TimedOut(RequestFault):
    """408: the service gave up on the page."""

    kind: Literal["timed_out"] = "timed_out"
    routes: _Routes = Field(default=("scrape",), min_length=1)


class OfSearch(RequestFault):
    """The search succeeds with wrong results."""

    routes: tuple[Literal["search"], ...] = ("search",)


class NoResults(OfSearch):
    """The search has no results."""

    kind: Literal["no_results"] = "no_results"


class WrongDates(OfSearch):
    """The results have other dates than requested."""

    kind: Literal["wrong_dates"] = "wrong_dates"
    days: int = Field(default=-400, ge=-40_000, le=40_000)
    """Days between the requested and the returned dates."""


class OfPage(RequestFault):
    """The scrape succeeds, and the page is not the article."""

    routes: tuple[Literal["scrape"], ...] = ("scrape",)


class HugePage(OfPage):
    """A page of this many characters."""

    kind: Literal["huge_page"] = "huge_page"
    characters: int = Field(default=3_000_000, ge=1, le=50_000_000)


class PageFailed(OfPage):
    """The page's own server answers with an error."""

    kind: Literal["page_failed"] = "page_failed"
    status: Literal[403, 404, 410, 451, 500, 503] = 404


class Redirected(OfPage):
    """The page redirects elsewhere, such as to an address inside a network."""

    kind: Literal["redirected"] = "redirected"
    to: str = Field(default="http://169.254.169.254/latest/meta-data/", max_length=2_000)


NEWS_KINDS: tuple[type[InjectedFault], ...] = (
    PaymentRequired, TimedOut, NoResults, WrongDates, HugePage, PageFailed, Redirected,
)  # fmt: skip
"""The kinds of fault that only news has."""
KINDS: tuple[type[InjectedFault], ...] = (
    RateLimit, ServerError, Overloaded, Quota, SpendLimit, Unauthorized, NoAccess, Retired,
    ContextTooLong, ContentPolicy,
    SlowFirstByte, Stall, Cut, Reset, InvalidJson, Html,
    EmptyAnswer, Length, ContentRefusal, Safety, ThoughtOnly, NativeFinish, ErrorIn200, Cached,
    MalformedVerdict, WrongModel, MissingUsage,
    BatchHalfFailed, BatchExpired, BatchVanished, BatchOutOfOrder, BatchDuplicateLines,
    BatchFailed, *NEWS_KINDS,
)  # fmt: skip
"""Every kind that a `[[fault]]` table can name."""


@dataclass(frozen=True)
class FaultPlan:
    """Faults in order: a request meets the first one that is drawn for it."""

    faults: tuple[InjectedFault, ...] = ()
    seed: int = 0
