"""`judge-gym database`: set up, back up and clean the database."""

from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.changing import locked_calls, show_calls
from deployments.cli.environment import database_engine, prefect_api, prepare_environment
from deployments.cli.json_output import print_json
from deployments.cli.options import AsJson, Name, OfFailure, OfWorkflow, Yes
from deployments.cli.output import confirmed, console, errors, show_table
from judge_gym.counting import counted

if TYPE_CHECKING:
    from deployments.bootstrap import BootstrappedObject
    from judge_gym.lab.retention import Pruning


def roles() -> None:
    """Create the roles judge_gym_reader and judge_gym_writer.

    Grant them to logins. All other logins lose the right to connect to this database. Running
    the command again changes nothing.
    """
    from judge_gym.store.read_only import READER, WRITER, create_roles

    with database_engine() as engine:
        warnings = create_roles(engine)
    console.print(f"{READER}: reads the views of schema analysis.")
    console.print(f"{WRITER}: runs experiments; cannot change the schema.")
    for sentence in warnings:
        errors.warn(sentence, soft_wrap=True)
    console.print(f"Next, in psql: GRANT {READER} TO some_login;", markup=False)


def serve() -> None:
    """Keep the embedded database running for SQL clients until Ctrl-C.

    Prints how to connect. Your own server (JUDGE_GYM_DATABASE_URL) runs by itself.
    """
    from deployments.cli.results import psql_command
    from judge_gym.settings import settings

    with database_engine() as engine:
        url = engine.url.render_as_string(hide_password=False)
        console.plain(psql_command(url))
        if settings().database_url:
            console.print("This server runs by itself.")
            return
        console.print(
            "Views: \\dv+ analysis.* lists them, \\d+ of one its columns. Stop with Ctrl-C."
        )
        with suppress(KeyboardInterrupt):
            Event().wait()


OfPrefect = Annotated[
    Path | None,
    typer.Option(
        "--prefect",
        help="The same for Prefect's database, as `judge-gym up` keeps it.",
        show_default=False,
    ),
]


def backup(
    file: Annotated[Path, typer.Argument(help="A new file.", show_default=False)],
    prefect: OfPrefect = None,
) -> None:
    """Write the whole database to a file, and Prefect's to another.

    Runs may continue meanwhile.
    """
    from deployments.local.prefect_server import prefect_records
    from judge_gym.settings import settings
    from judge_gym.store.backup import backup as write
    from judge_gym.store.backup import dump
    from judge_gym.store.engine import database_url

    versions = write(settings(), file)
    console.plain(f"Wrote the database to {file} ({versions}).")
    if prefect is not None:
        versions = dump(prefect_records(database_url(settings())), prefect)
        said = f"Wrote Prefect's database to {prefect} ({versions})."
        console.plain(said)


def restore(
    file: Annotated[Path, typer.Argument(help="A backup.", show_default=False)],
    prefect: OfPrefect = None,
) -> None:
    """Restore a backup into an empty database, and Prefect's into another.

    Backups of older versions are migrated. Restore Prefect's before its server is started.
    """
    from deployments.local.prefect_server import prefect_records
    from judge_gym.settings import settings
    from judge_gym.store.backup import load
    from judge_gym.store.backup import restore as read
    from judge_gym.store.engine import database_url

    versions = read(settings(), file)
    console.plain(f"Restored the database from {file} ({versions}).")
    if prefect is not None:
        versions = load(prefect_records(database_url(settings())), prefect)
        said = f"Restored Prefect's database from {prefect} ({versions})."
        console.plain(said)


Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace edits made on the Prefect server by prefect.yaml."),
]


def init(
    secrets: Annotated[
        bool,
        typer.Option(
            "--secrets",
            help="Save API keys from the environment as Prefect Secret blocks.",
        ),
    ] = False,
    overwrite: Overwrite = False,
    image: Annotated[
        str,
        typer.Option(
            help="Run flows in containers of this image; without a tag it is built and pushed.",
            show_default="processes of a worker",
        ),
    ] = "",
) -> None:
    """Migrate the database and deploy the flows to your Prefect server.

    Creates the work pool, the providers' limits, the automations that detect and resume lost runs,
    the settings variable and the deployments of prefect.yaml. Running it again changes nothing.
    Edits made in Prefect's UI are kept and listed.
    """
    import asyncio

    from judge_gym.errors import JudgeGymError

    with database_engine():
        console.print("The database is at the newest revision.")
    prepare_environment()
    from prefect.settings import get_current_settings

    if not get_current_settings().api.url:
        raise JudgeGymError(
            "PREFECT_API_URL is not set, so nothing was deployed.",
            "Set it to your Prefect server, or start one on this machine with `judge-gym up`.",
        )
    with prefect_api():
        show_steps(asyncio.run(made_ready(secrets=secrets, overwrite=overwrite, image=image)))


