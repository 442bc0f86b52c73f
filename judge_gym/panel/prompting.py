"""What raters and the arbiter are asked, and how their answers are read: pure."""

import json
from collections.abc import Sequence
from typing import Any

from judge_gym.judges.model_judge import field_of
from judge_gym.judges.scale import Scale
from judge_gym.panel.agreement import clamped
from judge_gym.panel.document import ReviewedDocument
from judge_gym.panel.panel import Example, Panel, Rater
from judge_gym.panel.state import ArbiterVerdict, ItemReview, RaterState, Review
from judge_gym.prompts import Prompt, nonce, render
from judge_gym.questions.outcome import UNPRINTED
from judge_gym.records.judgements import LONGEST_REASON, MalformedAnswer

REVIEW_FORM = (
    '{"items": [{"id": "<item>", "score": <score>, "comment": "<one or two sentences>"}], '
    '"overall_comment": "<one to three sentences>", "overall_score": <score>}'
)
VERDICT_FORM = '{"rationale": "<two to five sentences>", "final_score": <score>}'
_FURTHEST = Scale(lowest=-1_000_000, highest=1_000_000)


def review_prompt(panel: Panel, rater: Rater, document: ReviewedDocument, mark_from: str) -> Prompt:
    """Render what a rater is asked; `mark_from` is what the mark of the fence is drawn from."""
    items = document.shown
    examples = [(example.items, _as_answer(example)) for example in rater.examples]
    return render(
        "panel_rater",
        rater=rater,
        rubric=panel.rubric,
        examples=examples,
        title=document.title,
        items=items,
        was_truncated=document.was_truncated,
        form=REVIEW_FORM,
        mark=nonce(mark_from, *shown_texts(document)),
    )


def verdict_prompt(panel: Panel, raters: Sequence[RaterState], mark_from: str) -> Prompt:
    """Render what the arbiter is asked: the rubric and the reviews, and who gave none."""
    reviewed = [rater for rater in raters if rater.review is not None]
    scores = [rater.review.overall_score for rater in reviewed if rater.review]
    return render(
        "panel_arbiter",
        rubric=panel.rubric,
        raters=reviewed,
        missing=[f"{rater.name}, {rater.label}" for rater in raters if rater.status == "error"],
        lowest=min(scores),
        highest=max(scores),
        form=VERDICT_FORM,
        mark=nonce(mark_from, *comments_of(reviewed)),
    )


def shown_texts(document: ReviewedDocument) -> tuple[str, ...]:
    """Return the texts of a document that a rater sees."""
    return (document.title, *(item.text for item in document.shown))


def comments_of(raters: Sequence[RaterState]) -> tuple[str, ...]:
    """Return the texts of reviews that the arbiter sees."""
    return tuple(
        comment
        for review in (rater.review for rater in raters if rater.review)
        for comment in (review.overall_comment, *(item.comment for item in review.items))
    )


def review_schema(scale: Scale, ids: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of a review, within what every provider's strict mode knows."""
    score = {
        "type": "integer",
        "description": f"From {scale.lowest} (worst) to {scale.highest} (best).",
    }
    comment = {"type": "string"}
    item = {"id": {"type": "string", "enum": list(ids)}, "score": score, "comment": comment}
    items = {"type": "array", "items": _object(item)}
    return _object({"items": items, "overall_comment": comment, "overall_score": score})


def verdict_schema() -> dict[str, Any]:
    """Return the JSON schema of the arbiter's answer."""
    return _object({"rationale": {"type": "string"}, "final_score": {"type": "integer"}})


def read_review(fields: dict[str, Any], scale: Scale, ids: Sequence[str]) -> Review:
    """Return the review that an object says, in the order of `ids`; raises `MalformedAnswer`.

    Every item is to be there once, with a score of the scale and a comment.
    """
    entries = field_of(fields, "items")
    if not isinstance(entries, list):
        raise MalformedAnswer("'items' is not a list")
    by_id: dict[str, ItemReview] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            raise MalformedAnswer("'items' has an entry that is not an object")
        name = str(field_of(entry, "id")).strip()
        if name not in ids:
            raise MalformedAnswer(f"'items' has {name[:60]!r}, which is no item of the document")
        if name in by_id:
            raise MalformedAnswer(f"'items' has {name!r} twice")
        score = int(scale.mark(field_of(entry, "score"), name))
        by_id[name] = ItemReview(id=name, score=score, comment=_text(entry, "comment", name))
    if missing := [name for name in ids if name not in by_id]:
        raise MalformedAnswer(f"'items' lacks {', '.join(map(repr, missing))[:200]}")
    return Review(
        items=tuple(by_id[name] for name in ids),
        overall_score=int(scale.mark(field_of(fields, "overall_score"), "overall_score")),
        overall_comment=_text(fields, "overall_comment", "the whole"),
    )


def read_verdict(fields: dict[str, Any], scores: Sequence[int]) -> ArbiterVerdict:
    """Return what the arbiter says, its score held within the raters' `scores`.

    Raises `MalformedAnswer`.
    """
    raw = _FURTHEST.mark(field_of(fields, "final_score"), "final_score")
    if raw != int(raw):
        raise MalformedAnswer(f"final_score: {raw:g} is not a whole number")
    rationale = _text(fields, "rationale", "the whole")
    return ArbiterVerdict(
        final_score=clamped(int(raw), scores), raw_score=int(raw), rationale=rationale
    )


def _as_answer(example: Example) -> str:
    """Return a worked example in the form that answers have, readable."""
    items = [
        {"id": str(number), "score": item.score, "comment": item.comment}
        for number, item in enumerate(example.items, start=1)
    ]
    lines = ",\n".join(f"  {json.dumps(item, ensure_ascii=False)}" for item in items)
    whole = json.dumps(example.overall_comment, ensure_ascii=False)
    score = example.overall_score
    return f'{{"items": [\n{lines}\n], "overall_comment": {whole}, "overall_score": {score}}}'


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(fields: dict[str, Any], name: str, of: str) -> str:
    """Return words of an answer in one line; raises `MalformedAnswer` when there are none."""
    value = field_of(fields, name)
    text = " ".join(UNPRINTED.sub(" ", value).split()) if isinstance(value, str) else ""
    if not text:
        raise MalformedAnswer(f"{of}: {name!r} is not a text")
    return text[:LONGEST_REASON]
