"""`judge-gym doctor`: problems of an installation, each with its fix."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.doctor_lines import Check, DoctorLine, State
from deployments.cli.environment import (
    check_api,
    database,
    database_engine,
    prefect_api,
    prepare_environment,
)
from deployments.cli.json_output import print_json
from deployments.cli.options import AsJson
from deployments.cli.output import console, fail, say_progress, stopping
from deployments.local.prefect_server import running_api
from deployments.local.temporary_server import (
    LEASES_IN_MEMORY,
    LEASES_ON_DISK,
    LEASES_VARIABLE,
)
from judge_gym.counting import counted
from judge_gym.errors import JudgeGymError, first_line

if TYPE_CHECKING:
    from judge_gym.llm.providers import Providers

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 13)
_COMMENT = re.compile(r"(?:^|\s)#.*")


def doctor(
    with_settings: Annotated[
        bool, typer.Option("--settings", help="Also list the settings and their sources.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the installation and list problems first, with their fixes."""
    findings: list[DoctorLine] = []
    for check in (_python, *_possible_checks()):
        subject = _subject(check)
        stopping.sentence = f"The doctor was stopped while it checked {subject}. Nothing was done."
        say_progress(f"Checking {subject} ...")
        findings += _guarded(check)
    broken = sum(finding.state is State.BROKEN for finding in findings)
    if as_json:
        shown = [one for one in findings if with_settings or one.state is not State.SETTING]
        print_json(findings=[asdict(one) | {"state": one.state.name.lower()} for one in shown])
    else:
        print_findings(findings, with_settings=with_settings)
    if broken:
        fail(f"{counted(broken, 'problem')} to fix.")


def _subject(check: Check) -> str:
    return check.__name__.strip("_")


def print_findings(findings: Sequence[DoctorLine], *, with_settings: bool) -> None:
    """Print findings by state, problems first."""
    for state in State:
        if state is State.SETTING and not with_settings:
            console.print("List the settings with --settings.", style="dim")
            continue
        for finding in findings:
            if finding.state is state:
                console.print(f"{state} {finding.subject}: ", end="")
                console.print(finding.detail, markup=False)
                if finding.remedy:
                    console.print(f"    {finding.remedy}", markup=False)


def _possible_checks() -> tuple[Check, ...]:
    """Return the checks that can run: without valid settings only that of the settings."""
    from judge_gym.settings import settings

    try:
        settings()
    except JudgeGymError:
        return (_settings,)
    return (_settings, _disk, _database, _prefect, _keys)


def _guarded(check: Check) -> Iterator[DoctorLine]:
    """Yield the findings of a check; a known error is a finding too."""
    subject = _subject(check)
    try:
        yield from check()
    except JudgeGymError as error:
        yield DoctorLine(subject, error.message, error.remedy, State.BROKEN)
    except OSError as error:
        yield DoctorLine(subject, first_line(error), "Name a folder to write to.", State.BROKEN)
    except Exception as error:
        from flows.outages import outage_of

        # A server that went away after the check began.
        if not (away := outage_of(error)):
            raise
        yield DoctorLine(subject, away.message, away.remedy, State.BROKEN)


def _python() -> Iterator[DoctorLine]:
    version = ".".join(map(str, sys.version_info[:3]))
    if OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON:
        yield DoctorLine("python", version)
    else:
        yield DoctorLine("python", version, "Use Python 3.11, 3.12 or 3.13.", State.BROKEN)


def _settings() -> Iterator[DoctorLine]:
    from pathlib import Path

    from pydantic import SecretStr

    from judge_gym.errors import masked
    from judge_gym.settings import origins, settings

    values, sources = settings(), origins()
    for name, source in sources.items():
        value = getattr(values, name)
        value = value.absolute() if isinstance(value, Path) else value
        text = "(hidden)" if isinstance(value, SecretStr) else value
        shown = "not set" if value in (None, "") else masked(str(text))
        yield DoctorLine(f"setting {name}", f"{shown}, from {source}", state=State.SETTING)


