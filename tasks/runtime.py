"""The runtime as flows and tasks open it: it finds keys in Prefect's Secret blocks too."""

from contextlib import AbstractAsyncContextManager

from judge_gym import runtime as library
from judge_gym.runtime import Runtime
from judge_gym.settings import Layers
from tasks.keys import secret_block


def runtime(layers: Layers = ()) -> AbstractAsyncContextManager[Runtime]:
    """Open the runtime of this event loop, or share the one already open."""
    return library.runtime(layers, secret_block)
