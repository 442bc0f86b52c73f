"""Secrets in the wrong place: no command, log, trace or record of Prefect shows them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.command_line import CommandLine, small_sweep
from support.prefect_server import PrefectServer

pytestmark = pytest.mark.slow

SECRET = "hunter2-Zq81xyz"
KEY = f"sk-live-{SECRET}-0123456789"
URL = f"postgresql://judge:{SECRET}@127.0.0.1:1/lab"
SWEEP = small_sweep("vault", "sim/calm-1")


@dataclass(frozen=True)
class Misplaced:
    """What a person wrote, and the words that name the place and the way out."""

    words: tuple[str, ...]
    file: str = ""
    sweep: str = SWEEP
    environment: dict[str, str] = field(default_factory=dict)
    commands: tuple[tuple[str, ...], ...] = (
        ("doctor",),
        ("sweep", "status"),
        ("sweep", "run", "v.yaml"),
    )


RUN = (("sweep", "plan", "v.yaml"), ("sweep", "run", "v.yaml", "--verbose"))
CASES = {
    "an API key among the settings": Misplaced(
        (
            "judge-gym.toml, line 2",
            "openai_api_key is not a setting",
            "set the environment variable OPENAI_API_KEY",
        ),
        f'workers = 4\nopenai_api_key = "{KEY}"\n',
    ),
    "a table around the settings": Misplaced(
        ("judge-gym.toml, line 1", "[database] is a table", "above any [table]"),
        f'[database]\ndatabase_url = "{URL}"\n',
    ),
    "a setting below another's table": Misplaced(
        ("judge-gym.toml, line 2", "[openai] is a table"),
        f'workers = 4\n[openai]\nkey = "{KEY}"\n',
    ),
    "a key mistyped": Misplaced(
        ("databse_url is not a setting", "Did you mean database_url?"), f'databse_url = "{URL}"\n'
    ),
    "a list where the URL belongs": Misplaced(
        ("judge-gym.toml, line 1", "database_url has a value", "text such as postgresql://"),
        f'database_url = ["{URL}"]\n',
    ),
    "a table where the URL belongs": Misplaced(
        ("line 1: database_url has a value",), f'[database_url]\npassword = "{SECRET}"\n'
    ),
    "a key where a number belongs": Misplaced(
        ("judge-gym.toml, line 1: workers has a value", "a whole number from 1 to 64"),
        f'workers = "{KEY}"\n',
    ),
    "a key where a choice belongs": Misplaced(
        ("line 1: cleaner has a value", "library or llm"), f'cleaner = "{SECRET}"\n'
    ),
    "a file that is not TOML": Misplaced(
        ("judge-gym.toml is not TOML", "line 1"), f"database_url = {URL}\n"
    ),
    "a URL in a variable of numbers": Misplaced(
        ("JUDGE_GYM_WORKERS", "a whole number from 1 to 64"),
        environment={"JUDGE_GYM_WORKERS": URL},
    ),
    "a URL without its host": Misplaced(
        ("is not a database URL", "database_url"),
        environment={"JUDGE_GYM_DATABASE_URL": f"postgresql://judge:{SECRET}"},
    ),
    "a password with an @": Misplaced(
        ("has more than one @", "database_url", "%40, %2F and %23"),
        environment={"JUDGE_GYM_DATABASE_URL": f"postgresql://judge:p@{SECRET}@127.0.0.1:1/lab"},
    ),
    "a password with an @ and a slash": Misplaced(
        ("has more than one @", "percent-encoded as %40, %2F and %23"),
        environment={"JUDGE_GYM_DATABASE_URL": f"postgresql://judge:p@-{SECRET}/x@127.0.0.1:1/lab"},
    ),
    "a password among a URL's options": Misplaced(
        ("cannot be used", "judge@127.0.0.1:1/lab"),
        environment={
            "JUDGE_GYM_DATABASE_URL": f"postgresql://judge@127.0.0.1:1/lab?password={SECRET}"
        },
    ),
    "an address with a login": Misplaced(
        ("setting firecrawl_url: https://me:***@fire.example, from judge-gym.toml",),
        f'firecrawl_url = "https://me:{SECRET}@fire.example"\n',
        commands=(("doctor", "--settings"),),
    ),
    "an unknown key in a sweep": Misplaced(
        ("v.yaml, line", "api_key is not a known key"),
        sweep=f"{SWEEP}\napi_key: {KEY}\n",
        commands=RUN,
    ),
    "a key where a sweep has a mapping": Misplaced(
        ("v.yaml, line", "budget"), sweep=f"{SWEEP}\nbudget: {KEY}\n", commands=RUN
    ),
    "a key for a model": Misplaced(
        ("names no provider",),
        sweep=SWEEP.replace("model: sim/calm-1", f"model: {KEY}"),
        commands=RUN,
    ),
    "a key for a provider's address": Misplaced(
        ("OWN_URL is not an address",),
        sweep=SWEEP.replace("model: sim/calm-1", "model: own/judge"),
        environment={"OWN_URL": KEY},
        commands=RUN[1:],
    ),
}


@pytest.fixture
def place(command: CommandLine) -> CommandLine:
    (command.folder / "providers.toml").write_text(
        '[sim]\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n'
        '[own]\nlitellm = "openai"\nbase_url_env = "OWN_URL"\n'
    )
    command.environment["JUDGE_GYM_PROVIDERS_FILE"] = str(command.folder / "providers.toml")
    return command


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_misplaced_secret_is_named_by_its_place_and_never_shown(
    place: CommandLine, prefect_server: PrefectServer, case: Misplaced
) -> None:
    (place.folder / "judge-gym.toml").write_text(case.file)
    (place.folder / "v.yaml").write_text(case.sweep)
    for arguments in case.commands:
        ended = place(*arguments, **case.environment)
        said = ended.output + ended.errors
        assert "Traceback" not in said
        assert "Unexpected" not in said
        # Prefect's log ends with the state of the run, which has the message too.
        lines = [line for line in said.splitlines() if "Finished in state" not in line]
        flat = " ".join(" ".join(lines).split())
        assert flat.count(case.words[0]) == 1, said
        for words in case.words:
            assert words in flat, said
        for where, text in (("terminal", said), *texts_below(place.data)):
            assert SECRET not in text, f"{where}: {text}"
    for table, rows in prefect_server.rows():
        assert SECRET.encode() not in rows, table


def texts_below(folder: Path) -> Iterator[tuple[str, str]]:
    for file in folder.rglob("*.log"):
        yield str(file), file.read_text(errors="replace")
