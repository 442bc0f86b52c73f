"""`python -m judge_gym.simulator`: serve until a signal, or until the parent goes away."""

import argparse
import asyncio
import math
import signal
import sys
import threading
from pathlib import Path
from typing import Unpack

from judge_gym.errors import JudgeGymError
from judge_gym.simulator.launch import LISTENING, NEWS_AT, LaunchSettings
from judge_gym.simulator.news import Archive
from judge_gym.simulator.server import serving


def main() -> None:
    """Serve until SIGTERM or SIGINT, and with `--stop-with-stdin` until stdin closes."""
    parser = argparse.ArgumentParser(
        prog="python -m judge_gym.simulator",
        description="An OpenAI-compatible provider on loopback with planted judge families.",
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--latency", type=_seconds, default=0.0, help="seconds before each answer")
    parser.add_argument("--faults", type=Path, help="a fault plan (TOML)")
    parser.add_argument("--batch-seconds", type=_seconds, default=1.0, help="from creation to end")
    parser.add_argument("--state", type=Path, help="a folder in which files and batches survive")
    parser.add_argument("--news", type=Path, help="articles to serve as news (JSONL)")
    parser.add_argument("--known", type=Path, help="texts of known worth, for graders (JSONL)")
    parser.add_argument("--stop-with-stdin", action="store_true", help="stop when stdin closes")
    arguments = parser.parse_args()
    stop_with_stdin: bool = arguments.stop_with_stdin
    settings = LaunchSettings(
        faults=arguments.faults,
        batch_seconds=arguments.batch_seconds,
        state=arguments.state,
        news=arguments.news,
        known=arguments.known,
    )
    port, latency = arguments.port, arguments.latency
    try:
        asyncio.run(serve(port, latency, stop_with_stdin=stop_with_stdin, **settings))
    except JudgeGymError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"the simulator cannot listen on port {arguments.port}: {error.strerror}")


async def serve(
    port: int,
    latency: float,
    *,
    stop_with_stdin: bool = False,
    archive: Archive | None = None,
    **settings: Unpack[LaunchSettings],
) -> None:
    """Serve until SIGTERM or SIGINT; `archive` takes the place of the setting `news`.

    Raises `OSError` when the port is taken, `JudgeGymError` for settings that cannot be used.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stop.set)
    async with serving(port, latency, archive=archive, **settings) as base_url:
        print(f"{LISTENING}{base_url}", flush=True)  # noqa: T201 — the line others wait for
        if archive or settings.get("news"):
            print(f"{NEWS_AT}{base_url.removesuffix('/v1')}", flush=True)  # noqa: T201
        if stop_with_stdin:
            threading.Thread(target=_watch_stdin, args=(loop, stop), daemon=True).start()
        await stop.wait()


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"is {text}; use a number of seconds, 0 or more")
    return number


def _watch_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    # The pipe closes when the parent ends, however it ends: no signal has to be sent for it.
    sys.stdin.buffer.read()
    if not loop.is_closed():
        loop.call_soon_threadsafe(stop.set)


if __name__ == "__main__":
    main()
