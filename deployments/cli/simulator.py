"""`judge-gym simulator`: the offline provider, in the foreground."""

from pathlib import Path
from typing import Annotated

import typer

NEWS = Path(__file__).parents[1] / "sweeps" / "corpora" / "valmora.jsonl"


def simulator(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8750,
    latency: Annotated[float, typer.Option(min=0, help="Seconds each answer takes.")] = 0.0,
    faults: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A fault plan (TOML): which requests meet rate limits, errors, cut or spoilt "
            "answers; judge_gym/simulator/faults/__init__.py shows one.",
        ),
    ] = None,
    batch_seconds: Annotated[
        float, typer.Option(min=0, help="Seconds from a batch's creation to its end.")
    ] = 1.0,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where files and batches outlive this process; without it, in memory.",
        ),
    ] = None,
    news: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            show_default="the demo's articles",
            help="A corpus file or folder to serve as news, in place of Firecrawl; it recurs, so "
            "that any dates find some.",
        ),
    ] = NEWS,
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What graders know beyond what they read: lines of JSON with a text and its worth "
            "from 0 to 1.",
        ),
    ] = None,
) -> None:
    """Serve simulated judges and news on this machine until Ctrl-C."""
    import asyncio

    from judge_gym.errors import JudgeGymError
    from judge_gym.simulator.__main__ import serve

    try:
        asyncio.run(
            serve(
                port,
                latency,
                faults=faults,
                batch_seconds=batch_seconds,
                state=state,
                news=news,
                known=known,
            )
        )
    except OSError as error:
        raise JudgeGymError(
            f"The simulator cannot listen on port {port}: {error.strerror}.",
            "Choose another with --port, or 0 for a free one.",
        ) from None
