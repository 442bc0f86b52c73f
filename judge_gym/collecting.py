"""The garbage collector of processes that import much."""

import gc

_OBJECTS = 50_000
"""New objects between two collections; Python's default is 700."""


def collect_rarely() -> None:
    """Collect garbage less often in this process; for entry points, before their imports.

    Imports make a million objects that stay. Searching them for garbage took a quarter of the CPU
    of the imports of Prefect and litellm.
    """
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
