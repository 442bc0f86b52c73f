"""A served panel as a person sees it in Chromium: a sample, a text of one's own, and cancelling."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.simulator.launch import running
from support.chromium import Browser, chromium
from support.command_line import CommandLine

pytestmark = pytest.mark.slow
LATENCY_S = 1.0
"""Of the simulator, so that there is something to watch and to cancel."""
MARKUP = "<img src=x onerror=document.title='run'>"


@pytest.fixture
def server(database: str, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """`judge-gym panel serve`, started."""
    with running(latency=LATENCY_S) as simulator:
        environment = {
            "JUDGE_GYM_DATABASE_URL": database,
            "JUDGE_GYM_SIMULATOR_URL": simulator,
        }
        started = CommandLine(tmp_path, environment).start("panel", "serve", "--port", "0")
        try:
            yield started
        finally:
            started.kill()
            started.communicate()


def address(server: "subprocess.Popen[str]") -> str:
    assert server.stdout is not None
    said = ""
    for line in server.stdout:
        said += line
        if line.startswith("Panel proposal: "):
            return line.removeprefix("Panel proposal: ").strip()
    assert server.stderr is not None
    raise AssertionError(said + server.stderr.read())


def press(browser: Browser, key: str, code: int, text: str = "") -> None:
    given: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code, "text": text}
    browser.ask("Input.dispatchKeyEvent", type="keyDown", **given)
    browser.ask("Input.dispatchKeyEvent", type="keyUp", **given)


def focused(browser: Browser) -> str:
    return str(browser.value("document.activeElement.id"))


def test_a_panel_is_watched_cancelled_and_stopped(
    server: "subprocess.Popen[str]", database: str, tmp_path: Path
) -> None:
    url = address(server)
    with chromium(tmp_path / "profile") as browser:
        browser.open(url, "SIMULATED", "Submit to the panel", "Count visits by the door counter")
        press(browser, "Tab", 9)
        assert focused(browser) == "choice"
        press(browser, "Tab", 9)
        assert focused(browser) == "submit"
        press(browser, "Enter", 13, "\r")
        browser.shows("rater_a, Structure and metrics sim/good-1: at work …", "arbiter")
        assert focused(browser) == "cancel"
        browser.shows("rater_b: at work …")  # as a screen reader is told it
        browser.shows("Consensus: ", "Agreement of the raters", "Scores", "Comments", "counting")
        assert focused(browser) == "result"

        browser.value(
            "const choice = document.getElementById('choice'); choice.value = 'text';"
            "choice.dispatchEvent(new Event('change'));"
            f"document.getElementById('title').value = {MARKUP!r};"
            f"document.getElementById('items').value = {f'Do {MARKUP} by 5 May.'!r};"
        )
        browser.value("document.getElementById('submit').click()")
        shown = browser.shows("rater_b, Feasibility and clarity sim/severe-1: at work …", "item-1")
        assert MARKUP in shown
        press(browser, "Enter", 13, "\r")  # the focus is on Cancel
        browser.shows("Cancelled. What was reviewed is kept", "stopped")
        assert focused(browser) == "error"
        assert browser.value("document.images.length") == 0
        assert browser.value("document.title") == "Panel proposal"
        assert browser.asked == {url.removeprefix("http://")}
    server.send_signal(signal.SIGINT)
    output, errors = server.communicate(timeout=60)
    assert server.returncode == 0
    # Of what was cancelled, if it is not answered yet.
    assert all("that may be billed" in waited for waited in errors.splitlines())
    assert output.endswith("Stopped. Reviews are stored.\n")
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        ends = connection.execute(sa.text("SELECT status FROM panel_consensus ORDER BY id"))
        assert list(ends.scalars()) == ["done", "cancelled"]
