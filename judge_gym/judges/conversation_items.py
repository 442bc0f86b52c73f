"""Conversations in files of items: a session is an item, or each message of its assistant."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from judge_gym.counting import counted, first_of
from judge_gym.errors import ConfigError, DataFileError, EvidenceError
from judge_gym.evidence.columns import (
    ColumnError,
    ColumnSource,
    as_text,
    names_in,
    root_of,
    value_at,
)
from judge_gym.evidence.redacting import Redaction, split
from judge_gym.evidence.row import DataRow
from judge_gym.evidence.rows import whole
from judge_gym.records.conversations import (
    IDS,
    KEYS,
    MESSAGES,
    PROMPT,
    RESPONSE,
    Conversation,
    answered,
    are_parts,
    conversation_of,
    listed,
)
from judge_gym.records.spans import SEPARATOR
from judge_gym.records.traces import are_traces, traced

Unit = Literal["session", "turn"]
_MOST_REFUSED = 3
"""Sessions that an error names."""
_NAMES = ("id", "truth", "category", "system", "second_system")
"""Fields that name or label an item, and are not part of its texts."""
_UNITS: tuple[Unit, ...] = ("session", "turn")
_SYSTEM = "system"
_MOST_WORDS = 8
"""More words are no name of a system, as a sentence is none."""
_HOW = "See docs/how-to/conversations.md."


@dataclass
class ConversationItems:
    """Turns rows with messages into items; other rows stay as they are."""

    column: str = ""
    """The column or path with the messages; without it, `messages` of rows without a text."""
    prompt: str = ""
    """The column or path with the system prompt of messages that lack it."""
    response: str = ""
    """The column or path with the answer to messages that lack it."""
    unit: Unit = "session"
    window: int | None = None
    longest: int | None = None
    sessions: dict[str, str] = field(default_factory=dict)
    """Item → the session that it is a turn of."""
    spans: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Session, or item without messages → the trace and the span that it is, as far as known."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """`trace_id` and `span_id` → the column or path that was named for it."""
    redaction: Redaction = field(default_factory=Redaction)
    """What is replaced in every column but those of an item's name, label and system."""
    cut: list[str] = field(default_factory=list)
    """The items of which something was left out."""
    left: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """What is no item, and why there is nothing to judge → the names of such."""
    alone: Collection[str] = ()
    """The messages that people labelled: each is a turn, also where it only calls tools."""
    calls: list[str] = field(default_factory=list)
    """Messages that only call tools and are part of the turn that they lead to."""
    unled: list[str] = field(default_factory=list)
    """Messages that only call tools and lead to no answer."""
    left_of: Counter[str] = field(default_factory=Counter)
    """System → its sessions without anything to judge."""
    open: list[str] = field(default_factory=list)
    """Sessions that do not end with the assistant."""
    orphans: int = 0
    """Results of tools whose id is that of no call before them."""
    _refused: list[tuple[Path, str, str, str]] = field(default_factory=list)
    """The sessions that cannot be judged: file, where in it, what is wrong and its remedy."""
    _named: Mapping[str, str] = field(default_factory=dict)
    _found: set[str] = field(default_factory=set)
    """The columns beside messages that a row has."""
    _count: int = 0
    """Rows so far: of one without an id it is the name."""

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> "tuple[ConversationItems, dict[str, str]]":
        """Return what fields of a file say of conversations, and the fields alone.

        Raises `ConfigError` for a value that is not allowed.
        """
        given = {name: value for name, value in fields.items() if name in KEYS}
        others = {name: value for name, value in fields.items() if name not in KEYS}
        unit = next((one for one in _UNITS if one == given.get("unit", "session")), None)
        if unit is None:
            raise ConfigError(f"unit is {given['unit']!r}.", f"Use {' or '.join(_UNITS)}.")
        window, longest = (_whole(name, given.get(name)) for name in ("window", "longest"))
        if window is not None and unit != "turn":
            raise ConfigError("window is of turns.", "Add unit=turn, or leave window out.")
        try:
            redaction = Redaction(split(given.get("redact", "")))
        except ValueError as error:
            raise ConfigError(f"{error}.") from None
        columns = given.get(MESSAGES, ""), given.get(PROMPT, ""), given.get(RESPONSE, "")
        found = cls(*columns, unit, window, longest, _named=others)
        found.redaction = redaction
        found.ids = {name: given[name] for name in IDS if name in given}
        return found, others

    def rows(self, file: Path, row: DataRow) -> Iterator[DataRow]:
        """Yield the items of a row; messages that are none are noted for `check`.

        Of an export of traces, each span with messages is a session, named after trace and span.
        """
        self._count += 1
        yield from self._items(file, row)

    def _items(self, file: Path, row: DataRow) -> Iterator[DataRow]:
        row = whole(row, are_traces)
        if not row.fault and are_traces(row.values):
            try:
                spans = list(traced(row.values))
            except ValueError as error:
                raise row.error(file, f"a span {error}", "Export the traces again.") from None
            for span in spans:
                item = f"{span.trace}{SEPARATOR}{span.span}"
                self.spans[item] = span.trace, span.span
                values = {"id": item, MESSAGES: list(span.messages), "name": span.name}
                place = f"{row.where}, span {span.span}"
                yield from self._items(file, replace(row, values=values, place=place))
            return
        if self.redaction.what and not row.fault:
            row = replace(row, values=self.redaction.values(row.values, without=self._kept(row)))
        given = None if row.fault else self._messages(file, row)
        if given is None:
            yield row
            return
        column, messages = given
        read_from = column
        try:
            messages = listed(messages)
            conversation = conversation_of(messages)
            if self.response:
                read_from = self.response
                messages = [*messages, *answered(self._beside(row, read_from))]
                conversation = conversation_of(messages)
                row = replace(row, values=_without(row.values, read_from))
        except ValueError as error:
            said = f"{read_from}{error}" if str(error).startswith("[") else f"{read_from} {error}"
            self._refused.append((file, row.where, said, _HOW))
            return
        with_prompt = self._with_prompt(file, row, messages)
        if with_prompt is None:
            return
        row, prompted = with_prompt
        if prompted is not messages:
            messages, conversation = prompted, conversation_of(prompted)
        self.orphans += conversation.orphans
        why = conversation.unanswered
        if conversation.parts[-1].role != "assistant" and not why:
            self.open.append(self._session(row))
        if self.unit == "session":
            if why:
                self._leave("session", why, self._session(row), row)
                return
            text = conversation.written(self.longest)
            self._note_cut(conversation, self._session(row))
            yield replace(row, values={**_without(row.values, column), "text": text})
            return
        yield from self._turns(file, row, column, conversation, messages)

    def _with_prompt(
        self, file: Path, row: DataRow, messages: Sequence[Mapping[str, Any]]
    ) -> tuple[DataRow, Sequence[Mapping[str, Any]]] | None:
        """Return messages with the prompt that stands beside them, and the row without it.

        None, and noted for `check`, where a column `system` may be a prompt or a name.
        """
        name = self.prompt or _alike(row, _SYSTEM)
        given = self._beside(row, name) if name else None
        if not self.prompt and not are_parts(given):
            named = _SYSTEM in self._named or any(_SYSTEM in one.values() for one in messages)
            if named or not _is_sentence(given):
                return row, messages
            what = f"{name} is {str(given)[:80]!r}, which may be a prompt, or name what is compared"
            how = f"If it is the prompt: {PROMPT}={name}. If it is a name: {_SYSTEM}={name}."
            self._refused.append((file, row.where, what, how))
            return None
        if given in (None, "", []):
            return row, messages
        if not isinstance(given, str) and not are_parts(given):
            what = f"{name} is {str(given)[:80]!r}, which is neither text nor parts of text"
            self._refused.append((file, row.where, what, _HOW))
            return None
        beside = replace(row, values=_without(row.values, name))
        return beside, [{"role": _SYSTEM, "content": given}, *messages]

    def _leave(self, what: str, why: str, name: str, row: DataRow) -> None:
        """Note what is no item, with the system that gave nothing to judge."""
        self.left.setdefault((what, why), []).append(name)
        column = self._named.get(_SYSTEM) or _alike(row, _SYSTEM)
        with suppress(ColumnError):
            if system := column and value_at(column, ColumnSource(row.values, {"": ""})):
                self.left_of[str(system)] += 1

    def _beside(self, row: DataRow, column: str) -> Any:
        """Return what stands beside messages; None where a row lacks it, and JSON as its value."""
        try:
            value = value_at(column, ColumnSource(row.values, {"": ""}))
        except ColumnError:
            return None
        self._found.add(column)
        if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        return value

    def _turns(
        self,
        file: Path,
        row: DataRow,
        column: str,
        conversation: Conversation,
        messages: Sequence[Mapping[str, Any]],
    ) -> Iterator[DataRow]:
        session = self._session(row)
        turns = conversation.turns(
            [
                number
                for number, one in enumerate(messages, start=1)
                if "truth" in one or _turn(session, number) in self.alone
            ]
        )
        self.calls += [_turn(session, number) for number in turns.calls]
        self.unled += [_turn(session, number) for number in turns.unled]
        for number in turns.empty if turns.given else ():
            self._leave("empty answer", "", _turn(session, number), row)
        if not turns.given:
            why = conversation.unanswered or "without an answer of the assistant"
            self._leave("session", why, session, row)
        own = {**_without(row.values, column)}
        for name in ("id", "text", "context", "truth"):
            own.pop(self._named.get(name, name), None)
        for turn in turns.given:
            item = _turn(session, turn.number)
            first = 1 if self.window is None else max(1, turn.first - self.window)
            before = conversation.only(first, turn.first - 1)
            judged = conversation.only(turn.first, turn.number)
            self.sessions[item] = session
            # An answer alone is never cut; results of tools in a turn may be long.
            longest = self.longest if turn.first < turn.number else None
            self._note_cut(max(before, judged if longest else before, key=lambda o: o.length), item)
            values = {
                **own,
                self._named.get("id", "id"): item,
                "text": judged.written(longest),
                "context": before.written(self.longest) if before.parts else "",
            }
            if "truth" in messages[turn.number - 1]:
                values["truth"] = messages[turn.number - 1]["truth"]
            yield replace(row, values=values, place=f"{row.where}, message {turn.number}")

    def check(self, path: Path) -> None:
        """Raise `DataFileError` that counts the sessions which cannot be judged.

        Also for a column beside messages that no row has.
        """
        for name, column in ((PROMPT, self.prompt), (RESPONSE, self.response)):
            if column and self._count and column not in self._found:
                raise DataFileError(
                    f"{path}: fields: {name} is {column!r}, and no row with messages has it.",
                    f"Name the column or path: {name}=COLUMN.",
                )
        if not self._refused:
            return
        shown = [f"{file} {where}: {what[:500]}." for file, where, what, _ in self._refused]
        more = len(shown) - _MOST_REFUSED
        count = f"{len(shown):,} sessions cannot be judged:\n" if len(shown) > 1 else ""
        raise DataFileError(
            count
            + "\n".join(shown[:_MOST_REFUSED])
            + (f"\nand {more:,} more." if more > 0 else ""),
            [remedy for *_, remedy in self._refused],
        )

    def _messages(self, file: Path, row: DataRow) -> tuple[str, Any] | None:
        """Return the column of a row's messages and what is in it; None for another row."""
        if self.column:
            return self.column, row.value(file, self.column)
        text_named = "text" in self._named
        has_text = any(
            name.strip().lower() == "text" and value not in (None, "")
            for name, value in row.values.items()
        )
        for name, value in row.values.items():
            if name.strip().lower() == MESSAGES and not text_named:
                if has_text and value:
                    raise row.error(
                        file, f"text and {name} are both there",
                        "Name the one to judge: text=text or messages=messages.",
                    )  # fmt: skip
                if not has_text:
                    return name, value
        if self.unit == "turn":
            raise row.error(
                file, "there is no column 'messages', and unit is turn",
                "Name the column with the messages: messages=COLUMN.",
            )  # fmt: skip
        return None

    def _session(self, row: DataRow) -> str:
        column = self._named.get("id") or _alike(row, "id")
        try:
            given = row.value(Path(), column) if column else None
        except EvidenceError:
            given = None
        return str(self._count) if given in (None, "") else str(given)

    def _kept(self, row: DataRow) -> set[str]:
        """Return the columns of a row whose values name or label the item."""
        named = {root_of(one) for name in _NAMES if name in self._named
                 for one in names_in(self._named[name])}  # fmt: skip
        named |= {root_of(one) for one in self.ids.values()}
        named |= {name for name in row.values if name.strip().lower() in (*_NAMES, *IDS)}
        prompts = {root_of(self.prompt)} if self.prompt else set()
        return {one for one in named - prompts if not are_parts(row.values.get(one))}

    def note_ids(self, path: Path, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Note the trace and the span of items by the columns of their rows.

        Raises `DataFileError` where a column was named that no row has.
        """
        known: set[str] = set()
        for item, values in rows:
            source = ColumnSource(values, {"": ""})
            found = {}
            for name in IDS:
                try:
                    value = value_at(self.ids.get(name, name), source)
                except ColumnError:
                    continue
                known.add(name)
                found[name] = as_text(value) if isinstance(value, str | int) else ""
            if any(found.values()):
                trace, span = (found.get(name, "") for name in IDS)
                self.spans.setdefault(self.sessions.get(item, item), (trace, span))
        for name, column in self.ids.items():
            if name not in known:
                raise DataFileError(
                    f"{path}: fields: {name} is {column!r}, and no row has such a column.",
                    f"Name the column with the ids: {name}=COLUMN.",
                )

    def _note_cut(self, conversation: Conversation, item: str) -> None:
        if self.longest is not None and conversation.length > self.longest:
            self.cut.append(item)

    @property
    def named(self) -> dict[str, str]:
        """Name of a span, or of a trace with one span → the item that it is."""
        parts = [(part, item) for item, place in self.spans.items() for part in place if part]
        count = Counter(part for part, _ in parts)
        return {part: item for part, item in parts if count[part] == 1 and not self.sessions}

    def place(self, item: str) -> tuple[str, str, str]:
        """Return the trace, the span and the number of the message that an item is; "" for none."""
        session = self.sessions.get(item, item)
        trace, span = self.spans.get(session, ("", ""))
        return trace, span, item.removeprefix(f"{session}#") if item in self.sessions else ""

    def said(self) -> str:
        """Return how sessions were made items, as sentences; "" where none was."""
        parts = []
        if self.sessions:
            parts.append(
                f" {counted(len(self.sessions), 'answer')} of the assistant in "
                f"{counted(len(set(self.sessions.values())), 'session')} are items, each with what "
                "is before it" + (f" (at most {self.window} messages)." if self.window else ".")
            )
        if self.calls:
            parts.append(
                " Messages that only call tools, each part of the answer that it leads to: "
                f"{len(self.calls):,}."
            )
        if self.unled:
            parts.append(
                f" Messages that only call tools and lead to no answer, left out: "
                f"{len(self.unled):,}."
            )
        if said := self.left_said():
            parts.append(f" {said}")
        if self.open:
            parts.append(
                f" Judged as they are: {counted(len(self.open), 'session')} that "
                f"{'does' if len(self.open) == 1 else 'do'} not end with the assistant "
                f"({first_of(self.open)})."
                + ("" if self.response else " An answer in another column: response=COLUMN.")
            )
        if self.orphans:
            parts.append(
                " Results of tools that name no call before them, shown without the name of a "
                f"tool: {self.orphans:,}."
            )
        if self.cut:
            parts.append(
                f" {len(self.cut):,} cut to {self.longest:,} characters, marked where: "
                f"{', '.join(self.cut[:3])}{' and more' if len(self.cut) > 3 else ''}."
            )
        if said := self.redaction.said():
            parts.append(f" {said}")
        return "".join(parts)

    def left_said(self) -> str:
        """Return what is no item, with counts and names, as a sentence; "" for nothing."""
        parts = [
            f"{counted(len(names), what)}{f' {why}' if why else ''} ({first_of(names)})"
            for (what, why), names in self.left.items()
        ]
        if not parts:
            return ""
        of = ", ".join(f"{count:,} of {system}" for system, count in sorted(self.left_of.items()))
        as_empty = (
            f" By system: {of}. To judge these, too, so that silence helps no system: "
            "text=messages."
        )
        return f"Left out, not judged: {'; '.join(parts)}.{as_empty if of else ''}"


def _turn(session: str, number: int) -> str:
    return f"{session}#{number}"


def _alike(row: DataRow, name: str) -> str:
    """Return the column of a row that has a name, whatever its case; "" without one."""
    return next((one for one in row.values if one.strip().lower() == name), "")


def _is_sentence(given: Any) -> bool:
    """Whether a value is text that no name of a system is."""
    if not isinstance(given, str) or not (words := given.split()):
        return False
    ends = len(words) > 1 and words[-1][-1] in ".!?:"
    return len(words) > _MOST_WORDS or "\n" in given.strip() or ends


def _without(values: Mapping[str, Any], column: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != column}


def _whole(name: str, given: str | None) -> int | None:
    if given is None:
        return None
    if not given.isdecimal() or not int(given):
        raise ConfigError(f"{name} is {given!r}.", "Use a whole number above 0.")
    return int(given)
