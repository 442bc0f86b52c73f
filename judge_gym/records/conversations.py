"""Conversations as texts: messages between marks, with roles that no message can forge.

A message has `role` and `content` as OpenAI's chat API writes them (text, or parts of it),
`tool_calls` of the assistant, results by the role `tool`, and optionally `name` and a time. Parts
of Anthropic's API (`tool_use`, `tool_result`) and pairs of `from` and `value` are read, too.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from judge_gym.evidence.normal_text import normal_line
from judge_gym.evidence.row import are_objects
from judge_gym.prompts import nonce
from judge_gym.seeds import digest

MESSAGES = "messages"
IDS = ("trace_id", "span_id")
PROMPT = "system_prompt"
RESPONSE = "response"
KEYS = (MESSAGES, PROMPT, RESPONSE, "unit", "window", "longest", "redact", *IDS)
"""What may stand beside the fields of a file of items: the columns with the messages, and with a
system prompt and an answer that are none of them, what is judged (`session` or `turn`), how many
messages before a turn are shown with it, the most characters of a session, or of what is before a
turn, what is replaced in texts, and the columns with the trace and the span that an item is."""
ROLES = ("system", "developer", "user", "assistant", "tool")
_SAME = {"function": "tool", "human": "user", "gpt": "assistant", "model": "assistant"}
_TIMES = ("created_at", "timestamp", "time")
_TEXTS = ("text", "input_text", "output_text", "refusal")
MOST_MESSAGES = 5_000
_LONGEST_NAME = 80
_RESULT = "result"
_CALLS = "calls "
_FIRST = re.compile(r"CONVERSATION: \d+ of \d+ messages\. .* mark (?P<mark>[0-9a-f]+)\.")
_HEAD = (
    "CONVERSATION: {shown} of {total} messages. Each stands between two lines that say who wrote "
    "it and have the mark {mark}."
)


@dataclass(frozen=True)
class Part:
    """What stands between two marks: the text of a message, a call of a tool or its result."""

    number: int
    """Of its message, from 1."""
    role: str
    what: str
    """What of the message it is, such as `calls "search"`; "" for its text."""
    time: str
    text: str

    @property
    def calls(self) -> bool:
        """Whether it is a call of a tool."""
        return self.what.startswith(_CALLS)

    @property
    def speaks(self) -> bool:
        """Whether it is text, and not blank."""
        return not self.calls and bool(self.text.strip())

    @property
    def heading(self) -> str:
        """Who wrote it, for people and judges."""
        return ", ".join(filter(None, (f"{self.role} {self.what}".strip(), self.time)))


@dataclass(frozen=True)
class AssistantTurn:
    """An answer of the assistant, with the calls of tools that led to it."""

    first: int
    """The first of the messages that only call tools for it; without any, the answer's."""
    number: int
    """Of the message with the answer."""


@dataclass(frozen=True)
class AssistantTurns:
    """The turns of a conversation, and the assistant's messages that are of none."""

    given: tuple[AssistantTurn, ...]
    calls: tuple[int, ...]
    """Messages that only call tools and are part of the turn that they lead to."""
    unled: tuple[int, ...]
    """Messages that only call tools and lead to no answer."""
    empty: tuple[int, ...]
    """Messages with neither text nor calls."""


@dataclass(frozen=True)
class Conversation:
    """The messages of a session, in order."""

    parts: tuple[Part, ...]
    total: int
    """How many messages the session has."""
    orphans: int = 0
    """Results of tools whose id is that of no call before them."""

    def turns(self, alone: Collection[int] = ()) -> AssistantTurns:
        """Return its turns; messages that are `alone` are turns, although they only call tools."""
        given: list[AssistantTurn] = []
        empty: list[int] = []
        waiting: list[int] = []
        calls: list[int] = []
        unled: list[int] = []
        for number, parts in groupby(self.parts, key=lambda one: one.number):
            told = list(parts)
            roles = {one.role for one in told}
            if "assistant" not in roles:
                if "user" in roles:  # what was called before led to no answer
                    unled, waiting = [*unled, *waiting], []
                continue
            own = [one for one in told if one.role == "assistant"]
            if any(one.speaks for one in own) or (number in alone and any(o.calls for o in own)):
                given.append(AssistantTurn(min([*waiting, number]), number))
                calls, waiting = [*calls, *waiting], []
            elif any(one.calls for one in own):
                waiting.append(number)
            else:
                empty.append(number)
                unled, waiting = [*unled, *waiting], []
        return AssistantTurns(tuple(given), tuple(calls), (*unled, *waiting), tuple(empty))

    @property
    def unanswered(self) -> str:
        """Why there is nothing of the assistant to judge; "" where there is."""
        own = [one for one in self.parts if one.role == "assistant"]
        if not own:
            return "without a message of the assistant"
        last = [one for one in own if one.number == own[-1].number]
        return "" if any(o.speaks or o.calls for o in last) else "whose last answer is empty"

    @property
    def length(self) -> int:
        """Its characters, without those of marks."""
        return sum(len(one.text) for one in self.parts)

    def only(self, first: int, last: int) -> "Conversation":
        """Return the messages with these numbers and all between."""
        return replace(self, parts=tuple(o for o in self.parts if first <= o.number <= last))

    def written(self, longest: int | None = None) -> str:
        """Return it as one text, of which `conversation_in` tells the messages apart again.

        Its mark is drawn from the messages and in none of them. Of more than `longest` characters,
        the longest parts are cut in their middle, all to one length, and say so.
        """
        told = [text for one in self.parts for text in (one.heading, one.text)]
        mark = nonce(digest("conversation", self.total, *told), *told)
        at_most = _level([len(one.text) for one in self.parts], longest)
        shown = len({one.number for one in self.parts})
        lines = [_HEAD.format(shown=shown, total=self.total, mark=mark)]
        for one in self.parts:
            place = f"{one.number} of {self.total}, {one.heading}, {mark}"
            lines += [f"<<<BEGIN {place}>>>", _cut(one.text, at_most, mark), f"<<<END {place}>>>"]
        return "\n".join(lines)


