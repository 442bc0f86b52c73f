"""Makes `tests/support` importable and its fixtures available to every tier."""

import os
import sys
from pathlib import Path

from hypothesis import settings

# A deadline would fail the first example, which imports what the tested function imports late.
settings.register_profile("judge-gym", deadline=None)
settings.load_profile("judge-gym")

# As the command line has it: on small matrices threads cost more than they give.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# --import-mode=importlib leaves this folder off the path.
sys.path.insert(0, str(Path(__file__).parent))

pytest_plugins = [
    "support.servers",
    "support.postgres",
    "support.prefect_server",
    "support.simulation",
    "support.launched",
]
