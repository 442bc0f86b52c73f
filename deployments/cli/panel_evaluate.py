"""`judge-gym panel evaluate`: a panel on documents with known scores."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.options import AsJson, PlanOnly
from deployments.cli.study import StudyCommand

_ERROR_PRICE = 0.1
"""As `evaluation.ERROR_PRICE`, which takes numpy to import."""


def evaluate(
    panel: Annotated[Path, typer.Argument(help="The panel file (YAML).", show_default=False)],
    corpus: Annotated[
        Path,
        typer.Option(
            "--corpus",
            "--items",
            help="Documents with their true scores (JSONL), as in deployments/panels.",
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
) -> None:
    """Compare a panel's scores with the known scores of documents.

    Evaluates raters, pools and the arbiter. Stored reviews are reused; failed ones are retried.
    Writes a page and tables.
    """
    from judge_gym.panel import load_panel
    from judge_gym.panel.evaluating.labelled import read_labelled
    from judge_gym.studies.panel_evaluate import panel_evaluate

    # Errors in files are raised before a server is started.
    loaded = load_panel(panel)
    study = panel_evaluate(loaded, read_labelled(corpus, loaded.rubric.scale), error_price)
    options = StudyCommand([], plan, retry_failed=False, as_json=as_json)
    parameters = {"panel": panel, "items": corpus, "error_price": error_price}
    if ended := options.run_by_flow(study, "panel_evaluation", parameters):
        ended.exit()
