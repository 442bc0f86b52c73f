"""The calibration file: what it says, and what is said of one that does not fit."""

from pathlib import Path

import pytest

from judge_gym.calibration.design import load_calibration
from judge_gym.calibration.monotonicity import LEAST_ITEMS
from judge_gym.errors import ConfigError
from judge_gym.judges import load_judge, read_items
from judge_gym.judges.calibrating.judging import load_judges
from judge_gym.judges.calibrating.texts import changed_texts
from judge_gym.planted.editing import Expectation
from judge_gym.planted.perturbations import perturbations

EXAMPLES = Path(__file__).parents[3] / "deployments" / "calibrations"
FILE = "name: mine\njudges: [judge.yaml]\nitems: items.jsonl\n"


def written(tmp_path, more=""):
    for name in ("judge.yaml", "items.jsonl"):
        (tmp_path / name).touch()
    path = tmp_path / "calibration.yaml"
    path.write_text(FILE + more)
    return path


def test_paths_are_found_from_the_file_and_everything_has_a_default(tmp_path):
    design = load_calibration(written(tmp_path))
    assert design.judges == (tmp_path / "judge.yaml",)
    assert design.items == tmp_path / "items.jsonl"
    assert [one.name for one in design.chosen] == list(perturbations())
    assert design.repeats == 3
    assert design.margins.equivalence == 5


def test_a_model_makes_the_changes_it_is_named_for(tmp_path):
    more = (
        "perturbations: [tone, verbosity]\n"
        "perturber: {model: openai/gpt-4.1, types: [tone], budget: {max_calls: 9}}\n"
    )
    design = load_calibration(written(tmp_path, more))
    tone, verbosity = design.chosen
    assert design.made_by(tone) == "openai/gpt-4.1"
    assert design.made_by(verbosity) == ""
    assert design.perturber.budget.max_calls == 9


def test_expectations_decide_at_which_severities_a_text_is_judged(tmp_path):
    more = "severities: [0.2, 0.9]\nexpectations: {tone: drop}\nperturbations: [tone, verbosity]\n"
    design = load_calibration(written(tmp_path, more))
    tone, verbosity = design.chosen
    assert design.expectation(tone) is Expectation.DROP
    assert design.severities_of(tone) == (0.2, 0.9)
    assert design.severities_of(verbosity) == (0.9,)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("severities: [1, 0.5]", "severities are not ascending"),
        ("severities: [0.5, 1.7]", "severities[1] is 1.7. Use shares above 0 and at most 1"),
        ("perturbations: [tona]", "there is no perturbation 'tona'. Did you mean tone?"),
        (
            "expectations:\n  tone: drop\n  add_fluf: drop",
            "calibration.yaml, line 6: expectations.add_fluf does not fit: there is no "
            "perturbation 'add_fluf'. Did you mean add_fluff?",
        ),
        ("expectations: {tone: down}", "Use a mapping of perturbations to drop, invariant or rise"),
        ("repeats: 0", "Use a whole number from 1 to 50"),
        ("margins: {bins: 9}", "Use a whole number from 1 to 5"),
        ("perturber: {model: sim/calm-1, types: [tona]}", "there is no perturbation 'tona'"),
        (
            "perturber: {model: sim/calm-1, types: [tone]}\nperturbations: [verbosity]",
            "perturber has tone, which is not among the perturbations",
        ),
        ("perturber: {model: sim/calm-1}", "types"),
        (
            "perturber: {model: sim/calmm-1, types: [tone]}",
            "the simulator has no model 'sim/calmm-1'. Did you mean sim/calm-1?",
        ),
        ("margin: {bins: 3}", "Did you mean margins?"),
        ("decide: {readable: 98}", "decide.readable is 98"),
        ("decide: {agrement: 0.5}", "Did you mean agreement?"),
        ("decide: {perturbations: {tona: blocks}}", "Did you mean tone?"),
        (
            "decide: {perturbations: {tone: stops}}",
            "Use a mapping of perturbations to warns, blocks or blocks together",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_named(tmp_path, more, said):
    with pytest.raises(ConfigError) as error:
        load_calibration(written(tmp_path, more))
    assert said in str(error.value)
    assert "calibration.yaml, line " in str(error.value)


def test_a_file_that_is_not_there_is_named_with_its_line_and_key(tmp_path):
    path = written(tmp_path)
    path.write_text(FILE.replace("judge.yaml", "judge.yaml, juge.yaml"))
    with pytest.raises(ConfigError) as error:
        load_calibration(path)
    assert "line 2: judges[1] is 'juge.yaml', which does not exist" in error.value.message
    assert "Did you mean judge.yaml?" in error.value.remedy
    path.write_text(FILE.replace("items.jsonl", "texts.jsonl"))
    with pytest.raises(ConfigError, match=r"line 3: items is 'texts.jsonl', which does not"):
        load_calibration(path)


def test_files_of_another_kind_are_named_as_what_they_are(tmp_path):
    with pytest.raises(ConfigError, match=r"is a judge file.*judges: \[good.yaml\]"):
        load_calibration(EXAMPLES / "good.yaml")
    with pytest.raises(ConfigError, match="is a file of items"):
        load_judge(EXAMPLES / "notes.jsonl")


def test_the_examples_can_be_read_and_changed():
    design = load_calibration(EXAMPLES / "notes.yaml")
    assert [judge.name for judge in load_judges(design)] == ["good", "clustering"]
    texts = changed_texts(read_items(design.items), design)
    assert len(texts.originals) == 22
    assert {name for name, _ in texts.changed} == set(perturbations())
    for name, severity in texts.changed:
        changed = texts.changed[name, severity]
        assert len(changed) + texts.not_applicable[name] == 22
        assert len(changed) >= LEAST_ITEMS, "every perturbation is seen at work"
        assert all(one.item.text != texts.originals[one.original].text for one in changed)
        assert all(one.item.id == texts.originals[one.original].id for one in changed)
    assert len({item.key for item in texts.items}) == len(texts.items)


def test_a_judge_of_pairs_and_a_judge_twice_are_refused(tmp_path):
    judge = (EXAMPLES / "good.yaml").read_text()
    for name in ("judge.yaml", "other.yaml"):
        (tmp_path / name).write_text(judge)
    twice = written(tmp_path)
    twice.write_text(FILE.replace("judge.yaml", "judge.yaml, other.yaml"))
    with pytest.raises(ConfigError, match="is the same judge as"):
        load_judges(load_calibration(twice))
    pairs = (EXAMPLES.parent / "judges" / "answers.yaml").read_text()
    (tmp_path / "judge.yaml").write_text(pairs)
    with pytest.raises(ConfigError, match="judge of pairs"):
        load_judges(load_calibration(written(tmp_path)))
    with pytest.raises(ConfigError, match="has no judge"):
        load_judges(load_calibration(EXAMPLES / "notes.yaml"), [])
