"""Artifacts of Prefect's page: their keys, and a bar that shows progress."""

import logging
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact
from prefect.logging import get_run_logger
from prefect.runtime import flow_run

from judge_gym.errors import first_line
from tasks.policy import LAUNCHED

PROGRESS = logging.getLogger("judge-gym-progress")
"""Gets a line whenever a bar moves; commands print some of them."""
PROGRESS.propagate = False


def artifact_key(kind: str, name: str) -> str:
    """Return "progress-score-some-experiment": small letters, digits and hyphens only."""
    return f"{kind}-{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}"


@dataclass
class Bar:
    """A progress artifact of this flow run, made when it is shown first.

    Its key is the name of the work: a later run of the same work is shown in its place, while runs
    of other work have a bar of their own. One of a sweep's many launched runs is shown with its run
    alone.
    """

    work: str
    _artifact: UUID | None = None

    async def show(self, share: float, description: str) -> None:
        """Show a share, from 0 to 1, and of what it is. What cannot be shown stops nothing."""
        percent = math.floor(1000 * share) / 10  # 100 says that all is done
        PROGRESS.info("%s: %s", self.work, description, extra={"work": self.work})
        with only_logged():
            if self._artifact is None:
                launched = LAUNCHED in flow_run.tags
                key = None if launched else artifact_key("progress", self.work)
                self._artifact = await acreate_progress_artifact(percent, key, description)
            else:
                await aupdate_progress_artifact(self._artifact, percent, description)


@contextmanager
def only_logged() -> Iterator[None]:
    """Log what cannot be shown: no run ends for want of its picture."""
    try:
        yield
    except Exception as error:
        get_run_logger().warning("Its progress cannot be shown: %s", first_line(error))
