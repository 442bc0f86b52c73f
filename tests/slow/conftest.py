"""One installation for all tests of a worker: `judge-gym up` takes most of a minute to start."""

from collections.abc import Iterator

import pytest

from support.command_line import CommandLine
from support.installation import Installation

PROVIDERS = """
[sim]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
task_slots = 1
# The demo then takes minutes on any machine, so that it is still at work when a test ends it.
requests_per_minute = 1200
# It bills for what the simulator answers.
[acme]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
prices."calm-1" = {prompt = 100, completion = 400}
[sim-anthropic]
litellm = "anthropic"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
path = "/"
models."*" = {refuses = ["seed"]}
[sim-gemini]
litellm = "gemini"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
path = "/v1beta"
[sim-mistral]
litellm = "mistral"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
path = "/mistral/v1"
"""


@pytest.fixture(scope="session")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """`judge-gym up`, with everything started and deployed; in the end nothing is left of it."""
    folder = tmp_path_factory.mktemp("up")
    providers = folder / "providers.toml"
    providers.write_text(PROVIDERS)
    environment = {"JUDGE_GYM_PROVIDERS_FILE": str(providers)}
    installation = Installation(CommandLine(folder, environment))
    try:
        yield installation.start()
    finally:
        installation.remove()


@pytest.fixture(autouse=True)
def up_again(request: pytest.FixtureRequest) -> None:
    """Whoever needs `up` finds it running, whatever ran in this worker before."""
    if "up" in request.fixturenames:
        request.getfixturevalue("up").start_again()