def _level(lengths: Sequence[int], longest: int | None) -> int | None:
    """Return the length that the longest parts are cut to, so that all are `longest` together."""
    if longest is None or sum(lengths) <= longest:
        return None
    left, ordered = longest, sorted(lengths)
    for place, length in enumerate(ordered):
        share = left // (len(ordered) - place)
        if length > share:
            return share
        left -= length
    return None


def _cut(text: str, at_most: int | None, mark: str) -> str:
    if at_most is None or len(text) <= at_most:
        return text
    head, tail = text[: at_most - at_most // 2], text[len(text) - at_most // 2 :]
    return f"{head}\n[{len(text) - at_most} characters are left out here, {mark}]\n{tail}"


def conversation_in(text: str) -> list[tuple[str, str]]:
    """Return the heading and the text of each part of a written conversation; [] of other texts."""
    first, _, rest = text.partition("\n")
    found = _FIRST.fullmatch(first)
    if found is None:
        return []
    mark = found["mark"]
    block = re.compile(
        rf"<<<BEGIN (\d+ of \d+, [^\n]*), {mark}>>>\n(.*?)\n<<<END \1, {mark}>>>(?:\n|\Z)",
        re.DOTALL,
    )
    parts: list[tuple[str, str]] = []
    start = 0
    while start < len(rest):
        one = block.match(rest, start)
        if one is None:
            return []
        parts.append((one[1], one[2]))
        start = one.end()
    return parts


def are_messages(given: Any) -> bool:
    """Whether a value is a list of messages."""
    return are_objects(given) and all({"role", "from"} & set(one) for one in given)


def are_parts(given: Any) -> bool:
    """Whether a value is a list of parts of text, as Anthropic's `system` has them."""
    return are_objects(given) and all(one.get("type") in _TEXTS for one in given)


def answered(given: Any) -> list[Any]:
    """Return an answer as messages: text, parts, a message, or what an API responds with it.

    Of several choices the first. Raises `ValueError` for anything else.
    """
    if isinstance(given, str):
        return [{"role": "assistant", "content": given}] if given.strip() else []
    if isinstance(given, dict):
        if isinstance(choices := given.get("choices"), list) and choices:
            given = choices[0]
        inner = given.get("message", given) if isinstance(given, dict) else given
        if isinstance(inner, dict) and "content" in inner:
            return [{"role": "assistant", **inner}]
        if isinstance(inner, dict) and isinstance(output := inner.get("output"), list):
            given = [one for one in output if _is_message(one)]
    if are_messages(given):
        return list(given)
    if isinstance(given, list) and all(isinstance(one, dict) and "type" in one for one in given):
        return [{"role": "assistant", "content": given}] if given else []
    if given is None:
        return []
    raise ValueError("is neither text, a message, nor what an API responds")


def _is_message(given: Any) -> bool:
    return isinstance(given, dict) and "role" in given


def as_text(given: Any) -> Any:
    """Return a list of messages as one text, and anything else as it is; raises `ValueError`."""
    return conversation_of(given).written() if are_messages(given) else given


def listed(given: Any) -> list[Any]:
    """Return a list of messages, or that of its JSON; raises `ValueError`."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"is not a list of messages in JSON: {error}") from None
    if not isinstance(given, list) or not given:
        raise ValueError("is not a list of messages, each with role and content")
    if len(given) > MOST_MESSAGES:
        raise ValueError(f"has more than {MOST_MESSAGES:,} messages")
    return given


def conversation_of(given: Sequence[Any]) -> Conversation:
    """Return the conversation of a list of messages; raises `ValueError` naming the message."""
    names: dict[str, str] = {}
    parts: list[Part] = []
    orphans = 0
    for number, message in enumerate(given, start=1):
        try:
            parts += _parts(number, message, names)
        except ValueError as error:
            raise ValueError(f"[{number - 1}] {error}") from None
        orphans += sum(one not in names for one in _answered(message))
    return Conversation(tuple(parts), len(given), orphans)


def _answered(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the id of the call that each result in a message is of."""
    content = message.get("content")
    inside = content if isinstance(content, list) else ()
    for one, key in ((message, "tool_call_id"), *((part, "tool_use_id") for part in inside)):
        if isinstance(one, Mapping) and one.get(key):
            yield str(one[key])


def _parts(number: int, message: Any, names: dict[str, str]) -> list[Part]:
    """Return the parts of a message; `names` has the tool of each call so far."""
    if not isinstance(message, dict):
        raise ValueError("is no object with role and content")
    role = message.get("role", message.get("from"))
    role = _SAME.get(role, role) if isinstance(role, str) else role
    if role not in ROLES:
        raise ValueError(f"has the role {role!r}. Use {', '.join(ROLES)}")
    time = next((_line(message[key]) for key in _TIMES if message.get(key)), "")
    content = message.get("content", message.get("value", message.get("parts")))
    found: list[Part] = []
    whose = ""
    if role == "tool":
        tool = names.get(str(message.get("tool_call_id")), "")
        whose = _result(tool or (_named(message["name"]) if message.get("name") else ""))
    for what, text in _texts(content, names):
        who = "tool" if what.startswith(_RESULT) else role
        found.append(Part(number, who, what or whose, time, text))
    if refusal := message.get("refusal"):
        found.append(Part(number, role, "refuses", time, _text(refusal)))
    for what, text in _calls(message, names):
        found.append(Part(number, role, what, time, text))
    return found or [Part(number, role, whose, time, "")]


def _texts(content: Any, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what a message's content is, and its text; texts that follow each other are one."""
    if content is None or content == "":
        return
    if isinstance(content, str):
        yield "", content
        return
    if not isinstance(content, list):
        raise ValueError("has a content that is neither text nor a list of parts")
    own: list[str] = []
    for part in map(_typed, content):
        kind = part.get("type") if isinstance(part, dict) else "text"
        if isinstance(part, str) or kind in _TEXTS:
            own.append(part if isinstance(part, str) else _text(_first(part, _TEXTS)))
        elif kind == "tool_use":
            names[str(part.get("id"))] = name = _named(part.get("name"))
            yield from _together(own)
            yield f"{_CALLS}{name}", _text(part.get("input"))
        elif kind == "tool_result":
            inner = "\n".join(text for _, text in _texts(part.get("content"), names))
            yield from _together(own)
            yield _result(names.get(str(part.get("tool_use_id")), "")), inner
        else:
            own.append(f"[a part of the kind {_named(kind)}, which is not shown]")
    yield from _together(own)


def _typed(part: Any) -> Any:
    """Return a part of Gemini's, which has no type, as one of a chat; any other unchanged."""
    if not isinstance(part, dict) or "type" in part:
        return part
    if isinstance(call := part.get("functionCall"), dict):
        name = call.get("name")
        return {"type": "tool_use", "id": name, "name": name, "input": call.get("args")}
    if isinstance(result := part.get("functionResponse"), dict):
        content = _text(result.get("response"))
        return {"type": "tool_result", "tool_use_id": result.get("name"), "content": content}
    return {"type": "text", **part} if "text" in part else part


def _together(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield texts that follow each other as one, and empty the list."""
    if texts:
        yield "", "\n".join(texts)
        texts.clear()


def _result(tool: str) -> str:
    return f"{_RESULT} of {tool}" if tool else _RESULT


def _calls(message: Mapping[str, Any], names: dict[str, str]) -> Iterator[tuple[str, str]]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise ValueError("has tool_calls that are no list")
    if legacy := message.get("function_call"):
        calls = [*calls, {"function": legacy}]
    for call in calls:
        called = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(called, dict):
            raise ValueError("has a call of a tool that is no object with a function")
        name = _named(called.get("name"))
        if call.get("id"):
            names[str(call["id"])] = name
        yield f"{_CALLS}{name}", _text(called.get("arguments", called.get("args")))


def _first(part: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((part[name] for name in names if name in part), "")


def _text(given: Any) -> str:
    if given is None:
        return ""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _named(given: Any) -> str:
    return json.dumps(_line(given), ensure_ascii=False)


def _line(given: Any) -> str:
    return normal_line(str(given), _LONGEST_NAME)
