"""Judges of your own: a Python callable, or an HTTP endpoint. What goes in and what comes out:

In, a JSON object (a `dict` for a callable), with `repeat` from 0::

    {"id": "17", "text": "...", "context": "", "repeat": 0}

Out, a JSON object (a `dict`), in which only `score` is needed; a callable may return the bare
number::

    {"score": 72, "subscores": {"clarity": 80}, "verdict": "keep", "reason": "..."}

`score` and the subscores are on the judge's `scale`, as numbers, as names of its `anchors` or, on
two steps, as `true` and `false`; or the result is `unparseable`. A callable may be `async`; another
one runs in a thread, several at once. What it prints goes to standard error. An exception, a status
other than 200, an answer that is too long or a passed time limit make the result `failed`; nothing
is tried again by itself. What it costs is not known here, and no call stands in the ledger.
"""

import asyncio
import importlib
import inspect
import json
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PrivateAttr, ValidationError

from judge_gym.design.fields import Legal
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.judges.base import Judge, unfit
from judge_gym.judges.model_judge import field_of, reason_of
from judge_gym.judges.scale import Scale
from judge_gym.questions.outcome import LONGEST_REASON as LONGEST_FAILURE
from judge_gym.questions.outcome import UNPRINTED
from judge_gym.records.items import Item
from judge_gym.records.judgements import MalformedAnswer, Reading
from judge_gym.seeds import digest

if TYPE_CHECKING:
    import aiohttp

MAX_ANSWER_BYTES = 1_000_000
"""Longest answer of an endpoint that is read."""
MAX_SUBSCORES = 100
_LONGEST_VERDICT = 200

_CLUTTER = re.compile(r" ssl:\S+")
"""What aiohttp puts into the message of a connection that fails."""

Ask = Callable[[dict[str, Any]], Awaitable[Any]]


class AskError(Exception):
    """An endpoint gave no answer; raised with the kind of failure."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class OwnJudge(Judge):
    """A judge that judge-gym only calls; change `version` when you change it."""

    version: str = Field(default="", max_length=100)
    """Part of its identity: what a former version said is not taken for this one's."""
    scale: Scale = Scale()
    """The lowest and the highest score that it returns."""
    timeout_s: float = Field(default=60, gt=0, le=3600)
    """Longest time one judgement may take, in seconds."""

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Ask]:
        """Open what is needed to ask; raises `ConfigError` when it cannot be asked at all."""
        raise NotImplementedError
        yield  # makes this a generator, as its overrides are

    async def ask(self, ask: Ask, item: Item, repeat: int) -> Reading:
        """Ask once; whatever goes wrong in it is a reading, too."""
        request = {"id": item.id, "text": item.text, "context": item.context, "repeat": repeat}
        try:
            async with asyncio.timeout(self.timeout_s):
                answer = await ask(request)
        except MalformedAnswer as unfit:
            return _unparseable(unfit)
        except AskError as error:
            return _failed(error.kind, str(error))
        except TimeoutError:
            return _failed("timeout", f"no answer within {self.timeout_s:g} s")
        except Exception as error:  # it is the user's code
            return _failed(type(error).__name__, str(error))
        try:
            return self.read_object(answer if isinstance(answer, dict) else {"score": answer})
        except MalformedAnswer as unfit:
            return _unparseable(unfit)

    @property
    def verdict_scores(self) -> dict[str, float]:
        return self.scale.verdicts

    def read_object(self, fields: dict[str, Any]) -> Reading:
        """Return what an answer says; raises `MalformedAnswer`."""
        given = fields.get("subscores") or {}
        if not isinstance(given, dict) or len(given) > MAX_SUBSCORES:
            raise MalformedAnswer(
                f"'subscores' is not an object of at most {MAX_SUBSCORES} numbers"
            )
        score, verdict = self._mark(field_of(fields, "score"), "score"), fields.get("verdict")
        return Reading(
            "scored",
            score,
            {str(name)[:100]: self._mark(mark, str(name)) for name, mark in given.items()},
            self.verdict_of(score)
            if verdict is None
            else UNPRINTED.sub(" ", str(verdict))[:_LONGEST_VERDICT],
            reason_of(fields),
        )

    def _mark(self, given: Any, of: str) -> float:
        """Return a mark as `Scale.mark` does; on two steps, False and True are these."""
        if isinstance(given, bool) and self.scale.highest - self.scale.lowest == 1:
            given = self.scale.lowest + given
        return self.scale.mark(given, of)


