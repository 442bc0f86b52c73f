"""Every command given something wrong: one clear line with the remedy, never a traceback."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.command_line import SWEEPS, CommandLine, Ended, sweep_text
from support.prefect_server import free_port
from support.tiers import rest_slow

QUICK = str(SWEEPS / "quick.yaml")
NOWHERE = f"postgresql://nobody:secret-word@127.0.0.1:{free_port()}/nothing"


@dataclass(frozen=True)
class Wrong:
    """A command line that cannot be done, and what has to be said about it."""

    arguments: tuple[str, ...]
    words: tuple[str, ...]
    code: int = 1
    environment: dict[str, str] = field(default_factory=dict)


def wrong(*arguments: str, says: tuple[str, ...], code: int = 1, **environment: str) -> Wrong:
    return Wrong(arguments, says, code, environment)


def bad(*arguments: str, says: tuple[str, ...], **environment: str) -> Wrong:
    """A file, a setting or an argument that cannot be used."""
    return Wrong(arguments, says, 2, environment)


# Files that the tests below write; a name in a command line is found in its folder.
FILES = {
    "broken.yaml": "name: [unclosed\n",
    "unknown-key.yaml": sweep_text("quick.yaml", ("replicates: 2", "replicants: 2")),
    "bad-value.yaml": sweep_text("quick.yaml", ("replicates: 2", "scale_size: 11")),
    "faults.toml": 'seed = 7\n[[fault]]\nkind = "rate_limits"\n',
    "no-corpus.yaml": sweep_text("quick.yaml", ("valmora.jsonl", "valmore.jsonl")),
    "no-swap.yaml": sweep_text("quick.yaml", ("  sham: true", "  sham: false")),
    "no-window.yaml": sweep_text("quick.yaml", ("window: valmora\n", "window: valmore\n")),
    "no-provider.yaml": sweep_text("quick.yaml", ("[sim/calm-1, ", "[calm-1, ")),
    "other-provider.yaml": sweep_text("quick.yaml", ("[sim/calm-1, ", "[opnai/gpt-4.1, ")),
}

TABLE = [
    wrong("swep", says=("No such command", "swep"), code=2),
    wrong("sweep", "plan", says=("Missing argument", "file"), code=2),
    # click would take the last one, and leave the first out without a word.
    bad("judge", "score", "j.yaml", "--items", "a.csv", "--items", "b.csv",
        says=("--items", "more than once")),
    bad("sweep", "plan", QUICK, "--json", "--json", says=("--json", "more than once")),
    bad("sweep", "plan", "nowhere.yaml", says=("nowhere.yaml", "No such file")),
    bad("sweep", "plan", "broken.yaml", says=("broken.yaml", "line 2")),
    bad("sweep", "plan", "unknown-key.yaml", says=("line", "replicants", "replicates")),
    bad("sweep", "plan", "bad-value.yaml", says=("line", "scale_size", "11", "2", "10")),
    bad("sweep", "plan", "no-corpus.yaml", says=("line", "valmore.jsonl", "does not exist")),
    bad("sweep", "plan", "no-window.yaml", says=("line", "valmore", "valmora")),
    bad("sweep", "plan", "no-provider.yaml", says=("calm-1", "provider")),
    bad("sweep", "run", "other-provider.yaml", says=("opnai", "openai")),
    bad("sweep", "power", "nowhere.yaml", says=("nowhere.yaml", "No such file")),
    bad(
        "sweep", "power", "no-swap.yaml", says=("no comparison whose power", "H1 needs", "H3 needs")
    ),
    wrong(
        "sweep", "power", QUICK, "--effect", "0",
        says=("Invalid value", "effect", "0.001"), code=2,
    ),
    bad(
        "analyse", "selftest", "--truth", "polarized", says=("no truth 'polarized'", "polarised")
    ),
    wrong("sweep", "run", QUICK, "--retry", says=("No such option", "--retry-failed"), code=2),
    wrong("sweep", "status", "nothing", says=("There is no sweep 'nothing'", "There are none yet")),
    wrong("analyse", "figures", "nothing", says=("There is no sweep 'nothing'",)),
    wrong("evidence", "show", "12345", says=("12345", "There are none yet")),
    wrong("evidence", "show", "first", says=("There is no window 'first'", "none yet")),
    bad("evidence", "create", "nowhere.yaml", says=("nowhere.yaml", "No such file")),
    wrong("analyse", "experiments", "show", "nothing", says=("nothing", "none yet")),
    bad("sweep", "create", "broken.yaml", says=("broken.yaml", "line 2")),
    wrong(
        "analyse", "experiments", "list", "--task-type", "ecology",
        says=("ecology", "ecc", "control", "benchmark"), code=2,
    ),
    wrong("database", "clean", "nothing", "--yes", says=("nothing", "experiments list")),
    wrong("sweep", "retry", "nothing", says=("nothing", "judge-gym sweep status")),
    wrong("sweep", "cancel", "nothing", "--workflow", "w6", says=("w6", "w5-probe"), code=2),
    bad("sweep", "status", "--watch", says=("--watch", "Name the sweep")),
    bad("sweep", "run", QUICK, "--only", "w6", says=("w6", "w5-probe", "analysis")),
    wrong("database", "restore", "nowhere.dump", says=("nowhere.dump", "no file")),
    wrong("simulator", "--port", "99999", says=("--port", "65535"), code=2),
    wrong("simulator", "--latency", "soon", says=("--latency", "number"), code=2),
    bad(
        "simulator", "--faults", "faults.toml",
        says=("faults.toml, line 2", "rate_limits", "Did you mean rate_limit?"),
    ),
    wrong("simulator", "--state", "faults.toml", says=("faults.toml", "another folder")),
    wrong("sweep", "axes", "everything", says=("everything",), code=2),
    wrong("demo", "quick", says=("quick",), code=2),
    wrong("doctor", "me", says=("me",), code=2),
    bad(
        "evidence", "list",
        says=("JUDGE_GYM_DATABASE_URL", "postgresql://"), JUDGE_GYM_DATABASE_URL="a database",
    ),
    bad(
        "evidence", "list",
        says=("JUDGE_GYM_DATABASE_URL", "mysql", "postgresql"),
        JUDGE_GYM_DATABASE_URL="mysql://root@localhost/x",
    ),
    wrong(
        "evidence", "list",
        says=("127.0.0.1", "cannot be used", "unset JUDGE_GYM_DATABASE_URL"),
        JUDGE_GYM_DATABASE_URL=NOWHERE,
    ),
    bad(
        "evidence", "list", says=("JUDGE_GYM_CHUNK_SIZE", "1 to 1000"), JUDGE_GYM_CHUNK_SIZE="abc"
    ),
    bad("evidence", "list", says=("workers is 65", "1 to 64"), JUDGE_GYM_WORKERS="65"),
    wrong(
        "doctor",
        says=("to fix",),
        JUDGE_GYM_DATABASE_URL=NOWHERE,
        PREFECT_API_URL=f"http://127.0.0.1:{free_port()}/api",
    ),
]  # fmt: skip


def described(one: Wrong) -> str:
    extra = [f"{name.lower()}" for name in one.environment]
    return " ".join(Path(word).name for word in (*one.arguments, *extra))


@pytest.fixture
def place(command: CommandLine) -> CommandLine:
    for name, text in FILES.items():
        (command.folder / name).write_text(text)
    return command


@pytest.mark.parametrize("one", rest_slow(TABLE, 24), ids=described)
def test_a_wrong_argument_is_answered_in_words(place: CommandLine, one: Wrong) -> None:
    ended = place(*one.arguments, **one.environment)
    assert ended.code == one.code, ended
    assert_said(ended, *one.words)
    assert "secret-word" not in ended.output + ended.errors


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_in_use_is_named_by_the_simulator(place: CommandLine, taken_port: int) -> None:
    ended = place("simulator", "--port", str(taken_port))
    assert ended.code == 1
    assert_said(ended, str(taken_port), "in use")


def test_a_file_of_settings_is_named_with_the_setting(place: CommandLine) -> None:
    (place.folder / "judge-gym.toml").write_text("chunk_sise = 5\n")
    ended = place("evidence", "list")
    assert ended.code == 2
    assert_said(ended, "judge-gym.toml", "chunk_sise")


def assert_said(ended: Ended, *words: str) -> None:
    # Typer draws a frame around its errors, which may cut a line.
    said = " ".join(ended.errors.replace("│", " ").split())
    assert "Traceback" not in ended.output + ended.errors
    assert "Unexpected" not in ended.errors
    for word in words:
        assert word in said, ended.errors
