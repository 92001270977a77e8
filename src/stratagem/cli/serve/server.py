"""The server of a collection: its addresses, and the process that listens, serves them, and ends when it is told to."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hmac
import secrets
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from stratagem.cli.serve.intake import (
    BusyError,
    Intake,
    RefusedError,
    StoreError,
    body_of,
    kind_of,
    reports_of,
)
from stratagem.cli.serve.results import Results
from stratagem.collection.tally import Receipt
from stratagem.math.deadline import Deadline
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.webpage import FRONT, page_files

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
}
CAREFUL = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-cache"}
PRIVATE = CAREFUL | {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
}
TWICE = "this id came before with another output: the first report counts"


def application(
    files: Mapping[str, bytes], intake: Intake, results: Results, token: str, origins: Sequence[str] = ()
) -> Starlette:
    """Return the application that serves the files of the form and takes reports into the collection.

    POST /reports takes one report as JSON, or many as JSON lines, and answers once what it took is on the disk.
    /results and /results.json need the token, as a bearer's or as the password of any name. Pages of `origins` may
    send reports too.
    """
    pages = {"/": (files[FRONT], FRONT)} | {f"/{name}": (content, name) for name, content in files.items()}
    routes = [
        Route("/reports", partial(_reports, intake), methods=["POST"]),
        Route("/results", partial(_page, results, token.encode())),
        Route("/results.json", partial(_data, results, token.encode())),
        Route("/health", partial(_health, intake)),
        *(Route(path, partial(_file, content, name)) for path, (content, name) in pages.items()),
    ]
    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["POST"],
        allow_headers=["content-type"],
    )
    return Starlette(routes=routes, middleware=[cors] if origins else [])


async def _reports(intake: Intake, request: Request) -> Response:
    """Answer with what became of the reports in a request."""
    try:
        kind = kind_of(request)
        if not intake.allowance.left:
            raise RefusedError(429, "more reports come than are taken: send it again in a second")
        intake.allowance.spend(1)
        ids, outputs, refused = reports_of(await body_of(request, kind), kind, intake.form)
        intake.allowance.spend(len(ids) + refused.total() - 1)
        intake.refuse(refused)
        found = Counter((await intake.take(ids, outputs)).tolist()) if len(ids) else Counter()
    except RefusedError as error:
        return _refusal(error.status, str(error))
    except BusyError:
        return _refusal(503, "too many reports wait to be stored: send it again in a second")
    except StoreError:
        return _refusal(503, "the report could not be stored: send it again later")
    return _receipt(found, {str(reason): number for reason, number in refused.items() if number})


def _receipt(found: Counter[int], refused: dict[str, int]) -> Response:
    """Say what became of reports: 200 if all are stored, 409 for an id taken before, 400 for what is no report."""
    contested = found[Receipt.CONTESTED]
    error = (
        f"refused as no report of this survey: {', '.join(refused)}"
        if refused
        else TWICE
        if contested
        else ""
    )
    data = {"received": found[Receipt.TAKEN], "repeated": found[Receipt.REPEATED]}
    data |= {"refused": refused | ({"id taken before": contested} if contested else {})}
    return JSONResponse(
        data | ({"error": error} if error else {}), 400 if refused else 409 if contested else 200, CAREFUL
    )


def _refusal(status: int, sentence: str) -> Response:
    """Refuse a request whose body may not have been read: the connection ends with it."""
    again = {"retry-after": "1"} if status in (429, 503) else {}
    return JSONResponse({"error": sentence}, status, CAREFUL | again | {"connection": "close"})


async def _page(results: Results, token: bytes, request: Request) -> Response:
    """Answer with the page of results."""
    return _stranger(token, request) or HTMLResponse(await results.page(), headers=PRIVATE)


async def _data(results: Results, token: bytes, request: Request) -> Response:
    """Answer with the results as JSON."""
    return _stranger(token, request) or JSONResponse(await results.data(), headers=PRIVATE)


def _stranger(token: bytes, request: Request) -> Response | None:
    """Return the answer to who does not know the token; it takes as long whatever was given."""
    if hmac.compare_digest(_secret(request.headers.get("authorization", "")), token):
        return None
    ask = {"www-authenticate": 'Basic realm="results: any name, and the token as password", charset="UTF-8"'}
    sentence = "the results need the token that the server printed when it started"
    return JSONResponse({"error": sentence}, 401, PRIVATE | ask)


def _secret(authorization: str) -> bytes:
    """Return the token of a header, which holds it as a bearer's or as a password; empty for any other."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode()
    if scheme.lower() != "basic":
        return b""
    try:
        return base64.b64decode(value, validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""


async def _health(intake: Intake, request: Request) -> Response:
    """Answer 200, or 503 while reports cannot be written."""
    if intake.fault:
        return JSONResponse({"status": "reports cannot be stored"}, 503, CAREFUL)
    return JSONResponse({"status": "ok"}, headers=CAREFUL)


async def _file(content: bytes, name: str, request: Request) -> Response:
    """Answer with a file of the form."""
    return Response(content, headers=CAREFUL | {"content-type": TYPES[PurePosixPath(name).suffix]})


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
        about: str = "",
        users: int | None = None,
        origins: Sequence[str] = (),
        rate: float = 5000.0,
        access_log: bool = False,
    ):
        """Open the collection in the file `state` (.duckdb), or create it.

        Raises:
            ValueError: for a file that another process uses, or that is no collection of this mechanism, and for more
                epsilon than the mechanism's `at_most`.
        """
        self._files = page_files(mechanism, question, submit="reports", about=about)
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
        served = application(self._files, intake, results, self.token, origins)
        server = _uvicorn(served, access_log=self._access_log)
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
