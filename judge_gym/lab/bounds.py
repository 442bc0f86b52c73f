"""What prompts of a sweep have in tokens at most: every text measured or taken at its limit."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import ceil, log, sqrt

from sqlalchemy.orm import Session

from judge_gym.asking.estimating import ARTICLE_WORDS
from judge_gym.design.experiment import EvidenceView, Experiment
from judge_gym.design.plans import SwapPlan
from judge_gym.design.rubric import Rubric, stage_text, whole_text
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.bundling import Bundling
from judge_gym.design.strategies.rubrics import Rubrics
from judge_gym.design.strategies.sampling import Sampling
from judge_gym.design.strategies.view import VIEWS, Viewing
from judge_gym.evidence.pairs import Pair
from judge_gym.lab.embedding import embedding_prompt
from judge_gym.lab.evidence import longest_answer
from judge_gym.lab.examples import KEY, ViewRequest, judging_prompt
from judge_gym.lab.rubrics import LONGEST_ANSWER
from judge_gym.lab.texts import WindowTexts, longest_rubric, words
from judge_gym.llm.capabilities import taken_by
from judge_gym.llm.pricing import most_prompt_tokens, most_tokens
from judge_gym.llm.providers import Providers
from judge_gym.prompts import continued, render
from judge_gym.questions.critic import critic_prompt
from judge_gym.questions.editor import view_prompt
from judge_gym.questions.material import texts_shown
from judge_gym.questions.rubricer import ASKED_AGAIN, RubricRequest, rubric_prompt
from judge_gym.records.shown import ShownDocument, shown_to
from judge_gym.store.embeddings import text_to_embed
from judge_gym.store.rubrics import applied_key, ready_rubric, rubric_ids
from judge_gym.store.samples import SECOND_PROBE_ONE_IN

_FAULTS, _FAULT_WORDS = 24, 60
"""More than a rubric's list of faults has, and more than the words of each."""
_CHANCE = 1e-9
"""How likely more samples are probed twice than are counted."""


@dataclass(frozen=True)
class TokenBound:
    """Tokens at most of the items of an experiment: on average, and of the longest one."""

    mean: float
    longest: float


@dataclass(frozen=True)
class _Sized:
    """A rubric with its tokens at most."""

    rubric: Rubric
    tokens: int


