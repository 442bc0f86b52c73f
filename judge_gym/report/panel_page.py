"""The page of a panel that is served: a document goes in, and each step is shown as it comes."""

from collections.abc import Sequence

from judge_gym.model_names import is_simulated_model
from judge_gym.panel.document import LONGEST_DOCUMENT, MOST_ITEMS, PanelDocument
from judge_gym.panel.panel import Panel
from judge_gym.panel.state import SPARED
from judge_gym.report.writing import ENVIRONMENT


def panel_page(
    panel: Panel, samples: Sequence[PanelDocument], nonce: str, *, asks_token: bool
) -> str:
    """Return the page; its style and script have the nonce, and it loads nothing from anywhere.

    What the page shows of runs is put there as text by its script, and never read as markup.
    """
    return ENVIRONMENT.get_template("panel.html.j2").render(
        panel=panel,
        samples=[sample.model_dump(mode="json") for sample in samples],
        nonce=nonce,
        asks_token=asks_token,
        simulated=any(map(is_simulated_model, panel.models)),
        most_items=MOST_ITEMS,
        longest=LONGEST_DOCUMENT,
        spared=SPARED,
    )
