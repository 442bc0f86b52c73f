"""`judge-gym simulator`: the offline provider, in the foreground."""

from typing import Annotated

import typer


def simulator(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8750,
    latency: Annotated[float, typer.Option(min=0, help="Seconds each answer takes.")] = 0.0,
) -> None:
    """Serve the simulated judges on loopback until Ctrl-C; prints the address to use."""
    from judge_gym.simulator.server import serve

    serve(port=port, latency=latency)
