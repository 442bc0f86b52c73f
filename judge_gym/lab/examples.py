"""Prompts like those a sweep will send, rendered from what is there and stand-ins for the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from judge_gym.asking.estimating import ARTICLE_WORDS
from judge_gym.design.experiment import EvidenceView, Experiment
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.bundling import Bundling
from judge_gym.design.strategies.view import VIEWS
from judge_gym.evidence.pairs import Pair
from judge_gym.lab.rubrics import request_key
from judge_gym.prompts import Prompt
from judge_gym.questions.critic import critic_prompt
from judge_gym.questions.editor import view_prompt
from judge_gym.questions.prober import ScoredSample, probe_prompt
from judge_gym.questions.rubricer import RubricRequest, rubric_prompt
from judge_gym.questions.score_critic import score_critic_prompt
from judge_gym.questions.scorer import scoring_prompt
from judge_gym.records.shown import ShownDocument, present
from judge_gym.store.rubrics import applied_key, ready_rubric
from judge_gym.store.windows import first_documents

SUBJECTS, ITEMS = 20, 3
"""How many experiments, requests or windows of a kind are looked at, and items of each."""
ANSWER_WORDS = 300
"""The length of the answer that a probe in the same conversation repeats, and a critic reads."""
_CLAUSE = ("the", "court", "heard", "two", "newspapers", "and", "the", "minister", "answered")
_KEY = "example"


@dataclass(frozen=True)
class ViewRequest:
    """One view of a window's documents."""

    window_key: str
    view: EvidenceView


Subject = Experiment | RubricRequest | ViewRequest


@dataclass
class Examples:
    """Renders examples; notes whether a stand-in was needed."""

    session: Session
    summary_words: int
    stood_in: bool = field(default=False, init=False)

    def of(self, agent: str, subjects: Sequence[Subject]) -> list[Prompt]:
        """Return some prompts of an agent about these subjects, at least one for each looked at."""
        # Evenly spread, so that every part of a large sweep has its say.
        step = max(1, len(subjects) // SUBJECTS)
        return [
            prompt for subject in subjects[::step][:SUBJECTS] for prompt in self._of(agent, subject)
        ]

    def _of(self, agent: str, subject: Subject) -> Iterator[Prompt]:
        if isinstance(subject, ViewRequest):
            before = VIEWS[VIEWS.index(subject.view) - 1]
            for document in self._documents(subject.window_key, before, ITEMS):
                yield view_prompt(subject.view, document.text, self.summary_words, _KEY)
        elif isinstance(subject, RubricRequest):
            if agent == "rubricer":
                yield rubric_prompt(subject)
            else:
                rubric = self._rubric(request_key(subject), subject.scale_size)
                yield critic_prompt(rubric, subject.concept, subject.country, _KEY)
        else:
            yield from self._about_items(agent, subject)

    def _about_items(self, agent: str, experiment: Experiment) -> Iterator[Prompt]:
        size = resolve(experiment).of(Bundling).size
        options = experiment.rubric.rubric if experiment.task_type == "pairs" else None
        rubric = options or self._rubric(applied_key(experiment), experiment.scale_size)
        documents = self._documents(
            experiment.window.key,
            experiment.evidence_view,
            ITEMS * size,
            _PAIR.text if options else None,
        )
        for start in range(0, max(1, len(documents) - size + 1), size):
            shown = documents[start : start + size]
            presentation = present(experiment, _KEY, start)
            scoring = scoring_prompt(experiment, rubric, shown, presentation, _KEY)
            if agent == "scorer":
                yield scoring
                continue
            answer = _words(ANSWER_WORDS)
            sample = ScoredSample(rubric, shown, presentation, 1, scoring.messages, answer)
            if agent == "prober":
                yield probe_prompt(experiment, sample, _KEY)
            else:
                yield score_critic_prompt(experiment, sample, answer, _KEY)

    def _documents(
        self, window_key: str, view: EvidenceView, count: int, stand_in: str | None = None
    ) -> list[ShownDocument]:
        """Return documents in `view`; what is not made yet is taken to be as long as usual."""
        documents = first_documents(self.session, window_key, view, count)
        if not documents:
            self.stood_in = True
            return [ShownDocument(_words(8), stand_in or self._usual(view))] * count
        shown = []
        for document in documents:
            text = document.text if view == "raw" else document.view
            if text is None:
                self.stood_in = True
                # Cleaning takes away little; a summary is never longer than the article.
                text = (
                    document.text
                    if view == "cleaned"
                    else min(self._usual(view), document.text, key=len)
                )
            shown.append(document.shown(text))
        return shown

    def _usual(self, view: EvidenceView) -> str:
        return _words(ARTICLE_WORDS if view in ("raw", "cleaned") else self.summary_words)

    def _rubric(self, key: str, scale_size: int) -> Rubric:
        rubric = ready_rubric(self.session, key)
        if rubric is None:
            self.stood_in = True
            stage = {"label": _words(4), "criteria": [_words(15)] * 4}
            rubric = Rubric.model_validate({"stages": [stage] * scale_size})
        return rubric


def _words(count: int) -> str:
    return " ".join(_CLAUSE[number % len(_CLAUSE)] for number in range(count))


_PAIR = Pair(_words(100), _words(250), _words(250))
"""Stands in for a pair that is not collected yet."""