def _disk() -> Iterator[DoctorLine]:
    """Yield whether the disk of the data folder is full: servers do not say so when they stop."""
    from judge_gym.settings import settings
    from judge_gym.store.disk import full_disk

    if full := full_disk(settings().data_dir):
        raise full
    yield DoctorLine("disk", f"of {settings().data_dir.absolute()} has room")


def _database() -> Iterator[DoctorLine]:
    from judge_gym.settings import settings
    from judge_gym.store import migrate
    from judge_gym.store.engine import server_version

    where = "your own" if settings().database_url else "embedded"
    with database_engine() as engine:
        yield DoctorLine("database", f"PostgreSQL {server_version(engine)}, {where}")
        current, newest = migrate.revisions(engine)
    if current == newest:
        yield DoctorLine("migrations", f"{current} of {newest}")
    else:
        remedy = "Run any command that writes; it migrates the database."
        yield DoctorLine("migrations", f"{current} of {newest}", remedy, State.BROKEN)


def _prefect() -> Iterator[DoctorLine]:
    from judge_gym.errors import masked
    from judge_gym.settings import settings

    prepare_environment(calls=False)
    import prefect

    url, fault = _prefect_server()
    if not url and (api := running_api(settings().data_dir)):
        detail = f"{prefect.__version__}; judge-gym up runs at {api}; this terminal does not use it"
        yield DoctorLine("prefect", detail, f"export PREFECT_API_URL={api}", State.MISSING)
    elif not url:
        yield DoctorLine("prefect", f"{prefect.__version__}, a temporary server for each command")
    elif fault:
        detail = f"{prefect.__version__}; {fault.message}"
        yield DoctorLine("prefect", detail, fault.remedy, State.BROKEN)
    else:
        yield DoctorLine("prefect", masked(f"{prefect.__version__}, server at {url}"))
        yield from _leases()
        yield from _slots()
        yield from _settings_of_sweep_runs()
        yield from _at_work()


def _at_work() -> list[DoctorLine]:
    """Return what is to be said of workers, runs and schedules."""
    import asyncio

    from deployments.cli.doctor_server import server_lines

    async def read() -> list[DoctorLine]:
        return [line async for line in server_lines()]

    return asyncio.run(read())


def _prefect_server() -> tuple[str | None, JudgeGymError | None]:
    """Return the address of the user's server, if any, and the error of connecting to it."""
    import asyncio

    from prefect.settings import get_current_settings

    url = get_current_settings().api.url
    try:
        if url:
            asyncio.run(check_api(url))
    except JudgeGymError as fault:
        return url, fault
    return url, None


def _leases() -> Iterator[DoctorLine]:
    """Yield whether the server keeps its leases when it is restarted."""
    import asyncio

    from httpx import HTTPStatusError
    from prefect.client.orchestration import get_client

    async def read() -> str:
        async with get_client() as client:
            answer = await client.request("GET", "/admin/settings")
            return str(answer.json()["server"]["concurrency"]["lease_storage"])

    try:
        storage = asyncio.run(read())
    except (HTTPStatusError, KeyError):  # a server that does not show its settings
        return
    if storage == LEASES_IN_MEMORY:
        yield DoctorLine(
            "leases",
            "Prefect's server keeps them in memory: a restart loses the slots of running tasks",
            f"Set {LEASES_VARIABLE}={LEASES_ON_DISK} on the server, and keep its PREFECT_HOME.",
            State.BROKEN,
        )
    else:
        yield DoctorLine("leases", storage)


