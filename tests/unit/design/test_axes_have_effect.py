"""No axis is inert: each legal value is visible in what a judge reads or in what is planned."""

from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest

from judge_gym.design.axes import axes, legal_values
from judge_gym.design.experiment import WORDINGS, Experiment
from judge_gym.design.rubric import MIDPOINT_LABEL, Rubric, Stage
from judge_gym.design.strategies import axis_modules, resolve, sampling
from judge_gym.design.strategies.bundling import Bundling
from judge_gym.design.strategies.replication import Replication
from judge_gym.design.strategies.rubrics import Rubrics
from judge_gym.design.strategies.sampling import Sampling
from judge_gym.design.strategies.view import Viewing
from judge_gym.design.window import CorpusSource, Window
from judge_gym.questions.prober import ScoredSample, probe_prompt
from judge_gym.questions.scorer import scoring_prompt
from judge_gym.records.shown import ShownDocument, present, shown_to

WINDOW = Window(country="Valmora", source=CorpusSource(path=Path("corpus.jsonl"), digest="d"))
DOCUMENT = ShownDocument(title="Court closed in Valmora", text="The court of Valmora was closed.")
AXES = [axis.name for axis in axes()]


def a_rubric(size: int) -> Rubric:
    middle = size // 2 if size % 2 else None
    labels = [MIDPOINT_LABEL if n == middle else f"Sign {n + 1}" for n in range(size)]
    criteria = ("a court", "a paper", "a party")
    return Rubric(stages=tuple(Stage(label=label, criteria=criteria) for label in labels))


def an_experiment(**fields: Any) -> Experiment:
    return Experiment(**{"concept": "fascism", "window": WINDOW, "model": "sim/calm-1", **fields})


# How alike six documents are: each most to its neighbours.
ALIKE = np.array([[1 / (1 + abs(a - b)) for a in range(6)] for b in range(6)])


# Values for the axes whose type does not list them.
SOME_VALUES: dict[str, list[Any]] = {
    "scale_size": list(range(2, 11)),
    "bundle_size": [1, 2, 3],
    "bundles": [
        {},
        {"size": 2},
        {"size": 2, "seed": 1},
        {"by": "similar", "size": 2},
        {"by": "spread", "size": 2},
    ],
    "rubric": ["own", {"shared": "sim/high-1"}, {"provided": a_rubric(4)}],
    "replicates": [1, 5],
    "temperature": [0, 0.7],
    "top_p": [0.5, 1],
    "max_tokens": [512, 1024],
    "rubric_draw": [0, 1, 2],
    "wording": list(WORDINGS),
    "actors": ["as_found", {"swapped": {"name": "places", "swap": [["Valmora", "Norland"]]}}],
}


def values_of(axis: str) -> list[Any]:
    annotation = Experiment.model_fields[axis].annotation
    if annotation is bool:
        return [True, False]
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return SOME_VALUES[axis]


def prompts(experiment: Experiment) -> dict[str, Any]:
    """What the judge and the prober are sent for one fixed sample."""
    rubric = a_rubric(experiment.scale_size)
    # One seed for all, so that only the experiment can make a difference.
    presentation = present(experiment, "one", "sample", 3)
    documents = shown_to(experiment, [DOCUMENT])
    score = scoring_prompt(experiment, rubric, documents, presentation, "call")
    sample = ScoredSample(rubric, documents, presentation, 0b1, score.messages, "VERDICT: A")
    return {"score": score.messages, "probe": probe_prompt(experiment, sample, "call").messages}


def plan(experiment: Experiment) -> dict[str, Any]:
    """What planning and calling read of the strategies."""
    strategies = resolve(experiment)
    rubrics = strategies.of(Rubrics)
    return {
        "replicates": strategies.of(Replication).replicates,
        "items": strategies.of(Bundling).group(["a", "b", "c", "d", "e", "f"], lambda: ALIKE),
        "rubric": (rubrics.owner, rubrics.provided, rubrics.draw),
        "views": strategies.of(Viewing).to_make,
        "sent": asdict(strategies.of(Sampling)),
    }


