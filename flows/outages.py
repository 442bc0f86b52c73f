"""Servers that are away during a run: the database's, and Prefect's.

Nothing here imports Prefect: commands use it to print what happened.
"""

import httpx

from judge_gym.errors import JudgeGymError, OutageError, causes, first_line
from judge_gym.settings import settings
from judge_gym.store.disk import full_disk
from judge_gym.store.engine import database_failure

CLIENT_SETTINGS = {
    # Waits of 2, 4, 8, 16, 32 and 64 s: as patient as connections to the database, and more.
    "PREFECT_CLIENT_MAX_RETRIES": "6",
    # What Prefect's server answers while its own database is away.
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
}
"""Variables of Prefect that make flow runs wait for its server; prefect.yaml sets them, too."""


def outage_of(error: BaseException) -> JudgeGymError | None:
    """Return what to print if the database or Prefect's server caused an error; else None.

    It is an `OutageError` where the server was away, so that the work can resume when it is back,
    and names the disk of the data folder where that is full.
    """
    away = next((one for one in causes(error) if isinstance(one, OutageError)), None)
    failure = away or database_failure(error) or _of_prefect(error)
    return failure and (full_disk(settings().data_dir) or failure)


def _of_prefect(error: BaseException) -> OutageError | None:
    # Prefect wraps the errors of its client.
    for cause in causes(error):
        if isinstance(cause, httpx.TransportError):
            what = f"stopped during the run: {first_line(cause)}"
        elif isinstance(cause, httpx.HTTPStatusError) and cause.response.is_server_error:
            what = f"failed: {first_line(cause)}"
        else:
            continue
        away = OutageError(
            f"Prefect's server {what}.",
            "All answers received are stored. Start the server and rerun the command to resume.",
        )
        away.waited = True  # as its client has
        return away
    return None
