"""Prefect's settings for a while, as `temporary_settings`, which makes them anew each time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from prefect.concurrency.services import ConcurrencySlotAcquisitionWithLeaseService
from prefect.context import SettingsContext, get_settings_context
from prefect.settings import (
    PREFECT_API_AUTH_STRING,
    PREFECT_API_URL,
    PREFECT_HOME,
    PREFECT_LOGGING_TO_API_ENABLED,
    Settings,
)

LEAVES_S = 30.0
_MADE: dict[tuple[object, ...], tuple[Settings, Settings]] = {}
"""By what they are made of; the first, whose identity is a part of the key, is kept alive."""
_AT: list[str] = []
"""The API that this process used last."""


@contextmanager
def prefect_at(url: str | None, home: str | None) -> Iterator[None]:
    """Have Prefect use this API and this home in the block, and send no logs there."""
    context = get_settings_context()
    variables = sorted(one for one in os.environ.items() if one[0].startswith("PREFECT_"))
    key = (id(context.settings), url, home, *variables)
    if key not in _MADE:
        password = os.environ.get("PREFECT_API_AUTH_STRING")
        given = {PREFECT_API_URL: url, PREFECT_HOME: home, PREFECT_API_AUTH_STRING: password}
        known = {setting: value for setting, value in given.items() if value is not None}
        updated = {**known, PREFECT_LOGGING_TO_API_ENABLED: False}
        _MADE[key] = context.settings, context.settings.copy_with_update(updated)
    _move_to(url)
    with SettingsContext(profile=context.profile, settings=_MADE[key][1]):
        try:
            yield
        finally:
            _move_to(context.settings.api.url)


def _move_to(url: str | None) -> None:
    """Leave the API that was used last, unless it is this one."""
    if url and [url] != _AT:
        leave_prefect()
        _AT[:] = [url]


def leave_prefect() -> None:
    """End what Prefect keeps for the whole process: clients of the API that it used first.

    Otherwise a task would ask that one for its slot, and wait for minutes when it is gone.
    """
    _AT.clear()
    # All services of Prefect: the class is but the way to them.
    ConcurrencySlotAcquisitionWithLeaseService.drain_all(timeout=LEAVES_S)
