"""Judges that a room above this one asks: a panel as a judge of texts.

Their answers are rows of that room, too, and their calls stand in the ledger.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from judge_gym.design.fields import Frozen
from judge_gym.judges.base import Judge
from judge_gym.judges.certify_rule import CertifyRule
from judge_gym.judges.gate_rule import GateRule
from judge_gym.prompts import Prompt
from judge_gym.records.items import Item
from judge_gym.records.judgements import Reading

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from judge_gym.asking.estimating import UsageEstimate
    from judge_gym.llm.providers import Providers
    from judge_gym.settings import Settings


class PanelJudgeFile(Frozen):
    """A panel as a judge of texts: its raters review the text, and its arbiter's score counts."""

    kind: Literal["panel"] = "panel"
    name: str = Field(min_length=1, max_length=100)
    """What people call it; no part of its identity."""
    panel: Path
    """The panel's file, relative to this file."""
    gate: GateRule | None = None
    """What it has to reach in `judge-gym judge gate`; no part of its identity."""
    certify: CertifyRule | None = None
    """What `judge-gym judge certify` has to show of it; no part of its identity."""


@dataclass(frozen=True)
class Delegated:
    """What came of one judgement."""

    reading: Reading
    call_ids: tuple[int, ...]
    simulated: bool


class DelegatedJudge(Judge):
    """A judge that asks its models itself."""

    @property
    def asks_model(self) -> bool:
        return True

    @property
    def answered_by(self) -> str:
        return " + ".join(self.answerers)

    def prompts(self, item: Item, mark_from: str) -> tuple[Prompt, ...]:
        """Render what its models are asked of one item, as far as that is known before answers.

        `mark_from` is what the mark of the fences is drawn from.
        """
        raise NotImplementedError

    def estimated(
        self,
        session: "Session",
        providers: "Providers",
        settings: "Settings",
        items: Sequence[Item],
        judgements: int,
    ) -> "UsageEstimate | None":
        """Return what so many judgements of items will use; None where that is not known."""
        raise NotImplementedError

    async def judge_one(self, runtime: Any, item: Item, repeat: int, review_day: str) -> Delegated:
        """Judge an item with the open `Runtime`; raises as `judging.judge_items` does."""
        raise NotImplementedError
