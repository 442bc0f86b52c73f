"""The commands of the program: how many, how deep, and what their help says."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from deployments.bootstrap import BootstrappedObject
from deployments.cli.app import app, main
from deployments.cli.database import summary
from deployments.cli.doctor import DoctorLine, State, print_findings
from deployments.cli.schemas import KINDS
from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.errors import ConfigError, JudgeGymError, StoreError
from support.command_line import REPOSITORY, CommandLine

MOST_AT_THE_TOP = 14
LONGEST_HELP = 80
ROOT = typer.main.get_command(app)


def parts(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every group and command below this one, by path."""
    for name, part in getattr(command, "commands", {}).items():
        yield " ".join((*path, name)), part
        yield from parts(part, (*path, name))


PARTS = dict(parts(ROOT))


def test_a_newcomer_meets_few_groups() -> None:
    assert len(ROOT.commands) <= MOST_AT_THE_TOP  # type: ignore[attr-defined]
    assert all(len(path.split()) <= 3 for path in PARTS)


@pytest.mark.parametrize("path", PARTS)
def test_help_is_one_short_sentence_that_begins_with_a_verb(path: str) -> None:
    sentence = (PARTS[path].help or "").split("\n\n")[0]
    assert 0 < len(sentence) <= LONGEST_HELP
    assert sentence.endswith(".")
    verb = sentence.split()[0].rstrip(",")
    # An imperative, not "Runs", "Running" or "The".
    assert verb.istitle()
    assert not verb.endswith(("s", "ing"))
    assert verb not in ("A", "An", "The")


@pytest.mark.parametrize("path", PARTS)
def test_every_option_is_explained(path: str) -> None:
    for parameter in PARTS[path].params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), parameter.name


def test_the_doctor_prints_problems_first_and_settings_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    findings = [
        DoctorLine("python", "3.11.9"),
        DoctorLine("setting workers", "4, from default", state=State.SETTING),
        DoctorLine("key of spare", "not set", state=State.UNUSED),
        DoctorLine("key of vault", "not set, used by a.yaml", "Set VAULT_API_KEY.", State.MISSING),
        DoctorLine("database", "does not answer", "Start it.", State.BROKEN),
    ]
    print_findings(findings, with_settings=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "✗ database: does not answer",
        "    Start it.",
        "! key of vault: not set, used by a.yaml",
        "    Set VAULT_API_KEY.",
    ]
    assert lines[4:6] == ["✓ python: 3.11.9", "- key of spare: not set"]
    assert not any("workers" in line for line in lines)
    print_findings(findings[:2], with_settings=True)
    assert "setting workers: 4, from default" in capsys.readouterr().out


def test_the_doctor_names_each_check_as_it_is_made_and_prints_json(tmp_path: Path) -> None:
    ended = CommandLine(tmp_path, in_process=True)("doctor", "--json", JUDGE_GYM_WORKERS="0")
    assert ended.code == 1
    assert ended.messages.startswith("Checking python ... Checking settings ...")
    told = json.loads(ended.output)
    assert [(one["subject"], one["state"]) for one in told["findings"]] == [
        ("python", "fine"),
        ("settings", "broken"),
    ]
    assert told["error"]["message"] == "1 problem to fix."


def test_a_stopped_doctor_says_what_it_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settings() -> Iterator[DoctorLine]:
        raise KeyboardInterrupt

    monkeypatch.setattr("deployments.cli.doctor._settings", settings)
    ended = CommandLine(tmp_path, in_process=True)("doctor")
    assert ended.code == 130
    assert ended.errors.endswith(
        "The doctor was stopped while it checked settings. Nothing was done.\n"
    )


def test_the_summary_of_a_setup_counts_deployments_apart() -> None:
    steps = [
        BootstrappedObject("work pool judge-gym (process)", "created"),
        BootstrappedObject("limit tag:provider:sim: 2 at once", "created"),
        BootstrappedObject("deployment sweep/default", "created", is_deployment=True),
        BootstrappedObject("deployment sweep/demo", "changed", is_deployment=True),
        BootstrappedObject("deployment panel/default", "unchanged", is_deployment=True),
    ]
    assert summary(steps) == ("1 deployment created, 2 other objects created, 1 deployment changed")
    assert summary(steps[-1:]) == "nothing changed"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (JudgeGymError("The provider is down."), 1),
        (StoreError("The database is down."), 1),
        (ConfigError("a.yaml: unknown key."), 2),
        (BudgetExceededError("The budget is used up."), 4),
    ],
)
def test_bad_input_and_a_used_up_budget_have_exit_codes_of_their_own(
    monkeypatch: pytest.MonkeyPatch, error: JudgeGymError, code: int
) -> None:
    def raising(**_: object) -> None:
        raise error

    monkeypatch.setattr("deployments.cli.app.app", raising)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code


