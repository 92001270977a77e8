"""The command `randomise`: values in, reports out, with secure randomness."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from typer import Option

from stratagem.cli.interruption import note, progress
from stratagem.cli.layout import read_sources, read_survey_file
from stratagem.cli.option import (
    AT_MOST,
    BUNDLE,
    FORCE,
    SURVEY_FILE,
    FileOptions,
    check_free,
)
from stratagem.cli.output import lost
from stratagem.mechanism.client import CEILING, Client, accepted

if TYPE_CHECKING:
    from stratagem.domain.policy import Policy
    from stratagem.mechanism.mechanism import Mechanism

LONGEST = 1 << 24
"""Characters of the longest line of the input."""
NOBODY = "no value was given: name it as in --value 17, name a file with --data, or write values to the input"


def randomise(
    file: BUNDLE,
    rows: FileOptions,
    value: Annotated[
        list[str] | None, Option(help="A value; with several attributes a JSON object. Repeatable.")
    ] = None,
    questions: SURVEY_FILE = None,
    at_most: AT_MOST = CEILING,
    sha256: Annotated[str | None, Option(help="Refuse a mechanism of another sha256.")] = None,
    memo: Annotated[
        str | None,  # an empty text is no path of the current folder
        Option(
            metavar="PATH",
            help="A folder of one person, who reports again and again: the permanent reports are kept there.",
        ),
    ] = None,
    out: Annotated[Path | None, Option("-o", "--out", help="Write the reports there, *.jsonl.")] = None,
    force: FORCE = False,
) -> None:
    """Turn values into reports, one JSON object a line; without --value and --data reads values from the input.

    Randomness comes from the operating system. A value outside the domain ends the command, before the first
    report where it is in a file: its rows can be left out, or report other, as silence tells something of them.
    With a mechanism for repeated reports, --memo holds what is kept of one person; each row of a file is a new person.
    """
    from stratagem.mechanism.mechanism import load_mechanism

    policy = rows.reading.policy(rows.data)
    check_free(out, force=force)
    mechanism = load_mechanism(file, at_most=at_most)
    accepted(mechanism.bundle, at_most, sha256)
    _check_memo(mechanism, memo, rows.data)
    _check_source(bool(value), questions, rows.data)
    with progress("randomising"), _opened(out) as target:
        if rows.data is not None:
            columns, policy = read_survey_file(questions, mechanism.domain, rows.column or [], policy)
            _rows(mechanism, rows.data, columns, policy, target)
            return
        texts = value if value else _lines()
        client, count = Client(mechanism.bundle, memo=memo), 0
        for count, text in enumerate(texts, 1):  # noqa: B007
            target.write(json.dumps(client.randomise(_value(client.attributes, text))) + "\n")
            target.flush()
    if not count:
        raise ValueError(NOBODY)


def _check_source(values: bool, questions: Path | None, data: Path | None) -> None:
    """Refuse values beside a file, and a survey file without one."""
    if values and data is not None:
        raise ValueError("--value and --data were given, but values come from one of them: leave one out")
    if questions is not None and data is None:
        raise ValueError("--questions says how a file is read, but none was given: add --data")


def _check_memo(mechanism: Mechanism, memo: str | None, data: Path | None) -> None:
    """Refuse a folder that has no use, and reports of one person that would not be kept."""
    if memo is None and mechanism.memo is not None and data is None:
        raise ValueError(
            "the mechanism is made for people who report again and again: name a folder with --memo"
        )
    if memo is not None and (mechanism.memo is None or data is not None):
        what = "a file of many people" if data is not None else "a mechanism for single reports"
        raise ValueError(f"--memo was given with {what}: leave it out")


def _rows(mechanism: Mechanism, data: Path, columns: list[str], policy: Policy, target: TextIO) -> None:
    """Randomise the rows of a file."""
    import numpy as np

    from stratagem.domain.columns import stream, tallied
    from stratagem.domain.policy import listed
    from stratagem.math.number import counted
    from stratagem.mechanism.bulk import report_lines

    outside, others, sent = Counter(), Counter(), 0
    sources = read_sources(mechanism.domain, columns)
    for kinds, which in stream(data, mechanism.domain, sources, policy):
        inside = which[kinds.inside[which]]
        target.writelines(report_lines(mechanism, kinds.coordinates[inside]))
        times = np.bincount(which, minlength=len(kinds.reason))
        outside.update(tallied(enumerate(kinds.reason), times))
        others.update(tallied(kinds.others, times))
        sent += len(inside)
    if not sent:
        raise ValueError(f"{data} has no row inside the domain: check --column")
    told = "".join(
        f"; {what}: {listed(kinds)}" for what, kinds in (("as other", others), ("left out", outside)) if kinds
    )
    note(f"{counted(sent, 'report')} of {counted(sent + outside.total(), 'row')}{told}")


def _value(attributes: list[dict[str, Any]], text: str) -> Any:
    """Return the value that a text stands for."""
    if len(attributes) == 1:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(
            f"{text[:40]!r} is no JSON object, but the domain has several attributes: write "
            f'{{"{attributes[0]["name"]}": ..., ...}}'
        ) from None


def _lines() -> Iterator[str]:
    """Yield the lines of standard input without their ends; a person at a terminal is told what to do."""
    if sys.stdin.isatty():
        raise ValueError(NOBODY)
    try:
        for line in iter(lambda: sys.stdin.readline(LONGEST), ""):
            if len(line) == LONGEST:
                raise ValueError(
                    f"a line of the input has {LONGEST} characters or more: write one value a line"
                )
            yield line.rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError("the input is not text in UTF-8: write one value a line as UTF-8") from None


@contextmanager
def _opened(out: Path | None) -> Iterator[TextIO]:
    """Open the target, complete or absent in the end; standard output without one."""
    if out is None:
        try:
            yield sys.stdout
        except BrokenPipeError as error:
            raise lost(error) from None
        return
    import io

    from stratagem.io.target import check_target, written_atomically

    with written_atomically(check_target(out, (".jsonl",))) as file, io.TextIOWrapper(file, "utf-8") as text:
        yield text
