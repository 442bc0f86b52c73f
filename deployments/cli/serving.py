"""`judge-gym up`, `simulator` and `mcp`: servers that run until Ctrl-C."""

import signal
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.database import Overwrite, summary
from deployments.cli.environment import STOPPING, naming_port, prepare_environment
from deployments.cli.options import Port
from deployments.cli.output import command, console
from deployments.cli.standby import dismiss
from judge_gym.counting import counted
from judge_gym.shipped import DEPLOYMENTS, documented

if TYPE_CHECKING:
    from deployments.local.stack import Stack
    from judge_gym.simulator.news import Archive

PORT = 4200
NEWS = DEPLOYMENTS / "sweeps" / "corpora" / "valmora.jsonl"


def up(
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of Prefect's UI and API.")
    ] = PORT,
    overwrite: Overwrite = False,
) -> None:
    """Run PostgreSQL, Prefect, a worker and the simulator until Ctrl-C.

    Also deploys the flows. All services listen on loopback only and store their data in the data
    folder; rerun the command to resume. If one service ends, the others are stopped. Prefect's UI
    and API and the reports require the password in the data folder. Edits made in the UI are kept.
    """
    from judge_gym.settings import settings

    for stopping in STOPPING:
        signal.signal(stopping, signal.default_int_handler)
    dismiss(settings().data_dir)  # of commands without this installation
    prepare_environment()
    from deployments.local.stack import running

    console.print("Starting ... (the first time takes a minute or two)")
    with running(settings(), port, overwrite=overwrite) as stack:
        try:
            _show_stack(stack)
            stack.watch()
        except KeyboardInterrupt:
            console.print("Stopping ...")
        finally:
            # A second signal must not interrupt the shutdown.
            for stopping in STOPPING:
                signal.signal(stopping, signal.SIG_IGN)
    console.print("All services have stopped. Rerun the command to resume.")


def _show_stack(stack: "Stack") -> None:
    from sqlalchemy import make_url

    from deployments.local.prefect_server import REPORTS

    database, records = (
        make_url(url).render_as_string(hide_password=True)
        for url in (stack.database, stack.records)
    )
    lines = (
        ("Prefect's UI", stack.ui),
        ("reports", f"{stack.ui}{REPORTS}/"),
        ("their password", f"in {stack.password}, readable only by you"),
        ("database", database),
        ("Prefect's records", records),
        ("simulator", stack.simulator),
        ("files of flow runs", f"relative to {stack.home}"),
        ("Prefect's objects", summary(stack.steps)),
    )
    for subject, value in lines:
        console.plain(f"{subject:<19} {value}")
    for step in stack.steps:
        if step.outcome == "kept":
            console.plain(f"{step.outcome:<19} {step.name}")
    if stack.rescheduled:
        console.print(f"Resuming {counted(stack.rescheduled, 'stopped flow run')}.")
    console.print("\nIn a second terminal:", markup=False)
    for line in (
        f"export PREFECT_API_URL={stack.api}",
        f'export PREFECT_API_AUTH_STRING="$(cat {quote(str(stack.password))})"',
        "prefect deployment run sweep/demo --watch",
        f"{command()} sweep run deployments/sweeps/quick.yaml",
    ):
        console.plain(f"  {line}")
    console.print("\nStop everything with Ctrl-C.")


_Latency = Annotated[float, typer.Option(min=0, help="Seconds before each answer.")]
_Faults = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A fault plan (TOML) of rate limits, errors and broken answers; "
        f"{documented('reference/simulator.md')} has an example and all kinds.",
    ),
]
_BatchSeconds = Annotated[
    float, typer.Option(min=0, help="Seconds from a batch's creation to its end.")
]
_State = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Folder that keeps files and batches; default: in memory only."
    ),
]
_News = Annotated[
    Path,
    typer.Option(
        metavar="PATH",
        show_default="the demo's articles",
        help="A corpus file or folder to serve as news, in place of Firecrawl. Its dates repeat, "
        "so that any date range finds articles.",
    ),
]
_Known = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help='Texts whose worth graders know: JSON Lines of {"text": ..., "worth": 0 to 1}.',
    ),
]


def simulator(
    port: Port = 8750,
    latency: _Latency = 0.0,
    faults: _Faults = None,
    batch_seconds: _BatchSeconds = 1.0,
    state: _State = None,
    news: _News = NEWS,
    known: _Known = None,
) -> None:
    """Serve simulated judges and news on this machine until Ctrl-C."""
    import asyncio

    from judge_gym.simulator.__main__ import serve

    serving = serve(
        port,
        latency,
        archive=news_archive(news),
        faults=faults,
        batch_seconds=batch_seconds,
        state=state,
        known=known,
    )
    with naming_port(f"The simulator cannot listen on port {port}"):
        asyncio.run(serving)


def news_archive(news: Path) -> "Archive":
    """Return the readable documents of a corpus as news; raises `JudgeGymError` for a bad path."""
    from judge_gym.evidence.corpus import read_corpus
    from judge_gym.evidence.documents import RawDocument
    from judge_gym.simulator.news import Archive, Article

    return Archive(
        Article(row.url, row.title, row.text, row.published)
        for row in read_corpus(news, {})
        if isinstance(row, RawDocument)
    )


def mcp(
    own_judges: Annotated[
        bool,
        typer.Option("--own-judges", help="Let agents run judges that are functions or URLs."),
    ] = False,
) -> None:
    """Serve judge-gym to agents over the Model Context Protocol.

    Uses standard input and output. File paths must lie below the current folder. A sweep of real
    models needs a budget in its file or an agreed number of calls.
    """
    from judge_gym.extras import require

    require("serve")
    prepare_environment()
    from deployments.mcp.server import server

    server(own_judges=own_judges).run("stdio")
