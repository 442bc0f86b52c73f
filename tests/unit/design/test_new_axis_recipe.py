"""The recipe of the contributor guide: a new axis is one field, one strategy, one template line.

Experiments that do not use the new axis keep their identity and their prompts.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import judge_gym
from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import load_rubric
from judge_gym.design.sweep import load_sweep
from judge_gym.questions.scorer import scoring_prompt
from judge_gym.records.shown import ShownDocument, present

PACKAGE = Path(judge_gym.__file__).parent

FIELD = '''\
    prompt_language: Annotated[Literal["en", "de"], Axis()] = "en"
    """The language the judge is asked to reason in."""
'''
STRATEGY = '''\
"""Axis `prompt_language`: the language the judge is asked to reason in."""

from dataclasses import dataclass

from judge_gym.design.experiment import Experiment

AXES = ("prompt_language",)
_INSTRUCTIONS = {"en": "", "de": "Reason in German."}


@dataclass(frozen=True)
class Language:
    instruction: str


def resolve(experiment: Experiment) -> Language:
    return Language(_INSTRUCTIONS[experiment.prompt_language])
'''
LINE = """\
{% if language.instruction %}
{{ language.instruction }}
{% endif %}
"""

SWEEP = """\
name: languages
windows: {w: {country: Valmora, source: {kind: corpus, path: corpus.csv}}}
blocks: [{concept: fascism, window: w, model: sim/calm-1, prompt_language: [en, de]}]
"""

PROGRAM = """\
import json
from pathlib import Path

import judge_gym
from judge_gym.questions.scorer import scoring_prompt
from judge_gym.records.shown import ShownDocument, present
from judge_gym.design.axes import axes
from judge_gym.design.rubric import load_rubric
from judge_gym.design.sweep import load_sweep
from judge_gym.errors import ConfigError

print(Path(judge_gym.__file__).parent)
(axis,) = [axis for axis in axes() if axis.name == "prompt_language"]
print(axis.legal, axis.default, axis.why, *axis.modules, sep="|")
rubric = load_rubric(Path("rubric.yaml"))
documents = [ShownDocument("Court closed", "The court of Valmora was closed.")]
for experiment in load_sweep(Path("sweep.yaml")).experiments():
    prompt = scoring_prompt(experiment, rubric, documents, present(experiment, "one"), "call")
    print(experiment.prompt_language, experiment.key)
    print(json.dumps(prompt.messages))
Path("wrong.yaml").write_text(Path("sweep.yaml").read_text().replace("[en, de]", "fr"))
try:
    load_sweep(Path("wrong.yaml"))
except ConfigError as error:
    print(error)
"""

RUBRIC = """\
stages:
  - {label: No sign, criteria: [courts sit, papers print, parties meet]}
  - {label: Some signs, criteria: [a court is closed, a paper is closed, a party is fined]}
  - {label: Many signs, criteria: [courts are packed, papers are seized, parties are banned]}
  - {label: All signs, criteria: [courts obey, papers obey, one party is left]}
"""


def test_a_new_axis_changes_three_files_and_the_prompt(tmp_path: Path) -> None:
    copy = tmp_path / "judge_gym"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = contents(copy)
    insert_before(copy / "design" / "experiment.py", "    abstain: Annotated[", FIELD)
    (copy / "design" / "strategies" / "language.py").write_text(STRATEGY)
    insert_before(copy / "prompts" / "score.j2", "{{ scoring.closing }}", LINE)
    after = contents(copy)
    (tmp_path / "corpus.csv").write_text("text\nThe court sat.\n")
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    (tmp_path / "try_it.py").write_text(PROGRAM)

    done = subprocess.run(
        [sys.executable, "try_it.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert {name for name in after if before.get(name) != after[name]} == {
        "design/experiment.py",
        "design/strategies/language.py",
        "prompts/score.j2",
    }
    assert done.returncode == 0, done.stderr
    origin, axis, english, english_prompt, german, german_prompt, error = done.stdout.splitlines()
    assert origin == str(copy)
    assert axis == (
        "en or de|en|The language the judge is asked to reason in."
        "|judge_gym.design.strategies.language"
    )
    old = without_the_axis(tmp_path)
    old_prompt = scoring_prompt(
        old,
        load_rubric(tmp_path / "rubric.yaml"),
        [ShownDocument("Court closed", "The court of Valmora was closed.")],
        present(old, "one"),
        "call",
    )
    assert english == f"en {old.key}"
    assert english_prompt == json.dumps(old_prompt.messages)
    assert german.startswith("de ")
    assert german != f"de {old.key}"
    assert "\\nReason in German.\\n" in german_prompt
    assert error == "wrong.yaml, line 3: blocks[0].prompt_language is 'fr'. Use en or de."


def without_the_axis(folder: Path) -> Experiment:
    """The experiment of the same sweep before the axis was added."""
    old = folder / "old.yaml"
    old.write_text(SWEEP.replace(", prompt_language: [en, de]", ""))
    (experiment,) = load_sweep(old).experiments()
    return experiment


def insert_before(path: Path, anchor: str, text: str) -> None:
    source = path.read_text()
    assert source.count(anchor) == 1
    path.write_text(source.replace(anchor, text + anchor))


def contents(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
