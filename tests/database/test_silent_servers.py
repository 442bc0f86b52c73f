"""A Prefect server that accepts connections and does not answer: what a command says, and when."""

import asyncio
import socket
from collections.abc import Iterator

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from deployments.cli import environment, output
from judge_gym.errors import JudgeGymError


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/api"


def test_a_silent_server_is_named_before_and_after_the_patience(
    silent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "SILENT_S", 0.2)
    monkeypatch.setattr(environment, "ANSWER_S", 1.0)
    with (
        temporary_settings({PREFECT_API_URL: silent}),
        pytest.raises(JudgeGymError, match="has not answered within 1 s"),
    ):
        asyncio.run(environment.check_api(silent))
    said = capsys.readouterr().err
    assert said.count("Waiting for the Prefect server at") == 1
    assert "at most 1 s" in said


def test_what_answers_soon_is_not_spoken_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "SILENT_S", 60)
    with output.waiting_for("a server", 120):
        pass
    assert not capsys.readouterr().err
