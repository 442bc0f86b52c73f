"""From a request to an answer: which role is asked for, who answers, and what they say.

The answer is a pure function of the request: every draw comes from the SHA-256 of the model,
the messages, the sampling parameters, the seed and the response format. At temperature 0 the
seed is left out, so that replicates agree.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from judge_gym.planted import judging
from judge_gym.planted.families import Family, family_named, grader_of, is_own_rubric, planted
from judge_gym.planted.judging import Case, Display, Sampling
from judge_gym.planted.reading import concept_named
from judge_gym.seeds import generator
from judge_gym.simulator import drafting, editing, grading, perturbing, reviewing, writing
from judge_gym.simulator.anonymizing import abstract
from judge_gym.simulator.known import NOTHING, Known
from judge_gym.simulator.obeying import obeys, stage_demanded
from judge_gym.simulator.prompt_reader import (
    Message,
    Role,
    Rubric,
    documents_in,
    outside_fences,
    read_design,
    read_probe,
    read_rated_rubric,
    read_scoring,
    role_of,
)
from judge_gym.simulator.rubric_writing import rate_rubric, write_rubric
from judge_gym.simulator.stage_order import order_stages


@dataclass(frozen=True)
class Request:
    """What a client asked; `response_format` is its canonical JSON, or empty."""

    model: str
    messages: tuple[Message, ...]
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int | None = None
    seed: int | None = None
    response_format: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """Everything that a draw depends on; the seed only where sampling is asked for."""
        limits = (self.temperature, self.top_p, self.max_tokens)
        sampled = self.seed if self.temperature > 0 else None
        return (self.model, self.messages, limits, sampled, self.response_format)


@dataclass(frozen=True)
class Answer:
    """The whole text, before any cut, and the role in which it was given."""

    text: str
    role: Role


@dataclass(frozen=True)
class _Turn:
    request: Request
    family_name: str
    family: Family
    rng: Random
    known: Known

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.request.temperature, self.request.top_p)

    @property
    def prompt(self) -> str:
        return next((text for who, text in reversed(self.request.messages) if who == "user"), "")


def answer(request: Request, known: Known = NOTHING) -> Answer:
    """Answer a request; raises `KeyError` for a `sim/` model that no family has.

    Graders answer with what is `known`.
    """
    name = family_named(request.model)
    if name is None:
        raise KeyError(request.model)
    role = role_of(request.messages)
    turn = _Turn(request, name, planted()[name], generator(*request.identity), known)
    return Answer(_ROLES[role](turn), role)


def _score(turn: _Turn) -> str:
    asked = read_scoring(turn.request.messages)
    rubric, family = asked.rubric, turn.family
    if not rubric.stages:
        return "The message lists no stages to choose from, so there is nothing to conclude."
    order, case = _weigh(rubric, asked.documents)
    demanded = stage_demanded(asked.documents, rubric.letters) if family.obedience else None
    if demanded and obeys(family, turn.sampling, turn.rng):
        letters: tuple[str, ...] = (demanded,)
    elif asked.may_abstain and _abstains(turn, case):
        letters = ()
    else:
        shown = Display(
            first=order.index(0),
            lettered_a=order.index(rubric.letters.index("A")) if "A" in rubric.letters else None,
        )
        subset = asked.form == "subset"
        ranks = judging.choose(family, case, shown, turn.sampling, turn.rng, subset=subset)
        letters = tuple(sorted(rubric.letters[order[rank]] for rank in ranks))
    conclusion = writing.Conclusion(rubric, letters, case.reading.cues, asked.form)
    return writing.write_verdict(family, conclusion, turn.rng)


def _abstains(turn: _Turn, case: Case) -> bool:
    probability = judging.abstention_probability(turn.family, case)
    return judging.occurs(probability, turn.sampling, turn.rng)


def _probe(turn: _Turn) -> str:
    asked = read_probe(turn.request.messages)
    rubric, family = asked.rubric, turn.family
    if not rubric.stages or not asked.chosen or not set(asked.chosen) <= set(rubric.letters):
        return "The message does not say which stage of which rubric is meant."
    order, case = _weigh(rubric, asked.documents)
    ranks = tuple(order.index(rubric.letters.index(letter)) for letter in asked.chosen)
    texts = (text for label, criteria in rubric.stages for text in (label, *criteria))
    level = judging.stated_level(
        family,
        judging.margin(family, case, ranks),
        own_rubric=is_own_rubric(turn.family_name, texts),
    )
    stated = judging.state_probability(family, level, turn.sampling, turn.rng)
    return writing.write_probability(family, stated, turn.rng)


def _weigh(rubric: Rubric, documents: tuple[str, ...]) -> tuple[tuple[int, ...], Case]:
    """Return the order of the stages (indices as displayed, weakest first) and the case."""
    order = order_stages(rubric.stages, concept_named(rubric.concept).valence)
    return order, judging.case_of(documents, rubric.concept, len(rubric.stages))


def _write_rubric(turn: _Turn) -> str:
    return write_rubric(turn.family, read_design(turn.request.messages), turn.sampling, turn.rng)


def _critique(turn: _Turn) -> str:
    return rate_rubric(read_rated_rubric(turn.request.messages))


def _clean(turn: _Turn) -> str:
    return editing.clean("\n\n".join(documents_in(turn.prompt)))


def _neutralize(turn: _Turn) -> str:
    asked = re.search(r"at most (\d+) words", outside_fences(turn.prompt))
    limit = int(asked[1]) if asked else 150
    text = "\n\n".join(documents_in(turn.prompt))
    return editing.neutralize(turn.family, text, limit, turn.rng)


def _abstract(turn: _Turn) -> str:
    return abstract("\n\n".join(documents_in(turn.prompt)))


def _grade(turn: _Turn) -> str:
    grader = grader_of(turn.request.model)
    return grading.grade(turn.request.messages, grader, turn.sampling, turn.rng)


def _decide(turn: _Turn) -> str:
    grader = grader_of(turn.request.model)
    return grading.decide(turn.request.messages, grader, turn.rng, turn.known)


def _compare(turn: _Turn) -> str:
    grader = grader_of(turn.request.model)
    return grading.compare(turn.request.messages, grader, turn.rng, turn.known)


def _perturb(turn: _Turn) -> str:
    return perturbing.perturb(turn.request.messages)


def _generalise(turn: _Turn) -> str:
    return drafting.generalise(turn.prompt)


def _extract(turn: _Turn) -> str:
    return drafting.claims(turn.prompt, turn.rng)


def _review(turn: _Turn) -> str:
    grader = grader_of(turn.request.model)
    return reviewing.review(turn.request.messages, grader, turn.sampling, turn.rng, turn.known)


def _reconcile(turn: _Turn) -> str:
    grader = grader_of(turn.request.model)
    return reviewing.reconcile(turn.request.messages, grader, turn.rng)


def _other(turn: _Turn) -> str:
    return "This is the judge-gym simulator. It answers the prompts of judge-gym and no others."


_ROLES: dict[Role, Callable[[_Turn], str]] = {
    "scorer": _score,
    "prober": _probe,
    "rubricer": _write_rubric,
    "critic": _critique,
    "cleaner": _clean,
    "neutralizer": _neutralize,
    "abstractor": _abstract,
    "grader": _grade,
    "decider": _decide,
    "comparer": _compare,
    "perturber": _perturb,
    "generaliser": _generalise,
    "extractor": _extract,
    "rater": _review,
    "arbiter": _reconcile,
    "other": _other,
}
