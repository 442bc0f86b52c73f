"""Prompts like those a sweep will send, rendered from what is there and stand-ins for the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from judge_gym.design.experiment import EvidenceView, Experiment
from judge_gym.design.rubric import Rubric, stage_text, whole_text
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.bundling import Bundling
from judge_gym.design.strategies.scoring import Scoring
from judge_gym.design.strategies.view import VIEWS
from judge_gym.evidence.pairs import Pair
from judge_gym.lab.embedding import embedding_prompt
from judge_gym.lab.rubrics import request_key
from judge_gym.lab.texts import WindowTexts, usual_rubric, words
from judge_gym.prompts import Prompt
from judge_gym.questions.critic import critic_prompt
from judge_gym.questions.editor import view_prompt
from judge_gym.questions.prober import ScoredSample, probe_prompt
from judge_gym.questions.rubricer import RubricRequest, rubric_prompt
from judge_gym.questions.score_critic import score_critic_prompt
from judge_gym.questions.scorer import scoring_prompt
from judge_gym.records.calls import EMBEDDER
from judge_gym.records.shown import ShownDocument, present, shown_to
from judge_gym.store.embeddings import text_to_embed
from judge_gym.store.rubrics import applied_key, ready_rubric

SUBJECTS, PAIRS = 20, 3
"""How many experiments, requests or windows of a kind are looked at, and pairs of each."""
ANSWER_WORDS = 300
"""The length of the answer that a probe in the same conversation repeats, and a critic reads."""
KEY = "example"


@dataclass(frozen=True)
class ViewRequest:
    """One view of a window's documents."""

    window_key: str
    view: EvidenceView


Subject = Experiment | RubricRequest | ViewRequest


@dataclass
class Examples:
    """Renders examples; notes whether a rubric was assumed."""

    session: Session
    texts: WindowTexts
    assumed_rubrics: bool = field(default=False, init=False)

    def of(self, agent: str, subjects: Sequence[Subject]) -> list[Prompt]:
        """Return some prompts of an agent about these subjects, at least one for each looked at."""
        # Evenly spread, so that every part of a large sweep has its say.
        step = max(1, len(subjects) // SUBJECTS)
        return [
            prompt for subject in subjects[::step][:SUBJECTS] for prompt in self._of(agent, subject)
        ]

    def _of(self, agent: str, subject: Subject) -> Iterator[Prompt]:
        if isinstance(subject, ViewRequest) and agent == EMBEDDER:
            document = self.texts.typical(subject.window_key, subject.view)
            yield embedding_prompt(text_to_embed(document, titled=subject.view == "raw"))
        elif isinstance(subject, ViewRequest):
            before = VIEWS[VIEWS.index(subject.view) - 1]
            document = self.texts.typical(subject.window_key, before)
            limit = self.texts.settings.summary_words
            yield view_prompt(subject.view, document.text, limit, KEY)
        elif isinstance(subject, RubricRequest):
            if agent == "rubricer":
                yield rubric_prompt(subject)
                return
            rubric = self._rubric(request_key(subject), subject.scale_size)
            if agent == EMBEDDER:
                stages = [stage_text(one.label, one.criteria) for one in rubric.stages]
                yield from map(embedding_prompt, (whole_text(stages), *stages))
            else:
                yield critic_prompt(rubric, subject.concept, subject.country, KEY)
        else:
            yield from self._about_items(agent, subject)

    def _about_items(self, agent: str, experiment: Experiment) -> Iterator[Prompt]:
        options = experiment.rubric.rubric if experiment.task_type == "pairs" else None
        rubric = options or self._rubric(applied_key(experiment), experiment.scale_size)
        for documents in self._items(experiment):
            yield judging_prompt(agent, experiment, rubric, documents, words(ANSWER_WORDS))

    def _items(self, experiment: Experiment) -> list[list[ShownDocument]]:
        window_key, view = experiment.window.key, experiment.evidence_view
        if experiment.task_type == "pairs":
            pairs = self.texts.nearest(window_key, view, PAIRS)
            return [[pair] for pair in pairs] or [[ShownDocument("", _PAIR.text)]]
        size = resolve(experiment).of(Bundling).size
        return [[self.texts.typical(window_key, view)] * size]

    def _rubric(self, key: str, scale_size: int) -> Rubric:
        rubric = ready_rubric(self.session, key)
        if rubric is None:
            self.assumed_rubrics = True
            return usual_rubric(scale_size)
        return rubric


def judging_prompt(
    agent: str,
    experiment: Experiment,
    rubric: Rubric,
    documents: Sequence[ShownDocument],
    answer: str,
) -> Prompt:
    """Return a prompt of a scorer, prober or score critic about an item.

    `answer` is that of the judgement which the prober or the critic is asked about.
    """
    shown = shown_to(experiment, documents)
    presentation = present(experiment, KEY, 0)
    scoring = scoring_prompt(experiment, rubric, shown, presentation, KEY)
    if agent == "scorer":
        return scoring
    subset = resolve(experiment).of(Scoring).subset
    stages = 2**experiment.scale_size - 1 if subset else 1
    sample = ScoredSample(rubric, shown, presentation, stages, scoring.messages, answer)
    if agent == "prober":
        return probe_prompt(experiment, sample, KEY)
    return score_critic_prompt(experiment, sample, answer, KEY)


_PAIR = Pair(words(100), words(250), words(250))
"""Stands in for a pair that is not collected yet."""
