"""The servers of a whole test run: one PostgreSQL and one Prefect, started by its controller.

With `-n`, the controller is the process that spawns pytest-xdist's workers; it passes the addresses
to them. Without, it is the only process. The controller starts what the tiers on its command line
use, so `pytest tests/unit` starts nothing, and stops everything when the run ends, also after
Ctrl-C or SIGTERM.
"""

import json
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

TESTS = Path(__file__).parents[1]
TOGETHER = {
    # These share `judge-gym up`, which takes most of a minute to start.
    "tests/slow/test_approval_page.py": "up",
    "tests/slow/test_deployment_forms.py": "up",
    "tests/slow/test_guarded_api.py": "up",
    "tests/slow/test_label_page_under_up.py": "up",
    "tests/slow/test_status_pages.py": "up",
    "tests/slow/test_up.py": "up",
    # These deploy to the one Prefect server, where names of deployments are fixed.
    "tests/flow/test_alerts.py": "deployments",
    "tests/flow/test_edited_deployments.py": "deployments",
    # Replaces the automations for lost runs, by which the killed worker's run is noticed.
    "tests/flow/test_flow_events.py": "deployments",
    "tests/flow/test_flow_fanning_out.py": "deployments",
    # Looks for crashed runs of all deployments, as if each had crashed long ago.
    "tests/flow/test_flow_resume.py": "deployments",
    "tests/slow/test_chaos_of_workers.py": "deployments",
    "tests/slow/test_resumed_runs.py": "deployments",
    "tests/slow/test_two_versions.py": "deployments",
    "tests/slow/test_workers.py": "deployments",
}
"""File → the files that run one after the other, in one worker; another file is alone."""
SERVERLESS = ("unit",)
WITHOUT_PREFECT = ("unit", "database")
WORKER_INPUT = "test_servers"


@dataclass(frozen=True)
class Servers:
    """Where the servers of this run are; empty where its tests use none."""

    postgres: str = ""
    """The URL of a database that tests do not write to."""
    template: str = ""
    """The name of a migrated database without rows, to clone. Nothing may connect to it."""
    prefect_home: str = ""
    prefect_port: int = 0
    prefect_records: str = ""
    """The URL of the database of Prefect's server."""


SERVERS = pytest.StashKey[Servers]()


def pytest_configure(config: pytest.Config) -> None:
    worker_input = getattr(config, "workerinput", None)
    if worker_input is not None:
        config.stash[SERVERS] = Servers(**json.loads(worker_input[WORKER_INPUT]))
        return
    # As Ctrl-C: what was started is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    stack = ExitStack()
    config.add_cleanup(stack.close)
    tiers = set() if config.option.collectonly else set(_tiers(config.args))
    config.stash[SERVERS] = _started(stack, tiers)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the addresses to a worker of pytest-xdist."""
    node.workerinput[WORKER_INPUT] = json.dumps(asdict(node.config.stash[SERVERS]))


class ByFile(LoadFileScheduling):
    """Gives the tests of a file, or of files that share something, to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return TOGETHER.get(file, file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    return ByFile(config, log)


def _tiers(arguments: Sequence[str]) -> list[str]:
    """The folders of `tests` that the command line selects; "" is all of them."""
    paths = [Path(argument.split("::")[0]).resolve() for argument in arguments]
    return [(*path.relative_to(TESTS).parts, "")[0] if path.is_relative_to(TESTS) else ""
            for path in paths]  # fmt: skip


def _started(stack: ExitStack, tiers: set[str]) -> Servers:
    from support.postgres import migrated_database, prefect_records, running_postgres
    from support.prefect_server import ServerProcess

    if not tiers - set(SERVERLESS):
        return Servers()
    url = stack.enter_context(running_postgres())
    servers = Servers(url)
    if tiers - set(WITHOUT_PREFECT):
        home = stack.enter_context(TemporaryDirectory(prefix="judge-gym-prefect-"))
        # As of `judge-gym up`: SQLite is locked too often when a whole run shares the server.
        records = stack.enter_context(prefect_records(url))
        prefect = ServerProcess(Path(home), records=records)
        stack.callback(prefect.stop)
        # Tests wait until it is healthy; until then others run.
        prefect.launch()
        servers = Servers(url, "", home, prefect.port, records)
    return replace(servers, template=stack.enter_context(migrated_database(url)))
