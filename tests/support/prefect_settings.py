"""Prefect's settings for a while, as `temporary_settings`, which makes them anew each time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from prefect.context import SettingsContext, get_settings_context
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_HOME,
    PREFECT_LOGGING_TO_API_ENABLED,
    Settings,
)

_MADE: dict[tuple[object, ...], tuple[Settings, Settings]] = {}
"""By what they are made of; the first, whose identity is a part of the key, is kept alive."""


@contextmanager
def prefect_at(url: str | None, home: str | None) -> Iterator[None]:
    """Have Prefect use this API and this home in the block, and send no logs there."""
    context = get_settings_context()
    variables = sorted(one for one in os.environ.items() if one[0].startswith("PREFECT_"))
    key = (id(context.settings), url, home, *variables)
    if key not in _MADE:
        given = {PREFECT_API_URL: url, PREFECT_HOME: home}
        known = {setting: value for setting, value in given.items() if value is not None}
        updated = {**known, PREFECT_LOGGING_TO_API_ENABLED: False}
        _MADE[key] = context.settings, context.settings.copy_with_update(updated)
    with SettingsContext(profile=context.profile, settings=_MADE[key][1]):
        yield
