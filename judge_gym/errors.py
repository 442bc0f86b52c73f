"""Errors a user can mend: one clear line, and what to do about it.

Everything the CLI and the flows show to a person derives from `JudgeGymError`; any other
exception is a defect of judge-gym and keeps its traceback.
"""

import difflib
import re
from collections.abc import Collection, Iterator, Sequence

_LOGIN = re.compile(r"(?<=://)([^\s:/@]*):(?!password@)\S+@")
"""User and password of a URL, but for our own examples. A password may hold an @ itself."""
_KEY = re.compile(r"\b(?:(?:sk|fc|xai|pplx|nvapi)-|(?:gsk|hf|ghp|r8|pnu)_|AIza)[A-Za-z0-9_-]{16,}")
"""A provider's key, by the beginning that its provider gives every key."""


def masked(text: str) -> str:
    """Return a text without the passwords of its URLs and without providers' keys."""
    return _KEY.sub("[key]", _LOGIN.sub(r"\1:***@", text))


class JudgeGymError(Exception):
    """Something the user can mend.

    `message` says what is wrong (naming the file, the key and the value where there is one);
    `remedy` says what to do next and may be empty when the message already does. What looks like
    a secret is masked in both.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = masked(message)
        self.remedy = masked(remedy)
        super().__init__(f"{self.message} {self.remedy}".strip())


class ConfigError(JudgeGymError):
    """A sweep file, settings file, rubric file or command-line value that cannot be used."""


class EvidenceError(JudgeGymError):
    """Evidence could not be collected or read."""


class StoreError(JudgeGymError):
    """The database cannot be reached, started or migrated."""


_MOST_LISTED = 12


def did_you_mean(given: object, known: Collection[str]) -> str:
    """Return "Did you mean …? " if a known name begins with `given` or is similar, else ""."""
    longer = [name for name in known if given and name.startswith(str(given))]
    close = longer or difflib.get_close_matches(str(given), known, n=1)
    return f"Did you mean {close[0]}? " if close else ""


def listing(known: Sequence[str], command: str, given: str = "") -> str:
    """Return a remedy for an unknown name: the most similar one, then those that exist.

    Names at most `_MOST_LISTED`; `command` is the command that lists all.
    """
    if not known:
        return "There are none yet."
    suggestion = did_you_mean(given, known)
    shown = ", ".join(known[:_MOST_LISTED])
    if len(known) <= _MOST_LISTED:
        return f"{suggestion}Known: {shown}."
    return (
        f"{suggestion}Known: {shown} and {len(known) - _MOST_LISTED} more; `{command}` lists all."
    )


def first_line(said: object) -> str:
    """Return the first line of an error or of what a program said, cut: the rest may quote a row.

    An error that says nothing is named by its type.
    """
    otherwise = type(said).__name__ if isinstance(said, BaseException) else "no reason given"
    return masked(next(iter(str(said).strip().splitlines()), otherwise))[:300]


def causes(error: BaseException, *, contexts: bool = False) -> Iterator[BaseException]:
    """Yield the error, its cause, the cause of that, and so on, each of them once.

    With `contexts` an error without a cause leads to the one that was being handled. An error may
    be its own cause, or stand in a circle of them.
    """
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or (one.__context__ if contexts else None)
