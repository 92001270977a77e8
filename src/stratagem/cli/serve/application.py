"""The addresses of the server: the form, the reports, the results and its health."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath

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
from stratagem.mechanism.webpage import FRONT

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
