"""`sweep plan` finds mistakes in the files of a sweep before anything is spent."""

import json
from collections.abc import Mapping

import pytest

from support.command_line import CommandLine, small_sweep, sweep_text

pytestmark = pytest.mark.slow

RUBRIC = """stages:
  - label: Precise
    criteria: [a number, a date, a source]
  - label: {label}
    criteria: [no number, no date, no source]
"""


def write_corpus(command: CommandLine, *changes: Mapping[str, str]) -> str:
    """Write a sweep on a corpus of one document for each change; returns the sweep's file."""
    usual = {"title": "t", "date": "2026-01-06"}
    rows = [
        usual | {"text": f"Day {number}. " + "The court heard two newspapers. " * 9} | change
        for number, change in enumerate(changes)
    ]
    (command.folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    text = sweep_text("quick.yaml")
    path = text.partition("path: ")[2].partition("}")[0]
    (command.folder / "own.yaml").write_text(text.replace(path, "corpus.jsonl"))
    return "own.yaml"


def test_documents_that_a_file_has_are_planned_and_lost_ones_reported(
    command: CommandLine,
) -> None:
    file = write_corpus(command, {}, {}, {"date": "04.02.26"}, {"date": "2025-01-01"})
    plan = command("sweep", "plan", file).fine().output
    # 3 judges x 2 documents x 2 replicates; the window takes 5. Other dates are no fault.
    assert ["w3-scoring", "judgements", "sim", "12"] in [line.split()[:4] for line in
                                                         plan.splitlines()]  # fmt: skip
    assert "Window valmora drops 1 of 4 documents: 1 unreadable, such as corpus.jsonl" in plan
    assert "line 3" in plan


def test_cut_and_doubtful_texts_are_warned_of_by_plan_run_and_report(command: CommandLine) -> None:
    article = "The court heard two newspapers. " * 9
    file = write_corpus(
        command,
        {"text": " ".join(f"Sentence {number} is here." for number in range(2_000))},
        {"text": f"First. {article}"},
        {"text": "We use cookies. Accept all cookies. Change your cookie settings. " * 9},
    )
    cut = "Window valmora: 1 of 3 texts is cut at max_document_characters. corpus.jsonl line 1: "
    doubtful = "corpus.jsonl line 3: not article"
    plan = " ".join(command("sweep", "plan", file).fine().output.split())
    assert cut in plan
    assert doubtful in plan
    ran = " ".join(command("sweep", "run", file).fine().output.split())
    assert ran.count(cut) == 2  # at its beginning, and under "Be careful"
    assert ran.count(doubtful) == 2
    shown = " ".join(command("evidence", "show", "valmora").fine().output.split())
    assert "of 44,889" in shown
    assert cut in shown


def test_a_window_that_keeps_no_document_is_refused_by_the_plan_as_by_the_run(
    command: CommandLine,
) -> None:
    file = write_corpus(command, {"date": "2025-01-01"}, {"date": "04.02.26"})
    for action in ("plan", "run"):
        refused = command("sweep", action, file)
        assert refused.code != 0
        said = " ".join(refused.errors.split())
        assert "has no document: all that was found in " in said
        assert "corpus.jsonl was dropped (" in said
        assert "dated 2025-01-01, wanted 2026-01-05 to 2026-01-18" in said
        assert "allow_empty: true" in said
    assert command("sweep", "plan", file).code == 2
    own = command.folder / file
    own.write_text(own.read_text().replace("corpus.jsonl}", "corpus.jsonl, allow_empty: true}"))
    planned = command("sweep", "plan", file).fine()
    said = " ".join(f"{planned.output} {planned.errors}".split())
    assert "dated 2025-01-01, wanted 2026-01-05 to 2026-01-18" in said


@pytest.mark.parametrize("changes", [(), ({"text": "", "texxt": "The court"},)])
def test_a_file_without_a_readable_row_is_an_error(
    command: CommandLine, changes: tuple[Mapping[str, str], ...]
) -> None:
    file = write_corpus(command, *changes)
    corpus = command.folder / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace('"text": "", ', ""))
    refused = command("sweep", "plan", file)
    assert refused.code == 2
    assert f"Window valmora: {corpus}: no row can be read" in refused.errors


