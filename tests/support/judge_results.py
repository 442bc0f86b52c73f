"""Results of judges, as the ledger would return them."""

from typing import Any

from judge_gym.judges import Item, JudgeResult


def a_result(item: Item | str, score: float | None, **given: Any) -> JudgeResult:
    """A result with this score, or one that failed; `given` are its other fields.

    An item without a text is named by its id, which is its key then.
    """
    name, key = (item, item) if isinstance(item, str) else (item.id, item.key)
    ended = ("scored", None) if score is not None else ("failed", "x: y")
    others = {
        "judge": "judge", "model": "m", "item": name, "item_key": key, "corpus": "",
        "variant": None, "repeat": 0, "status": ended[0], "subscores": {}, "verdict": None,
        "reason": "", "failure": ended[1], "call_ids": (), "duration_s": None, "simulated": False,
    }  # fmt: skip
    return JudgeResult(score=score, **{**others, **given})
