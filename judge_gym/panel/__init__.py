"""The panel: several raters review one document, an arbiter says what they come to.

    from judge_gym.panel import load_document, load_panel
    from judge_gym.panel.running import run_panel

    panel = load_panel(Path("deployments/panels/proposal.yaml"))
    document = load_document(Path("deployments/panels/library.yaml"))
    async with runtime() as current:
        state = await run_panel(current, panel, document, emit=show)

A document is a title and items; each rater has a model, a persona and worked examples, and gives
each item and the whole a score with a comment. The arbiter sees the rubric and the reviews, never
the document. `emit` is given a `PanelState` after every step: whole, immutable, numbered in order,
without the document's text. What one rater cannot do is kept as its error and the others go on;
with fewer than two reviews, or without the arbiter's answer, the run ends in phase `error`.

Reviews and consensus are kept by the document's and the panel's identity: the same run again asks
nothing, and a rater that had failed is asked again. Whether a panel helps, documents with known
scores tell: `judge_gym.panel.evaluating`.
"""

from judge_gym.panel.document import PanelItem, ReviewedDocument, load_document
from judge_gym.panel.files import load_panel
from judge_gym.panel.panel import Arbiter, Panel, Rater
from judge_gym.panel.rubric import Anchor, PanelRubric
from judge_gym.panel.state import PanelState

__all__ = [
    "Anchor",
    "Arbiter",
    "Panel",
    "PanelItem",
    "PanelRubric",
    "PanelState",
    "Rater",
    "ReviewedDocument",
    "load_document",
    "load_panel",
]
