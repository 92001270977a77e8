"""The command `export`: a saved strategy in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stratagem.cli.option import EDGES, FORCE, LABELS, STRATEGY_FILE, UNIT, check_free
from stratagem.cli.output import write
from stratagem.cli.source import check_values_kept, read_values


def export(
    file: STRATEGY_FILE,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="The suffix decides: .npz (doubles), .csv, .mat or .parquet (the matrix), .ldp.json (whole "
            "numbers, for clients) or .dap.json (how DAP collects the reports of a .ldp.json).",
        ),
    ] = None,
    web: Annotated[
        Path | None,
        typer.Option(
            help="A folder for a web server: the client, a page that asks one answer, and the bundle.",
            show_default=False,
        ),
    ] = None,
    question: Annotated[
        str, typer.Option(help="With --web: the question that the page asks.", show_default=False)
    ] = "",
    edges: EDGES = None,
    labels: LABELS = None,
    unit: UNIT = None,
    force: FORCE = False,
) -> None:
    """Write a saved strategy in another format; from .npz to .ldp.json it becomes exact and is checked so."""
    from stratagem.math.number import count_text
    from stratagem.mechanism.export.saved import read_saved, to_mechanism, write_saved
    from stratagem.mechanism.mechanism import Mechanism
    from stratagem.mechanism.webpage import BUNDLE, write_web_client

    if (out is None) == (web is None):
        raise ValueError("export writes one thing at a time: give -o FILE or --web FOLDER")
    if question and web is None:
        raise ValueError(
            "--question was given, but only the page of --web asks one: add --web FOLDER, or leave it out"
        )
    check_free(out, force=force)
    saved = read_saved(file)
    if edges or labels or unit:
        if isinstance(saved, Mechanism):
            raise ValueError(
                f"--edges, --labels or --unit were given, but {file} already says what its values are: export the .npz"
            )
        values = read_values(saved.workload.domain, edges, labels, unit)
        if web is None:
            check_values_kept(out, values)
        saved = to_mechanism(saved, **values)
    if web is not None:
        mechanism = saved if isinstance(saved, Mechanism) else to_mechanism(saved)
        held = web / BUNDLE
        if held.is_file() and held.read_bytes() != mechanism.text:
            check_free(held, force=force)
        write_web_client(web, mechanism, question)
        write(f"{web} holds the client, its page and the bundle: serve it over https or from localhost")
        return
    assert out is not None
    write_saved(out, saved)
    write(
        f"{out} holds the strategy of {saved.strategy.outputs} possible reports x "
        f"{count_text(saved.strategy.domain_size)} user types"
    )
