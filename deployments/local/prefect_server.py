"""Prefect's server on loopback: its password, its database, its application and its process.

Prefect, FastAPI, SQLAlchemy and urllib are imported in the functions that need them: Prefect reads
the environment when it is imported, and every command imports this module.
"""

import asyncio
import fcntl
import os
import secrets
import shutil
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from deployments.local.processes import HOST, supervised
from judge_gym.collecting import collect_rarely, importing
from judge_gym.errors import JudgeGymError, StoreError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCK = "up.lock"
"""The file in a data folder that names the API of its last installation."""
HOSTS = (HOST, "localhost")
"""The host names that a server on loopback answers to."""
REPORTS = "/reports"
PLAIN = "deployments.local.prefect_server:plain"
WITH_REPORTS = "deployments.local.prefect_server:with_reports"
_DATABASE = "prefect.db"
_SERVER_PASSWORD = "PREFECT_SERVER_API_AUTH_STRING"
_PASSWORD_FILE = "prefect-password"
_POLL_S = 0.02
_LOCKED = 503
_LOCKED_WAITS_S = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
# `prefect server start` sets the same variable for the server it starts.
_FINAL = {"PREFECT__SERVER_FINAL": "1"}
_DATABASE_VARIABLES = (
    "PREFECT_SERVER_DATABASE_CONNECTION_URL",
    "PREFECT_API_DATABASE_CONNECTION_URL",
)
_EXTENSION = "pg_trgm"
"""The extension that Prefect's migrations create; PostgreSQL packages ship it as contrib."""
_URL_OPTIONS = {"host": "host", "port": "port", "sslmode": "ssl"}
"""Option of a database URL → its name in asyncpg."""


def new_password() -> str:
    """Return a new random password in Prefect's form, user:password."""
    return f"judge-gym:{secrets.token_urlsafe(24)}"


def password_file(data: Path) -> Path:
    """Return the file in a data folder that holds its password."""
    return data / _PASSWORD_FILE


def password(data: Path) -> str:
    """Return the password of a data folder; creates it, readable by this user only."""
    if not (stored := _stored_password(data)):
        stored = new_password()
        descriptor = os.open(password_file(data), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as output:
            output.write(f"{stored}\n")
    return stored


def password_for(api: str, data: Path) -> str | None:
    """Return the data folder's password if `api` is the API of its installation, else None."""
    lock = data / LOCK
    own_api = lock.read_text().split()[-1:] if lock.exists() else []
    # The password is sent to no other server.
    return (_stored_password(data) or None) if own_api == [api.rstrip("/")] else None


def running_api(data: Path) -> str:
    """Return the API of the installation that runs on a data folder; "" where none does."""
    with suppress(FileNotFoundError), (data / LOCK).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:  # it holds the lock as long as it runs
            return "".join(lock.read().split()[-1:])
    return ""


def _stored_password(data: Path) -> str:
    """Return the content of the password file; "" when it is missing or was cut off."""
    file = password_file(data)
    return file.read_text().strip() if file.exists() else ""


def prefect_database(judge_gym: str) -> str:
    """Return the URL of Prefect's database, and create the database if it does not exist.

    A URL in the user's environment wins. The default is `<name>_prefect` in the PostgreSQL of
    `judge_gym`, a URL. Raises `StoreError` when the database cannot be created.
    """
    from sqlalchemy import make_url

    from judge_gym.store.engine import create_database

    for variable in _DATABASE_VARIABLES:
        if chosen := os.environ.get(variable):
            return chosen
    url = make_url(judge_gym)
    own = url.set(
        drivername="postgresql+asyncpg",
        database=f"{url.database}_prefect",
        query={_URL_OPTIONS[key]: value for key, value in url.query.items() if key in _URL_OPTIONS},
    )
    try:
        # Analysts log in to this server; parameters and logs of runs are not for them.
        create_database(judge_gym, str(own.database), extension=_EXTENSION)
    except StoreError as error:
        raise StoreError(
            f"Prefect's database {own.database} cannot be made: {error.message}.",
            f"Let the user of the database create databases and {_EXTENSION}, or name one by "
            f"{_DATABASE_VARIABLES[0]} (postgresql+asyncpg://user:password@host/name).",
        ) from None
    return own.render_as_string(hide_password=False)


def prefect_records(judge_gym: str) -> str:
    """Return Prefect's database as PostgreSQL's programs take it; raises as `prefect_database`.

    Raises `StoreError` if Prefect's records are in no PostgreSQL.
    """
    from sqlalchemy import make_url

    url = make_url(prefect_database(judge_gym))
    if url.get_backend_name() != "postgresql":
        raise StoreError(
            f"Prefect's records are in {url.get_backend_name()}, not in PostgreSQL.",
            "Copy its file while no server runs.",
        )
    names = {asyncpg: name for name, asyncpg in _URL_OPTIONS.items()}
    query = {names[key]: value for key, value in url.query.items() if key in names}
    return url.set(drivername="postgresql", query=query).render_as_string(hide_password=False)


def copy_template(home: Path) -> bool:
    """Copy an empty, migrated database to Prefect's new home, if this environment has one.

    Prefect's migrations of a new SQLite database take 4 s of CPU. Returns whether the database is
    new and has to be migrated; `keep_template` keeps it then.
    """
    database, template = home / _DATABASE, _template()
    if database.exists() or any(name in os.environ for name in _DATABASE_VARIABLES):
        return False
    try:
        shutil.copyfile(template, database.with_suffix(".new"))
    except OSError:
        return True
    database.with_suffix(".new").replace(database)
    return False


def keep_template(home: Path) -> None:
    """Keep the database of a new home, before its first flow run, for other data folders.

    It is kept in the environment of Python. Does nothing where that cannot be written.
    """
    import sqlite3
    import tempfile

    template = _template()
    with suppress(OSError, sqlite3.Error):
        template.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=template.parent) as folder:
            copy = Path(folder) / _DATABASE
            with (
                closing(sqlite3.connect(home / _DATABASE)) as made,
                closing(sqlite3.connect(copy)) as kept,
            ):
                made.backup(kept)
            copy.replace(template)


