"""`judge-gym sweep power` and `judge-gym analyse selftest`, from the arguments to the output."""

import json
from pathlib import Path

import pytest

from support.command_line import SWEEPS, CommandLine, Ended, sweep_text

DEMO = str(SWEEPS / "demo.yaml")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """The power of the demo sweep, in few runs."""
    command = CommandLine(tmp_path_factory.mktemp("power"))
    return command("sweep", "power", DEMO, "--effect", "0.2", "--seeds", "20").fine()


def test_power_is_told_with_its_error_and_its_price(demo: Ended) -> None:
    said = " ".join(demo.output.split())
    # 16 articles, 4 judges, 5 replicates, each judged and probed 1.1 times; 16 summaries
    assert "(H1), fascism; democratic backsliding: 16 items x 5 replicates of 4 judges" in said
    assert f"{16 + round(16 * 4 * 5 * 2.1)} calls" in said
    # eight primary figures: H1 thrice (once of subsets), H2 of four judges, H3 of one pair
    assert "level 0.0063, primary" in said
    assert "With 16 items and 5 replicates a true value of 0.25 (bits) is found in" in said
    assert "20 simulated data sets" in said
    assert "Not simulated: V4.variance." in said


def test_power_needs_no_database(demo: Ended) -> None:
    assert not demo.errors.strip()
    assert "Database" not in demo.output


def test_power_as_json(tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(sweep_text("quick.yaml"))
    command = CommandLine(tmp_path)
    done = command("sweep", "power", file, "--effect", "0.2", "--seeds", "20", "--json").fine()
    (found,) = json.loads(done.output)
    # without a plan, and with a rubric each, the swap is all there is: 5 items x 2 in 3 arms
    assert found["hypothesis"] == "H3"
    assert found["scope"]["rival"] == "sim/low-1"
    assert (found["primary"], found["level"], found["margin"]) == (False, 0.05, -0.05)
    assert found["true_value"] == pytest.approx(-0.25)
    assert found["now"]["items"] == 5
    assert found["now"]["calls"] == 5 + 5 * 2 * 3 * 2.1
    low, high = found["now"]["power_interval"]
    assert low <= found["now"]["power"] <= high


def test_selftest_covers_and_says_how_it_ends(tmp_path: Path) -> None:
    page = tmp_path / "coverage.md"
    done = CommandLine(tmp_path)(
        *("analyse", "selftest", "--seeds", "20", "--items", "30", "--truth", "identical"),
        *("--page", page, "--json"),
    )
    found = {one["figure"]: one for one in json.loads(done.output)}
    missed = [one for one in found.values() if one["misses"] and not one["exploratory"]]
    assert done.code == (1 if missed else 0)
    for figure in (
        "polarization_excess",
        "belief_distance",
        "conflict",
        "gwet_ac",
        "swap_sensitivity",
    ):
        assert found[figure]["coverage"]["of"] == 20, figure
        assert f"| {figure} | 1 | " in page.read_text().replace("\\_", "_"), figure
    # P itself is above its floor by nothing: its test is of a true null
    assert found["polarization"]["null"] is True
    assert found["accuracy"]["planted"] == pytest.approx(found["coverage"]["planted"])
