"""What a call's seed and fence mark are drawn from (docs/decisions/0009-answer-cache.md)."""

from dataclasses import dataclass

from judge_gym.prompts import Prompt
from judge_gym.seeds import derive_seed
from judge_gym.settings import Settings


@dataclass(frozen=True)
class Origin:
    """The call's own key or, when answers are reused, what equal questions have in common."""

    key: str
    """What the fence mark of its prompt is drawn from."""
    shared: bool

    def seed(self, model: str, prompt: Prompt) -> int:
        """Return the seed to send, in [0, 2**63); replicates of a question differ."""
        asked = (model, prompt.messages) if self.shared else ()
        return derive_seed("call", self.key, *asked)


def origin(settings: Settings, call_key: str, replicate: str) -> Origin:
    """Return what the call with this key and replicate is drawn from."""
    if settings.reuse_answers:
        return Origin(f"replicate/{replicate}", shared=True)
    return Origin(call_key, shared=False)
