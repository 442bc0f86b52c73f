"""Tests that share one Prefect server take no slots from each other."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
TABLE = re.compile(r"\[([a-z][a-z0-9-]*)\](?:\n|\\n)([^\[]*)")
"""A table of a providers file inside a test: its name, and what is in it."""
ON_THE_SERVER = ("slow", "end_to_end", "flow")


def test_a_provider_whose_slots_a_test_sets_is_in_no_other_file() -> None:
    """Its limit is one of the whole server, so each run that has other slots would change it."""
    tables = [
        (name, path.name, "task_slots" in body)
        for tier in ON_THE_SERVER
        for path in sorted((TESTS / tier).glob("test_*.py"))
        for name, body in TABLE.findall(path.read_text())
    ]
    limited = {name: file for name, file, sets_slots in tables if sets_slots}
    assert {"away", "chaos", "lost"} <= limited.keys()
    others = {(name, file) for name, file, _ in tables if limited.get(name, file) != file}
    assert others == set()
