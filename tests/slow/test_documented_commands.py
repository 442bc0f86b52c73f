"""Every command and every Python snippet of README.md and of the pages in docs/, as written."""

import csv
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from support.command_line import REPOSITORY, CommandLine
from support.documents import blocks, shell_commands, shell_lines, snippets
from support.postgres import temporary_database
from support.prefect_server import PrefectServer
from support.simulation import Simulator

pytestmark = pytest.mark.slow
PAGES = (
    "README.md",
    *(
        path.relative_to(REPOSITORY).as_posix()
        for folder in ("how-to", "explanation", "reference")
        for path in sorted((REPOSITORY / "docs" / folder).glob("*.md"))
    ),
)
ELSEWHERE = {
    "sweep run my-sweeps/real-models.yaml": "end_to_end/test_rehearsal.py",
    "analyse figures real-models": "end_to_end/test_rehearsal.py",
    "database restore": "database/test_backup.py",
    "database init": "slow/test_workers.py",
    "database status": "slow/test_status_pages.py",
    "database serve": "database/test_embedded_postgres.py",
    "judge benchmark": "flow/test_benchmark_flow.py",
    "audit deployments/studies/llmbar": "database/test_llmbar.py",
    "data import-annotations": "end_to_end/test_alt_test_command.py",
    "analyse figures judgebench": "end_to_end/test_alt_test_command.py",
    "analyse alt-test": "end_to_end/test_alt_test_command.py",
    "sweep multiverse": "end_to_end/test_multiverse_command.py",
    "models check": "end_to_end/test_models_command.py",
    "models serve": "local/conftest.py",
    "judge gate deployments/calibrations/good.yaml --recheck": "end_to_end/test_gate_command.py",
    "judge decide deployments/calibrations/good.yaml": "end_to_end/test_gate_command.py",
    "judge certify": "end_to_end/test_certify_command.py",
    "judge certificate": "end_to_end/test_certify_command.py",
    "judge gate refunds.yaml": "end_to_end/test_certify_command.py",
    "judge estimate": "end_to_end/test_label_commands.py",
    "judge label": "slow/test_label_page.py",
    "judge score my-judge.yaml": "local/test_local_model.py",
    "up": "slow/test_up.py",
    "simulator": "end_to_end/test_rehearsal.py",
}
"""The beginning of a command → the test that runs it: it needs a server or data of its own."""


