"""Prefect's settings of a command, and the temporary server that it uses without one of the user's.

A standby process starts that server before its command comes (`started_before`). Prefect is not
imported here: it reads the environment when it is imported.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deployments.local.prefect_server import (
    api_url,
    copy_template,
    new_password,
    password_for,
    prefect_server,
)
from deployments.local.processes import free_port
from judge_gym.errors import ConfigError, first_line
from judge_gym.store.disk import full_disk

LEASES_VARIABLE = "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"
LEASES_IN_MEMORY = "prefect.server.concurrency.lease_storage.memory"
"""Prefect's default: a restart of the server loses the leases, and so the slots."""
LEASES_ON_DISK = "prefect.server.concurrency.lease_storage.filesystem"
# As Prefect starts its own temporary server.
_VARIABLES = {
    "PREFECT_UI_ENABLED": "0",
    "PREFECT__SERVER_EPHEMERAL": "1",
    # Files would outlive it, and no temporary server reads those of another.
    LEASES_VARIABLE: LEASES_IN_MEMORY,
}


def server_settings() -> dict[str, str]:
    """Return settings that make a Prefect server on SQLite quiet and fast enough."""
    recorder = "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER"
    return {
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        LEASES_VARIABLE: LEASES_ON_DISK,
        # Writing task runs one by one locks the database while a task requests its slot; the
        # client then retries only after 2 s.
        f"{recorder}_BATCH_SIZE": "200",
        f"{recorder}_READ_BATCH_SIZE": "200",
        f"{recorder}_FLUSH_INTERVAL": "2",
    }


def set_prefect_defaults(data_dir: Path, *, verbose: bool) -> None:
    """Set quiet, local defaults in the environment before Prefect is imported; keep the user's.

    With PREFECT_API_URL, PREFECT_HOME or a Prefect profile, flow runs use those. Otherwise Prefect
    stores its records in the data folder. The password of `judge-gym up` is sent to its own API
    only. Raises `ConfigError` if the data folder cannot be made.
    """
    defaults = {
        **server_settings(),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_LOGGING_LEVEL": "INFO" if verbose else "CRITICAL",
        # The event client would print a traceback when the server stops.
        "PREFECT_LOGGING_INTERNAL_LEVEL": "ERROR" if verbose else "CRITICAL",
    }
    own = {"PREFECT_API_URL", "PREFECT_HOME", "PREFECT_PROFILE"} & os.environ.keys()
    if not own and not _users_profiles().exists():
        home = (data_dir / "prefect").absolute()
        try:  # Prefect does not create parent folders.
            home.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"data_dir is {data_dir}: {first_line(error)}.",
                "Name a folder that you can write to, by JUDGE_GYM_DATA_DIR or in judge-gym.toml.",
            ) from None
        defaults["PREFECT_HOME"] = str(home)
    if secret := password_for(os.environ.get("PREFECT_API_URL", ""), data_dir):
        defaults["PREFECT_API_AUTH_STRING"] = secret
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def own_home(data_dir: Path) -> Path | None:
    """Return Prefect's home if `set_prefect_defaults` has set it; None if Prefect must be read.

    Without other settings, a temporary server can start before Prefect is imported.
    """
    home = (data_dir / "prefect").absolute()
    variables = {name for name in os.environ if name.startswith(("PREFECT_API_", "PREFECT_PROF"))}
    is_set = os.environ.get("PREFECT_HOME") == str(home)
    return home if is_set and not variables and not has_users_settings(data_dir) else None


def has_users_settings(data_dir: Path) -> bool:
    """Whether a file has settings of Prefect: of the working folder, its home or the user's."""
    profiles = data_dir / "prefect" / "profiles.toml"
    files = (Path(".env"), Path("prefect.toml"), profiles, _users_profiles())
    project = Path("pyproject.toml")
    return any(file.exists() for file in files) or (
        project.exists() and "[tool.prefect" in project.read_text(encoding="utf-8")
    )


def _users_profiles() -> Path:
    return Path.home() / ".prefect" / "profiles.toml"


@dataclass(frozen=True)
class TemporaryServer:
    """A server that starts or runs; use it once it is healthy."""

    home: Path
    url: str
    password: str
    log: Path
    process: "subprocess.Popen[bytes]"
    is_new: bool
    """Whether its database was not there before and has to be migrated."""


_before: list[TemporaryServer] = []
"""The server that `started_before` runs."""


@contextmanager
def temporary_server(home: Path, data_dir: Path) -> Iterator[TemporaryServer]:
    """Run a server of Prefect with this home during the block, or use the one started before.

    Its output goes to a log in the data folder. Raises `StoreError` if the disk is full.
    """
    for server in _before:
        if server.home == home and server.process.poll() is None:
            yield server
            return
    if full := full_disk(home):
        raise full  # the server would not say so
    home.mkdir(parents=True, exist_ok=True)
    is_new = copy_template(home)
    port, password = free_port(), new_password()
    # Not the terminal: when stopped while it writes, the server prints a long message.
    log = data_dir.absolute() / "logs" / "prefect-server.log"
    with prefect_server(port, password, _VARIABLES, log) as process:
        yield TemporaryServer(home, api_url(port), password, log, process, is_new)


@contextmanager
def started_before(home: Path, data_dir: Path) -> Iterator[TemporaryServer]:
    """Run a server during the block that `temporary_server` finds: a command in it starts none."""
    with temporary_server(home, data_dir) as server:
        _before.append(server)
        try:
            yield server
        finally:
            _before.remove(server)
