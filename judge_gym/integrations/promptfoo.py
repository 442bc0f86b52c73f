"""A judge as a Python assertion of promptfoo, which calls `get_assert` of a file::

from judge_gym.integrations.promptfoo import assertion

get_assert = assertion("judge.yaml", threshold=0.5)
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from judge_gym.errors import JudgeGymError
from judge_gym.integrations import NotScoredError, certified, text_item, unscored
from judge_gym.judges import Judge
from judge_gym.judges.base import run_now
from judge_gym.judges.certifying.checking import CertificateError

Graded = dict[str, Any]
"""A result as promptfoo takes it: `pass`, `score` from 0 to 1, and `reason`."""


def assertion(
    judge: Judge | str | Path, threshold: float = 0.5, **asked: Any
) -> Callable[[str, Mapping[str, Any]], Graded]:
    """Return the assertion that a judge's score of an output reaches `threshold`.

    Scores are shares of the judge's scale. The judge reads the prompt as context. Without a score
    the assertion fails, and the reason says why. `asked` are the certificate, slice, use and
    key of `certified`: where the certificate does not hold, every assertion fails with that
    reason. A signature that was not checked is a caution at the end of each reason.
    """

    def get_assert(output: str, context: Mapping[str, Any]) -> Graded:
        try:
            chosen = certified(judge, **asked)
            item = text_item(output, str(context.get("prompt") or ""))
            result = run_now(chosen.ascore(item))
            if result.score is None:
                raise NotScoredError(f"There is no score: {unscored(result)}.", "")
        except (NotScoredError, CertificateError) as error:
            return {"pass": False, "score": 0.0, "reason": error.message}
        except JudgeGymError as error:
            return {"pass": False, "score": 0.0, "reason": str(error)}
        lowest, highest = chosen.judge.score_range
        share = (result.score - lowest) / (highest - lowest)
        reason = " Caution: ".join(filter(None, (result.reason, chosen.caution)))
        return {"pass": share >= threshold, "score": share, "reason": reason}

    return get_assert
