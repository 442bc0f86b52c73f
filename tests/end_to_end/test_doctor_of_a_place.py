"""The doctor names what is wrong around an installation: providers, workers, disks."""

import json
from collections.abc import Callable, Iterator

import pytest

from support.command_line import CommandLine
from support.disks import SmallDisk
from support.paid_provider import PaidProvider, paid_provider
from support.prefect_server import free_port
from support.simulation import Simulator

KEY = "sk-doctor-0123456789abcdef"
PROVIDERS = """
[paid]
litellm = "openai"
base_url = "{url}"
key_env = "PAID_API_KEY"
"""


@pytest.fixture
def provider(simulator: Simulator, command: CommandLine) -> Iterator[PaidProvider]:
    """A provider that a file of the folder uses."""
    (command.folder / "judge.yaml").write_text("model: paid/good-1\n")
    with paid_provider(simulator.url, KEY, latency_s=0) as provider:
        (command.folder / "providers.toml").write_text(PROVIDERS.format(url=provider.url))
        yield provider


def fine(_: PaidProvider) -> None:
    pass


def away(provider: PaidProvider) -> None:
    provider.is_away = True


def expired(provider: PaidProvider) -> None:
    provider.key = "another"


@pytest.mark.parametrize(
    ("fault", "mark", "said"),
    [
        (fine, "✓", "answers"),
        (away, "✗", "does not answer"),
        (expired, "✗", "refuses the key (HTTP 401)"),
    ],
)
def test_a_provider_that_is_used_is_asked_whether_it_answers(
    command: CommandLine,
    provider: PaidProvider,
    fault: Callable[[PaidProvider], None],
    mark: str,
    said: str,
) -> None:
    fault(provider)
    file = str(command.folder / "providers.toml")
    ended = command("doctor", PAID_API_KEY=KEY, JUDGE_GYM_PROVIDERS_FILE=file)
    [line] = [one for one in ended.output.splitlines() if "provider paid" in one]
    assert line.startswith(f"{mark} provider paid: {provider.url} {said}")
    # The server of the whole run may have findings of other tests beside it.
    assert ended.code == ("✗" in ended.output)
    assert KEY not in ended.output
    # It spends nothing.
    assert not provider.answered


def test_a_provider_of_no_file_is_not_asked(command: CommandLine, provider: PaidProvider) -> None:
    (command.folder / "judge.yaml").unlink()
    file = str(command.folder / "providers.toml")
    ended = command("doctor", PAID_API_KEY=KEY, JUDGE_GYM_PROVIDERS_FILE=file)
    assert "provider paid" not in ended.output


def test_a_full_disk_is_the_first_problem(command: CommandLine) -> None:
    disk = SmallDisk.mounted(32)
    if disk is None:
        pytest.skip("this user may not mount a disk")
    try:
        disk.fill()
        ended = command("doctor", JUDGE_GYM_DATA_DIR=str(disk.place))
    finally:
        disk.unmount()
    assert ended.output.startswith(f"✗ disk: The disk of {disk.place} is full")


def test_a_key_that_may_be_in_a_block_is_not_missed_while_prefects_server_is_away(
    command: CommandLine, provider: PaidProvider
) -> None:
    file = str(command.folder / "providers.toml")
    away = f"http://127.0.0.1:{free_port()}/api"
    findings = json.loads(
        command.here("doctor", "--json", PREFECT_API_URL=away, JUDGE_GYM_PROVIDERS_FILE=file).output
    )["findings"]
    states = {one["subject"]: one["state"] for one in findings}
    assert states["key of paid"] == "unused"
    assert states["prefect"] == "broken"
