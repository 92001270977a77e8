"""The command `export`: a saved strategy in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stratagem.cli.option import EDGES, LABELS, STRATEGY_FILE
from stratagem.cli.output import write
from stratagem.cli.source import check_values_kept, read_values


def export(
    file: STRATEGY_FILE,
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            help="The suffix decides: .npz (doubles), .csv, .mat or .parquet (the matrix), .ldp.json (whole "
            "numbers, for clients) or .dap.json (how DAP collects the reports of a .ldp.json).",
        ),
    ],
    edges: EDGES = None,
    labels: LABELS = None,
) -> None:
    """Write a saved strategy in another format; from .npz to .ldp.json it becomes exact and is checked so."""
    from stratagem.export.saved import read_saved, to_mechanism, write_saved
    from stratagem.mechanism.mechanism import Mechanism

    check_values_kept(out, edges, labels)
    saved = read_saved(file)
    if edges or labels:
        if isinstance(saved, Mechanism):
            raise ValueError(
                f"--edges or --labels were given, but {file} already says what its values are: export the .npz"
            )
        saved = to_mechanism(saved, **read_values(saved.workload.domain, edges, labels))
    write_saved(out, saved)
    write(
        f"{out} holds the strategy of {saved.strategy.outputs} reports x {saved.strategy.domain_size} user types"
    )
