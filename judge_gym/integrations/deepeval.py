"""A judge as a metric of DeepEval; needs deepeval in the same environment."""

from pathlib import Path
from typing import Any

from judge_gym.errors import ConfigError
from judge_gym.integrations import NotScoredError, certified, text_item, unscored
from judge_gym.judges import Judge
from judge_gym.judges.base import run_now

try:
    from deepeval.metrics import BaseMetric
except ImportError as error:
    raise ConfigError(
        "judge_gym.integrations.deepeval needs DeepEval, which is not installed.",
        "Install it beside judge-gym: pip install deepeval",
    ) from error


class JudgeMetric(BaseMetric):  # type: ignore[misc, unused-ignore]
    """The score of a judge of a test case's actual output, with its input as context.

    The score is from 0 to 1: the share of the judge's scale. `threshold` is on it, too. Where the
    judge gives no score, `measure` raises `NotScoredError`. `asked` are the certificate,
    slice, use and key of `certified`, which raises `CertificateError`.
    """

    def __init__(self, judge: Judge | str | Path, threshold: float = 0.5, **asked: Any) -> None:
        self._certified = certified(judge, **asked)
        self.judge, self.threshold, self.async_mode = self._certified.judge, threshold, True
        self.score: float | None = None
        self.reason: str | None = None
        self.success: bool | None = None

    def measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
        """Return the score of a test case."""
        return run_now(self.a_measure(test_case, *args, **kwargs))

    async def a_measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
        """Return the score as `measure` does, in async code."""
        del args, kwargs
        try:
            item = text_item(test_case.actual_output, str(test_case.input or ""))
        except NotScoredError as error:
            self.error = error.message
            raise
        result = await self._certified.ascore(item)
        if result.score is None:
            self.error = unscored(result)
            raise NotScoredError(f"{self.judge.called} gave no score: {self.error}.", "")
        lowest, highest = self.judge.score_range
        self.score = (result.score - lowest) / (highest - lowest)
        self.reason, self.success = result.reason, self.score >= self.threshold
        return self.score

    def is_successful(self) -> bool:
        """Whether the last score reached the threshold."""
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return f"judge-gym: {self.judge.name}"
