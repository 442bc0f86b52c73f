"""The wordings of the judging prompt: paraphrases that ask for the same, none a copy of another."""

import re
from difflib import SequenceMatcher
from itertools import combinations, product
from typing import Any

import jinja2
import pytest

from judge_gym.design.experiment import WORDINGS
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.scoring import Scoring
from judge_gym.planted.wordings import worded
from judge_gym.prompts import render
from judge_gym.questions.scorer import instructions, scoring_prompt
from judge_gym.records.recipes import LIBRARY, Utility, recipe_of
from judge_gym.records.shown import Presentation, ShownDocument
from judge_gym.simulator.answering import role_of
from judge_gym.simulator.prompts import read_scoring

SHOWN = Presentation(seed=1, letters=("C", "A", "D", "B"), order=(2, 4, 1, 3))
DOCUMENT = ShownDocument("A headline", "The court sat.\nIt heard two papers.")
MOST_ALIKE = 0.5
"""The largest share of words in common, in order (2M/T of difflib); 0.40 is the highest."""
MOST_TRIGRAMS = 0.2
"""The largest share of the shorter one's word trigrams in common; 0.12 is the highest."""
METHODS = ("single", "subset", "structured_json")


def texts(given: Any, **axes: Any) -> tuple[str, str]:
    """Return the system and the user message."""
    prompt = scoring_prompt(given.experiment(**axes), given.rubric(), (DOCUMENT,), SHOWN, "key")
    system, user = (message["content"] for message in prompt.messages)
    return system, user


def words_of(given: Any, **axes: Any) -> list[str]:
    """Return the words of a prompt without evidence, stages and the form of the answer."""
    system, user = texts(given, **axes)
    user = user.removesuffix(resolve(given.experiment(**axes)).of(Scoring).closing)
    user = re.sub(r"The lines between.*?END EVIDENCE \w+>>>", "", user, flags=re.DOTALL)
    user = re.sub(r'^[A-Z]: ".*$|^   - .*$', "", user, flags=re.MULTILINE)
    return re.findall(r"\w+", f"{system}\n{user}".lower())


@pytest.mark.parametrize(("method", "gate"), list(product(METHODS, (True, False))))
def test_no_wording_is_a_copy_of_another(given: Any, method: str, gate: bool) -> None:
    words = {
        name: words_of(given, wording=name, scoring_method=method, abstain=gate)
        for name in WORDINGS
    }
    assert len(words) >= 6
    for one, other in combinations(WORDINGS, 2):
        alike = SequenceMatcher(None, words[one], words[other], autojunk=False).ratio()
        first, second = ({*zip(w, w[1:], w[2:], strict=False)} for w in (words[one], words[other]))
        assert alike < MOST_ALIKE, (one, other)
        assert len(first & second) / min(len(first), len(second)) < MOST_TRIGRAMS, (one, other)


@pytest.mark.parametrize(
    ("wording", "method", "gate", "order"),
    list(product(WORDINGS, METHODS, (True, False), ("rubric_first", "evidence_first"))),
)
def test_every_wording_has_all_that_a_judge_needs(
    given: Any, wording: str, method: str, gate: bool, order: str
) -> None:
    axes = {"wording": wording, "scoring_method": method, "abstain": gate, "prompt_order": order}
    experiment, rubric = given.experiment(**axes), given.rubric()
    system, user = texts(given, **axes)

    assert "expert political scientist" in system
    assert re.search("two marks|pair of marks", system.lower())
    assert f'"{experiment.concept}" in {experiment.country}' in user
    for stage in SHOWN.listed(rubric):
        criteria = "\n".join(f"   - {criterion}" for criterion in stage.criteria)
        assert f'\n{stage.letter}: "{stage.label}"\n{criteria}\n' in user
    assert len(re.findall(r"<<<(?:BEGIN|END) EVIDENCE [0-9a-f]{12}>>>", user)) == 2
    assert user.endswith(resolve(experiment).of(Scoring).closing)
    assert ("abst" in user.lower()) == gate
    assert not re.search(r"[{}<>]", system)
    assert "\n\n\n" not in user
    assert (user.index("RUBRIC") < user.index("<<<BEGIN")) == (order == "rubric_first")
    # The simulator reads what a model would read.
    messages = (("system", system), ("user", user))
    assert role_of(messages) == "scorer"
    read = read_scoring(messages)
    assert read.rubric.concept == experiment.concept
    assert read.rubric.letters == ("A", "B", "C", "D")
    assert (read.form, read.may_abstain) == (
        {"structured_json": "json"}.get(method, method),
        gate,
    )
    assert len(read.documents) == 1
    assert read.instructions == instructions(experiment)
    assert (worded("calm", read.instructions).wording_shift == 0) == (wording == "standard")


def test_the_template_of_the_wording_is_in_the_recipe(given: Any) -> None:
    utility = Utility("sim/calm-1", 150, LIBRARY)
    recipes = [recipe_of(given.experiment(wording=name), utility) for name in WORDINGS]

    templates = ["score", *(f"wording_{name}" for name in WORDINGS[1:])]
    assert all(name in recipe for name, recipe in zip(templates, recipes, strict=True))
    assert len({recipe[name] for name, recipe in zip(templates, recipes, strict=True)}) == len(
        WORDINGS
    )
    assert recipe_of(given.experiment(persona="historian"), utility) != recipes[0]


def test_a_template_without_its_persona_is_an_error_and_not_a_prompt() -> None:
    with pytest.raises(jinja2.UndefinedError, match=r"<persona> of .* is not bound"):
        render("score")