def _slots() -> Iterator[DoctorLine]:
    """Yield the limits of which slots are taken; those that no run holds are a problem."""
    import asyncio

    from deployments.bootstrap import our_taken_slots
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings

    configured = settings()
    providers = load_providers(configured.providers_file)
    for taken in asyncio.run(our_taken_slots(providers, configured.chunk_timeout_s)):
        name = f"slots of {taken.name}"
        holders = f": {'; '.join(map(str, taken.holders))}" if taken.holders else ""
        detail = f"{taken.slots} of {taken.most} taken{holders}"
        if taken.stale:
            detail += f"; {taken.stale} of them by no run"
            remedy = "Free them with `judge-gym database init`; the next run does it, too."
            yield DoctorLine(name, detail, remedy, State.BROKEN)
        else:
            yield DoctorLine(name, detail)


def _settings_of_sweep_runs() -> Iterator[DoctorLine]:
    import asyncio

    from judge_gym.errors import masked
    from judge_gym.settings import settings_of_run
    from tasks.runtime import settings_of_this_run

    layers = asyncio.run(settings_of_this_run({}))
    values = settings_of_run(layers)
    for source, overrides in layers:
        for name in overrides:
            value = masked(f"{getattr(values, name)}, from {source}")
            yield DoctorLine(f"setting {name} in sweep runs", value, state=State.SETTING)


def _keys() -> Iterator[DoctorLine]:
    """Yield where each key comes from; a missing key that nothing needs is no problem."""
    import asyncio

    from deployments.cli.doctor_providers import provider_lines
    from judge_gym.lab.evidence import FIRECRAWL_KEY
    from judge_gym.llm.keys import kept_name
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings
    from tasks.runtime import secret_block

    async def in_blocks(variables: list[str]) -> set[str]:
        return {name for name in variables if await secret_block(kept_name(name))}

    providers = load_providers(settings().providers_file)
    variables = {
        provider.name: provider.key_env
        for provider in providers.by_name.values()
        if provider.key_env
    }
    variables["firecrawl"] = FIRECRAWL_KEY
    unset = [name for name in variables.values() if not os.environ.get(name)]
    blocks: set[str] = set()
    url, fault = _prefect_server()
    has_server = not fault
    if has_server:
        with prefect_api():
            blocks = asyncio.run(in_blocks(unset))
    users = _users(providers)
    yield from provider_lines(providers, users, blocks)
    for owner, name in variables.items():
        block = f"Secret block {kept_name(name)}"
        subject = f"key of {owner}"
        if name not in unset:
            yield DoctorLine(subject, f"from {name}")
        elif name in blocks:
            yield DoctorLine(subject, f"from {block}")
        elif url and fault:
            detail = f"not in {name}; the {block} cannot be read now"
            yield DoctorLine(subject, detail, state=State.UNUSED)
        elif owner in users:
            remedy = f"Set the environment variable {name}, or save the {block}."
            yield DoctorLine(subject, f"not set, used by {users[owner]}", remedy, State.MISSING)
        else:
            detail = f"not set: no {name}" + (f", no {block}" if has_server else "")
            yield DoctorLine(subject, detail, state=State.UNUSED)


def _users(providers: "Providers") -> dict[str, str]:
    """Return provider → what uses it: stored experiments, or a YAML file in this folder."""
    from judge_gym.settings import settings
    from judge_gym.store.experiments import experiment_lines
    from judge_gym.store.windows import window_lines

    users: dict[str, str] = {}
    try:
        with database() as session:
            models = {line.model for line in experiment_lines(session)}
            sources = {window.source_kind for window in window_lines(session)}
    except JudgeGymError:
        models, sources = set(), set()  # the check of the database reports the error
    for file in sorted(Path.cwd().glob("*.y*ml")):
        text = _COMMENT.sub("", file.read_text(encoding="utf-8", errors="replace"))
        for name in providers.by_name:
            if re.search(rf"(?<![\w./-]){re.escape(name)}/\w", text):
                users[name] = file.name
        if re.search(r"kind:\s*firecrawl", text):
            users["firecrawl"] = file.name
    for model in filter(None, {*models, settings().utility_model}):
        users[model.partition("/")[0]] = (
            "stored experiments" if model in models else "utility_model"
        )
    if "firecrawl" in sources:
        users["firecrawl"] = "stored windows"
    return users
