"""A panel where a judge is taken, and a judge where a panel's rater is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import InstanceOf
from sqlalchemy.orm import Session

from judge_gym.asking.estimating import UsageEstimate
from judge_gym.judges import Item, ModelJudge
from judge_gym.judges.delegated import Delegated, DelegatedJudge, PanelJudgeFile
from judge_gym.judges.scale import Scale
from judge_gym.llm.providers import Providers
from judge_gym.panel.document import LONGEST_DOCUMENT, LONGEST_TITLE, as_document
from judge_gym.panel.evaluating.planning import use_of_documents
from judge_gym.panel.files import load_panel
from judge_gym.panel.judge_raters import texts_of
from judge_gym.panel.panel import JudgeRater, Panel, Rater
from judge_gym.panel.prompting import review_prompt
from judge_gym.panel.running import review_document
from judge_gym.panel.state import DONE, PanelState
from judge_gym.prompts import Prompt
from judge_gym.records.judgements import LONGEST_REASON, Reading
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings


class PanelJudge(DelegatedJudge):
    """A panel that judges a text as a document of one item; its score is the arbiter's.

    `subscores` is rater → its overall score. A text is in parts of 10,000 characters; a context is
    the document's title, or its first item where it is longer than one.
    """

    kind: Literal["panel"] = "panel"
    panel: InstanceOf[Panel]

    @property
    def identity(self) -> dict[str, Any]:
        # Whom a panel asks is no part of its own identity, and decides what the arbiter sees.
        escalate = self.panel.escalate
        return {
            "kind": self.kind,
            "panel": self.panel.key,
            "escalate": escalate.model_dump() if escalate else None,
        }

    @property
    def models(self) -> tuple[str, ...]:
        raters = [model for rater in self.panel.raters for model in rater.models]
        return tuple(dict.fromkeys([*raters, self.panel.arbiter.model]))

    @property
    def answerers(self) -> tuple[str, ...]:
        judges = [
            one for rater in self.panel.raters if isinstance(rater, JudgeRater)
            for one in rater.judge.answerers
        ]  # fmt: skip
        return tuple(dict.fromkeys([*self.models, *judges]))

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(rater.label for rater in self.panel.raters)

    @property
    def scale(self) -> Scale:
        """The rubric's scale."""
        return self.panel.rubric.scale

    @property
    def calls_per_item(self) -> int:
        return sum(rater.calls_per_item for rater in self.panel.raters) + 1

    def prompts(self, item: Item, mark_from: str) -> tuple[Prompt, ...]:
        document = as_document(item)
        of_raters = (
            review_prompt(self.panel, rater, document, mark_from)
            for rater in self.panel.raters
            if isinstance(rater, Rater)
        )
        of_judges = (
            prompt
            for rater in self.panel.raters
            if isinstance(rater, JudgeRater)
            for leaf in rater.judge.leaves
            if isinstance(leaf, ModelJudge | DelegatedJudge)
            for prompt in leaf.prompts(texts_of(document)[0], mark_from)
        )
        return (*of_raters, *of_judges)

    def estimated(
        self,
        session: Session,
        providers: Providers,
        settings: Settings,
        items: Sequence[Item],
        judgements: int,
    ) -> UsageEstimate | None:
        documents = [as_document(item) for item in items]
        return use_of_documents(session, providers, settings, self.panel, documents, judgements)

    async def judge_one(
        self, runtime: Runtime, item: Item, repeat: int, review_day: str
    ) -> Delegated:
        length = len(item.text) + len(item.context)
        if length > LONGEST_DOCUMENT - LONGEST_TITLE:
            failure = f"too_long: {length:,} characters, of which a panel is shown 50,000"
            return Delegated(Reading("failed", failure=failure), (), item.simulated)
        document = as_document(item)
        state = await review_document(runtime, self.panel, document, repeat, review_day)
        return Delegated(_reading(state), state.call_ids, state.simulated or item.simulated)


def panel_judge(file: PanelJudgeFile, path: Path, depth: int) -> PanelJudge:
    """Return the judge of a judge file; `depth` as in `judges.files.judge_in`."""
    panel = load_panel(path.parent / file.panel, depth)
    return PanelJudge(name=file.name, panel=panel, gate=file.gate, certify=file.certify)


def _reading(state: PanelState) -> Reading:
    scores = {
        rater.label: float(rater.review.overall_score) for rater in state.raters if rater.review
    }
    verdict = state.consensus.verdict
    if state.phase == DONE and verdict is not None:
        return Reading("scored", float(verdict.final_score), scores, None, verdict.rationale)
    causes = [f"{rater.label}: {rater.error}" for rater in state.raters if rater.error]
    failure = "; ".join([f"no_consensus: {state.error}", *causes])
    return Reading("failed", None, scores, failure=failure[:LONGEST_REASON])
