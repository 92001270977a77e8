"""The command `collect`: a server that shows the form, keeps the reports and shows the results."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from stratagem.cli.command import options
from stratagem.cli.interruption import note, stopping
from stratagem.cli.option import AT_MOST, BUNDLE, QUESTIONS, in_words, who_asks
from stratagem.cli.output import facts_lines, flush, write, write_lines
from stratagem.mechanism.client import CEILING

if TYPE_CHECKING:
    from stratagem.cli.serve.server import Server
    from stratagem.domain import Domain
    from stratagem.mechanism.mechanism import Mechanism

ORIGIN = re.compile(r"\*|https?://[^/\s?#@]+", re.ASCII)
SUFFIX, STATE = ".ldp.json", ".reports.duckdb"
"""How the names of mechanism files end, and those of the files that keep their reports."""
HERE = ("127.0.0.1", "::1", "localhost")
"""Hosts that nobody reaches from another machine."""


def to_keep(file: Path, made: Callable[[], Mechanism]) -> str:
    """Return the option for a file of reports, where the usual one holds those of another mechanism than the file's."""
    stem, number = file.name.removesuffix(SUFFIX), 1
    while (path := file.with_name(f"{stem}{f'-{number}' if number > 1 else ''}{STATE}")).exists():
        with suppress(ValueError), made().collection(path):
            break
        number += 1
    return f" --state {shlex.quote(str(path))}" if number > 1 else ""


def to_ask(file: Path, domain: Domain, source: str = "") -> str:
    """Return the command that asks what the domain states, several from the file `source`, or one to fill in."""
    stated = [one.question for one in domain.attributes if one.question]
    if len(stated) > 1 and source:
        return f"stratagem collect {shlex.quote(str(file))} --questions {shlex.quote(source)}"
    question = stated[0] if len(stated) == 1 else "YOUR QUESTION?"
    return f"stratagem collect {shlex.quote(str(file))} --question {shlex.quote(question)}"


def not_protected(file: Path) -> str:
    """Return what a mechanism does not protect, and the commands that say more of it."""
    named = shlex.quote(str(file))
    more = f"a further report of one person reveals more (stratagem inspect {named})"
    return f"{more}; stratagem summary {named} says what else is not protected"


@options
class ServerOptions:
    """Where the server listens, and whom it hears."""

    host: Annotated[str, Option(help="Listen at this address; 0.0.0.0 for all of the machine's.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Option(min=0, max=65535, help="Listen there; 0 for any that is free.")] = 8000
    cors: Annotated[
        list[str] | None,
        Option(
            metavar="ORIGIN",
            help="Take reports from pages of this origin too, like https://example.org. Repeatable.",
        ),
    ] = None
    rate: Annotated[int, Option(min=1, help="Reports a second that are taken from all people together.")] = (
        5000
    )
    access_log: Annotated[
        bool,
        Option("--access-log", help="Write every request to standard error, with the sender's address."),
    ] = False

    def check(self) -> None:
        """Refuse to go on without the packages that serve, or for what is no origin, before the work."""
        try:
            import starlette  # noqa: F401
            import uvicorn  # noqa: F401
        except ImportError:
            raise ValueError(
                "collecting needs the packages starlette and uvicorn: install them with pip install 'stratagem[serve]'"
            ) from None
        for origin in self.cors or ():
            if not ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"--cors {origin} is no origin: give one like https://example.org, without a path"
                )


def collect(
    *,
    file: BUNDLE,
    state: Annotated[
        Path | None,
        Option(
            help="The .duckdb file that keeps the reports, as of `stratagem aggregate`; FILE.reports.duckdb if none "
            "is given."
        ),
    ] = None,
    question: Annotated[str, Option(help="The question that the form asks.")] = "",
    questions: QUESTIONS = None,
    users: Annotated[int | None, Option(min=1, help="People who were asked, for the results.")] = None,
    at_most: AT_MOST = CEILING,
    listen: ServerOptions,
) -> None:
    """Serve the form, keep the reports that come back, and show what they say so far.

    The results are at /results, for who has the token that is printed here. A report that was acknowledged is in the
    file, whatever happens next. Nothing is stored of who sent it or when. Ctrl-C ends the server.
    """
    listen.check()
    from stratagem.cli.serve.server import Server, listening
    from stratagem.math.number import counted
    from stratagem.mechanism.mechanism import load_mechanism

    mechanism, question, about = in_words(load_mechanism(file, at_most=at_most), file, questions, question)
    state = state or file.with_name(f"{file.name.removesuffix(SUFFIX)}{STATE}")
    options = {"question": question, "users": users, "origins": listen.cors or (), "rate": listen.rate}
    with listening(listen.host, listen.port) as listener:
        server = Server(
            mechanism, state, listener, access_log=listen.access_log, about=who_asks(about), **options
        )
        _announce(server, state, listen.host, listener.getsockname()[1])
        stored = server.run(stopping)
    held = counted(server.before + stored, "report")
    write(f"{counted(stored, 'report')} taken now, {state} holds {held}")
    page = state.with_name(f"{state.stem.removesuffix('.reports')}.results.html")
    kept, shown, out = (shlex.quote(str(path)) for path in (file, state, page))
    words = "" if questions is None else f" --questions {shlex.quote(str(questions))}"
    write_lines([f"next: stratagem estimate {kept} {shown} --method recommended --summary {out}{words}"])


def _announce(server: Server, state: Path, host: str, port: int) -> None:
    """Say where the form and the results are, and what their token is."""
    from stratagem.math.number import counted

    place = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    facts = {
        "form": f"{place}/",
        "results": f"{place}/results",
        "token": f"{server.token} (the password of the results; type any name)",
        "file": state,
        "so far": counted(server.before, "report"),
    }
    write_lines([*facts_lines(facts), "Ctrl-C ends the server."])
    flush()
    if host not in HERE:
        note("reports and the token travel unencrypted to this port: let a server with TLS stand before it")
