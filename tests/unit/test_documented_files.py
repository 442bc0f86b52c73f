"""The files that pages show are read by what reads such files.

A title names the file: `judge.yaml` is whole, `judge.yaml, in part` changes keys of a whole one of
its kind. Whole files of a page are there before one is read, so that they may name each other.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from prefect.settings.legacy import _get_settings_fields
from prefect.settings.models.root import Settings as PrefectSettings
from ruamel.yaml import YAML

from deployments.local.prefect_server import new_password
from deployments.local.status_pages import STATUS
from judge_gym.annotations import load_mapping
from judge_gym.calibration.alignment_file import load_alignment
from judge_gym.calibration.design import load_calibration
from judge_gym.calibration.review_file import load_review_file
from judge_gym.design.actors import load_actors
from judge_gym.design.plans import load_plan as load_analysis_plan
from judge_gym.design.study_file import load_study
from judge_gym.design.sweep import load_sweep
from judge_gym.evidence.rows import read_rows
from judge_gym.gyms import load_gym
from judge_gym.judges import (
    load_judge,
    new_label,
    read_item_file,
    read_items,
    read_labels,
    write_labels,
)
from judge_gym.lab.evidence import FIRECRAWL_KEY
from judge_gym.panel import load_document, load_panel
from judge_gym.recorded.claims import load_claims
from judge_gym.recorded.mapping import load_recorded
from judge_gym.settings import Settings
from judge_gym.simulator.faults.reading import load_plan
from support.command_line import REPOSITORY
from support.documents import Snippet, shell_lines, snippets

EXAMPLES = REPOSITORY / "deployments"
SWEEP = """
name: my-sweep
utility_model: sim/good-1
windows:
  january: {country: any, source: {kind: corpus, path: my-articles.jsonl}}
defaults: {window: january, concept: order, model: sim/calm-1}
blocks: [{rubric: own}]
"""
RECORDED = """
name: results
concept: better answer
source: results of others
stages: [first, tie, second]
item: {key: id}
"""


def read_workflow(path: Path) -> None:
    """A step of a workflow of GitHub is a command; test_documents.py checks its options."""
    step = YAML(typ="safe").load(path)
    assert list(step) == ["run"]
    assert step["run"].startswith("judge-gym ")


def read_scraping(path: Path) -> None:
    """What Prometheus is told: the path that `up` serves, and the user that it asks for."""
    [job] = YAML(typ="safe").load(path)["scrape_configs"]
    assert job["metrics_path"] == f"{STATUS}/metrics"
    assert job["basic_auth"]["username"] == new_password().partition(":")[0]


READERS: Mapping[str, Callable[[Path], object]] = {
    "my-sweep.yaml": load_sweep,
    "names.yaml": load_actors,
    "plan.yaml": load_analysis_plan,
    "alignment.yaml": load_alignment,
    "calibration.yaml": load_calibration,
    "workflow.yaml": read_workflow,
    "annotations.yaml": load_mapping,
    "mapping.yaml": load_recorded,
    "claims.yaml": lambda path: load_claims(path.parent),
    "study.yaml": load_study,
    "review.yaml": load_review_file,
    "faults.toml": load_plan,
    "prometheus.yml": read_scraping,
    "scores.csv": read_rows,
    "tickets.csv": read_rows,
    "tickets.yaml": load_recorded,
}
"""File → what reads it; any other YAML file is a judge."""
WHOLE: Mapping[str, str | Path] = {
    "my-sweep.yaml": SWEEP,
    "calibration.yaml": EXAMPLES / "calibrations" / "notes.yaml",
    "mapping.yaml": RECORDED,
    "judge.yaml": EXAMPLES / "calibrations" / "good.yaml",
    "workflow.yaml": "",
    "review.yaml": EXAMPLES / "reviews" / "notes.yaml",
}
"""What a part is put into where the page does not show the whole."""


def documents() -> Iterator[str]:
    pages = (REPOSITORY / "docs").glob("**/*.md")
    for path in (REPOSITORY / "README.md", REPOSITORY / "AGENTS.md", *sorted(pages)):
        document = path.relative_to(REPOSITORY).as_posix()
        if "tutorials" not in document:  # slow/test_tutorials.py runs them
            yield document


SHOWN = {
    document: found
    for document in documents()
    if (found := snippets(document, "yaml", "toml", "csv"))
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the examples, and the data that files of pages name."""
    shutil.copytree(EXAMPLES / "sweeps", tmp_path / "sweeps")
    folder = tmp_path / "of" / "pages"  # as deep as the example of a study, which names a rubric
    for name in ("calibrations", "alignments", "panels", "studies/weekly", "judges"):
        shutil.copytree(EXAMPLES / name, folder, dirs_exist_ok=True)
    shutil.copy(EXAMPLES / "panels" / "two-families.yaml", folder / "panel.yaml")
    for name in ("my-articles", "press"):
        (folder / f"{name}.jsonl").write_text('{"title": "A", "text": "Courts sit."}\n')
    (folder / "my-articles.csv").write_text("title,text,date\nA,Courts sit.,2026-01-05\n")
    pair = {"id": "1", "text": "One.", "second": "Two.", "context": "Which?", "truth": "first"}
    (folder / "items.jsonl").write_text(json.dumps(pair))
    for name in ("second", "cheap"):
        text = (folder / "notes.yaml").read_text().replace("name: notes", f"name: {name}")
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.mark.parametrize("document", SHOWN)
def test_the_files_of_a_page_are_read(document: str, folder: Path) -> None:
    for snippet in SHOWN[document]:
        assert snippet.file, f"{document} shows a file without a name: {snippet.body}"
        if not snippet.in_part:
            (folder / snippet.file).write_text(snippet.body)
    for snippet in SHOWN[document]:
        file = folder / snippet.file
        if snippet.in_part:
            put_in(snippet, file)
        reader = READERS.get(snippet.file, load_judge)
        try:
            reader(file)
        except Exception as error:
            raise AssertionError(f"{document}, {snippet.title}:\n{snippet.body}") from error


