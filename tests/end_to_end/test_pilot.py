"""The pilot on stand-ins, from the command line: what is planted is recovered, and shown."""

import re

import pytest

from support.command_line import REPOSITORY, CommandLine

pytestmark = pytest.mark.slow
FILE, PUBLISHED = "pilot-v3.yaml", "published/pilot-v3.yaml"


def test_the_pilot_recovers_the_regimes_and_the_contrasts_that_are_planted(
    command: CommandLine,
) -> None:
    folder = REPOSITORY / "deployments" / "sweeps"
    command("sweep", "run", folder / FILE, "--yes").fine()
    shown = command("analyse", "published", folder / FILE, folder / PUBLISHED).fine().output
    held, compared = map(int, re.findall(r"(\d+) of (\d+) recovered", shown)[0])
    # 95% should: of 20 fewer than 16 hold it once in 400 times.
    assert compared >= 18
    assert held >= compared - 4
    for regime in ("graded", "thresholded", "compressed", "interior"):
        assert re.search(rf"{regime} +{regime} ", shown), regime
