"""From a request to an answer: which role is asked for, who answers, and the text of the answer.

The answer is a pure function of the request: every draw comes from the SHA-256 of the model,
the messages, the sampling parameters, the seed and the response format. At temperature 0 the
seed is left out, so that replicates agree.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from judge_gym.planted import judging
from judge_gym.planted.families import (
    Family,
    Grader,
    family_named,
    grader_of,
    is_own_rubric,
    parameters_of,
    rubric_shift,
    shifted,
)
from judge_gym.planted.judging import PlantedCase, SamplingParameters, ShownOrder, occurs
from judge_gym.planted.reading import concept_named
from judge_gym.planted.wordings import worded
from judge_gym.seeds import generator
from judge_gym.simulator import editing, grading
from judge_gym.simulator.embeddings import embedding
from judge_gym.simulator.prompts import (
    Message,
    PromptedRubric,
    RequestText,
    ScoringPrompt,
    documents_in,
    outside_fences,
    read_choosing,
    read_design,
    read_improving,
    read_probe,
    read_rated_rubric,
    read_reasoned,
    read_scoring,
    request_in,
)
from judge_gym.simulator.rubrics import improve, rate_rubric, write_rubric
from judge_gym.simulator.text_features import NOTHING, Known
from judge_gym.simulator.verdicts import (
    ABSTAIN,
    ChosenLetters,
    mark_reasoning,
    order_stages,
    stage_demanded,
    write_probability,
    write_verdict,
)


@dataclass(frozen=True)
class ModelRequest:
    """A request to a model; `response_format` is its canonical JSON, or empty."""

    model: str
    messages: tuple[Message, ...]
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int | None = None
    seed: int | None = None
    response_format: str = ""
    effort: str | None = None
    """How much the model is to think, where the request says so."""
    embeds: bool = False
    """Whether the messages are texts to embed."""

    @property
    def role(self) -> str:
        """The task of the request."""
        return "embedder" if self.embeds else role_of(self.messages)

    @property
    def identity(self) -> tuple[object, ...]:
        """Everything that a draw depends on; the seed only above temperature 0."""
        limits = (self.temperature, self.top_p, self.max_tokens)
        sampled = self.seed if self.temperature > 0 else None
        given = (self.model, self.messages, limits, sampled, self.response_format)
        return given if self.effort is None else (*given, self.effort)


@dataclass(frozen=True)
class SimulatedAnswer:
    """The whole text, before any cut, and its role."""

    text: str
    role: str


@dataclass(frozen=True)
class _Answering:
    """One request with what its answer depends on."""

    request: ModelRequest
    family_name: str
    family: Family
    rng: Random
    worths: Known

    @property
    def sampling(self) -> SamplingParameters:
        return SamplingParameters(self.request.temperature, self.request.top_p)

    @property
    def grader(self) -> Grader:
        return grader_of(self.request.model)

    @property
    def prompt(self) -> str:
        """The last message of the user."""
        return next((text for role, text in reversed(self.request.messages) if role == "user"), "")

    @property
    def text(self) -> str:
        """The documents of the prompt, joined."""
        return "\n\n".join(documents_in(self.prompt))

    def occurs(self, probability: float) -> bool:
        return occurs(probability, self.sampling, self.rng)


def answer(request: ModelRequest, worths: Known = NOTHING) -> SimulatedAnswer:
    """Answer a request; raises `KeyError` for a `sim/` model that no family has.

    `worths` holds the worth of texts that graders know.
    """
    name = family_named(request.model)
    if name is None:
        raise KeyError(request.model)
    role = request.role
    now = _Answering(request, name, parameters_of(name), generator(*request.identity), worths)
    return SimulatedAnswer(ROLES[role].answer(now), role)


def _score(now: _Answering) -> str:
    task = read_scoring(now.request.messages)
    rubric, family = task.rubric, _judging(now.family_name, task)
    if not rubric.stages:
        return "The message lists no stages to choose from, so there is nothing to conclude."
    order, case = _order_and_case(rubric, task.documents)
    demanded = stage_demanded(task.documents, rubric.letters) if family.compliance else None
    letters: tuple[str, ...] = ()
    if demanded and now.occurs(family.compliance):
        letters = (demanded,)
    elif not task.may_abstain or not now.occurs(judging.abstention_probability(family, case)):
        shown = _display(rubric, order)
        subset = task.form == "subset"
        ranks = judging.choose(family, case, shown, now.sampling, now.rng, subset=subset)
        withheld = _reserve(now.family_name, family, case, task) if ranks == (0,) else 0.0
        if not (withheld and now.occurs(withheld)):
            letters = tuple(sorted(rubric.letters[order[rank]] for rank in ranks))
    conclusion = ChosenLetters(rubric, letters, case.reading.cues, task.form)
    return write_verdict(family, conclusion, now.rng)


def _choose(now: _Answering) -> str:
    task = read_choosing(now.request.messages)
    if len(task.answers) != 2 or len(task.letters) != 2:
        return "The message does not show two answers to choose from."
    place = grading.better_place(
        task.answers, task.prompt, now.grader, now.rng, now.worths, ties=bool(task.tie)
    )
    letter = task.tie if place is None else task.letters[place]
    return write_verdict(now.family, ChosenLetters(task.options, (letter,), (), task.form), now.rng)


def _probe(now: _Answering) -> str:
    task = read_probe(now.request.messages)
    rubric, family = task.rubric, now.family
    if not rubric.stages or not task.chosen or not set(task.chosen) <= set(rubric.letters):
        return "The message does not say which stage of which rubric is meant."
    order, case = _order_and_case(rubric, task.documents)
    family = shifted(family, rubric_shift(_texts(rubric)))
    ranks = tuple(order.index(rubric.letters.index(letter)) for letter in task.chosen)
    level = judging.stated_level(
        family,
        judging.margin(family, case, ranks),
        own_rubric=_is_own(now.family_name, rubric),
    )
    stated = judging.state_probability(family, level, now.sampling, now.rng)
    return write_probability(family, stated, now.rng)


def _is_own(family_name: str, rubric: PromptedRubric) -> bool:
    return is_own_rubric(family_name, _texts(rubric))


def _texts(rubric: PromptedRubric) -> Iterator[str]:
    return (text for label, criteria in rubric.stages for text in (label, *criteria))


def _judging(family_name: str, task: ScoringPrompt) -> Family:
    """Return a family's parameters under the wording and the rubric of a prompt."""
    return shifted(worded(family_name, task.instructions), rubric_shift(_texts(task.rubric)))