def _template() -> Path:
    """Return where the template of this version of Prefect is, in the environment of Python."""
    from importlib.metadata import version

    return Path(sys.prefix) / "share" / "judge-gym" / f"prefect-{version('prefect')}.db"


def plain() -> "ASGIApp":
    """Return Prefect's application, restricted to host names of this machine."""
    return _guarded(again_when_locked(_application()))


def with_reports() -> "ASGIApp":
    """Return `plain()` with the folder of reports under `REPORTS`, which flow runs link to, with
    labellings that run, and with the state of the installation.

    All need the password of the server, as HTTP Basic.
    """
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    from deployments.local.labellings import LABELS, served
    from deployments.local.labellings import pages as labelling_pages
    from deployments.local.status_pages import STATUS
    from deployments.local.status_pages import pages as status_pages
    from judge_gym.report.shelf import shelf_page
    from judge_gym.settings import settings

    app = _application()
    folder, data = settings().reports_dir, settings().data_dir

    def index() -> str:
        links = {one.title: f"{LABELS}/{one.name}/" for one in served(data)}
        return shelf_page(folder, links, status=f"{STATUS}/")

    pages = Starlette(
        routes=[
            # A plain function, which runs in a thread: it reads the folder.
            Route("/", lambda _: HTMLResponse(index())),
            Mount("/", StaticFiles(directory=folder, check_dir=False)),
        ]
    )
    # First in the list, because Prefect's page matches every remaining path.
    mounted = ((REPORTS, pages), (LABELS, labelling_pages(data)), (STATUS, status_pages()))
    for path, own in mounted:
        app.router.routes.insert(0, Mount(path, _behind(os.environ[_SERVER_PASSWORD], own)))
    return _guarded(app)