@dataclass
class PromptBounds:
    """Counts prompts at most; notes whether evidence had to be assumed."""

    session: Session
    texts: WindowTexts
    providers: Providers
    utility: str
    known: bool = field(default=True, init=False)
    """Whether the counts are bounds: false once evidence was assumed."""
    _limits: dict[Hashable, float] = field(default_factory=dict, init=False)
    _frames: dict[Hashable, int] = field(default_factory=dict, init=False)
    _items: dict[Hashable, TokenBound] = field(default_factory=dict, init=False)
    _rubrics: dict[Hashable, _Sized] = field(default_factory=dict, init=False)
    _own_rubrics: dict[int, _Sized] = field(default_factory=dict, init=False)

    def limit(self, model: str, longest: float, experiment: Experiment | None = None) -> float:
        """Return the output limit of a request as it is sent, with the room for thinking."""
        effort = resolve(experiment).of(Sampling).reasoning_effort if experiment else None
        key = (model, longest, effort)
        if key not in self._limits:
            self._limits[key] = taken_by(self.providers, model).limit(longest, effort)
        return self._limits[key]

    def view(self, request: ViewRequest) -> float:
        """Return the mean of the prompts that ask for a view of a window's documents."""
        limit = self.texts.settings.summary_words
        frame = most_prompt_tokens(view_prompt(request.view, "", limit, KEY).messages)
        before = VIEWS[VIEWS.index(request.view) - 1]
        shown, bounds = self._documents(request.window_key, before)
        texts = sum(most_tokens(one.text) for one in shown) + sum(bounds)
        return frame + texts / max(1, len(shown))

    def embedded(self, request: ViewRequest) -> float:
        """Return the mean of the texts of a window's documents that are embedded."""
        shown, bounds = self._documents(request.window_key, request.view)
        titled = request.view == "raw"
        prompts = [
            most_prompt_tokens(embedding_prompt(text_to_embed(one, titled=titled)).messages)
            for one in shown
        ]
        return (sum(prompts) + sum(bounds)) / max(1, len(shown))

    def rubric(self, agent: str, request: RubricRequest) -> list[float]:
        """Return the prompts that ask for a rubric and for its repairs, or for its marks."""
        answer = self.limit(request.owner_model, LONGEST_ANSWER)
        if agent == "critic":
            rubric = longest_rubric(request.scale_size, answer)
            prompt = critic_prompt(rubric, request.concept, request.country, KEY)
            return [most_prompt_tokens(prompt.messages)]
        first = rubric_prompt(request)
        faults = render("rubric_again", faults=[words(_FAULT_WORDS)] * _FAULTS)
        again = most_prompt_tokens(continued((), "", faults).messages) + answer
        asked = most_prompt_tokens(first.messages)
        return [asked + repair * again for repair in range(ASKED_AGAIN + 1)]

    def embedded_rubric(self, request: RubricRequest) -> list[float]:
        """Return the texts of a rubric that are embedded: the whole, then each stage."""
        answer = self.limit(request.owner_model, LONGEST_ANSWER)
        rubric = longest_rubric(request.scale_size, answer)
        stages = [stage_text(one.label, one.criteria) for one in rubric.stages]
        texts = (whole_text(stages), *stages)
        return [most_prompt_tokens(embedding_prompt(text).messages) for text in texts]

    def look_up_rubrics(self, experiments: Sequence[Experiment], plan: SwapPlan | None) -> None:
        """Read the rubrics of all experiments that are written; `plan` may apply any of its scale.

        Swaps and shams apply those of judges that write their own.
        """
        keys = {applied_key(one) for one in experiments if one.rubric.rubric is None}
        for key in rubric_ids(self.session, keys):
            if (rubric := ready_rubric(self.session, key)) is not None:
                self._rubrics[key] = _sized(rubric)
        for experiment in experiments:
            if plan is None or experiment.rubric.kind != "own":
                continue
            scale = experiment.scale_size
            known = [self._applied(experiment), self._unwritten(experiment)]
            known += [self._own_rubrics[scale]] if scale in self._own_rubrics else []
            self._own_rubrics[scale] = max(known, key=lambda one: one.tokens)

    def judging(self, agent: str, experiment: Experiment, *, swapped: bool = False) -> TokenBound:
        """Return the prompts of a scorer, prober or score critic about an experiment's items.

        `swapped` judgements apply the longest rubric that a swap can show.
        """
        own = self._own_rubrics
        rubric = own[experiment.scale_size] if swapped else self._applied(experiment)
        frame = self._frame(agent, experiment, rubric)
        texts = self._texts(experiment)
        answer = 0.0
        if agent == "score_critic" or (agent == "prober" and experiment.probe_window == "same"):
            answer = self.limit(experiment.model, experiment.max_tokens, experiment)
        return TokenBound(frame + answer + texts.mean, frame + answer + texts.longest)

    def _frame(self, agent: str, experiment: Experiment, rubric: _Sized) -> int:
        """Return the tokens of a prompt without its texts and the answer it repeats."""
        key = (
            agent, experiment.concept, experiment.expertise, experiment.country,
            experiment.scale_size, experiment.scoring_method, experiment.abstain,
            experiment.wording, experiment.task_type, experiment.evidence_view,
            experiment.documents_together, experiment.probe_window, rubric.tokens,
        )  # fmt: skip
        if key not in self._frames:
            size = resolve(experiment).of(Bundling).size
            text = Pair("", "", "").text if experiment.task_type == "pairs" else ""
            documents = [ShownDocument("", text)] * size
            prompt = judging_prompt(agent, experiment, rubric.rubric, documents, "")
            self._frames[key] = most_prompt_tokens(prompt.messages)
        return self._frames[key]

    def _texts(self, experiment: Experiment) -> TokenBound:
        """Return the tokens of an item's texts as the experiment shows them."""
        strategies = resolve(experiment)
        size, titled = strategies.of(Bundling).size, strategies.of(Viewing).shows_title
        pairs = experiment.task_type == "pairs"
        key = (experiment.window.key, experiment.evidence_view, experiment.actors, size, pairs)
        if key not in self._items:
            shown, bounds = self._documents(experiment.window.key, experiment.evidence_view)
            tokens = []
            for one, bound in zip(shown_to(experiment, shown), bounds, strict=True):
                title = most_tokens(one.title) if titled and not pairs else 0
                parts = texts_shown(experiment, [one]) if pairs and one.text else [one.text]
                tokens.append(bound + title + sum(map(most_tokens, parts)))
            items = max(1, len(tokens) // size)
            longest = sum(sorted(tokens)[-ceil(len(tokens) / items) :])
            self._items[key] = TokenBound(sum(tokens) / items, longest)
        return self._items[key]

    def _documents(
        self, window_key: str, view: EvidenceView
    ) -> tuple[list[ShownDocument], list[float]]:
        found = self.texts.longest(window_key, view, self._answer_limit)
        if found is None:
            self.known = False
            of_web = view in ("raw", "cleaned")
            bound = most_tokens(words(ARTICLE_WORDS)) if of_web else self._answer_limit(view)
            return [ShownDocument("", "")], [bound]
        return found

    def _answer_limit(self, view: EvidenceView) -> float:
        return self.limit(self.utility, longest_answer(view, self.texts.settings.summary_words))

    def _applied(self, experiment: Experiment) -> _Sized:
        provided = experiment.rubric.rubric
        if provided is None:
            return self._rubrics.get(applied_key(experiment)) or self._unwritten(experiment)
        if provided.key not in self._rubrics:
            self._rubrics[provided.key] = _sized(provided)
        return self._rubrics[provided.key]

    def _unwritten(self, experiment: Experiment) -> _Sized:
        owner = resolve(experiment).of(Rubrics).owner
        key = (experiment.scale_size, self.limit(owner, LONGEST_ANSWER))
        if key not in self._rubrics:
            self._rubrics[key] = _sized(longest_rubric(*key))
        return self._rubrics[key]


def second_probes(samples: int) -> int:
    """Return how many of these samples are probed twice, at most but for a chance of 1e-9.

    One in ten is, drawn by its seed: Hoeffding's bound of a binomial count.
    """
    return min(samples, ceil(samples / SECOND_PROBE_ONE_IN + sqrt(samples * -log(_CHANCE) / 2)))


def _sized(rubric: Rubric) -> _Sized:
    texts = (text for stage in rubric.stages for text in (stage.label, *stage.criteria))
    return _Sized(rubric, sum(map(most_tokens, texts)))
