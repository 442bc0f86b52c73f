"""A TCP address of a PostgreSQL server that fails over: it goes away, and comes back."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from support.prefect_server import free_port


class Failover:
    """Passes connections on to the server of a URL, unless it is away."""

    def __init__(self, url: str) -> None:
        self._target = sa.make_url(url)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._open: set[asyncio.StreamWriter] = set()
        self._port = free_port()
        self._server: asyncio.Server | None = None
        self.come_back()

    @property
    def url(self) -> str:
        """The URL to use instead of the server's own."""
        return (
            self._target.difference_update_query(["host", "port"])
            .set(host="127.0.0.1", port=self._port)
            .render_as_string(hide_password=False)
        )

    def go_away(self) -> None:
        """End all connections and refuse new ones."""
        self._do(self._close())

    def come_back(self) -> None:
        """Take connections again, at the same address."""
        self._do(self._listen())

    def end(self) -> None:
        """Stop for good."""
        self.go_away()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, coroutine: object) -> None:
        assert asyncio.iscoroutine(coroutine)
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", self._port)

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        query = self._target.query
        folder, port = str(query.get("host", "")), query.get("port", self._target.port or 5432)
        if folder.startswith("/"):
            inner = await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.{port}")
        else:
            inner = await asyncio.open_connection(self._target.host, int(str(port)))
        pair = {writer, inner[1]}
        self._open |= pair
        try:
            await asyncio.gather(_copy(reader, inner[1]), _copy(inner[0], writer))
        finally:
            self._open -= pair


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextmanager
def failing_over(url: str) -> Iterator[Failover]:
    """An address of a database that can be taken away, for the block."""
    failover = Failover(url)
    try:
        yield failover
    finally:
        failover.end()
