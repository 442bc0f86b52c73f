"""What others can do with the API that `judge-gym up` opens: web pages, processes without a key.

A page of another origin is served on loopback, and opened in a Chromium that has the password.
"""

import json
import socket
import stat
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import psutil
import pytest

from support.chromium import Browser, chromium
from support.command_line import CommandLine
from support.installation import Installation
from support.waiting import until

pytestmark = pytest.mark.slow
ATTACK = """
(async () => {
  const api = %(api)s, run = %(run)s, outcomes = {};
  const tried = async (name, options) => {
    try {
      const reply = await fetch(options.url || run, {method: 'POST', ...options});
      outcomes[name] = reply.type === 'opaque' ? 'sent, unreadable' : `read ${reply.status}`;
    } catch (error) {
      outcomes[name] = 'refused';
    }
  };
  const body = %(body)s;
  await tried('read', {url: api + '/health', method: 'GET'});
  await tried('json', {body, headers: {'Content-Type': 'application/json'}});
  await tried('text', {body, mode: 'no-cors', headers: {'Content-Type': 'text/plain'}});
  await tried('untyped', {body: new Blob([body]), mode: 'no-cors', credentials: 'include'});
  outcomes.socket = await new Promise(done => {
    const socket = new WebSocket(api.replace('http', 'ws') + '/events/in');
    socket.onopen = () => done('open');
    socket.onclose = socket.onerror = () => done('refused');
  });
  return JSON.stringify(outcomes);
})()"""


@pytest.fixture(scope="module")
def mark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that an attacker's command would make."""
    return tmp_path_factory.mktemp("attacked") / "made"


@pytest.fixture(scope="module")
def create(up: Installation) -> str:
    """Where runs of a deployment are created."""
    found = up.get("/deployments/name/sweep/default")["id"]
    return f"/deployments/{found}/create_flow_run"