def put_in(snippet: Snippet, file: Path) -> None:
    """Write the whole file with the keys of a part; mappings are merged."""
    yaml = YAML()
    whole = WHOLE.get(snippet.file, "") if not file.exists() or snippet.file in WHOLE else file
    text = whole.read_text() if isinstance(whole, Path) else whole
    tree = yaml.load(text) or {}
    merge(tree, yaml.load(snippet.body) or {})
    with file.open("w") as written:
        yaml.dump(tree, written)


def merge(whole: dict[str, Any], part: Mapping[str, Any]) -> None:
    for key, value in part.items():
        if isinstance(value, dict) and isinstance(whole.get(key), dict):
            merge(whole[key], value)
        else:
            whole[key] = value


@pytest.mark.parametrize("document", documents())
def test_json_of_a_page_is_json(document: str) -> None:
    """One value over several lines, or one in each."""
    for snippet in snippets(document, "json"):
        lines = snippet.body.splitlines()
        for value in [snippet.body] if lines[0] in ("{", "[") else lines:
            json.loads(value)


def test_a_part_with_a_wrong_key_is_found(folder: Path) -> None:
    put_in(Snippet("yaml", "judge.yaml, in part", "gate: {agrement: 0.4}\n"), folder / "judge.yaml")
    with pytest.raises(Exception, match="agrement"):
        load_judge(folder / "judge.yaml")


def test_variables_that_pages_export_are_settings() -> None:
    """Of judge-gym, of Prefect, or a key that the providers file names."""
    exported = {
        word.partition("=")[0]
        for document in documents()
        for line in shell_lines(document)
        for word in line.split()
        if "=" in word and word.partition("=")[0].isupper()
    }
    assert "OPENAI_API_KEY" in exported
    assert {name for name in exported if not is_known(name)} == set()


def is_known(name: str) -> bool:
    named = {f"JUDGE_GYM_{field.upper()}" for field in Settings.model_fields}
    named |= {FIRECRAWL_KEY, *_get_settings_fields(PrefectSettings)}
    files = (EXAMPLES / "providers.toml", REPOSITORY / "compose.yaml")
    return name in named or any(name in file.read_text() for file in files)


@pytest.mark.parametrize(
    ("read", "example"),
    [
        (load_judge, "judges/notes.yaml"),
        (read_item_file, "judges/notes.jsonl"),
        (read_items, "judges/notes.jsonl"),
        (read_labels, "judges/notes-labels.csv"),
        (load_panel, "panels/two-families.yaml"),
        (load_document, "panels/library.yaml"),
        (load_gym, "gyms/apply.yaml"),
        (load_sweep, "sweeps/quick.yaml"),
    ],
)
def test_a_file_is_named_by_a_text_or_a_path(
    read: Callable[[str | Path], object], example: str
) -> None:
    file = EXAMPLES / example
    assert repr(read(str(file))) == repr(read(file))


def test_labels_are_written_to_a_file_named_by_a_text(folder: Path) -> None:
    written = str(folder / "labels.csv")
    write_labels(written, [new_label("t1", "ann", 4)])
    assert [row.annotator for row in read_labels(written).rows] == ["ann"]
