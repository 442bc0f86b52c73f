"""`judge-gym simulator`: the offline provider, in the foreground."""

from typing import Annotated

import typer


def simulator(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8750,
    latency: Annotated[float, typer.Option(min=0, help="Seconds each answer takes.")] = 0.0,
) -> None:
    """Serve the simulated judges on loopback until Ctrl-C; prints the address to use."""
    import asyncio

    from judge_gym.errors import JudgeGymError
    from judge_gym.simulator.__main__ import serve

    try:
        asyncio.run(serve(port, latency))
    except OSError as error:
        raise JudgeGymError(
            f"The simulator cannot listen on port {port}: {error.strerror}.",
            "Choose another with --port, or 0 for a free one.",
        ) from None
