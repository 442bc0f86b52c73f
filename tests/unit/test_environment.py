"""What commands choose for Prefect, and what they leave to the user."""

import os
from pathlib import Path

import pytest

from deployments.cli.environment import prepare_environment


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment of a user with an empty home folder."""
    given = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    monkeypatch.setattr(os, "environ", given)
    return given


def test_prefect_can_make_its_folder_in_a_fresh_place(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    prepare_environment(tmp_path / "not" / "yet", verbose=False)
    home = Path(environment["PREFECT_HOME"])
    home.mkdir()  # as Prefect does: without parents
    assert home == tmp_path / "not" / "yet" / "prefect"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PREFECT_API_URL", "http://127.0.0.1:4200/api"),
        ("PREFECT_HOME", "mine"),
        ("PREFECT_PROFILE", "x"),
    ],
)
def test_what_the_user_chose_stays(
    tmp_path: Path, environment: dict[str, str], name: str, value: str
) -> None:
    environment[name] = value
    prepare_environment(tmp_path, verbose=False)
    assert environment.get("PREFECT_HOME") == (value if name == "PREFECT_HOME" else None)
    assert environment[name] == value


def test_a_profile_of_the_users_is_used(tmp_path: Path, environment: dict[str, str]) -> None:
    profiles = tmp_path / "home" / ".prefect" / "profiles.toml"
    profiles.parent.mkdir(parents=True)
    profiles.touch()
    prepare_environment(tmp_path, verbose=False)
    assert "PREFECT_HOME" not in environment
