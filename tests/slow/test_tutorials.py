"""The tutorials as they stand: each written and typed from top to bottom, in an empty folder."""

import subprocess
from pathlib import Path

import pytest

from support.command_line import REPOSITORY, CommandLine
from support.documents import script
from support.prefect_server import PrefectServer, free_port
from support.simulation import Simulator

pytestmark = pytest.mark.slow
LONGEST_S = 600.0
PAGES = sorted(path.name for path in (REPOSITORY / "docs" / "tutorials").glob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_a_tutorial_runs_as_it_is_written(
    page: str, database: str, simulator: Simulator, prefect_server: PrefectServer, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("deployments", ".venv"):
        (checkout / name).symlink_to(REPOSITORY / name)
    text = script(f"docs/tutorials/{page}")
    environment = {
        "JUDGE_GYM_DATABASE_URL": database,
        "JUDGE_GYM_SIMULATOR_URL": simulator.url,
        **prefect_server.environment,
    }
    if "judge-gym up" in text:  # it starts servers of its own
        environment = {}
        text = text.replace("4311", str(free_port()))
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=checkout,
        env=CommandLine(tmp_path, environment).variables(),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for line in findings(page):
        assert line in words(ended.stdout), f"{page} shows {line!r}, which is not printed"


def findings(page: str) -> list[str]:
    """Lines with a conclusion that the page shows, whatever the width of the terminal."""
    shown = (REPOSITORY / "docs" / "tutorials" / page).read_text().splitlines()
    told = (
        "The new judge may",
        "Independent votes",
        "gpt  ",
        "with rubric 2",
        "all texts  60",
        "tickets: the gate",
        "good: the gate",
        "cheaper: the gate",
        "tickets-aligned: the gate",
        "tickets-aligned (SIMULATED)",
    )
    return [words(line) for line in shown if line.endswith("supported") or line.startswith(told)]


def words(text: str) -> str:
    return " ".join(text.split())
