"""Providers files of one's own beside the shipped one."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from judge_gym.design.toml_tree import toml_tree
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


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("[acme]\nconcurency = 3\n", "line 2: acme.concurency is not a known key",
         "Did you mean concurrency?"),
        ('[acme]\nkey_env = """\n[no]\ntable = 1"""\n\nconcurrency = 0 # none\n',
         "line 6: acme.concurrency is 0", "from 1 to 10000"),
        ('[acme]\n[acme.models."m-*"] # all\nseed = 1\nrefuses = [\n  "seed",\n  "sead",\n]\n',
         "line 3: acme.models.m-*.seed is not", "refuses"),
        ('[acme]\n[acme.models."m-*"]\nrefuses = [\n  "seed",\n  "sead",\n]\n',
         "line 3: acme.models.m-*.refuses[1] is 'sead'", "temperature"),
        ("[acme]\nprices.'m.1' = {prompt = -1, completion = 2}\n",
         "line 2: acme.prices.m.1.prompt is -1", "at least 0"),
        ('[acme]\nprices.m = {prompt = 1}\n', "line 2: acme.prices.m.completion is missing", ""),
        ('[acme]\nranges = {temperature = [0]}\n', "line 2: acme.ranges.temperature is a list of 1",
         "two numbers"),
        ('[acme]\nmodels.m = {retired = 12}\n', "line 2: acme.models.m.retired is 12", "date"),
        ("[acme]\nbatch = true\n", "line 2: acme.batch does not fit: is True", ""),
        ("acme = 3\n", "line 1: acme is 3", "keys and values"),
        ("[acme]\nconcurrency = \n", "is not TOML: Invalid value (at line 2", ""),
    ],
)  # fmt: skip
def test_a_wrong_key_is_named_with_its_line_and_value(
    tmp_path: Path, text: str, said: str, remedy: str
) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_providers(file)
    assert f"{file}" in error.value.message
    assert said in error.value.message
    assert remedy in error.value.remedy


def test_every_key_of_the_shipped_file_has_its_own_line() -> None:
    """The line of a key begins with it, or with the table that it is in."""
    file = DEPLOYMENTS / "providers.toml"
    text = file.read_text()
    lines, waiting = text.splitlines(), [toml_tree(text, file)]
    while waiting:
        node = waiting.pop()
        if isinstance(node.value, Mapping):
            waiting += node.value.values()
        if node.place.key:
            line = lines[node.place.line - 1]
            assert any(part in line for part in node.place.key.replace("[", ".").split("."))


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_bytes(b"[acme]\nkey_env = '\xff'\n")
    with pytest.raises(ConfigError, match="line 2: not UTF-8"):
        load_providers(file)
