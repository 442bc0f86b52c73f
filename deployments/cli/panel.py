"""`judge-gym panel`: a panel of raters with an arbiter, its page, and what it is worth."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.environment import naming_port, stop_event
from deployments.cli.options import AsJson, Fields, PlanOnly, Port, fields_of
from deployments.cli.output import as_table, console, marked, say_simulated, show_table
from deployments.cli.study import StudyCommand
from judge_gym.counting import counted
from judge_gym.shipped import DEPLOYMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judge_gym.panel import Panel, PanelState, ReviewedDocument
    from judge_gym.panel.running import Emit
    from judge_gym.panel.serving.settings import ServerLimits
    from judge_gym.panel.state import Step
    from judge_gym.report.table import TerminalTable

PANELS = DEPLOYMENTS / "panels"
SAMPLE = PANELS / "proposal.yaml"
_SAID = {"waiting": "", "running": "running …", "done": "done", "error": "failed"}


def run(
    file: Annotated[Path, typer.Argument(help="The document (YAML or JSON).", show_default=False)],
    panel: Annotated[
        Path, typer.Option(help="The panel file (YAML).", show_default="the sample's")
    ] = SAMPLE,
    json_lines: Annotated[
        bool, typer.Option("--json-lines", help="Print each state as a line of JSON.")
    ] = False,
) -> None:
    """Review a document with a panel and show each step.

    Stored reviews are reused; failed ones are retried.
    """
    from deployments.cli.environment import prepare_environment, simulator_for
    from judge_gym.panel import load_document, load_panel
    from judge_gym.panel.state import failure_of

    # Errors in files are raised before a server is started.
    loaded, document = load_panel(panel), load_document(file)
    prepare_environment()
    with simulator_for(loaded.models):
        state = (_in_lines if json_lines else _live)(loaded, document)
        if not json_lines:
            _show(state)
    if error := failure_of(state):
        raise error


async def _watched(panel: "Panel", document: "ReviewedDocument", emit: "Emit") -> "PanelState":
    from judge_gym.panel.running import run_panel
    from judge_gym.runtime import runtime

    async with runtime() as current:
        return await run_panel(current, panel, document, emit=emit)


def _in_lines(panel: "Panel", document: "ReviewedDocument") -> "PanelState":
    def emit(state: "PanelState") -> None:
        typer.echo(state.model_dump_json())

    return asyncio.run(_watched(panel, document, emit))


def _live(panel: "Panel", document: "ReviewedDocument") -> "PanelState":
    """Show a table of the current state; without a terminal, only the last one."""
    from rich.live import Live

    live = Live(console=console)

    def emit(state: "PanelState") -> None:
        live.update(_steps(state))
        live.start()  # once there is something to show

    try:
        return asyncio.run(_watched(panel, document, emit))
    finally:
        live.stop()


def _steps(state: "PanelState") -> "TerminalTable":
    """Return the state of each rater and of the arbiter."""
    rows = [
        (
            rater.name,
            rater.label,
            rater.model,
            _how(rater),
            rater.review.overall_score if rater.review else "",
        )
        for rater in state.raters
    ]
    verdict = state.consensus.verdict
    final = verdict.final_score if verdict else ""
    rows.append(("arbiter", "", state.consensus.model, _how(state.consensus), final))
    title = marked(f"Panel {state.panel} on {state.document}", simulated=state.simulated)
    return as_table(title, ("rater", "role", "model", "state", "score"), rows)


def _how(step: "Step") -> str:
    from judge_gym.panel.state import SPARED

    status = (_SAID | {"spared": SPARED})[step.status]
    if step.kept:
        return f"{status}, from an earlier run"
    return status if step.latency_ms is None else f"{status} after {step.latency_ms / 1000:.1f} s"


def _show(state: "PanelState") -> None:
    from judge_gym.report.markdown import agreement_text

    console.print()
    if state.was_truncated:
        shown = counted(len(state.items), "item")
        console.print(f"The document was truncated: raters saw its first {shown}.")
    if state.item_agreement and state.agreement:
        names = [rater.name for rater in state.reviewed]
        rows = [
            (agreement.id, *agreement.scores, agreement_text(agreement))
            for agreement in state.item_agreement
        ]
        rows.append(("the whole", *state.agreement.scores, agreement_text(state.agreement)))
        show_table("Scores", ("item", *names, "agreement"), rows)
    for rater in state.reviewed:
        assert rater.review is not None
        comments = [(item.id, item.score, item.comment) for item in rater.review.items]
        comments.append(("the whole", rater.review.overall_score, rater.review.overall_comment))
        show_table(f"{rater.name}, {rater.label}", ("item", "score", "comment"), comments)
    if verdict := state.consensus.verdict:
        console.print(f"Consensus: {verdict.final_score}, from {state.lowest} to {state.highest}.")
        if verdict.raw_score != verdict.final_score:
            console.print(
                f"The arbiter's score of {verdict.raw_score} was limited to the raters' range."
            )
        console.print(verdict.rationale, markup=False)
    show_cost(state.call_ids)
    if state.simulated:
        say_simulated()


def show_cost(call_ids: "Sequence[int]") -> None:
    """Print the number and cost of these calls."""
    from deployments.cli.environment import database
    from judge_gym.store.calls import paid_in_words

    with database() as session:
        sentences = paid_in_words(session, call_ids)
    for sentence in sentences:
        console.plain(sentence)


_ERROR_PRICE = 0.1
"""As `evaluation.ERROR_PRICE`, which takes numpy to import."""


def evaluate(
    panel: Annotated[Path, typer.Argument(help="The panel file (YAML).", show_default=False)],
    corpus: Annotated[
        Path,
        typer.Option(
            "--corpus",
            "--items",
            help="Documents or texts with true scores (CSV, Excel, JSON, JSONL).",
            show_default=False,
        ),
    ],
    error_price: Annotated[
        float,
        typer.Option(
            help="US dollars that one point of error in one document's score costs you: what "
            "asking one more rater is weighed against.",
            min=0,
        ),
    ] = _ERROR_PRICE,
    plan: PlanOnly = False,
    as_json: AsJson = False,
    fields: Fields = None,
) -> None:
    """Compare a panel's scores with the known scores of documents.

    Evaluates raters, pools and the arbiter. Stored reviews are reused; failed ones are retried.
    Writes a page and tables.
    """
    from judge_gym.panel import load_panel
    from judge_gym.panel.evaluating.labelled import read_labelled
    from judge_gym.studies.panel_evaluate import panel_evaluate

    # Errors in files are raised before a server is started.
    loaded, columns = load_panel(panel), fields_of(corpus, fields)
    labelled = read_labelled(corpus, loaded.rubric.scale, columns)
    study = panel_evaluate(loaded, labelled, error_price)
    options = StudyCommand([], plan, retry_failed=False, as_json=as_json)
    parameters = {"panel": panel, "items": corpus, "error_price": error_price, "fields": columns}
    if ended := options.run_by_flow(study, "panel_evaluation", parameters):
        ended.exit()


PORT = 8760


def serve(
    panel: Annotated[
        Path, typer.Option(help="The panel file (YAML).", show_default="the sample's")
    ] = SAMPLE,
    port: Port = PORT,
    host: Annotated[
        str,
        typer.Option(help="The address to listen on; others than loopback require a panel_token."),
    ] = "127.0.0.1",
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name of the proxy before it, such as panel.example.org; may be repeated. "
            "Requires a panel_token.",
            show_default=False,
        ),
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Count requests by the address that the proxy adds last to X-Forwarded-For.",
        ),
    ] = False,
) -> None:
    """Serve a page and an AG-UI endpoint for a panel until Ctrl-C.

    Anyone who can open the page can spend your API budget: give the panel a budget.
    """
    from judge_gym.extras import require

    require("serve")
    from deployments.cli.environment import prepare_environment, simulator_for
    from judge_gym.panel import load_panel
    from judge_gym.panel.serving.settings import ServerLimits, check_token
    from judge_gym.settings import settings

    # Errors in files are raised before a server is started.
    loaded = load_panel(panel)
    names = tuple(allowed_host or ())
    # Behind a proxy it is reached from other machines, wherever it listens.
    for reached in (host, *names):
        check_token(reached, settings().panel_token)
    limits = ServerLimits(allowed_hosts=names, behind_proxy=behind_proxy)
    prepare_environment()
    console.print("Opening the database ...")
    with simulator_for(loaded.models):
        asyncio.run(_serve(loaded, host, port, limits))
    console.print("Stopped. Reviews are stored.")


async def _serve(panel: "Panel", host: str, port: int, limits: "ServerLimits") -> None:
    from judge_gym.panel import load_document
    from judge_gym.panel.running import check_panel
    from judge_gym.panel.serving import serving
    from judge_gym.report.panel import panel_page
    from judge_gym.runtime import runtime

    stop = stop_event()
    async with runtime() as current:
        await check_panel(current, panel)
        samples = [load_document(PANELS / "library.yaml")]
        token = current.settings.panel_token
        page = partial(panel_page, panel, samples, asks_token=token is not None)
        address: dict[str, Any] = {"host": host, "port": port, "token": token, "limits": limits}
        with naming_port(f"The panel cannot be served at {host}, port {port}"):
            async with serving(current, panel, page=page, **address) as url:
                console.plain(f"Panel {panel.name}: {url}")
                console.print("Stop with Ctrl-C.")
                await stop.wait()