@contextmanager
def other_origin() -> Iterator[str]:
    """A site of somebody else's; its address."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>News</title><p>Nothing to see.")

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Page)
    serving = Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def runs(up: Installation) -> set[str]:
    """Those that somebody has started: the scheduler makes some at any time."""
    return {one["id"] for one in up.post("/flow_runs/filter") if not one["auto_scheduled"]}


def logged_in(up: Installation) -> tuple[str, str]:
    user, _, password = up.password.partition(":")
    return user, password


def test_a_web_page_of_another_origin_starts_nothing(
    up: Installation, create: str, mark: Path, tmp_path: Path
) -> None:
    before = runs(up)
    wanted = {"state": {"type": "SCHEDULED"}, "job_variables": {"command": f"touch {mark}"}}
    attack = ATTACK % {
        "api": json.dumps(up.api),
        "run": json.dumps(up.api + create),
        "body": json.dumps(json.dumps(wanted)),
    }
    with other_origin() as site, chromium(tmp_path / "chromium") as browser:
        browser.log_in(up.address, up.password)
        # It keeps this password too, for the reports.
        browser.open(f"http://{up.password}@127.0.0.1:{up.port}/reports/", "Reports")
        browser.open(site, "Nothing to see.")
        outcomes = tried(browser, attack)
    assert outcomes["read"] == outcomes["json"] == outcomes["socket"] == "refused"
    assert {outcomes["text"], outcomes["untyped"]} <= {"refused", "sent, unreadable"}
    assert runs(up) == before
    assert not mark.exists()


def tried(browser: Browser, script: str) -> dict[str, str]:
    """What became of each thing that a page has tried."""
    browser.value(f"{script}.then(said => window.said = said); 0")
    return dict(json.loads(until(lambda: browser.value("window.said"), "the attacks")))


def test_another_host_name_is_refused_even_with_the_password(up: Installation, create: str) -> None:
    """As when a page has its own name lead to 127.0.0.1."""
    before = runs(up)
    for path in ("/", "/api/health", f"/api{create}", "/reports/report-quick.html"):
        answer = httpx.post(
            f"{up.address}{path}",
            headers={"Host": f"attacker.example:{up.port}"},
            auth=logged_in(up),
            json={"state": {"type": "SCHEDULED"}},
        )
        assert answer.status_code == httpx.codes.BAD_REQUEST
    assert runs(up) == before


def test_reports_and_their_index_need_the_password(up: Installation) -> None:
    folder = up.command.data / "reports"
    folder.mkdir(exist_ok=True)
    (folder / "report-own.html").write_text("<title>Own &amp; secret</title>")
    index, page = (f"{up.address}/reports/{file}" for file in ("", "report-own.html"))
    for url in (index, page):
        for given in (None, ("judge-gym", "guessed")):
            refused = httpx.get(url, auth=given)
            assert (refused.status_code, "secret" in refused.text) == (401, False)
        assert "Own &amp; secret" in httpx.get(url, auth=logged_in(up)).text
    outside = httpx.get(f"{index}..%2Fprefect-password", auth=logged_in(up))
    assert outside.status_code == httpx.codes.NOT_FOUND


def raw(up: Installation, path: str, *headers: str) -> bytes:
    """The answer to a request whose path and headers no client has changed."""
    basic = b64encode(up.password.encode()).decode()
    lines = (f"GET {path} HTTP/1.1", f"Authorization: Basic {basic}", *headers, "Connection: close")
    with socket.create_connection(("127.0.0.1", up.port), timeout=60) as connection:
        connection.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1"))
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    return answer


@pytest.mark.parametrize(
    "path",
    [
        "/reports/../prefect-password",
        "/reports/%2e%2e/prefect-password",
        "/reports/..%5cprefect-password",
        "/reports/%252e%252e/prefect-password",
        "/reports//etc/passwd",
        "/reports/%00",
        "/reports/" + "a" * 5000,
        "/reports/link.html",
        "/reports/linked/prefect-password",
        "/status/%2e%2e/api/admin/settings",
        "/labels//evil.example/",
        "/labels/x%2f..%2f..%2f",
        "http://evil.example/reports/",
    ],
)
def test_no_path_leads_out_of_the_folder_of_reports(up: Installation, path: str) -> None:
    data = up.command.data
    folder = data / "reports"
    folder.mkdir(exist_ok=True)
    for link, to in (("link.html", data / "prefect-password"), ("linked", data)):
        (folder / link).unlink(missing_ok=True)
        (folder / link).symlink_to(to.resolve())
    answer = raw(up, path, f"Host: 127.0.0.1:{up.port}")
    for link in ("link.html", "linked"):
        (folder / link).unlink()
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert up.password.partition(":")[2].encode() not in answer


@pytest.mark.parametrize(
    "hosts",
    [(), ("",), ("127.0.0.1.evil.example",), ("127.0.0.1:1@evil.example",), ("[::1]",),
     ("127.0.0.1", "evil.example")],
    ids=str,
)  # fmt: skip
def test_a_request_names_one_host_of_this_machine(up: Installation, hosts: tuple[str, ...]) -> None:
    answer = raw(up, "/status/", *(f"Host: {host}" for host in hosts))
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_no_other_site_shows_a_page_in_a_frame_and_no_file_is_taken_for_another_kind(
    up: Installation,
) -> None:
    for path in ("/", "/reports/", "/status/", "/status/metrics", "/api/health"):
        headers = httpx.get(f"{up.address}{path}", auth=logged_in(up)).headers
        assert "frame-ancestors 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


def test_a_large_body_needs_the_password_too(up: Installation) -> None:
    for path in ("/reports/", "/status/", "/labels/x/next", "/api/flow_runs/filter"):
        refused = httpx.post(f"{up.address}{path}", content=b"x" * 50_000_000, timeout=300)
        assert refused.status_code == httpx.codes.UNAUTHORIZED


@pytest.mark.parametrize("password", ["", "judge-gym:guessed"])
def test_nothing_is_told_or_done_without_the_password(
    up: Installation, create: str, password: str
) -> None:
    for path in (create, "/flow_runs/filter", "/block_documents/filter", "/variables/filter"):
        answer = up.answer("POST", path, {}, password)
        assert answer.status_code == httpx.codes.UNAUTHORIZED


@pytest.mark.parametrize(
    "variables",
    [
        {"command": "touch {mark}"},
        {"working_dir": "/tmp"},
        {"env": {"LD_PRELOAD": "{mark}"}},
        {"env": {"JUDGE_GYM_DATABASE_URL": "postgresql://attacker/x"}},
    ],
    ids=str,
)
def test_a_run_cannot_choose_its_command_even_with_the_password(
    up: Installation, create: str, mark: Path, variables: dict[str, Any]
) -> None:
    before = runs(up)
    wanted = json.loads(json.dumps(variables).replace("{mark}", str(mark)))
    body = {"state": {"type": "SCHEDULED"}, "job_variables": wanted}
    answer = up.answer("POST", create, body)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert "dditional properties are not allowed" in answer.text
    assert runs(up) == before
    assert not mark.exists()


def test_the_password_is_in_its_file_alone(up: Installation) -> None:
    file = up.command.data / "prefect-password"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    secret = up.password.partition(":")[2]
    assert len(secret) >= 32
    assert str(file) in up.said
    assert secret not in up.said
    for log in (up.command.data / "logs").iterdir():
        assert secret not in log.read_text()
    for process in psutil.process_iter(["cmdline"]):
        assert secret not in " ".join(process.info["cmdline"] or [])


def test_commands_of_the_data_folder_find_the_password_and_others_are_told(
    up: Installation, tmp_path: Path
) -> None:
    assert f"server at {up.api}" in up.command("doctor", PREFECT_API_URL=up.api).fine().output
    for command in (("database", "init"), ("doctor",)):
        ended = CommandLine(tmp_path)(*command, PREFECT_API_URL=up.api)
        assert ended.code == 1
        said = " ".join((ended.output + ended.errors).split())
        assert f"The Prefect server at {up.api} refused: wrong user or password" in said
        assert "PREFECT_API_AUTH_STRING" in said
