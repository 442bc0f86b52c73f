"""Judges as components of other tools: an Inspect scorer, a DeepEval metric, a plain function."""

from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from judge_gym.errors import JudgeGymError
from judge_gym.judges import Item, Judge
from judge_gym.records.items import LONGEST_TEXT
from judge_gym.records.judgements import JudgeResult


class NotScoredError(JudgeGymError):
    """A judge gave no score; nothing takes its place."""


def judge_of(judge: Judge | str | Path) -> Judge:
    """Return a judge, or the one of a file; raises `ConfigError` for one of pairs."""
    return judge if isinstance(judge, Judge) else Judge.from_file(judge)


def text_item(text: str | None, context: str = "") -> Item:
    """Return what a judge reads; raises `NotScoredError` for a text that none can judge."""
    if not text:
        raise NotScoredError("There is no score: the text is empty.", "")
    if not isinstance(text, str):
        raise NotScoredError(f"There is no score: {text!r} is no text.", "Give a str.")
    for name, given in (("text", text), ("context", context)):
        if len(given) > LONGEST_TEXT:
            raise NotScoredError(
                f"There is no score: the {name} has {len(given):,} characters.",
                f"A judge reads at most {LONGEST_TEXT:,}.",
            )
    try:
        return Item(id="text", text=text, context=context)
    except ValidationError as error:
        fault = error.errors()[0]
        reason = str(fault["msg"]).removeprefix("Value error, ")
        raise NotScoredError(f"There is no score: the {fault['loc'][0]} {reason}.", "") from None


def unscored(result: JudgeResult) -> str:
    """Return why a result has no score."""
    return result.failure or result.status


def scoring_function(judge: Judge | str | Path) -> Callable[..., float]:
    """Return a function `score(text, context="")` of a judge, on the judge's scale.

    It raises `NotScoredError` where the judge gives no score, and for an empty text.
    """
    chosen = judge_of(judge)

    def score(text: str, context: str = "") -> float:
        result = chosen.score(text_item(text, context))
        if result.score is None:
            raise NotScoredError(
                f"{chosen.called} gave no score: {unscored(result)}.",
                "Judge the text again with judge-gym judge score --retry-failed.",
            )
        return result.score

    return score
