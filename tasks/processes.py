"""Worker processes of one command: they do its chunks, so that it uses more than one core.

Prefect's tasks stay in the process of the command. Each holds its provider's task slot while a
worker process does its chunk, and that process takes the slot's share of the provider's limits, as
a process of a work pool does. Messages are pickled, between processes of one program on one
machine. A worker process ends when the pipe from the command closes, however the command ends;
Ctrl-C does not reach it by itself.
"""

import asyncio
import os
import pickle
import struct
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from pydantic import SecretStr

from judge_gym import runtime as library
from judge_gym.collecting import collect_rarely
from judge_gym.llm.waits import LONGEST_STOP_S
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings

T = TypeVar("T")
Work = Callable[..., Coroutine[Any, Any, T]]
"""A function of the library, which is given the runtime before its arguments."""
_LENGTH = struct.Struct(">Q")
_LONGEST_END_S = LONGEST_STOP_S + 10.0


class WorkerLostError(Exception):
    """A worker process ended while it did a chunk; the chunk may be tried again."""


@dataclass
class _Worker:
    """A worker process and what it is doing."""

    process: asyncio.subprocess.Process
    pending: dict[int, "asyncio.Future[Any]"] = field(default_factory=dict)
    reading: "asyncio.Task[None] | None" = None

    def send(self, message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(_framed(message))

    async def read(self) -> None:
        """Give every result to whoever waits for it, until the process ends."""
        assert self.process.stdout is not None
        while (message := await _read(self.process.stdout)) is not None:
            number, is_error, result = message
            if (waiting := self.pending.pop(number, None)) and not waiting.done():
                if is_error:
                    waiting.set_exception(_rebuilt(*result))
                else:
                    waiting.set_result(result)
        for waiting in self.pending.values():
            if not waiting.done():
                waiting.set_exception(WorkerLostError("A worker process has ended."))
        self.pending.clear()

    async def end(self) -> None:
        """Close the pipe, and wait until the process has cancelled its work."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), _LONGEST_END_S)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        if self.reading is not None:
            await self.reading


@dataclass
class _Pool:
    """The worker processes of a command, which start with its first chunks."""

    size: int
    workers: list[_Worker] = field(default_factory=list)
    numbers: "count[int]" = field(default_factory=count)
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def do(self, current: Runtime, work: Work[T], *arguments: Any) -> T:
        worker = await self._least_busy(current.settings)
        number, waiting = next(self.numbers), asyncio.get_running_loop().create_future()
        worker.pending[number] = waiting
        worker.send((number, work, arguments))
        try:
            result: T = await waiting
        except asyncio.CancelledError:
            if worker.pending.pop(number, None) is not None:
                with suppress(ConnectionError):
                    worker.send((number, None, ()))
            raise
        return result

    async def _least_busy(self, settings: Settings) -> _Worker:
        async with self.starting:
            self.workers = [one for one in self.workers if one.reading and not one.reading.done()]
            if len(self.workers) < self.size and all(one.pending for one in self.workers):
                await self._start(settings)
        return min(self.workers, key=lambda one: len(one.pending))

    async def _start(self, settings: Settings) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tasks.processes",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | _prefect_variables(),
            start_new_session=True,
        )
        worker = _Worker(process)
        worker.send(settings)
        worker.reading = asyncio.create_task(worker.read())
        self.workers.append(worker)


_pool: _Pool | None = None


@asynccontextmanager
async def worker_processes(number: int) -> AsyncIterator[None]:
    """Do chunks in this many processes during the block; in this process when it is 1."""
    global _pool
    if number == 1:
        yield
        return
    _pool = pool = _Pool(number)
    try:
        yield
    finally:
        _pool = None
        await asyncio.gather(*(worker.end() for worker in pool.workers))


async def done(current: Runtime, work: Work[T], *arguments: Any) -> T:
    """Do the work in a worker process, if the command has any, else here; return its result.

    Raises what the work raised, and `WorkerLostError` when its process ended.
    """
    if _pool is None:
        return await work(current, *arguments)
    return await _pool.do(current, work, *arguments)


def _prefect_variables() -> dict[str, str]:
    """Return where this process finds Prefect: a temporary server is in no variable."""
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL

    secret = PREFECT_API_AUTH_STRING.value()
    if isinstance(secret, SecretStr):
        secret = secret.get_secret_value()
    named = {"PREFECT_API_URL": PREFECT_API_URL.value(), "PREFECT_API_AUTH_STRING": secret}
    return {name: value for name, value in named.items() if value}


def _framed(message: object) -> bytes:
    body = pickle.dumps(message)
    return _LENGTH.pack(len(body)) + body


async def _read(stream: asyncio.StreamReader) -> Any:
    """Return the next message; None at the end of the stream."""
    try:
        [length] = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
        return pickle.loads(await stream.readexactly(length))
    except asyncio.IncompleteReadError:
        return None


def _taken_apart(error: BaseException) -> tuple[Any, ...]:
    """Return an error as what `_rebuilt` takes; errors of the library take several arguments."""
    parts = (type(error), error.args, error.__dict__)
    try:
        pickle.loads(pickle.dumps(parts))
    except Exception:
        return (RuntimeError, (f"{type(error).__name__}: {error}",), {})
    return parts


def _rebuilt(
    kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]
) -> BaseException:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(attributes)
    return error


async def _serve() -> None:
    """Do what arrives on standard input until it closes, with one runtime for all of it."""
    from tasks.runtime import secret_block

    # What the library prints must not get between the messages.
    results = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    stream = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(0, "rb")
    )
    configured: Settings = await _read(stream)
    doing: dict[int, asyncio.Task[None]] = {}
    writing = asyncio.Lock()

    async def do(current: Runtime, number: int, work: Work[Any], arguments: Any) -> None:
        try:
            result = (number, False, await work(current, *arguments))
        except Exception as error:
            result = (number, True, _taken_apart(error))
        # In a thread: the pipe may be full while the command is busy.
        async with writing:
            await asyncio.to_thread(_write, results, _framed(result))

    async with library.runtime(keys_elsewhere=secret_block, configured=configured) as current:
        while (message := await _read(stream)) is not None:
            number, work, arguments = message
            if work is None:
                if (task := doing.get(number)) is not None:
                    task.cancel()
                continue
            doing = {key: task for key, task in doing.items() if not task.done()}
            doing[number] = asyncio.create_task(do(current, number, work, arguments))
        for task in list(doing.values()):
            task.cancel()
        await asyncio.gather(*doing.values(), return_exceptions=True)


def _write(pipe: Any, frame: bytes) -> None:
    while frame:
        frame = frame[pipe.write(frame) :]


if __name__ == "__main__":
    collect_rarely()
    asyncio.run(_serve())