READS_FILES = {"jinja2", "ruamel", "httpx", "numpy"}
NEEDS_A_DATABASE_OR_A_MODEL = {
    "aiohttp", "alembic", "altair", "litellm", "pandas", "prefect", "psycopg", "scipy",
    "sqlalchemy", "statsmodels", "trafilatura",
}  # fmt: skip
JUDGES = sorted(str(path) for path in (REPOSITORY / "deployments" / "judges").glob("*.yaml"))
GROUPS = ["", *(path for path in PARTS if hasattr(PARTS[path], "commands"))]


COMMANDS_IN_ORDER = """
import json, sys
from deployments.cli.app import main
ended, known = [], set()
for command in json.loads(sys.argv[1]):
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as end:
        ended.append((end.code, sorted(sys.modules.keys() - known)))
    known |= sys.modules.keys()
print("ended:", json.dumps(ended))
"""


def imports_of(
    *commands: str, where: Path = REPOSITORY, code: int = 0
) -> tuple[dict[str, set[str]], str]:
    """Run commands one after another in a process; the modules each adds, and all the errors."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS_IN_ORDER, json.dumps([one.split() for one in commands])],
        capture_output=True,
        text=True,
        cwd=where,
        check=True,
    )
    ended = json.loads(done.stdout.rpartition("ended:")[2])
    codes = [one for one, _ in ended]
    assert codes == [code] * len(commands), done.stdout + done.stderr
    return {one: set(added) for one, (_, added) in zip(commands, ended, strict=True)}, done.stderr


def importing(libraries: set[str], *commands: str) -> dict[str, set[str]]:
    """Return the commands that import one of these libraries first, and which."""
    return {
        one: both for one, all_ in imports_of(*commands)[0].items() if (both := all_ & libraries)
    }


def test_help_imports_nothing_that_commands_need() -> None:
    helps = [f"{group} --help" for group in GROUPS]
    assert importing(READS_FILES | NEEDS_A_DATABASE_OR_A_MODEL, *helps) == {}


def test_a_command_without_database_or_model_imports_neither() -> None:
    commands = [
        "sweep axes",
        "data schema",
        *(f"data schema {kind}" for kind in KINDS if kind != "gym"),
        *(f"judge check {judge}" for judge in JUDGES if "panel" not in judge),
        "judge check deployments/judges/notes.yaml --items deployments/judges/notes.jsonl",
        "judge check deployments/calibrations/good.yaml",  # its gate has labels
    ]
    assert importing(NEEDS_A_DATABASE_OR_A_MODEL, *commands) == {}


def test_numpy_is_not_imported_to_read_a_file() -> None:
    commands = ("sweep axes", "data schema judge", "judge check deployments/judges/notes.yaml")
    assert importing({"numpy"}, *commands) == {}


def test_a_mistake_in_a_sweep_file_is_found_before_databases_are_imported(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("name: wrong\nblock: []\n")
    commands = [f"sweep {command} wrong.yaml" for command in ("plan", "run", "power", "freeze")]
    imported, errors = imports_of(*commands, where=tmp_path, code=2)
    late = {"sqlalchemy", "prefect", "litellm", "scipy"}
    assert not any(added & late for added in imported.values()), imported
    assert errors.count("Did you mean blocks?") == len(commands)


def test_the_flow_of_a_sweep_imports_neither_judges_nor_the_report_nor_the_terminal() -> None:
    """Nor does what waits for the next command: it is imported before the command is known."""
    modules = "deployments.cli.standby_process, deployments.local.temporary_server, flows.sweep"
    code = f"import sys, {modules}; print('imported:', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    imported = set(done.stdout.rpartition("imported:")[2].split())
    assert "judge_gym.lab.scoring" in imported
    unneeded = {"judge_gym.judges", "judge_gym.report.page", "judge_gym.recorded"}
    # What looks at the terminal, which may be another one then.
    assert imported & (unneeded | {"deployments.cli.output"}) == set()
