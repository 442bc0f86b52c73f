"""An experiment: its identity, what it refuses, and what follows from what is given."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from judge_gym.design.experiment import Experiment, family_of
from judge_gym.design.rubric import Rubric
from judge_gym.design.window import CorpusSource, FirecrawlSource, Window


def a_window(**fields: Any) -> Window:
    source = CorpusSource(path=Path("corpus.jsonl"), digest="d1")
    return Window(**{"country": "Valmora", "source": source, **fields})


def an_experiment(**fields: Any) -> Experiment:
    return Experiment(
        **{"concept": "fascism", "window": a_window(), "model": "sim/calm-1", **fields}
    )


def a_rubric(*labels: str) -> Rubric:
    return Rubric(stages=tuple({"label": x, "criteria": ("a", "b", "c")} for x in labels))


CONTROL = {"task_type": "control", "ground_truth": {"source": "Index", "value": 0.5}}
SAME = [
    {"tag": "pilot"},
    {"replicates": 50},
    {"window": a_window(name="valmora-week")},
    {"window": a_window(source=CorpusSource(path=Path("moved.jsonl"), digest="d1"))},
    {"country": "Valmora"},
    {"family": "calm"},
    {"temperature": 1},
]
OTHER: dict[str, dict[str, Any]] = {
    "task_type": CONTROL,
    "concept": {"concept": "corruption"},
    "window": {"window": a_window(max_documents=3)},
    "country": {"country": "Ostrand"},
    "model": {"model": "sim/calm-2"},
    "family": {"family": "other"},
    "ground_truth": {**CONTROL, "ground_truth": {"source": "Index", "value": 0.6}},
    "scoring_method": {"scoring_method": "subset"},
    "scale_size": {"scale_size": 5},
    "randomize_labels": {"randomize_labels": False},
    "shuffle_order": {"shuffle_order": False},
    "evidence_view": {"evidence_view": "raw"},
    "prompt_order": {"prompt_order": "evidence_first"},
    "abstain": {"abstain": False},
    "probe_window": {"probe_window": "same"},
    "bundle_size": {"bundle_size": 2},
    "bundles": {"bundles": {"by": "similar", "size": 2}},
    "rubric": {"rubric": {"shared": "sim/calm-1"}},
    "temperature": {"temperature": 0.5},
    "top_p": {"top_p": 0.5},
    "max_tokens": {"max_tokens": 2048},
    "reasoning_effort": {"reasoning_effort": "none"},
    "logprobs": {"logprobs": True},
    "wording": {"wording": "concise"},
    "persona": {"persona": "historian"},
    "domain": {"domain": "history"},
    "rubric_draw": {"rubric_draw": 1},
    "actors": {"actors": {"swapped": {"name": "places", "swap": [["Valmora", "Norland"]]}}},
}


def test_keys_of_experiments_stored_by_older_versions_hold() -> None:
    """Taken from the version before the axes reasoning_effort and logprobs."""
    subset = an_experiment(
        temperature=0.5, scoring_method="subset", rubric={"shared": "sim/high-1"}
    )

    assert an_experiment().key == "002c9915e9f537ba"
    assert (subset.key, subset.peers_key) == ("bfac3549d9513526", "2d8d3271e3fb07a0")


@pytest.mark.parametrize("fields", SAME, ids=lambda fields: next(iter(fields)))
def test_the_key_leaves_out_names_and_amounts(fields: dict[str, Any]) -> None:
    assert an_experiment(**fields).key == an_experiment().key


def test_the_key_changes_with_every_other_field() -> None:
    assert OTHER.keys() == Experiment.model_fields.keys() - {"tag", "replicates"}
    keys = {an_experiment(**fields).key for fields in OTHER.values()}

    assert len(keys | {an_experiment().key}) == len(OTHER) + 1


@pytest.mark.parametrize(
    "fields",
    [
        {"country": "Ostrand"},
        {"query": "courts"},
        {"start": "2026-01-05"},
        {"end": "2026-01-11"},
        {"max_documents": 3},
        {"source": CorpusSource(path=Path("corpus.jsonl"), digest="d2")},
        {"source": CorpusSource(path=Path("corpus.jsonl"), digest="d1", fields={"url": "link"})},
    ],
    ids=lambda fields: "-".join(fields),
)
def test_the_key_changes_with_what_the_window_holds(fields: dict[str, Any]) -> None:
    assert a_window(**fields).key != a_window().key


def test_the_key_is_stable() -> None:
    # Written down once: a change makes every stored experiment a stranger. A new axis does not
    # change it; a changed default would.
    assert an_experiment().key == "002c9915e9f537ba"


def test_an_experiment_survives_being_stored() -> None:
    experiment = an_experiment(
        **CONTROL,
        rubric={"provided": a_rubric("w", "x", "y", "z")},
        window=a_window(end="2026-01-01"),
    )
    read = Experiment.model_validate_json(experiment.model_dump_json())

    assert read == experiment
    assert read.key == experiment.key


def test_only_recorded_judgements_name_wordings_of_their_own() -> None:
    assert an_experiment(model="recorded/gpt", wording="Vanilla").wording == "Vanilla"
    with pytest.raises(ValidationError, match="no such wording; use standard, concise"):
        an_experiment(wording="Vanilla")


def test_a_provided_rubric_has_one_draw() -> None:
    provided = {"provided": a_rubric("w", "x", "y", "z")}

    with pytest.raises(ValidationError, match="has one draw, 0"):
        an_experiment(rubric=provided, rubric_draw=1)


def test_a_changed_copy_has_its_own_key() -> None:
    experiment = an_experiment()
    assert experiment.key
    copy = experiment.model_copy(update={"scale_size": 5})

    assert copy.key == an_experiment(scale_size=5).key != experiment.key


def test_an_experiment_is_frozen_and_refuses_unknown_keys() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        an_experiment().scale_size = 5  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        an_experiment(scale=5)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("openai/gpt-4.1", "gpt"),
        ("openai/chatgpt-4o-latest", "gpt"),
        ("openai/o3-mini", "gpt"),
        ("anthropic/claude-opus-4", "claude"),
        ("openrouter/meta-llama/llama-3.1-70b", "llama"),
        ("gemini/gemini-2.5-pro", "gemini"),
        ("mistral-large", "mistral"),
        ("OpenAI/GPT-4.1", "gpt"),
        ("sim/calm-1", "calm"),
        ("sim/calm-low-12", "calm-low"),
    ],
)
def test_the_family_follows_from_the_model(model: str, family: str) -> None:
    assert family_of(model) == family
    assert an_experiment(model=model).family == family


def test_country_and_family_can_be_given() -> None:
    experiment = an_experiment(country="Ostrand", family="cautious")

    assert (experiment.country, experiment.family) == ("Ostrand", "cautious")
    assert an_experiment().country == "Valmora"


def test_the_name_is_the_tag_or_says_what_is_judged_by_whom() -> None:
    experiment = an_experiment(concept="Democratic  Backsliding!")

    assert experiment.name == f"democratic-backsliding-sim-calm-1-{experiment.key[:8]}"
    assert an_experiment(tag="pilot").name == "pilot"


TRUTHS = [
    ({"task_type": "control"}, "task_type control needs ground_truth"),
    ({"task_type": "benchmark"}, "task_type benchmark needs ground_truth"),
    ({"ground_truth": {"source": "Index", "value": 0}}, "task_type ecc has no ground_truth"),
    ({**CONTROL, "ground_truth": {"source": "Index"}}, "exactly one of"),
    ({**CONTROL, "ground_truth": {"source": "I", "value": 0, "label": "x"}}, "exactly one of"),
    ({**CONTROL, "task_type": "benchmark", "bundle_size": 2}, "bundle_size is 1"),
]


@pytest.mark.parametrize(("fields", "message"), TRUTHS)
def test_a_truth_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        an_experiment(**fields)


@pytest.mark.parametrize(
    "truth",
    [
        {"source": "Index", "value": 0},
        {"source": "Key", "label": "No sign"},
        {"source": "K", "per_item": True},
    ],
)
def test_a_control_takes_each_kind_of_truth(truth: dict[str, Any]) -> None:
    assert an_experiment(task_type="control", ground_truth=truth).ground_truth is not None


@pytest.mark.parametrize(
    ("rubric", "message"),
    [
        ("mine", "own, {shared: MODEL} or {provided: FILE}"),
        ({"kind": "own", "model": "sim/calm-1"}, "a shared rubric, and only that"),
        ({"kind": "shared"}, "a shared rubric, and only that"),
        ({"kind": "provided"}, "a provided rubric, and only that"),
        ({"provided": a_rubric("x", "y")}, "has 2 stages, so write scale_size: 2"),
    ],
)
def test_a_rubric_source_that_does_not_fit_is_refused(rubric: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        an_experiment(rubric=rubric)


@pytest.mark.parametrize(
    ("rubric", "told"),
    [
        ("own", "own"),
        ({"shared": "sim/calm-1"}, "shared by sim/calm-1"),
        ({"provided": a_rubric("w", "x", "y", "z")}, "provided"),
    ],
)
def test_the_short_forms_of_a_rubric_source(rubric: object, told: str) -> None:
    assert str(an_experiment(rubric=rubric).rubric) == told


def test_windows_refuse_what_cannot_be_searched() -> None:
    with pytest.raises(ValidationError, match="is before start"):
        a_window(start="2026-01-02", end="2026-01-01")
    with pytest.raises(ValidationError, match="needs query, start and end"):
        Window(country="Valmora", source=FirecrawlSource(), query="courts")
    with pytest.raises(ValidationError, match="'titel' is not one of title, url"):
        CorpusSource(path=Path("x.csv"), fields={"titel": "headline"})
