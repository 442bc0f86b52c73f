"""Providers files of one's own beside the shipped one."""

from pathlib import Path

import pytest

from judge_gym.errors import ConfigError
from judge_gym.llm.providers import load_providers
from judge_gym.settings import Settings
from judge_gym.shipped import DEPLOYMENTS

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


def test_a_simulator_address_without_its_path_names_the_variable_and_the_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shipped = load_providers(DEPLOYMENTS / "providers.toml")
    for given in ("http://127.0.0.1:8792", "http://127.0.0.1:8792/"):
        monkeypatch.setenv("JUDGE_GYM_SIMULATOR_URL", given)
        with pytest.raises(ConfigError, match="JUDGE_GYM_SIMULATOR_URL is http://127") as found:
            shipped.check({"sim/calm-1"})
        assert "http://127.0.0.1:8792/v1" in found.value.remedy
    monkeypatch.setenv("JUDGE_GYM_SIMULATOR_URL", "http://127.0.0.1:8792/v1")
    shipped.check({"sim/calm-1", "sim-anthropic/calm-1"})
