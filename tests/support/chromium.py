"""Chromium without a screen: opens pages as a person would, and reads what stands on them.

It speaks the DevTools protocol, and finds no host but loopback.
"""

import itertools
import json
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from support.waiting import until

NAMES = ("chromium", "chromium-browser", "google-chrome")
START_S = 180.0
ANSWER_S = 180.0
SHOWS_S = 180.0
"""Prefect's page takes most of a minute where four processes of tests share a slow machine."""
_PASSWORD = "document.querySelector('input[type=password]')"
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--force-prefers-reduced-motion",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--window-size=1280,1600",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


_NAVIGATED = "Inspected target navigated"


class NavigatedError(AssertionError):
    """The page was left before it answered."""


@dataclass
class Browser:
    """One tab."""

    _connection: ClientConnection
    _ids: Iterator[int] = field(default_factory=itertools.count)
    asked: set[str] = field(default_factory=set)
    """The hosts and ports that pages have asked for anything."""

    def open(self, url: str, *texts: str, seconds: float = SHOWS_S) -> str:
        """Open a page and wait until it is read, scripts and all, and shows all of these texts."""
        self.ask("Page.navigate", url=url)
        shown = self.shows(*texts, seconds=seconds)
        until(lambda: self.value("document.readyState !== 'loading'"), f"all of {url}", seconds)
        return shown

    def shows(self, *texts: str, seconds: float = SHOWS_S) -> str:
        """Wait until the page shows all of these texts; all it shows."""
        missing = list(texts)

        def there() -> bool:
            shown = self.text()
            missing[:] = [one for one in texts if one not in shown]
            return not missing

        try:
            until(there, str(texts), seconds, every=0.25)
        except AssertionError:
            pytest.fail(f"{missing} not on {self.value('location.href')}:\n{self.text()}")
        return self.text()

    def text(self) -> str:
        """What the page shows, as a person could select it; nothing while another one loads."""
        try:
            return str(self.value("document.body ? document.body.innerText : ''"))
        except NavigatedError:
            return ""

    def leads_to(self, link: str) -> str:
        """The address of the link with this text, once there is one."""
        links = "[...document.links].map(one => [one.innerText, one.href])"
        return str(until(lambda: dict(self.value(links)).get(link), f"a link {link!r}", every=0.25))

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript on the page."""
        given = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return given["result"].get("value")

    def log_in(self, address: str, password: str) -> None:
        """Give Prefect's page the password it asks for; both of its pages keep it."""
        self.open(f"{address}/login", "Login")
        until(lambda: self.value(f"!!{_PASSWORD}"), "the password's field", every=0.25)
        self.value(f"{_PASSWORD}.focus()")
        self.type(password)
        self.press("Login")
        self.shows("Dashboard")

    def type(self, text: str) -> None:
        """Type into the field that has the focus."""
        self.ask("Input.insertText", text=text)

    def press(self, button: str) -> None:
        """Press the button with this text, once it is there."""
        found = (
            "[...document.querySelectorAll('button')]"
            f".find(one => one.innerText.trim() === '{button}')"
        )
        until(lambda: self.value(f"!!{found}"), f"the button {button!r}", every=0.25)
        self.value(f"{found}.click()")

    def picture(self, file: Path) -> None:
        """Save how the page looks."""
        file.write_bytes(b64decode(self.ask("Page.captureScreenshot")["data"]))

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the tab answers to a command of the DevTools protocol."""
        number = next(self._ids)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            said = json.loads(self._connection.recv(timeout=ANSWER_S))
            if said.get("method") == "Network.requestWillBeSent":
                url = httpx.URL(said["params"]["request"]["url"])
                self.asked |= {url.netloc.decode()} if url.scheme in ("http", "https") else set()
            if said.get("id") == number:
                if _NAVIGATED in str(said.get("error", "")):
                    raise NavigatedError(method)
                assert "error" not in said, said
                return dict(said["result"])


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """Have a browser, with its profile in a folder; skips the test where there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed")
    process = subprocess.Popen(
        [program, *_OPTIONS, f"--user-data-dir={folder}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = until(lambda: _port(folder / "DevToolsActivePort"), "Chromium", START_S)
        [tab] = [
            one
            for one in httpx.get(f"http://127.0.0.1:{port}/json/list").json()
            if one["type"] == "page"
        ]
        # Without pings: what a page reports while nobody asks waits before their answers.
        with connect(tab["webSocketDebuggerUrl"], max_size=None, ping_interval=None) as connection:
            browser = Browser(connection)
            browser.ask("Network.enable")
            yield browser
    finally:
        process.terminate()
        process.wait()


def _port(file: Path) -> str | None:
    """The port it listens on, once it has written that down."""
    lines = file.read_text().splitlines() if file.exists() else []
    return lines[0] if len(lines) > 1 else None
