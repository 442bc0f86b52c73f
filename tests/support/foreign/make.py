"""Makes files of other tools with the tools: `python tests/support/foreign/make.py [TOOL ...]`.

Each tool is installed under .judge-gym/foreign, apart from the lock: Inspect and DeepEval hold
back versions that judge-gym uses. Nothing but the installation leaves the machine: models are
mocks, or `graders.py` on loopback, and telemetry is off.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
INSTALLED = REPOSITORY / ".judge-gym" / "foreign"
MADE = HERE / "made"
# AlpacaEval imports pkg_resources, which newer setuptools do not have.
PACKAGES = {
    "inspect": ["inspect-ai==0.3.285"],
    "alpaca_eval": ["alpaca-eval==0.6.6", "setuptools<80"],
    # Beside judge-gym itself, as users install them.
    "elsewhere": ["inspect-ai==0.3.285", "deepeval==4.3.1"],
}
PACKAGES["inspect_old"] = ["inspect-ai==0.3.58", "textual<2"]
PROMPTFOO = "promptfoo@0.121.20"
PROMPTFOO_OLD = "promptfoo@0.55.0"
TESTS = ("eggs", "tea", "soup")
QUIET = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def python(tool: str, *more: str) -> Path:
    """Return the Python of an environment with a tool, which is made where it is missing.

    Raises `CalledProcessError` where it cannot be installed.
    """
    folder = INSTALLED / tool
    interpreter, ready = folder / "bin" / "python", folder / ".ready"
    wanted = "\n".join([*PACKAGES[tool], *more])
    if not (ready.is_file() and ready.read_text() == wanted):
        uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        subprocess.run(
            [uv, "venv", "-q", "--clear", "--python", sys.executable, folder], check=True
        )
        install = [uv, "pip", "install", "-q", "--python", interpreter, *PACKAGES[tool], *more]
        subprocess.run(install, check=True)
        ready.write_text(wanted)
    return interpreter


def promptfoo(package: str = PROMPTFOO, *more: str) -> Path:
    """Return the command of promptfoo, which is installed where it is missing."""
    folder = INSTALLED / ("promptfoo" if package == PROMPTFOO else package)
    command = folder / "node_modules" / ".bin" / "promptfoo"
    if not command.exists():
        folder.mkdir(parents=True, exist_ok=True)
        npm = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *more, package]
        subprocess.run(npm, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return command


@contextmanager
def graders() -> Iterator[str]:
    """Run the loopback grader; its base URL is given."""
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, HERE / "graders.py"], stdout=subprocess.PIPE, text=True, cwd=folder
        )
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.terminate()
            server.wait()


def run(command: list[object], folder: Path, *, check: bool = True, **more: str) -> None:
    """Run a tool in a folder of its own, without the environment's keys."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    subprocess.run(
        [str(part) for part in command], cwd=folder, check=check, env={**kept, **QUIET, **more},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def make_inspect(work: Path, to: Path) -> None:
    """Make the logs of `make_inspect.py`."""
    run([python("inspect"), HERE / "make_inspect.py", work], work)
    for file in (*work.glob("*.eval"), *work.glob("*.json")):
        shutil.copy(file, to)


def make_alpaca_eval(work: Path, to: Path) -> None:
    """Make annotations.json."""
    with graders() as base_url:
        run([python("alpaca_eval"), HERE / "make_alpaca.py", work, base_url], work)
    shutil.copy(work / "annotations.json", to)


def make_promptfoo(work: Path, to: Path) -> None:
    """Make promptfoo.json and promptfoo.jsonl, of three questions with two answers, twice."""
    items = {item["id"]: item for item in json.loads((HERE / "answers.json").read_text())}
    opposite = {"good": "bad", "bad": "good"}
    tests = [
        {
            "vars": {
                "question": item["question"],
                "answer": answer,
                "target": item["target"],
                "label": item["label"] if first else opposite[item["label"]],
            }
        }
        for item in (items[name] for name in TESTS)
        for first, answer in zip((True, False), item["answers"], strict=True)
    ]
    (work / "tests.json").write_text(json.dumps(tests))
    config = (HERE / "promptfooconfig.json").read_text()
    with graders() as base_url:
        (work / "promptfooconfig.json").write_text(config.replace("BASE_URL", base_url))
        command = [promptfoo(), "eval", "-c", "promptfooconfig.json", "--repeat", "2"]
        command += ["-o", "promptfoo.json", "-o", "promptfoo.jsonl", "--no-cache", "--no-table"]
        # Failed assertions are results, not errors.
        run(
            command,
            work,
            PROMPTFOO_FAILED_TEST_EXIT_CODE="0",
            PROMPTFOO_CONFIG_DIR=str(work / ".pf"),
        )
    for suffix in ("json", "jsonl"):
        shutil.copy(work / f"promptfoo.{suffix}", to)


def make_inspect_old(work: Path, to: Path) -> None:
    """Make the logs of `make_inspect_old.py`."""
    run([python("inspect_old"), HERE / "make_inspect_old.py", work], work)
    for file in work.glob("*.json"):
        shutil.copy(file, to)


def make_promptfoo_old(work: Path, to: Path) -> None:
    """Make promptfoo-old.json, of version 2, with a default grader."""
    items = {item["id"]: item for item in json.loads((HERE / "answers.json").read_text())}
    tests = [
        {"vars": {"question": item["question"], "answer": answer, "target": item["target"]}}
        for item in (items[name] for name in TESTS)
        for answer in item["answers"]
    ]
    config = (HERE / "promptfooconfig-old.json").read_text().replace('"TESTS"', json.dumps(tests))
    with graders() as base_url:
        (work / "promptfooconfig.json").write_text(config.replace("BASE_URL", base_url))
        command = [promptfoo(PROMPTFOO_OLD, "--ignore-scripts"), "eval"]
        command += ["-c", "promptfooconfig.json", "-o", "promptfoo-old.json"]
        # It writes the file, and fails at a database that it cannot open without its scripts.
        run(
            [*command, "--no-cache", "--no-table", "-j", "1"],
            work,
            check=False,
            PROMPTFOO_CONFIG_DIR=str(work / ".pf"),
        )
    made = json.loads((work / "promptfoo-old.json").read_text())
    del made["results"]["table"]
    text = json.dumps(made, indent=1).replace(base_url, "http://localhost/v1")
    (to / "promptfoo-old.json").write_text(text)


MAKERS: dict[str, Callable[[Path, Path], None]] = {
    "inspect": make_inspect,
    "alpaca_eval": make_alpaca_eval,
    "promptfoo": make_promptfoo,
    "inspect_old": make_inspect_old,
    "promptfoo_old": make_promptfoo_old,
}


def make(tool: str, to: Path) -> None:
    """Make the files of one tool."""
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        MAKERS[tool](Path(work), to)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=", ".join(MAKERS))
    for name in parser.parse_args().tools or MAKERS:
        make(name, MADE)
