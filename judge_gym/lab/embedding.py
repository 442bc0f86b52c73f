"""Embed the texts that plans of bundles (W1) and rubrics (W2) compare by a named model."""

from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import Spender
from judge_gym.asking.engine import ask_all
from judge_gym.asking.questions import End, Question, Turns
from judge_gym.design.bundles import Bundles
from judge_gym.design.experiment import Experiment
from judge_gym.design.fields import Frozen
from judge_gym.design.names import EVIDENCE, RUBRIC, Workflow
from judge_gym.lab.rubrics import request_key, requests_of
from judge_gym.prompts import Prompt
from judge_gym.records.calls import EMBEDDER, EMBEDDING, Answer, Call
from judge_gym.runtime import Runtime
from judge_gym.store.embeddings import ToEmbed, rubric_texts_to_embed, to_embed
from judge_gym.store.items import stored_groups
from judge_gym.store.windows import load_window

_ONLY = "0"  # a text is embedded once, so it has one replicate


class EmbeddedBundles(Frozen):
    """A window's plan of bundles that compares embeddings."""

    window: int
    """The window's id."""
    plan: Bundles
    """The plan itself, which names the model."""


def embedding_prompt(text: str) -> Prompt:
    """Return a text as it is sent to be embedded: no template is around it."""
    return Prompt(({"role": "user", "content": text},), "", "")


def plans_to_embed(experiments: Iterable[Experiment]) -> list[tuple[str, Bundles]]:
    """Return the plans that compare embeddings, each with the key of its window."""
    plans = ((one.window.key, one.bundles) for one in experiments if one.bundles.embeddings)
    return list(dict.fromkeys(plans))


def embedding_models(experiments: Iterable[Experiment]) -> set[str]:
    """Return the models that embed texts for these experiments."""
    return {plan.embeddings for _, plan in plans_to_embed(experiments)}


def missing_embeddings(session: Session, window: int, plan: Bundles, recipe: str) -> list[int]:
    """Return the documents of a window that a plan lacks embeddings of; `recipe` is of its view.

    None once its bundles are made, nor for documents without the view.
    """
    if stored_groups(session, load_window(session, window).key, plan):
        return []
    return [one.of for one in to_embed(session, window, plan, recipe)]


async def embed(
    runtime: Runtime,
    documents: Sequence[int],
    window: int,
    plan: Bundles,
    recipe: str,
    budget: Spender | None = None,
) -> Counter[str]:
    """Have these documents embedded, one text a call; returns counts by status."""
    wanted = set(documents)
    with runtime.session() as session:
        missing = to_embed(session, window, plan, recipe)
    texts = [one for one in missing if one.of in wanted]
    return await _embedded(runtime, texts, EVIDENCE, plan.embeddings, budget)


def missing_rubric_embeddings(
    session: Session, experiments: Iterable[Experiment], model: str, *, sham: bool = False
) -> list[str]:
    """Return the keys of written rubrics of these experiments that a model has yet to embed."""
    keys = {request_key(request) for request in requests_of(experiments, sham=sham)}
    missing = rubric_texts_to_embed(session, keys, model)
    return list(dict.fromkeys(one.key.split("/")[1] for one in missing))


async def embed_rubrics(
    runtime: Runtime, rubrics: Sequence[str], model: str, budget: Spender | None = None
) -> Counter[str]:
    """Have the rubrics with these keys embedded, whole and by stage; returns counts by status."""
    with runtime.session() as session:
        missing = rubric_texts_to_embed(session, rubrics, model)
    return await _embedded(runtime, missing, RUBRIC, model, budget)


async def _embedded(
    runtime: Runtime,
    texts: Sequence[ToEmbed],
    workflow: Workflow,
    model: str,
    budget: Spender | None,
) -> Counter[str]:
    questions = [_question(one, workflow, model) for one in texts]
    # Batch files are of chat requests.
    return (await ask_all(runtime, questions, budget=budget, in_batches=False)).counts


def _question(one: ToEmbed, workflow: Workflow, model: str) -> Question[None]:
    call = Call(
        key=one.key,
        workflow=workflow,
        agent=EMBEDDER,
        model=model,
        prompt=embedding_prompt(one.text),
        parameters=EMBEDDING,
        replicate=_ONLY,
    )

    def then(turns: Turns) -> End[None]:
        return End("ready" if isinstance(turns[-1].outcome, Answer) else "failed")

    return Question((call,), then)