async def made_ready(
    *, secrets: bool = False, overwrite: bool = False, image: str = ""
) -> "list[BootstrappedObject]":
    """Create what deployments need on the configured Prefect server, and deploy."""
    from prefect.client.orchestration import get_client

    from deployments.bootstrap import bootstrap, resume_automation
    from deployments.containers import prepare
    from deployments.deploying import deploy_all
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings

    providers = load_providers(settings().providers_file)
    timeout_s = settings().chunk_timeout_s
    steps = await bootstrap(providers, timeout_s, secrets=secrets, overwrite=overwrite)
    if image:
        async with get_client() as client:
            steps += await prepare(client)
    steps += await deploy_all(overwrite=overwrite, image=image)
    return [*steps, await resume_automation()]


def show_steps(steps: "list[BootstrappedObject]") -> None:
    """Print the outcome of each step and a summary."""
    for step in steps:
        console.plain(f"{step.outcome:<9} {step.name}")
    console.print(f"The Prefect server is ready: {summary(steps)}.")


def summary(steps: "list[BootstrappedObject]") -> str:
    """Return how many deployments and other objects were created, changed or kept as edited."""
    outcomes = Counter(step.outcome for step in steps)
    deployments = Counter(step.outcome for step in steps if step.is_deployment)
    parts = [
        f"{counted(number, noun)} {outcome}"
        for outcome in ("created", "changed", "freed")
        for number, noun in (
            (deployments[outcome], "deployment"),
            (outcomes[outcome] - deployments[outcome], "other object"),
        )
        if number
    ]
    changes = ", ".join(parts) or "nothing changed"
    if not outcomes["kept"]:
        return changes
    edits = counted(outcomes["kept"], "edit")
    return f"{changes}; kept {edits} made on the server (--overwrite replaces)"


def clean(
    name: Name,
    workflow: OfWorkflow = None,
    failure: OfFailure = None,
    keep_derived: Annotated[
        bool,
        typer.Option("--keep-derived", help="Keep the samples and probes derived from the calls."),
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete calls of W3 to W6 and the samples, probes and marks derived from them.

    Shows them first and asks for confirmation. The next run makes and pays for the deleted calls
    again.
    """
    from judge_gym.store.cleaning import clean as delete
    from judge_gym.store.cleaning import removal, removed_calls

    with locked_calls(name, workflow, failure) as (session, title, selection):
        going = removal(session, selection)
        lines = removed_calls(session, selection, keep_derived=keep_derived)
        calls = sum(line.calls for line in lines)
        amount = counted(calls, "LLM call") if keep_derived else str(going)
        if not calls and (keep_derived or going.is_empty):
            console.print(f"{title}: nothing to delete.", markup=False)
            raise typer.Exit
        show_calls(f"{title}: calls", lines)
        console.print(f"{amount} would be deleted.", markup=False)
        if not confirmed("Delete them?", yes=yes):
            console.print("Nothing was deleted.")
            raise typer.Exit
        delete(session, selection, keep_derived=keep_derived)
    console.print(f"Deleted {amount}.", markup=False)


def prune(
    older_than_days: Annotated[
        int, typer.Option("--older-than-days", min=1, max=36500, help="Age of what goes, in days.")
    ] = 180,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would go, and change nothing.")
    ] = False,
    as_json: AsJson = False,
    yes: Yes = False,
) -> None:
    """Empty the prompts of old calls of finished work, and delete old records of runs.

    Answers, costs, judgements, figures, labels, certificates and decisions stay. Shows first what
    would go and asks for confirmation. Prefect prunes its own records.
    """
    from datetime import UTC, datetime, timedelta

    from judge_gym.lab.retention import prune as empty

    before = datetime.now(UTC) - timedelta(days=older_than_days)
    with database_engine() as engine:
        going = empty(engine, before, dry_run=True)
        _show_pruning(going)
        pruned = False
        if going.is_empty:
            console.print(f"Nothing to prune is older than {counted(older_than_days, 'day')}.")
        else:
            console.plain(f"{going} would be pruned.")
            if pruned := not dry_run and confirmed("Prune them?", yes=yes):
                going = empty(engine, before, dry_run=False)
                console.plain(f"Pruned {going}.")
            else:
                console.print("Nothing was pruned.")
    if as_json:
        print_json(
            older_than_days=older_than_days,
            pruned=pruned,
            prompts={
                name: {"calls": len(one.call_ids), "bytes": one.bytes}
                for name, one in going.prompts.items()
            },
            whole=going.whole,
            shared=going.shared,
            records=asdict(going.records),
        )


def _show_pruning(going: "Pruning") -> None:
    rows = [
        (name, len(one.call_ids), f"{one.bytes / 1e6:,.1f}") for name, one in going.prompts.items()
    ]
    if rows:
        show_table("Prompts to be emptied", ("of", "calls", "MB"), rows)
    if going.whole:
        show_table("Sweeps that stay as they are", ("sweep", "state"), going.whole.items())
    for name, others in going.shared.items():
        console.plain(
            f"Sweep {name}: prompts of experiments that it shares with {', '.join(others)} stay "
            "until that is finished."
        )
