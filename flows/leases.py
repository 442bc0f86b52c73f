"""A flow run that loses the lease of its deployment's limit goes on.

Prefect cancels it, which would leave paid calls without their answers, when its server has lost the
lease or was away for longer than the lease lasts. The limit may then be passed by one run; work on
the same experiments still waits for its turn, and calls keep the limits of their provider.
"""

from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import UUID

from prefect import flow_engine
from prefect.concurrency._leases import amaintain_concurrency_lease


def go_on_without_lease() -> None:
    """Have flow runs of this process go on when their lease cannot be renewed."""
    vars(flow_engine)["amaintain_concurrency_lease"] = _maintained


def _maintained(
    lease_id: UUID, lease_duration: float, **_: Any
) -> AbstractAsyncContextManager[None]:
    return amaintain_concurrency_lease(lease_id, lease_duration)
