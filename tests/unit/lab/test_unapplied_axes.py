"""Axes that models do not apply, by the shipped providers file: an error, or a mark."""

from pathlib import Path

import pytest

from judge_gym.design.sweep import Sweep, load_sweep
from judge_gym.errors import ConfigError
from judge_gym.lab.sweeps import unapplied
from judge_gym.llm.providers import load_providers
from judge_gym.settings import Settings
from judge_gym.shipped import DEPLOYMENTS

PROVIDERS = load_providers(DEPLOYMENTS / "providers.toml")
SETTINGS = Settings(utility_model="openai/gpt-4.1-nano")


def a_sweep(folder: Path, axes: str, more: str = "") -> Sweep:
    (folder / "news.jsonl").write_text("{}")
    file = folder / "sweep.yaml"
    file.write_text(
        f"name: s\n{more}windows:\n  w: {{country: Valmora, source: {{kind: corpus, "
        f"path: news.jsonl}}}}\nblocks:\n  - {{concept: order, window: w, {axes}}}\n"
    )
    return load_sweep(file)


def notes(sweep: Sweep) -> list[str]:
    experiments = list(sweep.experiments())
    return list(map(str, unapplied(PROVIDERS, SETTINGS, sweep, experiments)))


@pytest.mark.parametrize(
    "model",
    [
        "anthropic/claude-sonnet-4-5",
        "anthropic/claude-opus-4-7",
        "deepseek/deepseek-v4",
        "gemini/gemini-2.5-flash",
        "gemini/gemini-3-pro-preview",
        "openai/gpt-5",
        "openai/gpt-5-mini",
        "openai/gpt-5.1",
        "openai/o3",
        "openrouter/openai/gpt-5",
        "xai/grok-4",
        "mistral/mistral-large-latest",
        "ollama/qwen3",
        "local/mine",
    ],
)
def test_a_sweep_that_sets_no_axis_can_be_planned(model: str, tmp_path: Path) -> None:
    notes(a_sweep(tmp_path, f"model: {model}"))


@pytest.mark.parametrize(
    ("axes", "message", "remedy"),
    [
        ("model: [openai/gpt-4.1, openai/gpt-5], temperature: [0, 0.5, 1]",
         "openai/gpt-5 does not apply temperature 0, 0.5: it uses its default, 1.",
         "Write `temperature: 1` for openai/gpt-5"),
        # Its documented top_p is not the default of the axis, so it has to be written.
        ("model: gemini/gemini-3.6-flash",
         "gemini/gemini-3.6-flash does not apply top_p 1: it uses its default, 0.95.",
         "Write `top_p: 0.95` for gemini/gemini-3.6-flash"),
        ("model: deepseek/deepseek-v4, temperature: 0",
         "deepseek/deepseek-v4 does not apply temperature 0: it takes it only at "
         "reasoning_effort none.", "Write `reasoning_effort: none` for deepseek/deepseek-v4"),
        ("model: anthropic/claude-sonnet-4-6, temperature: 0.2, reasoning_effort: high",
         "anthropic/claude-sonnet-4-6 does not apply temperature 0.2: it takes it only at "
         "reasoning_effort none.", "Write `reasoning_effort: none` for anthropic/claude-sonnet-4-6,"
         " in a block of their own"),
        ("model: openai/gpt-5, reasoning_effort: [default, none, low]",
         "openai/gpt-5 does not apply reasoning_effort none: it takes low, medium, high.", ""),
        ("model: anthropic/claude-opus-4-7, logprobs: true",
         "anthropic/claude-opus-4-7 does not apply logprobs True: it gives no token "
         "probabilities.", ""),
        ("model: openai/gpt-4o, max_tokens: 20000",
         "openai/gpt-4o does not apply max_tokens 20000: it takes at most 16384.", ""),
    ],
)  # fmt: skip
def test_a_value_that_a_model_does_not_apply_is_an_error_or_is_marked(
    axes: str, message: str, remedy: str, tmp_path: Path
) -> None:
    sweep = a_sweep(tmp_path, axes)
    with pytest.raises(ConfigError) as refused:
        notes(sweep)

    assert refused.value.message == f"{sweep.path}: {message}"
    assert refused.value.remedy.startswith(remedy)
    assert "on_unsupported: mark" in refused.value.remedy
    said = notes(a_sweep(tmp_path, axes, "on_unsupported: mark\n"))
    # The rubrics of these judges are written at temperature 0, which the mark says too.
    assert any(note.split(" 0")[0] in message.split(" 0")[0] for note in said), said


def test_an_effort_that_allows_a_temperature_needs_no_mark(tmp_path: Path) -> None:
    sweep = a_sweep(tmp_path, "model: deepseek/deepseek-v4, temperature: 0, reasoning_effort: none")
    notes(sweep)


def test_only_calls_that_a_sweep_makes_are_looked_at(tmp_path: Path) -> None:
    """Who writes no rubric and edits no evidence is not asked at temperature 0."""
    axes = "model: openai/gpt-5-mini, evidence_view: raw, rubric: "
    shared = notes(a_sweep(tmp_path, axes + "{shared: openai/gpt-4.1-mini}"))
    assert not [note for note in shared if "temperature" in note]
    own = notes(a_sweep(tmp_path, axes + "own"))
    assert [note for note in own if "openai/gpt-5-mini does not apply temperature 0:" in note]


def test_values_that_exclude_each_other_are_an_error_even_when_marked(tmp_path: Path) -> None:
    sweep = a_sweep(
        tmp_path,
        "model: anthropic/claude-sonnet-4-5, temperature: 0, top_p: 0.9",
        "on_unsupported: mark\n",
    )
    with pytest.raises(ConfigError) as refused:
        notes(sweep)
    assert refused.value.message.startswith(f"{sweep.path}: anthropic/claude-sonnet-4-5 takes only")
