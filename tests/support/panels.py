"""A small panel and document, and a provider that answers each of its models by its own step."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from judge_gym.panel import (
    Anchor,
    Arbiter,
    Panel,
    PanelItem,
    PanelRubric,
    PanelState,
    Rater,
    ReviewedDocument,
)
from judge_gym.panel.state import ItemReview, RaterState, Review
from support.misbehaving import Step, answers

ANCHORS = ("Poor", "Weak", "Adequate", "Strong", "Excellent")
ITEMS = ("one", "two")
SECRET = "the swans of the lower mill"
"""Words that stand in the document and nowhere else."""


def a_rubric(**changes: Any) -> PanelRubric:
    """From 1 to 5."""
    anchors = tuple(Anchor(name=name, description=f"It is {name}.") for name in ANCHORS)
    return PanelRubric(**({"task": "Review the proposal.", "anchors": anchors} | changes))


def a_panel(raters: int = 3, provider: str = "real", **changes: Any) -> Panel:
    """Raters of the models real/a, real/b, …, and an arbiter of real/arbiter."""
    given = {
        "name": "small",
        "rubric": a_rubric(),
        "raters": tuple(
            Rater(label=f"View {letter}", model=f"{provider}/{letter}", persona="You look.")
            for letter in "abcdefgh"[:raters]
        ),
        "arbiter": Arbiter(model=f"{provider}/arbiter"),
    }
    return Panel(**(given | changes))


def a_document(ids: Sequence[str] = ITEMS, text: str = f"Feed {SECRET}.") -> ReviewedDocument:
    return ReviewedDocument(
        id="sample",
        title=f"On {SECRET}",
        items=tuple(PanelItem(id=one, text=f"{text} Item {one}.") for one in ids),
    )


def review_said(overall: Any = 3, **scores: Any) -> str:
    """A rater's answer; without `scores` each item has the overall one."""
    items = scores or dict.fromkeys(ITEMS, overall)
    entries = [{"id": name, "score": score, "comment": "Fair."} for name, score in items.items()]
    return json.dumps(
        {"items": entries, "overall_comment": "Fair enough.", "overall_score": overall}
    )


def verdict_said(score: Any = 3) -> str:
    """The arbiter's answer."""
    return json.dumps({"rationale": "I follow rater_a.", "final_score": score})


def reviews(overall: Any = 3, **scores: Any) -> Step:
    """A step that answers as a rater."""
    return answers(review_said(overall, **scores))


def decides(score: Any = 3) -> Step:
    """A step that answers as the arbiter."""
    return answers(verdict_said(score))


def by_model(**steps: Step | Sequence[Step]) -> Step:
    """A step that answers each model by its own, or by several in turn, the last for ever."""
    left = {name: [*one] if isinstance(one, Sequence) else [one] for name, one in steps.items()}

    async def step(request: web.Request) -> web.StreamResponse:
        mine = left[(await request.json())["model"]]
        return await (mine.pop(0) if len(mine) > 1 else mine[0])(request)

    return step


def three(first: int = 3, second: int = 3, third: int = 3) -> Mapping[str, Step]:
    """Steps of three raters that give these overall scores."""
    return {"a": reviews(first), "b": reviews(second), "c": reviews(third)}


def reviewed(name: str, *scores: int, comment: str = "Fair.") -> RaterState:
    """A rater that gave these scores; the last is the overall one."""
    items = tuple(
        ItemReview(id=item, score=score, comment=comment)
        for item, score in zip(ITEMS, scores[:-1], strict=True)
    )
    review = Review(items=items, overall_score=scores[-1], overall_comment=comment)
    return RaterState(name=name, label=f"View {name}", model="real/m", status="done", review=review)


def statuses(state: PanelState) -> list[str]:
    """How far each rater is."""
    return [rater.status for rater in state.raters]
