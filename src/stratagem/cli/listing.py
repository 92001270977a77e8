"""The command `list`: everything that has a name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from typer import Argument, Option

from stratagem.cli.option import JSON
from stratagem.cli.output import put, write, write_json, write_table


def listing(
    kind: Annotated[
        str | None,
        Argument(
            metavar="[KIND]", help="Details of workloads, solvers, mechanisms, post-processings or bounds."
        ),
    ] = None,
    bibtex: Annotated[
        bool, Option("--bibtex", help="Write the literature behind them as BibTeX entries.")
    ] = False,
    json: JSON = False,
) -> None:
    """List the names of workloads, solvers, mechanisms, post-processings and bounds, or details of one kind.

    Details are a line each, with its reference.
    """
    from stratagem.io.table import Table
    from stratagem.io.toml import nearest
    from stratagem.study.literature import bibtex as entries
    from stratagem.study.literature import contents

    if bibtex and json:
        raise ValueError("--bibtex and --json were given, but each writes a format of its own: choose one")
    if bibtex:
        put(entries())
        return
    tables = contents()
    if kind is not None and kind not in tables:
        raise ValueError(f"{kind!r} is no kind of name: {nearest(kind, tables)}")
    if json:
        shown = tables if kind is None else {kind: tables[kind]}
        write_json({name: [asdict(item) for item in items] for name, items in shown.items()})
    elif kind is None:
        for name, items in tables.items():
            write(f"{name}: {', '.join(item.name for item in items)}")
        write("\nstratagem list workloads says what each of them is; so do the other kinds.")
    else:
        rows = [(item.name, item.title, item.reference) for item in tables[kind]]
        write_table(Table((kind, "", "reference"), rows, words=3))
