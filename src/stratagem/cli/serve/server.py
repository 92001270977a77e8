"""One process that listens, serves the application, and ends when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import uvicorn

from stratagem.cli.serve.application import application
from stratagem.cli.serve.intake import Intake
from stratagem.cli.serve.results import Results
from stratagem.math.deadline import Deadline
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.webpage import page_files

BACKLOG = 2048
PATIENCE = 60.0
"""Seconds in which every connection must get on: come with its next request, send it, or take its answer."""
MOST = 2048
"""Connections beyond which those that have not got on for longest are closed early; an idle one takes about 20 kB."""
SWEEP = 1.0
"""Seconds between two looks at the connections."""
GRACE = 5
"""Seconds that requests have for their answers when the server ends."""


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at a host's address and a port, 0 for any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ValueError(
            f"port {port} of {host} cannot be used ({error.strerror or error}): give another port, or end the "
            "program that listens there"
        ) from None


class Server:
    """Collects reports of one mechanism: the form at /, POST /reports, /results and /health.

    Guarantee:
        A report that was acknowledged is in the DuckDB file of the collection, whatever happens to the process. No
        address of a sender and no time of a report is stored.

    Example:
        >>> server = Server(mechanism, "survey.reports.duckdb", listening("127.0.0.1", 8000))  # doctest: +SKIP
        >>> print(server.token)  # doctest: +SKIP
        >>> server.run()  # doctest: +SKIP
    """

    def __init__(
        self,
        mechanism: Mechanism,
        state: str | Path,
        listener: socket.socket,
        *,
        question: str = "",
        users: int | None = None,
        origins: Sequence[str] = (),
        rate: float = 5000.0,
        access_log: bool = False,
    ):
        """Open the collection in the file `state` (.duckdb), or create it.

        Raises:
            ValueError: for a file that another process uses, or that is no collection of this mechanism.
        """
        self.listener = listener
        self.token = secrets.token_urlsafe(24)
        """The secret without which nobody sees the results; it is in no file and no address."""
        self.collection = mechanism.collection(state)
        self.before = self.collection.tally().reports
        """Reports in the collection when it was opened."""
        self._parts = mechanism, question, users, origins, rate
        self._access_log = access_log

    def run(self, stopping: Callable[[Callable[[], None]], Any] = contextlib.nullcontext) -> int:
        """Serve until a signal or `stop` ends it; return the number of reports that were stored.

        `stopping` is given a function that ends the server, and returns a context in which signals call it.
        """
        _allow_connections()
        mechanism, question, users, origins, rate = self._parts
        intake = Intake(self.collection, rate)
        results = Results(mechanism, intake, question=question, users=users)
        files = page_files(mechanism, question, submit="reports")
        server = _uvicorn(
            application(files, intake, results, self.token, origins), access_log=self._access_log
        )
        try:
            with stopping(lambda: setattr(server, "should_exit", True)):
                asyncio.run(_served(server, self.listener))
        finally:
            intake.close()
            results.close()
            self.collection.close()
        return intake.stored


def _allow_connections() -> None:
    """Let the process have as many connections as the system allows it: often the limit is set to 1,024 at first."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _uvicorn(app: Any, *, access_log: bool) -> uvicorn.Server:
    """Return the server of an application, which logs no addresses and believes no header about them."""
    config = uvicorn.Config(
        app,
        log_level="info" if access_log else "warning",
        access_log=access_log,
        proxy_headers=False,
        server_header=False,
        lifespan="off",
        ws="none",
        backlog=BACKLOG,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GRACE,
    )
    return uvicorn.Server(config)


async def _served(server: uvicorn.Server, listener: socket.socket) -> None:
    sweeping = asyncio.create_task(_sweep(server))
    try:
        await server.serve(sockets=[listener])
    finally:
        sweeping.cancel()


async def _sweep(server: uvicorn.Server) -> None:
    """Close connections that do not get on, or the longest of them where there are many: uvicorn waits for ever."""
    clock = Deadline()
    since: dict[Any, tuple[object, float]] = {}
    while True:
        await asyncio.sleep(SWEEP)
        now, before = clock.elapsed, since
        since = {}
        for connection in [*server.server_state.connections]:
            stands = _stands(connection)
            same = before.get(connection)
            since[connection] = same if same and same[0] == stands else (stands, now)
        waiting = sorted((start, place) for place, (_, start) in enumerate(since.values()) if start < now)
        connections = [*since]
        many = max(0, len(connections) - MOST)
        for done, (start, place) in enumerate(waiting):
            if done < many or now - start > PATIENCE:
                connections[place].transport.abort()


def _stands(connection: Any) -> tuple[object, ...]:
    """Return where a connection of uvicorn stands: its request, and whether that was answered."""
    cycle = connection.cycle
    return id(cycle), cycle is None or cycle.response_complete