@pytest.fixture(scope="module")
def command(
    postgres_server: str,
    migrated_template: str,
    simulator: Simulator,
    prefect_server: PrefectServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[CommandLine]:
    """A folder with the examples, their copies under the names of the pages, and a small sweep."""
    folder = tmp_path_factory.mktemp("documented")
    shutil.copytree(REPOSITORY / "deployments", folder / "deployments")
    shutil.copytree(folder / "deployments" / "sweeps", folder / "my-sweeps")
    (folder / "corpora").symlink_to(folder / "deployments" / "sweeps" / "corpora")
    shutil.copytree(REPOSITORY / "tests" / "support" / "foreign" / "made", folder / "logs")
    shutil.copy(folder / "my-sweeps" / "quick.yaml", folder / "my-sweep.yaml")
    session, *_ = blocks("docs/how-to/conversations.md", "json")
    (folder / "chats.jsonl").write_text(json.dumps(json.loads(session)))
    write_files(folder)
    with temporary_database(postgres_server, migrated_template) as url:
        environment = {
            "JUDGE_GYM_DATABASE_URL": url,
            "JUDGE_GYM_SIMULATOR_URL": simulator.url,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": simulator.url,
            **prefect_server.environment,
        }
        command = CommandLine(folder, environment, in_process=True)
        command("sweep", "run", "my-sweep.yaml").fine()
        yield command


def write_files(folder: Path) -> None:
    """Write the files of the pages whose commands name one of them."""
    for page in PAGES:
        found = snippets(page, "csv", "json", "jsonl", "yaml")
        files = {one.file: one.body for one in found if one.title and not one.in_part}
        typed = [one for one in shell_commands(page, run=True) if not elsewhere(shlex.join(one))]
        if files.keys() & {word for words in typed for word in words}:
            for name, body in files.items():
                assert not (folder / name).exists(), f"{page}: {name} is there already"
                (folder / name).write_text(body)


def documented() -> list[str]:
    """Return each command once, in the order in which the pages have it."""
    found = (shlex.join(one) for page in PAGES for one in shell_commands(page, run=True))
    return list(dict.fromkeys(found))


def elsewhere(line: str) -> list[str]:
    return [path for start, path in ELSEWHERE.items() if f"{line} ".startswith(f"{start} ")]


@pytest.mark.parametrize("line", [one for one in documented() if not elsewhere(one)])
def test_a_documented_command_runs(line: str, command: CommandLine) -> None:
    command(*shlex.split(line)).fine()


def test_every_exception_is_documented_and_run_by_its_test() -> None:
    for start, path in ELSEWHERE.items():
        assert any(f"{one} ".startswith(f"{start} ") for one in documented()), start
        assert (REPOSITORY / "tests" / path).exists(), path


def of_prefect() -> list[tuple[str, ...]]:
    """Return the commands of Prefect that pages have, once each."""
    lines = [line for page in PAGES for line in shell_lines(page) if line.startswith("prefect ")]
    return list(dict.fromkeys(tuple(shlex.split(line, comments=True)[1:]) for line in lines))


@pytest.mark.parametrize("words", of_prefect(), ids=" ".join)
def test_a_command_of_prefect_has_its_options(words: tuple[str, ...]) -> None:
    """These need a server; test_up.py and test_workers.py run such."""
    options = {word for word in words if word.startswith("--")}
    path = list(takewhile(lambda word: not word.startswith("-") and "/" not in word, words))
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *path, "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {option for option in options if option not in done.stdout} == set()


WITH_PYTHON = [page for page in PAGES if snippets(page, "python")]
OF_PAGES = {
    "docs/how-to/labels.md": {
        "judge.yaml": "judges/notes.yaml",
        "items.csv": "judges/notes.jsonl",
        "labels.csv": "judges/notes-labels.csv",
    },
    "docs/how-to/product-judges.md": {"judge.yaml": "judges/notes.yaml"},
    "docs/how-to/gate.md": {
        "judge.yaml": "calibrations/good.yaml",
        "notes.jsonl": "calibrations/notes.jsonl",
    },
}
"""The files that snippets of a page name, and the examples that stand for them."""


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_python_of_a_page_runs(page: str, command: CommandLine, tmp_path: Path) -> None:
    """The page's files with a name are written, and its snippets run in order, as one program."""
    (tmp_path / "deployments").symlink_to(REPOSITORY / "deployments")
    for name, example in OF_PAGES.get(page, {}).items():
        write_example(REPOSITORY / "deployments" / example, tmp_path / name)
    found = snippets(page, "python")
    for snippet in found:
        if snippet.title:
            (tmp_path / snippet.title).write_text(snippet.body)
    program = "\n".join(snippet.body for snippet in found if not snippet.title)
    tested = "def test_" in program
    file = tmp_path / ("test_snippet.py" if tested else "snippet.py")
    file.write_text(program)
    done = subprocess.run(
        [
            sys.executable,
            *(["-m", "pytest", "-p", "no:cacheprovider"] if tested else []),
            file.name,
        ],
        cwd=tmp_path,
        env=command.variables() | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def write_example(example: Path, file: Path) -> None:
    """Copy an example; items in JSON become the CSV file that the page names."""
    if example.suffix == ".jsonl" and file.suffix == ".csv":
        rows = [json.loads(line) for line in example.read_text().splitlines()]
        with file.open("w", newline="") as written:
            table = csv.DictWriter(written, sorted({key for row in rows for key in row}))
            table.writeheader()
            table.writerows(rows)
    else:
        shutil.copy(example, file)