def _reserve(family_name: str, family: Family, case: PlantedCase, task: ScoringPrompt) -> float:
    """Return how likely a verdict of the lowest stage alone becomes an abstention."""
    if not task.may_abstain:
        return 0.0
    return judging.reserve(family, case, own_rubric=_is_own(family_name, task.rubric))


def letter_chances(request: ModelRequest) -> dict[str, float]:
    """Return the planted probability of each letter, and of abstaining, as a single verdict.

    At temperature 1, whatever the request's; empty for a request that asks for no such verdict.
    """
    name = family_named(request.model)
    task = read_scoring(request.messages) if role_of(request.messages) == "scorer" else None
    if name is None or task is None or task.form == "subset" or not task.rubric.stages:
        return {}
    family, rubric = _judging(name, task), task.rubric
    order, case = _order_and_case(rubric, task.documents)
    likely = judging.with_display_bias(
        judging.stage_probabilities(family, case),
        family.first_bias,
        family.label_a_bias,
        _display(rubric, order),
    )
    abstains = judging.abstention_probability(family, case) if task.may_abstain else 0.0
    withheld = float(likely[0]) * _reserve(name, family, case, task)
    likely[0] -= withheld
    chances = {
        rubric.letters[order[rank]]: (1 - abstains) * float(chance)
        for rank, chance in enumerate(likely)
    }
    abstains += (1 - abstains) * withheld
    return chances | ({ABSTAIN: abstains} if task.may_abstain else {})


def _display(rubric: PromptedRubric, order: tuple[int, ...]) -> ShownOrder:
    return ShownOrder(
        first=order.index(0),
        lettered_a=order.index(rubric.letters.index("A")) if "A" in rubric.letters else None,
    )


def _order_and_case(
    rubric: PromptedRubric, documents: tuple[str, ...]
) -> tuple[tuple[int, ...], PlantedCase]:
    """Return the order of the stages (indices as displayed, weakest first) and the case."""
    order = order_stages(rubric.stages, concept_named(rubric.concept).valence)
    return order, judging.case_of(documents, rubric.concept, len(rubric.stages))


