"""Makes `tests/support` importable and its fixtures available to every tier."""

import sys
from pathlib import Path

# --import-mode=importlib leaves this folder off the path.
sys.path.insert(0, str(Path(__file__).parent))

pytest_plugins = ["support.postgres", "support.prefect_server", "support.simulation"]
