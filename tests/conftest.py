"""Makes `tests/support` importable and its fixtures available to every tier."""

import gc
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline would fail the first example, which imports what the tested function imports late.
settings.register_profile("judge-gym", deadline=None)
settings.load_profile("judge-gym")

# As the command line has it: on small matrices threads cost more than they give.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell that starts the tests in the background has them ignore it, and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# --import-mode=importlib leaves this folder off the path.
sys.path.insert(0, str(Path(__file__).parent))

# The shell of a person who uses judge-gym has settings, keys and a server of theirs.
import_module("support.inherited").forget()

pytest_plugins = [
    "support.servers",
    "support.postgres",
    "support.prefect_server",
    "support.simulation",
    "support.launched",
]


def pytest_collection_finish() -> None:
    """Keep what is imported and collected out of later collections of garbage.

    A full one walks over all objects there are: a second each, in a process of 6,000 tests.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Likewise what the tests of a file have imported."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
