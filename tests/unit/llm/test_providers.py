"""Providers files of one's own beside the shipped one."""

from pathlib import Path

import pytest

from judge_gym.errors import ConfigError
from judge_gym.llm.providers import load_providers
from judge_gym.settings import Settings

OWN = '[acme]\nlitellm = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nconcurrency = 1\n'


def test_simulated_providers_are_in_every_file_and_no_other_of_the_shipped_one(
    tmp_path: Path,
) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(OWN)
    shipped = load_providers(Settings.model_fields["providers_file"].default)
    providers = load_providers(file)
    assert providers.of("sim/good-1") == shipped.of("sim/good-1")
    assert providers.of("sim-gemini/good-1").name == "sim-gemini"
    assert providers.of("acme/one").concurrency == 1
    with pytest.raises(ConfigError, match="openai"):
        providers.of("openai/gpt-4o")


def test_a_file_that_names_the_simulator_decides_about_it(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(f'{OWN}[sim]\nlitellm = "openai"\nbase_url = "http://x/v1"\nconcurrency = 2\n')
    assert load_providers(file).of("sim/good-1").concurrency == 2
