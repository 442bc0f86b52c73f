"""What a process needs to work: settings, database, providers, gateway; one set per event loop.

Flows and tasks never pass these as parameters: they open the runtime, and nested users share it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.llm.keys import Keys, KeySource
from judge_gym.llm.providers import Providers, load_providers
from judge_gym.settings import Layers, Settings, settings, settings_of_run
from judge_gym.store.engine import connect

if TYPE_CHECKING:
    from judge_gym.llm.gateway import Gateway


@dataclass(frozen=True)
class Runtime:
    """Open connections and clients."""

    settings: Settings
    engine: Engine
    providers: Providers
    gateway: "Gateway"
    keys: Keys = field(default_factory=Keys)
    begun: "Counter[object]" = field(default_factory=Counter)
    """Who has a budget → questions that it has begun in this process and not ended."""
    first_answers: dict[str, Any] = field(default_factory=dict)
    """The first answers of judges of the user's own in this run, by key of the judge."""

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A transaction: committed at the end, rolled back on an exception."""
        with Session(self.engine) as session, session.begin():
            yield session


@dataclass
class _Shared:
    """The runtime of one event loop and how many use it; the last one out closes it."""

    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    runtime: Runtime | None = None


_of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()


@asynccontextmanager
async def runtime(
    layers: Layers = (),
    keys_elsewhere: KeySource | None = None,
    configured: Settings | None = None,
) -> AsyncIterator[Runtime]:
    """Open the runtime of this event loop, or share the one already open.

    `layers` are settings of this run, `configured` is all of them as another process has read
    them, `keys_elsewhere` gives keys that the environment lacks; whoever shares the runtime has
    them too.
    """
    configured = settings_of_run(layers) if layers else configured
    shared = _of_loop.setdefault(asyncio.get_running_loop(), _Shared())
    shared.users += 1
    try:
        async with shared.opening:
            if shared.runtime is None:
                shared.runtime = await _opened(configured or settings(), keys_elsewhere)
            elif configured not in (None, shared.runtime.settings):
                raise RuntimeError("the runtime of this loop is open with other settings")
        yield shared.runtime
    finally:
        shared.users -= 1
        if shared.users == 0 and shared.runtime is not None:
            closing, shared.runtime = shared.runtime, None
            try:
                await closing.gateway.close()
            finally:
                closing.engine.dispose()


async def _opened(configured: Settings, keys_elsewhere: KeySource | None) -> Runtime:
    # litellm takes seconds to import, which commands that only read must not pay.
    from judge_gym.llm.gateway import Gateway

    engine = await asyncio.to_thread(connect, configured)
    providers = load_providers(configured.providers_file)
    keys = Keys(keys_elsewhere)
    gateway = Gateway(
        engine,
        providers,
        keys=keys,
        attempts=configured.call_attempts,
        timeout_s=configured.call_timeout_s,
        outage_patience_s=configured.outage_patience_s,
        reuse_answers=configured.reuse_answers,
    )
    return Runtime(configured, engine, providers, gateway, keys)
