"""judge-gym: a lab and a referee for LLM judges.

from judge_gym import Judge

result = Judge.from_file("judge.yaml").score("A text.")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judge_gym.judges import Item, Judge, JudgeResult, load_judge

__all__ = ["Item", "Judge", "JudgeResult", "load_judge"]


def __getattr__(name: str) -> Any:
    # Importing the package's other parts must not pay for judges.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from judge_gym import judges

    return getattr(judges, name)
