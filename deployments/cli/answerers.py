"""Whether the functions that answer for judges can be loaded."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from judge_gym.errors import ConfigError, restated
from judge_gym.judges import CallableJudge, Judge


def check_functions(judges: Iterable[tuple[Judge, Path]]) -> None:
    """Raise `ConfigError` with the file if a function of a judge cannot be loaded.

    Call it before a database or a server is started. Keys are needed only for answers that are not
    stored, so they are no part of it.
    """
    for judge, file in judges:
        with naming_file(file):
            for leaf in judge.leaves:
                if isinstance(leaf, CallableJudge):
                    asyncio.run(_open(leaf))


@contextmanager
def naming_file(file: Path) -> Iterator[None]:
    """Name the judge's file in a `ConfigError` that is raised in the block."""
    try:
        yield
    except ConfigError as error:
        raise restated(error, f"{file}: {error.message}", error.remedies) from error


async def _open(judge: CallableJudge) -> None:
    async with judge.opened():
        pass
