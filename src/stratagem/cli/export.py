"""The command `export`: a saved strategy in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stratagem.cli.optimise import note_prior
from stratagem.cli.option import STRATEGY_FILE
from stratagem.cli.output import write


def export(
    file: STRATEGY_FILE,
    out: Annotated[Path, typer.Option("-o", "--out", help="The suffix decides: .npz, .csv or .mat.")],
) -> None:
    """Write a saved strategy as .csv or .mat (the matrix, reports x user types), or again as .npz."""
    from stratagem.strategy_file import load, save

    stored = load(file)
    save(out, stored)
    note_prior(out, stored)
    write(f"{out} holds the {stored.strategy.outputs} reports x {stored.strategy.domain_size} user types")
