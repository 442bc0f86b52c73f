"""One installation for all tests of a worker: `judge-gym up` takes most of a minute to start."""

from collections.abc import Iterator

import pytest

from support.command_line import CommandLine
from support.installation import Installation


@pytest.fixture(scope="session")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """`judge-gym up`, with everything started and deployed; in the end nothing is left of it."""
    installation = Installation(CommandLine(tmp_path_factory.mktemp("up")))
    try:
        yield installation.start()
    finally:
        installation.remove()
