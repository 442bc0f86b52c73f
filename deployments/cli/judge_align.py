"""`judge-gym judge align`: bring a judge nearer to people's labels, and test whether it worked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.options import AsJson, PlanOnly, RetryFailed
from deployments.cli.output import console
from deployments.cli.study import StudyCommand

if TYPE_CHECKING:
    from judge_gym.judges.aligning.loading import LoadedAlignment
    from judge_gym.runtime import Runtime


def align(
    file: Annotated[Path, typer.Argument(help="The alignment file (YAML).", show_default=False)],
    plan: PlanOnly = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the chosen judge here, whatever the test set says.",
            show_default="NAME-aligned.yaml beside the judge, if the gain survives",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a judge file that is there.")
    ] = False,
    look_again: Annotated[
        bool,
        typer.Option(
            "--look-again", help="Test on texts that were looked at before; counted and shown."
        ),
    ] = False,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
) -> None:
    """Improve a judge by examples and proposed rubrics, tested on sealed texts.

    Exits with 0 if the gain survives the test set, 1 if the new judge is worse there, 3 if the
    data cannot tell. Writes a page. Rerun the command to resume; stored results are reused.
    """
    from judge_gym.judges.aligning.loading import load
    from judge_gym.studies import align as studies

    # Errors in files are raised before a server is started.
    loaded = load(file)
    study = studies.align(loaded, out, replace=replace, look_again=look_again)
    if plan:
        console.plain(study.read)
        _plan(loaded, look_again=look_again)
        return
    parameters = {
        "file": file,
        "out": out,
        "replace": replace,
        "look_again": look_again,
        "retry_failed": retry_failed,
    }
    options = StudyCommand([loaded.design.judge], plan, retry_failed, as_json)
    if ended := options.run_by_flow(study, "align", parameters):
        ended.exit(by_verdict=True)


def _plan(loaded: "LoadedAlignment", *, look_again: bool) -> None:
    from deployments.cli.environment import in_runtime
    from deployments.cli.estimates import show_alignment
    from judge_gym.judges.aligning.loading import too_few
    from judge_gym.judges.aligning.planning import plan
    from judge_gym.judges.aligning.sealing import sealed_texts
    from judge_gym.report.alignment import left_out, planned_look, split_table
    from judge_gym.report.table import TerminalTable

    console.print(TerminalTable(split_table(loaded)))
    if without := left_out(loaded):
        console.plain(f"{without}.")
    if parts := too_few(loaded):
        console.print(f"Too few labels for {', '.join(parts)}: nothing would be judged.")
        return

    async def planned(current: "Runtime") -> None:
        sealed = sealed_texts(current, loaded)
        if looked := planned_look(sealed, look_again=look_again):
            console.plain(looked)
        if sealed.is_used_up and not look_again:
            return
        show_alignment(loaded, plan(current, loaded))

    in_runtime(planned)
