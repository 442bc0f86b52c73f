"""What Prefect and litellm read from the environment; set before either is imported."""

import logging
import os
import sys
from pathlib import Path

from deployments.local.password import password_for
from judge_gym.logs import use_json_lines
from judge_gym.settings import settings


def prepare_environment(data_dir: Path, *, verbose: bool) -> None:
    """Choose quiet, local defaults; whatever the user has set stays.

    With a PREFECT_API_URL, a PREFECT_HOME or a Prefect profile of the user's, flow runs go where
    those say. Otherwise Prefect keeps its records under the data folder and starts a server of
    its own for the time of the command. The password of `judge-gym up` goes to its own API only.
    """
    defaults = {
        **server_settings(),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_LOGGING_LEVEL": "INFO" if verbose else "CRITICAL",
        # Its event sender would print a trace when the server goes away.
        "PREFECT_LOGGING_INTERNAL_LEVEL": "ERROR" if verbose else "CRITICAL",
    }
    own = {"PREFECT_API_URL", "PREFECT_HOME", "PREFECT_PROFILE"} & os.environ.keys()
    if not own and not (Path.home() / ".prefect" / "profiles.toml").exists():
        home = (data_dir / "prefect").absolute()
        # Prefect makes the folder, but none above it.
        home.parent.mkdir(parents=True, exist_ok=True)
        defaults["PREFECT_HOME"] = str(home)
    if secret := password_for(os.environ.get("PREFECT_API_URL", ""), data_dir):
        defaults["PREFECT_API_AUTH_STRING"] = secret
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    if settings().log_format == "json":
        use_json_lines(sys.stderr)
    elif not verbose:
        # Failed calls are counted and kept; each of them on the screen would bury the progress.
        logging.getLogger("judge_gym.llm").setLevel(logging.ERROR)
    if not verbose:
        # It would say, at the end of a command, how many of Prefect's records are still on the way.
        logging.getLogger("EventsWorker").setLevel(logging.ERROR)


def server_settings() -> dict[str, str]:
    """Return what makes a Prefect server on SQLite quiet, and quick enough for our tasks."""
    recorder = "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER"
    return {
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        # In memory, the default, slots of a process that was killed with the server are lost.
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
            "prefect.server.concurrency.lease_storage.filesystem"
        ),
        # Recorded one by one, task runs keep the database locked just when a task asks for its
        # slot, and the client asks again only 2 s later.
        f"{recorder}_BATCH_SIZE": "200",
        f"{recorder}_READ_BATCH_SIZE": "200",
        f"{recorder}_FLUSH_INTERVAL": "2",
    }
