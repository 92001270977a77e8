"""The command `list`: everything that has a name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from stratagem.cli.option import JSON
from stratagem.cli.output import put, write, write_json, write_table


def listing(
    bibtex: Annotated[
        bool, typer.Option("--bibtex", help="Write the literature behind them as BibTeX entries.")
    ] = False,
    json: JSON = False,
) -> None:
    """List workloads, solvers, mechanisms, post-processings and bounds, each with one line and its reference."""
    from stratagem.io.table import Table
    from stratagem.study import contents

    if bibtex and json:
        raise ValueError("--bibtex and --json were given, but each writes a format of its own: choose one")
    if bibtex:
        put(contents.bibtex())
        return
    tables = contents.contents()
    if json:
        write_json({kind: [asdict(item) for item in items] for kind, items in tables.items()})
        return
    for kind, items in tables.items():
        rows = [(item.name, item.title, item.reference) for item in items]
        write_table(Table((kind, "", "reference"), rows, words=3))
        write()
