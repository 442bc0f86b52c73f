"""Advisory locks on what a run is working on, so that two runs never pay for the same answer.

A lock belongs to an open transaction of a connection of its own. It ends with the process, however
that ends, so nothing is left to clean up after a kill. A lock of the session would protect nothing
behind a pooler, which lends the session to anybody's next transaction. The transaction reads no
table, so it keeps back no change of one, and each heartbeat lets vacuum go on to its moment.
"""

import asyncio
import functools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.errors import AtWorkError, StoreError
from judge_gym.seeds import derive_seed

POLL_S = 1.0
HEARTBEAT_S = 5.0
"""A lost connection of a run is opened again after this long."""
_AWAY = (sa.exc.DBAPIError, StoreError)
"""Errors of a connection to a database that is away."""
_SWEEPS = derive_seed("judge-gym sweeps in progress") % 2**31
_BUCKETS = 1024
"""Names of a kind share this many locks: a server has room for thousands. Two names in one bucket
wait for each other. Kinds share none: a run that holds one takes locks of others."""
_TRY = sa.text(
    "SELECT bool_and(pg_try_advisory_xact_lock(space, bucket)) "
    "FROM unnest(CAST(:spaces AS int[]), CAST(:buckets AS int[])) AS wanted (space, bucket)"
)
_SHARE = sa.text("SELECT pg_advisory_xact_lock_shared(:space, :sweep)")
_HELD = sa.text(
    "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database WHERE "
    "datname = current_database() AND locktype = 'advisory' AND objsubid = 2 AND granted AND "
    "(classid::bigint, objid::bigint) IN (SELECT * FROM unnest(CAST(:spaces AS bigint[]), "
    "CAST(:buckets AS bigint[]))))"
)


@asynccontextmanager
async def locked(
    engine: sa.Engine, work: Mapping[str, Iterable[object]], waiting: Callable[[], None]
) -> AsyncIterator[None]:
    """Lock these names, by kind, for the block; calls `waiting` once if a run has one of them.

    The locks are taken again if the database restarts during the block.
    """
    buckets = _buckets(work)
    held, over = asyncio.Event(), asyncio.Event()
    waiting_once = functools.cache(waiting)

    async def ended_within(seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), seconds)
        return over.is_set()

    async def is_taken(connection: sa.Connection) -> bool:
        while not await asyncio.to_thread(_taken, connection, buckets):
            waiting_once()
            if await ended_within(POLL_S):
                return False
        return True

    async def hold() -> None:
        connection = await asyncio.to_thread(engine.connect)
        try:
            if not await is_taken(connection):
                return
            held.set()
            while not await ended_within(HEARTBEAT_S):
                try:
                    if not connection.closed:
                        await asyncio.to_thread(connection.execute, sa.select(1))
                        continue
                    connection = await asyncio.to_thread(engine.connect)
                    if not await is_taken(connection):
                        return
                except _AWAY:
                    connection.close()
        finally:
            await asyncio.to_thread(_closed, connection)

    # A task of its own owns the connection: the block may be cancelled at any moment, more than
    # once, and a connection that went back to its pool would keep the locks.
    holding = asyncio.create_task(hold())
    taking = asyncio.create_task(held.wait())
    try:
        await asyncio.wait({taking, holding}, return_when=asyncio.FIRST_COMPLETED)
        if not held.is_set():
            holding.result()
        yield
    finally:
        taking.cancel()
        over.set()
        await asyncio.shield(holding)


@contextmanager
def in_progress(engine: sa.Engine, sweep: str) -> Iterator[None]:
    """Let `is_in_progress` see a run of a sweep, in the block and while its process lives."""
    ended = threading.Event()

    def stay() -> None:
        while not ended.is_set():
            with suppress(*_AWAY):
                connection = engine.connect()
                try:
                    connection.execute(_SHARE, {"space": _SWEEPS, "sweep": _number(sweep)})
                    while not ended.wait(HEARTBEAT_S):
                        connection.execute(sa.select(1))
                finally:
                    _closed(connection)
            ended.wait(POLL_S)  # the database is away

    staying = threading.Thread(target=stay, name=f"sweep {sweep} is in progress", daemon=True)
    staying.start()
    try:
        yield
    finally:
        ended.set()
        staying.join(POLL_S)


def is_in_progress(session: Session, sweep: str) -> bool:
    """Whether a process that runs this sweep is alive."""
    return bool(session.scalar(_HELD, {"spaces": [_SWEEPS], "buckets": [_number(sweep)]}))


def is_locked(session: Session, work: Mapping[str, Iterable[object]]) -> bool:
    """Whether a run has locked some of these names, by kind, or others of the same buckets."""
    return bool(session.scalar(_HELD, _buckets(work)))


@contextmanager
def exclusive(
    engine: sa.Engine, work: Mapping[str, Iterable[object]], patience_s: float = 0
) -> Iterator[None]:
    """Lock these names, by kind, for the block: no run may work on them.

    Raises `AtWorkError` when a run is at work on one of them and does not end in `patience_s`.
    """
    buckets = _buckets(work)
    connection = engine.connect()
    deadline = time.monotonic() + patience_s
    try:
        while not _taken(connection, buckets):
            if time.monotonic() >= deadline:
                raise AtWorkError(
                    "A run is at work on this right now; nothing was changed in the database.",
                    "Stop it first: Ctrl-C in its terminal, or `judge-gym sweep cancel` for runs "
                    "of deployments. Then rerun this command.",
                )
            time.sleep(POLL_S)
        yield
    finally:
        _closed(connection)


def _number(sweep: str) -> int:
    return derive_seed("sweep", sweep) % 2**31


def _buckets(work: Mapping[str, Iterable[object]]) -> dict[str, list[int]]:
    """Return the locks of these names, each once, as parameters of a statement."""
    wanted = sorted(
        {
            (derive_seed("judge-gym claims", kind) % 2**31, derive_seed(kind, str(name)) % _BUCKETS)
            for kind, names in work.items()
            for name in names
        }
    )
    return {"spaces": [one for one, _ in wanted], "buckets": [one for _, one in wanted]}


def _taken(connection: sa.Connection, buckets: dict[str, list[int]]) -> bool:
    """Take all locks or none: holding some while waiting for others could deadlock."""
    if not buckets["spaces"] or connection.scalar(_TRY, buckets):
        return True
    connection.rollback()
    return False


def _closed(connection: sa.Connection) -> None:
    """Release all locks; a server that is gone has released them."""
    with suppress(*_AWAY):
        connection.close()
