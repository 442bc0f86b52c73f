"""Asked to change a text, the simulator does what the rule for that change does."""

import pytest

from judge_gym.planted.editing import Perturbed
from judge_gym.planted.perturbations import perturbations
from judge_gym.questions.perturber import perturb_again_prompt, perturb_prompt

TEXT = (
    "According to the register, Ossa Tell sold 30 boats in 2019.\n\n"
    "- (A) The price rose by 12%.\n- (B) The harbour should be closed.\n\nIt rained in Vellar."
)


@pytest.mark.parametrize("name", list(perturbations()))
def test_each_change_is_known_by_its_description(bench, name):
    change = perturbations()[name]
    for severity in (0.5, 1.0):
        prompt = perturb_prompt(TEXT, change.description, severity, "call")
        expected = change.apply(TEXT, severity, seed=0)
        assert isinstance(expected, Perturbed)
        assert bench.send("sim/calm-1", prompt, 0, 1.0) == expected.text


def test_where_nothing_can_be_changed_the_text_comes_back_also_when_asked_again(bench):
    prompt = perturb_prompt("Fine.", perturbations()["vague_ify"].description, 1.0, "call")
    assert bench.send("sim/calm-1", prompt, 0, 1.0) == "Fine."
    again = perturb_again_prompt(prompt.messages, "Fine.", "same: the text is not changed at all")
    assert bench.send("sim/calm-1", again, 0, 1.0) == "Fine."
