"""Errors a user can mend: one clear line, and what to do about it.

Everything the CLI and the flows show to a person derives from `JudgeGymError`; any other
exception is a defect of judge-gym and keeps its traceback.
"""

from collections.abc import Iterator


class JudgeGymError(Exception):
    """Something the user can mend.

    `message` says what is wrong (naming the file, the key and the value where there is one);
    `remedy` says what to do next and may be empty when the message already does.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(f"{message} {remedy}".strip())


class ConfigError(JudgeGymError):
    """A sweep file, settings file, rubric file or command-line value that cannot be used."""


class EvidenceError(JudgeGymError):
    """Evidence could not be collected or read."""


class StoreError(JudgeGymError):
    """The database cannot be reached, started or migrated."""


def first_line(said: object) -> str:
    """Return the first line of an error or of what a program said, cut: the rest may quote a row.

    An error that says nothing is named by its type.
    """
    otherwise = type(said).__name__ if isinstance(said, BaseException) else "no reason given"
    return next(iter(str(said).strip().splitlines()), otherwise)[:300]


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
