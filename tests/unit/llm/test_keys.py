"""Where keys are found: the environment wins, whoever keeps them is asked once."""

import asyncio

import pytest
from pydantic import SecretStr

from judge_gym.errors import ConfigError
from judge_gym.llm.keys import Keys
from judge_gym.llm.providers import Provider

VAULT = Provider(name="vault", key_env="VAULT_API_KEY")


class Kept:
    """Keys kept under names, and what was asked for."""

    def __init__(self, **keys: str) -> None:
        self.keys = keys
        self.asked: list[str] = []

    async def __call__(self, name: str) -> SecretStr | None:
        self.asked.append(name)
        await asyncio.sleep(0)
        key = self.keys.get(name.replace("-", "_"))
        return None if key is None else SecretStr(key)


def keys_of(kept: Kept, calls: int = 1) -> list[str]:
    async def ask() -> list[str]:
        keys = Keys(kept)
        found = await asyncio.gather(*(keys.of(VAULT) for _ in range(calls)))
        return [key.get_secret_value() for key in found]

    return asyncio.run(ask())


def test_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULT_API_KEY", "of-environment")
    kept = Kept(vault_api_key="kept")
    assert keys_of(kept) == ["of-environment"]
    assert kept.asked == []


def test_a_kept_key_is_asked_for_once_however_many_calls_need_it() -> None:
    kept = Kept(vault_api_key="kept")
    assert keys_of(kept, calls=50) == ["kept"] * 50
    assert kept.asked == ["vault-api-key"]


def test_without_a_key_both_places_are_named() -> None:
    with pytest.raises(ConfigError) as error:
        keys_of(Kept(other="kept"))
    assert "provider vault" in error.value.message
    assert "VAULT_API_KEY" in error.value.remedy
    assert "vault-api-key" in error.value.remedy


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("sk-0123456789\n", "a line end at its end"),
        ("sk-0123456789\r\n", "a line end (CR) at its end"),
        (" sk-0123456789", "a space at position 1"),
        ("“sk-0123456789”", "U+201C at position 1"),
        ("sk-01234\u200b56789", "U+200B at position 9"),
    ],
)
def test_a_key_that_no_header_can_hold_names_its_variable_and_is_not_quoted(
    monkeypatch: pytest.MonkeyPatch, key: str, wrong: str
) -> None:
    monkeypatch.setenv("VAULT_API_KEY", key)
    with pytest.raises(ConfigError) as error:
        keys_of(Kept())
    assert "VAULT_API_KEY" in error.value.message
    assert wrong in error.value.message
    assert "0123" not in str(error.value)
