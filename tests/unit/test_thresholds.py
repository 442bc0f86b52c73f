"""Thresholds as they are typed: `--fail-under agreement=0.6`."""

import pytest

from deployments.cli.thresholds import least_of
from judge_gym.errors import ConfigError


@pytest.mark.parametrize(
    ("typed", "comma"), [("agreement=0,5", True), ("agreement=5", False), ("agreement=", False)]
)
def test_a_decimal_comma_is_named(typed: str, comma: bool) -> None:
    with pytest.raises(ConfigError) as refused:
        least_of([typed], ("agreement",))
    assert ("decimal point" in refused.value.remedy) is comma
    assert least_of(["agreement=0.5"], ("agreement",)) == {"agreement": 0.5}