class CallableJudge(OwnJudge):
    """A Python function; its module is beside the judge's file, in the working folder, or
    installed."""

    kind: Literal["callable"] = "callable"
    function: Annotated[
        str,
        Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$", max_length=200),
        Legal("module:function"),
    ]
    """The function, as module:function."""
    _folder: str | None = PrivateAttr(default=None)
    _given: Callable[[dict[str, Any]], Any] | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, function: Callable[[dict[str, Any]], Any], **fields: Any) -> "CallableJudge":
        """Return a judge of a Python function, as one of a notebook; `fields` are the judge's.

        Its `version` is the digest of its source unless it is given, so that a changed function is
        asked anew. What the function itself calls is not seen: then give a `version`. Raises
        `ConfigError` for a function without a name or a source.
        """
        named = getattr(function, "__name__", "")
        if not named.isidentifier():
            raise ConfigError(f"{function!r} has no name.", "Define it with def.")
        if "version" not in fields:
            try:
                fields["version"] = digest("function", inspect.getsource(function))
            except (OSError, TypeError):
                raise ConfigError(
                    f"The source of {named} cannot be read.", "Give a version."
                ) from None
        fields.setdefault("name", named)
        try:
            judge = cls(function=f"{function.__module__}:{named}", **fields)
        except ValidationError as error:
            raise unfit(f"The judge of {named}", error) from None
        judge._given = function
        return judge

    def read_from(self, file: Path) -> "CallableJudge":
        """Return this judge as `file` describes it, whose folder may have the module."""
        judge = self.model_copy()
        judge._folder = str(file.parent.resolve())
        return judge

    @property
    def answered_by(self) -> str:
        return self.function

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Ask]:
        # What a function prints would stand between the results that a command prints for programs.
        # Of judges open at once the first redirects: the last to close must not put that back.
        with nullcontext() if sys.stdout is sys.stderr else redirect_stdout(sys.stderr):
            function = self._loaded()
            if inspect.iscoroutinefunction(function):
                yield function
            else:
                yield lambda request: _in_a_thread(function, request)

    def _loaded(self) -> Callable[[dict[str, Any]], Any]:
        if self._given is not None:
            return self._given
        return load_function(f"Judge {self.name!r}", self.function, self._folder)


def load_function(called: str, function: str, folder: str | None = None) -> Callable[..., Any]:
    """Import `module:function`; its module is in the working folder, in `folder`, or installed.

    Raises `ConfigError` naming what is `called` so when it cannot be loaded.
    """
    module, _, name = function.partition(":")
    for place in filter(None, (os.getcwd(), folder)):
        if place not in sys.path:
            sys.path.insert(0, place)
    try:
        imported = importlib.import_module(module)
    except Exception as error:  # an import runs the user's code
        raise ConfigError(
            f"{called}: function {function} cannot be loaded: {type(error).__name__}: {error}.",
            "Name it as module:function; the module is beside the judge's file, in the working "
            "folder, or installed.",
        ) from error
    found = getattr(imported, name, None)
    if found is None:
        own = [key for key, one in vars(imported).items() if callable(one) and key[0] != "_"]
        raise ConfigError(
            f"{called}: function {function} cannot be loaded: module {module} has no {name!r}.",
            f"{did_you_mean(name, own)}Name a function of {imported.__file__ or module}.",
        )
    if not callable(found):
        raise ConfigError(f"{called}: {function} is no function.")
    return found  # type: ignore[no-any-return]


class HttpJudge(OwnJudge):
    """An HTTP endpoint that takes a POST of JSON; redirects are not followed."""

    kind: Literal["http"] = "http"
    url: Annotated[
        str,
        Field(pattern=r"^https?://[^\s]+$", max_length=2000),
        Legal("an address that begins with http:// or https://"),
    ]
    """Its address."""
    key_env: str = Field(default="", max_length=100)
    """The variable that holds its bearer token; empty when it needs none."""

    @property
    def answered_by(self) -> str:
        return self.url

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Ask]:
        import aiohttp

        # Its own limit of time would end a longer one of the judge's.
        unlimited = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(headers=self._headers(), timeout=unlimited) as session:

            async def ask(request: dict[str, Any]) -> Any:
                try:
                    post = session.post(self.url, json=request, allow_redirects=False)
                    async with post as response:
                        return await _json(response)
                except aiohttp.ClientError as error:
                    raise AskError("connection", _CLUTTER.sub("", str(error))) from None

            yield ask

    def refusals(self) -> list[str]:
        """Return what keeps a run from asking it."""
        try:
            self._headers()
        except ConfigError as error:
            return [str(error)]
        return []

    def _headers(self) -> dict[str, str]:
        if not self.key_env:
            return {}
        if not (token := os.environ.get(self.key_env)):
            raise ConfigError(f"Judge {self.name!r} needs the variable {self.key_env}.", "Set it.")
        return {"Authorization": f"Bearer {token}"}


async def _json(response: "aiohttp.ClientResponse") -> Any:
    if response.status != 200:
        raise AskError("status", f"{response.status} {response.reason}")
    body = b""
    async for part in response.content.iter_chunked(65_536):
        body += part
        if len(body) > MAX_ANSWER_BYTES:
            raise AskError("too_long", f"the answer has more than {MAX_ANSWER_BYTES} bytes")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer(f"the answer is not JSON: {error}") from None


async def _in_a_thread(function: Callable[[dict[str, Any]], Any], request: dict[str, Any]) -> Any:
    """Call in a thread that nobody waits for once its time is over, as a pool's would be."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = function(request)
        except Exception as raised:
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, daemon=True).start()
    return await done


def _failed(kind: str, detail: str) -> Reading:
    return Reading("failed", failure=_line(kind, detail))


def _unparseable(unfit: MalformedAnswer) -> Reading:
    return Reading("unparseable", failure=_line("out_of_form", str(unfit)))


def _line(kind: str, detail: str) -> str:
    return UNPRINTED.sub(" ", f"{kind}: {detail}")[:LONGEST_FAILURE]