def _behind(password: str, app: "ASGIApp") -> "ASGIApp":
    """Return an application that answers only with the password, user:password, as HTTP Basic.

    A browser sends it by itself only to paths below its own, and so not to Prefect's API.
    """
    from starlette.responses import PlainTextResponse

    expected = b"Basic " + b64encode(password.encode())
    refused = PlainTextResponse(
        "These pages need a name and a password. Both are in the file that `judge-gym up` names: "
        "what stands before the colon, and after it.",
        status_code=401,
        headers={"WWW-Authenticate": 'Basic realm="reports of judge-gym", charset="UTF-8"'},
    )

    async def answer(scope: "Scope", receive: "Receive", send: "Send") -> None:
        given = dict(scope["headers"]).get(b"authorization", b"") if "headers" in scope else b""
        known = secrets.compare_digest(given, expected)
        await (app if known else refused)(scope, receive, send)

    return answer


def _application() -> "FastAPI":
    collect_rarely()
    with importing():
        from prefect.server.api.server import create_app

    return create_app()


def again_when_locked(app: "ASGIApp") -> "ASGIApp":
    """Return an application that answers a request again where Prefect's SQLite was locked.

    Prefect answers 503 at once when two requests write at the same moment, and its client would
    wait two seconds before it asks again. After about three seconds the 503 goes to the client.
    """

    async def answer(scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        for wait_s in (*_LOCKED_WAITS_S, None):
            body, refused = iter(messages), False

            async def replay(body: "Iterator[Message]" = body) -> "Message":
                return next(body, None) or await receive()

            async def forward(message: "Message", last: bool = wait_s is None) -> None:
                nonlocal refused
                refused = refused or (message.get("status") == _LOCKED and not last)
                if not refused:
                    await send(message)

            try:
                await app({**scope}, replay, forward)  # it keeps things of one answer in there
            except Exception:  # raised after the 503, for the log
                if not refused:
                    raise
            if not refused or wait_s is None:
                return
            await asyncio.sleep(wait_s)

    return answer


def _guarded(app: "ASGIApp") -> "ASGIApp":
    """Return an application that refuses other host names than those of this machine.

    Otherwise a web page whose host name resolves to loopback counts as Prefect's page. It is around
    the application, not in it: automations call the application itself, under a name of their own.
    """
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    return TrustedHostMiddleware(app, allowed_hosts=list(HOSTS), www_redirect=False)


def api_url(port: int) -> str:
    """Return the API address of a server on this port."""
    return f"http://{HOST}:{port}/api"


def reports_url(port: int) -> str:
    """Return the address of the reports on a server `WITH_REPORTS` on this port."""
    return f"http://{HOST}:{port}{REPORTS}"


@contextmanager
def prefect_server(
    port: int, password: str, environment: Mapping[str, str], log: Path, *, app: str = PLAIN
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a server during the block; call `wait_healthy` before its first use.

    Every request but the health check needs the password. `environment` overrides variables of
    this process. Output goes to `log`.
    """
    command = [sys.executable, "-m", "uvicorn", "--factory", app, "--lifespan", "on"]
    # Prefect's page requests a host of its maker even when its settings forbid it. A page of
    # another site may show none in a frame, where a person could be led to click in it.
    headers = (
        f"Content-Security-Policy:connect-src 'self' http://{HOST}:{port} ws://{HOST}:{port}; "
        "frame-ancestors 'self'",
        "X-Content-Type-Options:nosniff",
        "Referrer-Policy:same-origin",
    )
    options = ["--host", HOST, "--port", str(port), "--log-level", "warning"]
    options += [word for header in headers for word in ("--header", header)]
    protection = {
        _SERVER_PASSWORD: password,
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(f"http://{host}:{port}" for host in HOSTS),
    }
    with supervised(
        [*command, *options], {**os.environ, **_FINAL, **protection, **environment}, log=log
    ) as process:
        yield process


def wait_healthy(
    process: "subprocess.Popen[bytes]", url: str, longest_s: float, remedy: str
) -> None:
    """Wait until the server answers its health check.

    Raises `JudgeGymError` with `remedy` when the process ends or `longest_s` seconds pass.
    """
    import urllib.request

    deadline = time.monotonic() + longest_s
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            time.sleep(_POLL_S)
    raise JudgeGymError("Prefect's server did not start.", remedy)