@pytest.mark.parametrize("model", ["gpt-4.1-mini", "opnai/gpt-4.1-mini"])
def test_a_model_without_a_provider_is_placed(command: CommandLine, model: str) -> None:
    file = command.folder / "own.yaml"
    file.write_text(small_sweep("own", "sim/calm-1", ("model: sim/calm-1\n    e",
                                                      f"model: {model}\n    e")))  # fmt: skip
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if model in text)
    for action in ("plan", "run"):
        refused = command("sweep", action, file)
        assert refused.code == 2
        assert f"{file}, line {line}: blocks[0].model: Model {model!r}" in refused.errors


def test_a_utility_model_is_needed_only_for_calls_to_it(command: CommandLine) -> None:
    file = command.folder / "own.yaml"
    raw = small_sweep("own", "openai/gpt-4.1-mini").replace(
        "utility_model: openai/gpt-4.1-mini\n", ""
    )
    file.write_text(raw)
    command("sweep", "plan", file).fine()
    file.write_text(raw.replace("evidence_view: raw", "evidence_view: neutralized"))
    assert "names no utility_model" in command("sweep", "plan", file).errors


@pytest.mark.slow
def test_a_price_is_needed_before_the_run_and_only_for_calls(command: CommandLine) -> None:
    """The plan refuses what the run refuses; a model that gets no call is not named."""
    file = command.folder / "own.yaml"
    unpriced = "openai/gpt-9-unpriced"
    raw = small_sweep(
        "own",
        "sim/calm-1",
        ("name: own", "name: own\nbudget: {max_cost_usd: 1}"),
        ("utility_model: sim/calm-1", f"utility_model: {unpriced}"),
    )
    assert unpriced in raw
    file.write_text(raw)
    assert unpriced not in command("sweep", "plan", file).fine().output
    file.write_text(raw.replace("evidence_view: raw", "evidence_view: neutralized"))
    for action in ("plan", "run"):
        refused = command("sweep", action, file, OPENAI_API_KEY="none")
        assert refused.code == 2
        assert f"the price of {unpriced} is in no list" in refused.errors


def test_a_plan_warns_of_a_bound_per_hour(command: CommandLine) -> None:
    """4 judgements and 4 probes at 3 calls an hour take three hours; simulated calls none."""
    providers = command.folder / "providers.toml"
    simulated = '[sim]\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n'
    providers.write_text(f"[bounds]\ncalls_per_hour = 3\n{simulated}[openai]\n")
    file = command.folder / "own.yaml"
    for model, warned in (("openai/gpt-4.1-mini", True), ("sim/calm-1", False)):
        file.write_text(small_sweep("own", model))
        plan = command("sweep", "plan", file, JUDGE_GYM_PROVIDERS_FILE=str(providers)).fine()
        assert ("needed take at least 3 hours" in " ".join(plan.output.split())) == warned


def test_a_label_that_cannot_be_used_is_placed_in_the_rubric(command: CommandLine) -> None:
    rubric = command.folder / "rubric.yaml"
    rubric.write_text(RUBRIC.format(label="precise"))
    text = small_sweep("own", "sim/calm-1")
    path = text.partition("provided: ")[2].partition("}")[0]
    (command.folder / "own.yaml").write_text(text.replace(path, "rubric.yaml"))
    refused = command("sweep", "plan", "own.yaml")
    assert "rubric.yaml, line 4: stages[1].label is 'precise'" in refused.errors
    assert "Give each stage a label of its own" in refused.errors
    rubric.write_text(RUBRIC.format(label="Vague"))
    assert "2 stages, so write scale_size: 2" in command("sweep", "plan", "own.yaml").errors
