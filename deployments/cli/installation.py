"""`judge-gym database status`: what works, what waits, what it costs, what failed."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.environment import database_engine, prepare_environment
from deployments.cli.json_output import json_output
from deployments.cli.options import AsJson
from deployments.cli.output import console, fail
from deployments.local.prefect_server import password_for, running_api
from judge_gym.errors import ConfigError, StoreError
from judge_gym.writable import check_writable

if TYPE_CHECKING:
    from judge_gym.lab.operating import Installation


def status(
    as_json: AsJson = False,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Print gauges as Prometheus reads them.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option("--page", help="Write an HTML page to this file.", show_default=False),
    ] = None,
) -> None:
    """Show health, backlog, rates, spending and the last failures of an installation.

    Exits with 1 if a part does not answer. `judge-gym up` serves the same under /status/. Without
    PREFECT_API_URL it asks the server of the `up` that runs on the data folder, if one does.
    """
    if sum((as_json, metrics, page is not None)) > 1:
        raise ConfigError("--json, --metrics and --page are three formats.", "Choose one.")
    check_writable("--page", page)
    found = _read()
    if as_json:
        from deployments.operation import as_json as plain

        json_output.give(plain(found))
    elif metrics:
        from deployments.cli.metrics import installation_text

        typer.echo(installation_text(found), nl=False)
    elif page is not None:
        from judge_gym.report.files import put_in_place
        from judge_gym.report.operating import operating_page

        put_in_place({page: operating_page(found)})
        console.plain(f"Wrote {page}.")
    else:
        from judge_gym.report.operating import operating_tables
        from judge_gym.report.table import TerminalTable

        for table in operating_tables(found):
            console.print(TerminalTable(table))
    if faulty := [part for part in found.parts if not part.healthy]:
        names = ", ".join(f"{part.name} {part.state}" for part in faulty)
        fail(f"Not up: {names}.", " ".join(part.remedy for part in faulty))


def _read() -> "Installation":
    from judge_gym.settings import settings

    prepare_environment(calls=False)
    from prefect.settings import get_current_settings

    from deployments.operation import read_installation
    from judge_gym.lab.operating import no_database

    api = get_current_settings().api.url
    with nullcontext() if api else _server_of_up(settings().data_dir) as of_up:
        has_server = bool(api or of_up)
        try:
            with database_engine() as engine:
                return read_installation(engine, prefect=has_server)
        except StoreError as error:
            return read_installation(None, lost=no_database(error), prefect=has_server)


@contextmanager
def _server_of_up(data: Path) -> Iterator[str]:
    """Use the Prefect server of the `judge-gym up` that runs on a data folder.

    Yields its API; "" where none runs.
    """
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

    if not (api := running_api(data)):
        yield ""
        return
    chosen = {PREFECT_API_URL: api, PREFECT_API_AUTH_STRING: password_for(api, data)}
    with temporary_settings({name: value for name, value in chosen.items() if value}):
        yield api
