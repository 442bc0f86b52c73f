"""Errors that a user can fix: what happened, and how to fix it.

Every error that the command line and the flows print derives from `JudgeGymError`; any other
exception is a bug of judge-gym and keeps its traceback.
"""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

_LOGIN = re.compile(r"(?<=://)([^\s:/@]*):(?!password@)\S+@")
"""User and password of a URL, but for our own examples. A password may hold an @ itself."""
_KEY = re.compile(r"\b(?:(?:sk|fc|xai|pplx|nvapi)-|(?:gsk|hf|ghp|r8|pnu)_|AIza)[A-Za-z0-9_-]{16,}")
"""A provider's key, by the beginning that its provider gives every key."""


def masked(text: str) -> str:
    """Return a text without the passwords of its URLs and without providers' keys."""
    return _KEY.sub("[key]", _LOGIN.sub(r"\1:***@", text))


E = TypeVar("E", bound="JudgeGymError")


class JudgeGymError(Exception):
    """An error that the user can fix.

    `message` says what is wrong (naming the file, the key and the value where there is one);
    `remedy` says what to do next and may be empty when the message already does. What looks like
    a secret is masked in both.
    """

    def __init__(self, message: str, remedy: str | Iterable[str] = "") -> None:
        self.message = masked(message)
        given = (remedy,) if isinstance(remedy, str) else remedy
        self.remedies = tuple(dict.fromkeys(masked(one) for one in given if one))
        """What to do next, in its parts: an error that combines several names each part once."""
        self.remedy = " ".join(self.remedies)
        self.done: Counter[str] = Counter()
        """What had ended before it was raised, by status, where several things were asked."""
        super().__init__(f"{self.message} {self.remedy}".strip())


def restated(error: E, message: str, remedy: str | Iterable[str]) -> E:
    """Return the same error in other words, with its other attributes."""
    other = type(error)(message, remedy)
    vars(other).update(
        {name: value for name, value in vars(error).items() if name not in vars(other)}
    )
    return other


RETRY_FAILED = "retry_failed (--retry-failed)"
"""What repeats failed calls: the parameter of a run, as forms show it, and a command's option."""


class ConfigError(JudgeGymError):
    """A sweep file, settings file, rubric file or command-line value that cannot be used."""


class EvidenceError(JudgeGymError):
    """Evidence could not be collected or read."""


class DataFileError(EvidenceError):
    """A file or a row of it does not fit: the message names file, line, column and value."""


class NoRowError(DataFileError):
    """A file has no row that can be used."""


class StoreError(JudgeGymError):
    """The database cannot be reached, started or migrated."""


class AtWorkError(StoreError):
    """A run has locked what was to be changed."""


class OutageError(StoreError):
    """A server is away; the work resumes when it is back."""

    waited = False
    """Whether whoever raised it has waited for the server as long as anyone should."""


class NewerSchemaError(OutageError):
    """The database is of a newer schema: a program of a newer version can do the work."""

    waited = True


class DatabaseUrlError(StoreError, ConfigError):
    """The setting of a database cannot be used: no server of that name, login or database."""


REFUSED_LOGIN = "refused: wrong user or password"
"""What is said of a server that refuses a login."""


class RefusedLoginError(DatabaseUrlError):
    """The database refuses the user or the password."""


class DatabaseHostError(OutageError, DatabaseUrlError):
    """No server has the name in the setting; it may be the name service that is away."""


_MOST_LISTED = 12


def did_you_mean(typed: object, names: Collection[str]) -> str:
    """Return "Did you mean …? " if a known name begins with `typed` or is similar, else "".

    Case and the space around a name do not count.
    """
    wanted = str(typed).strip().casefold()
    by_plain = {name.strip().casefold(): name for name in reversed(list(names))}
    longer = [plain for plain in reversed(by_plain) if wanted and plain.startswith(wanted)]
    close = [plain for plain in by_plain if plain == wanted and wanted] or longer
    close = close or difflib.get_close_matches(wanted, by_plain, n=1)
    return f"Did you mean {by_plain[close[0]]}? " if close else ""


def did_you_mean_id(typed: object, ids: Collection[str]) -> str:
    """Return "Did you mean …? " if an id is written as `typed`, else "".

    As `written_alike`. Similar ids are other items: B-077 is no misspelling of A-077.
    """
    alike = written_alike([str(typed)], ids)
    return "".join(f"Did you mean {name}? " for name in alike.values())


def written_alike(typed: Iterable[str], ids: Iterable[str]) -> dict[str, str]:
    """Return those that are written as an id is → the id.

    Case, spaces and punctuation do not count, nor O for 0 and l or I for 1; 001 and 1.0 are 1.
    """
    known = {_written(name): name for name in reversed([*ids]) if _written(name)}
    return {name: known[_written(name)] for name in typed if _written(name) in known}


def _written(name: object) -> str:
    if number := re.fullmatch(r"\s*0*(\d+)(?:\.0+)?\s*", str(name)):
        return number[1]
    plain = "".join(one for one in str(name).casefold() if one.isalnum())
    return plain.translate(str.maketrans("oil", "011"))


def listing(names: Sequence[str], command: str, typed: str = "") -> str:
    """Return a remedy for an unknown name: the most similar one, then those that exist.

    Names at most `_MOST_LISTED`; `command` is the command that lists all.
    """
    if not names:
        return "There are none yet."
    suggestion = did_you_mean(typed, names)
    shown = ", ".join(names[:_MOST_LISTED])
    if len(names) <= _MOST_LISTED:
        return f"{suggestion}Known: {shown}."
    return (
        f"{suggestion}Known: {shown} and {len(names) - _MOST_LISTED} more; `{command}` lists all."
    )


def first_line(message: object) -> str:
    """Return the first line of an error or of a program's output: the rest may quote a row.

    An error without a message is named by its type.
    """
    otherwise = type(message).__name__ if isinstance(message, BaseException) else "no reason given"
    return masked(next(iter(str(message).strip().splitlines()), otherwise))[:300]


def causes(error: BaseException, *, contexts: bool = False) -> Iterator[BaseException]:
    """Yield the error and its chain of causes, each once, even if the chain is a ring.

    With `contexts`, an error without a cause is followed by the error that was being handled.
    """
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (current.__context__ if contexts else None)
