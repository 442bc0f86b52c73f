"""`judge-gym simulator`: the offline provider, in the foreground."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from judge_gym.simulator.news import Archive

NEWS = Path(__file__).parents[1] / "sweeps" / "corpora" / "valmora.jsonl"

_Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")]
_Latency = Annotated[float, typer.Option(min=0, help="Seconds before each answer.")]
_Faults = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A fault plan (TOML) of rate limits, errors and broken answers; "
        "judge_gym/simulator/faults/__init__.py has an example.",
    ),
]
_BatchSeconds = Annotated[
    float, typer.Option(min=0, help="Seconds from a batch's creation to its end.")
]
_State = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Folder that keeps files and batches; default: in memory only."
    ),
]
_News = Annotated[
    Path,
    typer.Option(
        metavar="PATH",
        show_default="the demo's articles",
        help="A corpus file or folder to serve as news, in place of Firecrawl. Its dates repeat, "
        "so that any date range finds articles.",
    ),
]
_Known = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help='Texts whose worth graders know: JSON Lines of {"text": ..., "worth": 0 to 1}.',
    ),
]


def simulator(
    port: _Port = 8750,
    latency: _Latency = 0.0,
    faults: _Faults = None,
    batch_seconds: _BatchSeconds = 1.0,
    state: _State = None,
    news: _News = NEWS,
    known: _Known = None,
) -> None:
    """Serve simulated judges and news on this machine until Ctrl-C."""
    import asyncio

    from judge_gym.errors import JudgeGymError
    from judge_gym.simulator.__main__ import serve

    serving = serve(
        port,
        latency,
        archive=_archive(news),
        faults=faults,
        batch_seconds=batch_seconds,
        state=state,
        known=known,
    )
    try:
        asyncio.run(serving)
    except OSError as error:
        raise JudgeGymError(
            f"The simulator cannot listen on port {port}: {error.strerror}.",
            "Choose another with --port, or 0 for a free one.",
        ) from None


def _archive(news: Path) -> "Archive":
    """Return the readable documents of a corpus as news; raises `JudgeGymError` for a bad path."""
    from judge_gym.evidence.corpus import read_corpus
    from judge_gym.evidence.documents import RawDocument
    from judge_gym.simulator.news import Archive, Article

    return Archive(
        Article(row.url, row.title, row.text, row.published)
        for row in read_corpus(news, {})
        if isinstance(row, RawDocument)
    )
