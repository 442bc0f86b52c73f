"""The garbage collector of processes that import much."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 50_000
"""New objects between two collections; Python's default is 700."""


def collect_rarely() -> None:
    """Collect garbage less often in this process; for entry points, before their imports.

    Imports make a million objects that stay. Searching them for garbage took a quarter of the CPU
    of the imports of Prefect and litellm. At its end Python would search them again, for 0.4 s of a
    command that shows the figures of a small sweep.
    """
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


@contextmanager
def importing() -> Iterator[None]:
    """Collect no garbage in the block, and never search what it made; for long imports."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