@pytest.mark.parametrize("axis", AXES)
def test_each_value_of_an_axis_changes_the_prompt_or_the_plan(axis: str) -> None:
    seen = {
        str(value): (prompts(an_experiment(**{axis: value})), plan(an_experiment(**{axis: value})))
        for value in values_of(axis)
    }

    assert len(seen) >= 2
    for one, other in combinations(seen, 2):
        assert seen[one] != seen[other], f"{axis}: {one} and {other} do the same"


# What only planning can show; everything else must reach a prompt.
PLANNED = {"bundle_size", "bundles", "rubric", "rubric_draw", "replicates", *sampling.AXES}


@pytest.mark.parametrize("axis", [axis for axis in AXES if axis not in PLANNED])
def test_an_axis_that_is_not_planned_reaches_a_prompt(axis: str) -> None:
    sent = [prompts(an_experiment(**{axis: value})) for value in values_of(axis)]

    assert any(one != other for one, other in combinations(sent, 2))


@pytest.mark.parametrize(
    "fields",
    [
        {"task_type": "control", "ground_truth": {"source": "Secret index", "value": 0.1234}},
        {"task_type": "benchmark", "ground_truth": {"source": "Secret key", "label": "Sign 2"}},
        {"tag": "secret-tag"},
        {"family": "secret-family"},
        {"model": "sim/high-1"},
    ],
    ids=lambda fields: "-".join(fields),
)
def test_what_a_judge_must_not_know_changes_no_prompt(fields: dict[str, Any]) -> None:
    # The default persona is that of the task type.
    named = {"persona": "historian", "domain": "history"}
    assert prompts(an_experiment(**named, **fields)) == prompts(an_experiment(**named))


def test_a_persona_reaches_the_judge_and_the_prober_and_a_domain_the_prober() -> None:
    before = prompts(an_experiment())
    of_historian = prompts(an_experiment(persona="historian"))
    of_history = prompts(an_experiment(domain="history"))

    assert "expert historian" in of_historian["score"][0]["content"]
    assert "expert historian" in of_historian["probe"][0]["content"]
    assert of_history["score"] == before["score"]
    assert "experts in history apply" in of_history["probe"][-1]["content"]


def test_only_contested_concepts_are_judged_by_political_scientists() -> None:
    for task_type in ("control", "benchmark"):
        truth = {"source": "Sums", "per_item": True}
        sent = prompts(an_experiment(task_type=task_type, ground_truth=truth))
        assert "politic" not in str(sent)
    assert "expert political scientist" in str(prompts(an_experiment())["score"])


@pytest.mark.parametrize("fields", [{"concept": "corruption"}, {"country": "Ostrand"}])
def test_what_is_judged_reaches_every_prompt(fields: dict[str, Any]) -> None:
    changed, before = prompts(an_experiment(**fields)), prompts(an_experiment())

    assert changed["score"] != before["score"]
    assert changed["probe"] != before["probe"]


def test_each_axis_tells_its_values_default_reason_and_module() -> None:
    told = {axis.name: axis for axis in axes()}

    assert told["scale_size"].legal == "a whole number from 2 to 10"
    assert told["scoring_method"].legal == "single, subset or structured_json"
    assert told["top_p"].legal == "a number above 0 and at most 1"
    assert told["abstain"].legal == "true or false"
    assert told["rubric"].legal == "own, {shared: MODEL} or {provided: FILE}"
    assert (told["abstain"].default, told["rubric"].default) == ("true", "own")
    assert told["randomize_labels"].modules == ("judge_gym.design.strategies.labels",)
    assert all(axis.why and axis.modules for axis in told.values())


def test_each_strategy_module_belongs_to_an_axis() -> None:
    used = {module.rpartition(".")[2] for axis in axes() for module in axis.modules}

    assert used == set(axis_modules())


@pytest.mark.parametrize("field", Experiment.model_fields)
def test_every_field_can_say_its_legal_values(field: str) -> None:
    assert legal_values(field)
