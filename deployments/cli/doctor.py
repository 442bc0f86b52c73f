"""`judge-gym doctor`: what works here, and how to mend what does not."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from deployments.cli.output import console, fail

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 13)


@dataclass(frozen=True)
class Finding:
    """One line of the examination; `remedy` is empty when nothing is wrong."""

    what: str
    found: str
    remedy: str = ""


def doctor() -> None:
    """Check Python, settings, database, migrations, Prefect and keys, and say how to mend each."""
    broken = 0
    for check in (_python, _settings, _database, _prefect, _providers):
        for finding in _guarded(check):
            mark = "[red]✗[/]" if finding.remedy else "[green]✓[/]"
            console.print(f"{mark} {finding.what}: ", end="")
            console.print(finding.found, markup=False)
            if finding.remedy:
                broken += 1
                console.print(f"    {finding.remedy}", markup=False)
    if broken:
        fail(f"{broken} things need mending.")


def _guarded(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield what a check finds; an error of the user's is a finding too."""
    from judge_gym.errors import JudgeGymError

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

    from judge_gym.settings import origins, settings

    values, sources = settings(), origins()
    for name, source in sources.items():
        value = getattr(values, name)
        shown = "(hidden)" if isinstance(value, SecretStr) else value
        said = "not set" if value in (None, "") else str(shown)
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
    from judge_gym.settings import settings

    prepare_environment(settings().data_dir, verbose=False)
    import httpx
    import prefect
    from prefect.settings import get_current_settings

    url = get_current_settings().api.url
    if not url:
        yield Finding("prefect", f"{prefect.__version__}, a server for each command's time")
        return
    try:
        httpx.get(f"{url}/health", timeout=5).raise_for_status()
    except httpx.HTTPError as error:
        yield Finding(
            "prefect",
            f"{prefect.__version__}, {url} does not answer ({type(error).__name__})",
            "Start it with `prefect server start`, or unset PREFECT_API_URL.",
        )
        return
    yield Finding("prefect", f"{prefect.__version__}, server at {url}")
    yield from _settings_of_sweep_runs()


def _settings_of_sweep_runs() -> Iterator[Finding]:
    import asyncio

    from judge_gym.settings import settings_of_run
    from tasks.settings import settings_of_this_run

    layers = asyncio.run(settings_of_this_run({}))
    values = settings_of_run(layers)
    for source, given in layers:
        for name in given:
            yield Finding(
                f"setting {name} in sweep runs", f"{getattr(values, name)}, from {source}"
            )


def _providers() -> Iterator[Finding]:
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings

    providers = load_providers(settings().providers_file).by_name.values()
    with_key = [one.name for one in providers if one.key_env and os.environ.get(one.key_env)]
    without = [
        f"{one.name} ({one.key_env})"
        for one in providers
        if one.key_env and one.name not in with_key
    ]
    # A missing key is no fault by itself: the simulator needs none.
    yield Finding("keys set", ", ".join(with_key) or "none; the simulator needs none")
    yield Finding("keys not set", ", ".join(without) or "none")
    news = "set" if settings().firecrawl_key else "not set; needed for news (FIRECRAWL_API_KEY)"
    yield Finding("firecrawl key", news)
