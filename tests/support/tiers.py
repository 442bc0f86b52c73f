"""What runs in which tier."""

from collections.abc import Iterable
from typing import Any

import pytest


def rest_slow(cases: Iterable[Any], quick: int) -> list[Any]:
    """Values of one parameter: the first `quick` run always, the rest in `make slow`."""
    return [
        pytest.param(case, marks=() if number < quick else pytest.mark.slow)
        for number, case in enumerate(cases)
    ]