def _write_rubric(now: _Answering) -> str:
    return write_rubric(now.family, read_design(now.request.messages), now.sampling, now.rng)


def _neutralize(now: _Answering) -> str:
    limit = re.search(r"at most (\d+) words", outside_fences(now.prompt))
    words = int(limit[1]) if limit else 150
    return editing.neutralize(now.family, now.text, words, now.rng)


def _reply(now: _Answering) -> str:
    """Return the object that a prompt of no role asks for in so many words."""
    quoted = re.search(r"Reply with this JSON object and nothing else: (\{.*\})", now.prompt)
    if quoted:
        return quoted[1]
    return "This is the judge-gym simulator. It answers the prompts of judge-gym and no others."


@dataclass(frozen=True)
class SimulatedRole:
    """A task that the simulator does: which request asks for it, and what answers that."""

    is_asked: Callable[[RequestText], bool]
    answer: Callable[[_Answering], str]


def _graded(key: str, answer: Callable[[grading.GraderRequest], str]) -> SimulatedRole:
    """Return the role of a grader, whose prompt asks for a JSON object with this key."""
    return SimulatedRole(
        lambda asked: asked.wants(key),
        lambda now: answer(
            grading.GraderRequest(
                now.request.messages, now.grader, now.sampling, now.rng, now.worths
            )
        ),
    )


ROLES: Mapping[str, SimulatedRole] = {
    "aligner": SimulatedRole(
        lambda asked: asked.wants("task"),
        lambda now: improve(read_improving(now.request.messages), now.grader, now.rng),
    ),
    "grader": _graded("scores", grading.grade),
    "decider": _graded("decision", grading.decide),
    "comparer": _graded("winner", grading.compare),
    "perturber": SimulatedRole(
        lambda asked: "the rewritten text and nothing else" in asked.closing,
        lambda now: editing.perturb(now.request.messages),
    ),
    "generaliser": SimulatedRole(
        lambda asked: "Answer with one generalisation" in asked.closing,
        lambda now: editing.generalise(now.prompt),
    ),
    "extractor": SimulatedRole(
        lambda asked: "Answer with one claim a line" in asked.closing,
        lambda now: editing.claims(now.prompt, now.rng),
    ),
    "rater": _graded("overall_score", grading.review),
    "arbiter": _graded("final_score", grading.reconcile),
    "prober": SimulatedRole(lambda asked: "PROBABILITY:" in asked.closing, _probe),
    "chooser": SimulatedRole(lambda asked: "PROMPT THAT WAS ANSWERED" in asked.text, _choose),
    "scorer": SimulatedRole(
        lambda asked: "VERDICT:" in asked.closing or '"verdict"' in asked.closing, _score
    ),
    "critic": SimulatedRole(
        lambda asked: '"observability"' in asked.text,
        lambda now: rate_rubric(read_rated_rubric(now.request.messages)),
    ),
    "score_critic": SimulatedRole(
        lambda asked: '"uses_evidence"' in asked.text,
        lambda now: mark_reasoning(read_reasoned(now.request.messages)),
    ),
    "rubricer": SimulatedRole(
        lambda asked: "design a rubric" in asked.lower or "whole rubric again" in asked.lower,
        _write_rubric,
    ),
    "neutralizer": SimulatedRole(lambda asked: "summary of at most" in asked.lower, _neutralize),
    "abstractor": SimulatedRole(
        lambda asked: "by its role" in asked.lower, lambda now: editing.abstract(now.text)
    ),
    "cleaner": SimulatedRole(
        lambda asked: "without navigation" in asked.lower, lambda now: editing.clean(now.text)
    ),
    "other": SimulatedRole(lambda _: True, _reply),
    # Texts to embed come by a route of their own.
    "embedder": SimulatedRole(
        lambda _: False,
        lambda now: json.dumps([embedding(text) for _, text in now.request.messages]),
    ),
}
"""What the simulator answers; of several tasks that a request may ask for, the first."""


def role_of(messages: Sequence[Message]) -> str:
    """Return the task of the last user message, a key of `ROLES`."""
    asked = request_in(messages)
    return next(name for name, role in ROLES.items() if role.is_asked(asked))
