"""`judge-gym doctor`: what works here, and how to mend what does not."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from deployments.cli.output import console, fail
from judge_gym.counting import counted
from judge_gym.errors import JudgeGymError

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 13)


@dataclass(frozen=True)
class Finding:
    """One line of the examination; `remedy` is empty when nothing is wrong."""

    what: str
    found: str
    remedy: str = ""


Check = Callable[[], Iterator[Finding]]


def doctor() -> None:
    """Check Python, settings, database, migrations, Prefect and keys, and say how to mend each."""
    broken = 0
    for check in (_python, *_possible()):
        for finding in _guarded(check):
            mark = "[red]✗[/]" if finding.remedy else "[green]✓[/]"
            console.print(f"{mark} {finding.what}: ", end="")
            console.print(finding.found, markup=False)
            if finding.remedy:
                broken += 1
                console.print(f"    {finding.remedy}", markup=False)
    if broken:
        fail(f"{counted(broken, 'finding')} to mend.")


def _possible() -> tuple[Check, ...]:
    """Return the checks that the settings permit: one that cannot be used stops all others."""
    from judge_gym.settings import settings

    try:
        settings()
    except JudgeGymError:
        return (_settings,)
    return (_settings, _database, _prefect, _keys)


def _guarded(check: Check) -> Iterator[Finding]:
    """Yield what a check finds; an error of the user's is a finding too."""
    try:
        yield from check()
    except JudgeGymError as error:
        yield Finding(check.__name__.strip("_"), error.message, error.remedy or "See the message.")


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    fits = OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON
    yield Finding("python", version, "" if fits else "Use Python 3.11, 3.12 or 3.13.")


def _settings() -> Iterator[Finding]:
    from pydantic import SecretStr

    from judge_gym.errors import masked
    from judge_gym.settings import origins, settings

    values, sources = settings(), origins()
    for name, source in sources.items():
        value = getattr(values, name)
        shown = "(hidden)" if isinstance(value, SecretStr) else value
        said = "not set" if value in (None, "") else masked(str(shown))
        yield Finding(f"setting {name}", f"{said}, from {source}")


def _database() -> Iterator[Finding]:
    import sqlalchemy as sa

    from judge_gym.settings import settings
    from judge_gym.store import migrate
    from judge_gym.store.engine import connect

    engine = connect(settings())
    where = "your own" if settings().database_url else "embedded"
    with engine.connect() as connection:
        version = connection.scalar(sa.text("SHOW server_version"))
    yield Finding("database", f"PostgreSQL {version}, {where}")
    current, newest = migrate.revisions(engine)
    behind = "Run any command that writes; it migrates." if current != newest else ""
    yield Finding("migrations", f"{current} of {newest}", behind)
    engine.dispose()


def _prefect() -> Iterator[Finding]:
    from deployments.cli.environment import prepare_environment
    from judge_gym.errors import masked
    from judge_gym.settings import settings

    prepare_environment(settings().data_dir, verbose=False)
    import prefect

    url, fault = _prefect_server()
    if not url:
        yield Finding("prefect", f"{prefect.__version__}, a server for each command's time")
    elif fault:
        yield Finding(
            "prefect",
            f"{prefect.__version__}; {fault.message}",
            fault.remedy,
        )
    else:
        yield Finding("prefect", masked(f"{prefect.__version__}, server at {url}"))
        yield from _settings_of_sweep_runs()


def _prefect_server() -> tuple[str | None, JudgeGymError | None]:
    """Return the address of the user's server, None without one, and what is wrong with it."""
    import asyncio

    from prefect.settings import get_current_settings

    from deployments.cli.prefect_api import check_api

    url = get_current_settings().api.url
    try:
        if url:
            asyncio.run(check_api(url))
    except JudgeGymError as fault:
        return url, fault
    return url, None


def _settings_of_sweep_runs() -> Iterator[Finding]:
    import asyncio

    from judge_gym.errors import masked
    from judge_gym.settings import settings_of_run
    from tasks.runtime import settings_of_this_run

    layers = asyncio.run(settings_of_this_run({}))
    values = settings_of_run(layers)
    for source, given in layers:
        for name in given:
            yield Finding(
                f"setting {name} in sweep runs",
                masked(f"{getattr(values, name)}, from {source}"),
            )


def _keys() -> Iterator[Finding]:
    """Say where each key comes from; a missing one is no fault: the simulator needs none."""
    import asyncio

    from deployments.cli.prefect_api import prefect_api
    from judge_gym.lab.evidence import FIRECRAWL_KEY
    from judge_gym.llm.keys import kept_name
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings
    from tasks.runtime import secret_block

    async def in_blocks(variables: list[str]) -> set[str]:
        return {name for name in variables if await secret_block(kept_name(name))}

    providers = load_providers(settings().providers_file).by_name.values()
    variables = {one.name: one.key_env for one in providers if one.key_env}
    variables["firecrawl"] = FIRECRAWL_KEY
    unset = [name for name in variables.values() if not os.environ.get(name)]
    kept: set[str] = set()
    asked = not _prefect_server()[1]
    if asked:
        with prefect_api():
            kept = asyncio.run(in_blocks(unset))
    for owner, name in variables.items():
        block = f"Secret block {kept_name(name)}"
        if name not in unset:
            where = f"from {name}"
        elif name in kept:
            where = f"from {block}"
        else:
            where = f"not set: no {name}" + (f", no {block}" if asked else "")
        yield Finding(f"key of {owner}", where)
