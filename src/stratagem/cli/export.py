"""The command `export`: a saved strategy in another format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from stratagem.cli.layout import check_values_kept, read_values
from stratagem.cli.option import EDGES, FORCE, LABELS, STRATEGY_FILE, UNIT, check_free
from stratagem.cli.output import write


def export(
    file: STRATEGY_FILE,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="The suffix decides: .npz (doubles), .csv, .mat or .parquet (the matrix), or .ldp.json "
            "(whole numbers, for clients).",
        ),
    ] = None,
    web: Annotated[
        Path | None,
        typer.Option(
            help="A folder for a web server: a form that asks one person, its client, and the bundle. With --submit "
            "it sends the report; --demo writes a page that shows the mechanism instead."
        ),
    ] = None,
    question: Annotated[str, typer.Option(help="With --web: the question that the form asks.")] = "",
    submit: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="With --web: the form sends its report there, an https address of `stratagem collect`.",
        ),
    ] = "",
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="With --web: a page to try the mechanism out and to see the chances; it sends nothing.",
        ),
    ] = False,
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
    from stratagem.workloads.serial import over

    if (out is None) == (web is None):
        raise ValueError("export writes one thing at a time: give -o FILE or --web FOLDER")
    if demo and submit:
        raise ValueError("--demo and --submit were given, but a demo sends nothing: leave one of them out")
    options = (
        ("--question", question, "asks one"),
        ("--submit", submit, "sends anything"),
        ("--demo", demo, "is one"),
    )
    for option, given, does in options:
        if given and web is None:
            raise ValueError(
                f"{option} was given, but only the page of --web {does}: add --web FOLDER, or leave it out"
            )
    check_free(out, force=force)
    saved = read_saved(file)
    if edges or labels or unit:
        if isinstance(saved, Mechanism):
            raise ValueError(
                f"--edges, --labels or --unit were given, but {file} already says what its values are: export the .npz"
            )
        domain = read_values(saved.workload.domain, edges, labels, unit)
        if web is None:
            check_values_kept(out, domain)
        saved = to_mechanism(replace(saved, workload=over(saved.workload, domain.attributes)))
    if web is not None:
        mechanism = saved if isinstance(saved, Mechanism) else to_mechanism(saved)
        held = web / BUNDLE
        if held.is_file() and held.read_bytes() != mechanism.text:
            check_free(held, force=force)
        write_web_client(web, mechanism, question, submit, demo=demo)
        page = (
            "a demo"
            if demo
            else f"a form that sends to {submit}"
            if submit
            else "a form that sends nothing yet"
        )
        write(f"{web} holds {page}: serve the folder over https or from localhost")
        if not (demo or submit):
            write(
                "To collect, add --submit URL, or run `stratagem collect`, which serves the form by itself."
            )
        return
    assert out is not None
    write_saved(out, saved)
    write(
        f"{out} holds the strategy of {saved.strategy.outputs} possible reports x "
        f"{count_text(saved.strategy.domain_size)} user types"
    )
