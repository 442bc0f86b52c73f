"""A judge as a scorer of Inspect; needs inspect-ai in the same environment."""

import math
from pathlib import Path
from typing import Any

from judge_gym.errors import ConfigError
from judge_gym.integrations import NotScoredError, certified, text_item, unscored
from judge_gym.judges import Judge

try:
    from inspect_ai.scorer import Score, mean, scorer, stderr
except ImportError as error:
    raise ConfigError(
        "judge_gym.integrations.inspect needs Inspect, which is not installed.",
        "Install it beside judge-gym: pip install inspect-ai",
    ) from error


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator, unused-ignore]
def judge_scorer(judge: Judge | str | Path, **asked: Any) -> Any:
    """Return a scorer whose judge reads a sample's output, with its input as context.

    The value is on the judge's scale. Without a score, as of an empty output, it is NaN, a missing
    score to Inspect, and the explanation says why. `asked` are the certificate, slice, use and
    key of `certified`; without a certificate that holds, `CertificateError` ends the eval. A
    signature that was not checked is a `caution` of each score's metadata.
    """
    chosen = certified(judge, **asked)
    caution = chosen.caution

    async def score(state: Any, target: Any) -> Any:
        del target
        try:
            item = text_item(state.output.completion, state.input_text)
        except NotScoredError as error:
            return Score(value=math.nan, explanation=error.message)
        result = await chosen.ascore(item)
        if result.score is None:
            return Score(value=math.nan, explanation=unscored(result))
        return Score(
            value=result.score,
            answer=result.verdict,
            explanation=result.reason,
            metadata={
                "judge": result.judge,
                "subscores": result.subscores,
                **({"caution": caution} if caution else {}),
            },
        )

    return score
