"""Compare the gateway with the layers below it and with Inspect AI: wall and CPU time of a call.

The same prompts go to the same server on loopback (the simulator, 50 ms, 100 connections) through
bare aiohttp, the openai client, litellm by default, litellm tuned as the gateway tunes it (handler,
registered model, garbage collector), judge-gym's gateway with its ledger on an embedded PostgreSQL,
and Inspect AI in its own environment, which the first run creates. Each client is a process. Its
CPU includes its children, but not the server and PostgreSQL, which are printed beside it. Imports
and one warm-up call are not counted. On Anthropic's API the gateway is compared with litellm only.

    python -m bench.gateway_vs_inspect [--calls 1000] [--repeat 3] [--without inspect ...]
        [--api anthropic]
"""

import argparse
import subprocess
import sys
import venv
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.place import REPOSITORY, Place, place
from bench.prompts import save_prompts
from bench.study import DOCUMENTS, write_sweep
from bench.table import show_calls

INSPECT = REPOSITORY / ".judge-gym" / "bench" / "inspect"
GATEWAY = "judge-gym gateway"
TUNED = "litellm-tuned"
CLIENTS = ("aiohttp", "openai", "litellm", TUNED, "inspect")
JUDGES = {"openai": "sim/calm-1", "anthropic": "claude/calm-1"}
"""litellm's prefix of an API → the simulated judge that is asked through it."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1000, help="a multiple of 100")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--without", nargs="*", default=(), choices=CLIENTS)
    parser.add_argument("--api", choices=JUDGES, default="openai")
    asked = parser.parse_args()
    comparable = CLIENTS if asked.api == "openai" else ("litellm", TUNED)
    clients = [client for client in comparable if client not in asked.without]
    if "inspect" in clients:
        make_inspect()
    measured: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with place() as here:
        warm_up(here)
        sweep = write_sweep(here.folder, asked.calls, (JUDGES[asked.api],))
        prompts = here.folder / "prompts.jsonl"
        for _ in range(asked.repeat):
            found = gateway(here, sweep, prompts)
            for client in clients:
                measured[client].append(other(here, client, prompts, asked.api))
            measured[GATEWAY].append(found)
    title = f"{asked.calls:,} calls, 50 ms, 100 connections, API of {asked.api}"
    show_calls(title, measured, TUNED)


def warm_up(here: Place) -> None:
    """Send every article to the simulator once, since it caches what it read."""
    gateway(here, write_sweep(here.folder, DOCUMENTS))


def gateway(here: Place, sweep: Path, prompts: Path | None = None) -> dict[str, Any]:
    """Judge the sweep through the gateway, and write its prompts to a file for the others."""
    with here.database() as url:
        environment = here.environment(url, chunk_size=100, workers=4)
        found = here.measure([sys.executable, "-m", "bench.judging", str(sweep)], environment)
        if prompts is not None:
            save_prompts(url, prompts)
    return found


def other(here: Place, client: str, prompts: Path, api: str) -> dict[str, Any]:
    """Send the same prompts through another client."""
    if client == "inspect":
        command = [str(INSPECT / "bin" / "python"), "-m", "bench.inspect_arm", str(prompts)]
        environment = here.environment() | {"BENCH_BASE_URL": here.url, "BENCH_API_KEY": "none"}
        return here.measure(command, environment)
    command = [sys.executable, "-m", "bench.bare", client, str(prompts), here.url_of(api), api]
    return here.measure(command, here.environment())


def make_inspect() -> None:
    """Create the environment of Inspect AI, unless it exists."""
    python = INSPECT / "bin" / "python"
    there = (
        python.exists()
        and not subprocess.run(
            [python, "-c", "import inspect_ai, openai"], check=False, capture_output=True
        ).returncode
    )
    if not there:
        venv.create(INSPECT, clear=True)
        uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet"]
        compiled = ["--compile-bytecode", "--python", str(python)]  # as `make setup` does for ours
        subprocess.run([*uv, *compiled, "inspect-ai", "openai"], check=True)


if __name__ == "__main__":
    main()
