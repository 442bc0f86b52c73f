"""The page that lists the faults of the simulator."""

import re

from judge_gym.simulator.faults.plan import KINDS
from support.command_line import REPOSITORY

PAGE = (REPOSITORY / "docs" / "reference" / "simulator.md").read_text()
SECTION = PAGE[PAGE.index("| faults of | kinds |") : PAGE.index("Every kind has `share`")]


def test_every_kind_of_fault_is_on_the_page() -> None:
    listed = [
        name
        for line in SECTION.splitlines()
        if line.startswith("| ")
        for name in re.findall(r"`(\w+)`", line)
    ]
    assert sorted(listed) == sorted(kind.model_fields["kind"].default for kind in KINDS)
