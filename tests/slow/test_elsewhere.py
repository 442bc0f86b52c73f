"""Judges and logs inside other tools: the real libraries, in an environment of their own."""

import ast
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.chromium import chromium
from support.command_line import REPOSITORY
from support.foreign import make
from support.postgres import temporary_database
from support.prefect_server import free_port
from support.simulation import Simulator
from support.waiting import until

pytestmark = pytest.mark.slow
EXAMPLES = REPOSITORY / "deployments" / "integrations"
READ = """
import math, sys
from inspect_ai.log import list_eval_logs, read_eval_log
for file in list_eval_logs(sys.argv[1]):
    log = read_eval_log(file)
    values = [sample.scores["score"].value for sample in log.samples]
    scored = [value for value in values if not math.isnan(value)]
    print(log.status, log.eval.model, len(values), len(scored), log.eval.config.epochs)
"""


@pytest.fixture(scope="module")
def interpreter() -> Path:
    try:
        return make.python("elsewhere", "-e", str(REPOSITORY))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"inspect-ai and deepeval cannot be installed here: {error}")


def run(*command: str | Path, **environment: str) -> str:
    ended = subprocess.run(
        list(map(str, command)), cwd=REPOSITORY, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": environment.pop("home", "/tmp"), **make.QUIET,
             **environment},
    )  # fmt: skip
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def test_a_judge_is_a_component_of_other_tools(
    interpreter: Path,
    postgres_server: str,
    migrated_template: str,
    simulator: Simulator,
    tmp_path: Path,
) -> None:
    with temporary_database(postgres_server, migrated_template) as url:
        settings = {
            "JUDGE_GYM_DATABASE_URL": url,
            "JUDGE_GYM_SIMULATOR_URL": simulator.url,
            "JUDGE_GYM_DATA_DIR": str(tmp_path),
            "home": str(tmp_path),
        }
        lines = run(sys.executable, EXAMPLES / "plain_function.py", **settings).splitlines()
        first = float(lines[0].split()[0])
        # The text is the same, but has a context: another item, on the scale of 0 to 100.
        assert 0 <= first <= 100
        graded = run(sys.executable, EXAMPLES / "promptfoo_assertion.py", **settings)
        assert {"pass", "score", "reason"} == ast.literal_eval(graded).keys()
        shown = run(interpreter, EXAMPLES / "deepeval_metric.py", **settings)
        assert "passed: " in shown
        assert 0 <= float(shown.split("score ")[1].split(",")[0]) <= 1
        program = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from inspect_ai import eval\n"
            "from inspect_ai.model import ModelOutput, ModelUsage, get_model\n"
            "from inspect_scorer import notes\n"
            "said = ModelOutput.from_content('mockllm/model', 'Bread rose by 4% in May.')\n"
            "empty = ModelOutput.from_content('mockllm/model', '')\n"
            "said.usage = empty.usage = ModelUsage()\n"
            "model = get_model('mockllm/model', custom_outputs=[said, empty])\n"
            "for _ in (said, empty):\n"
            "    [log] = eval(notes(), model=model, log_dir=sys.argv[2], display='none')\n"
            "    [score] = log.samples[0].scores.values()\n"
            "    print(log.status, score.value, score.metadata or score.explanation)\n"
        )
        shown = run(interpreter, "-c", program, EXAMPLES, tmp_path / "logs", **settings)
        scored, unscored = shown.splitlines()[-2:]
        assert 0 <= float(scored.removeprefix("success ").partition(" ")[0]) <= 100
        assert "'accuracy'" in scored
        assert unscored == "success nan There is no score: the text is empty."
        # What the judge gave is stored, and goes out as a log that Inspect reads.
        command = Path(sys.executable).parent / "judge-gym"
        export = ("data", "export", "--format", "inspect", "--to", tmp_path / "out")
        run(command, *export, "--judge", "notes", **settings)
        assert run(interpreter, "-c", READ, tmp_path / "out").split() == [
            "success", "sim/good-1", "4", "4", "1",
        ]  # fmt: skip
        shows_in_viewer(interpreter.parent / "inspect", tmp_path, "sim/good-1", "4 Samples")


def shows_in_viewer(inspect: Path, folder: Path, *texts: str) -> None:
    """Open the folder's logs in Inspect's own page."""
    port = free_port()
    place = ("--host", "127.0.0.1", "--port", str(port), "--log-dir", str(folder / "out"))
    with subprocess.Popen(
        [inspect, "view", "start", *place], env=os.environ | make.QUIET
    ) as viewer:
        try:
            until(lambda: answers(port), "Inspect's viewer")
            with chromium(folder / "chromium") as browser:
                browser.open(f"http://127.0.0.1:{port}/", *texts)
        finally:
            viewer.terminate()


def answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
