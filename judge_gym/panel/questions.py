"""The questions of a panel: a rater's about the document, and the arbiter's about the reviews."""

from collections.abc import Sequence
from functools import partial

from judge_gym.panel import prompting as prompts
from judge_gym.panel.asking import Question
from judge_gym.panel.document import PanelDocument
from judge_gym.panel.panel import Panel
from judge_gym.panel.state import RaterState, Review, Verdict


def of_rater(panel: Panel, place: int, document: PanelDocument, key: str) -> Question[Review]:
    """Return the question to the rater in this place; its calls' keys begin with `key`."""
    rater, scale = panel.raters[place], panel.rubric.scale
    ids = [item.id for item in document.shown]
    return Question(
        key=key,
        agent="rater",
        asked=rater,
        prompt=prompts.review_prompt(panel, rater, document, key),
        schema=prompts.review_schema(scale, ids),
        form=prompts.REVIEW_FORM,
        read=partial(prompts.read_review, scale=scale, ids=ids),
        shown=prompts.shown_texts(document),
    )


def of_arbiter(panel: Panel, raters: Sequence[RaterState], key: str) -> Question[Verdict]:
    """Return the question to the arbiter; its calls' keys begin with `key`."""
    reviews = [rater.review for rater in raters if rater.review]
    return Question(
        key=key,
        agent="arbiter",
        asked=panel.arbiter,
        prompt=prompts.verdict_prompt(panel, raters, key),
        schema=prompts.verdict_schema(),
        form=prompts.VERDICT_FORM,
        read=partial(prompts.read_verdict, scores=[one.overall_score for one in reviews]),
        shown=prompts.comments_of(raters),
        about_simulated=any(rater.simulated for rater in raters),
    )
