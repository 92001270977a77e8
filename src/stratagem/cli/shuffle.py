"""The command `shuffle`: the central privacy of a strategy's reports once a shuffler has mixed them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from stratagem.cli.interruption import progress
from stratagem.cli.option import JSON, STRATEGY_FILE
from stratagem.cli.output import write, write_json


def shuffle(
    file: STRATEGY_FILE,
    users: Annotated[int, typer.Option(help="People whose reports are shuffled together.")],
    delta: Annotated[float, typer.Option(help="Probability that the central epsilon does not cover.")] = 1e-6,
    json: JSON = False,
) -> None:
    """Compute what shuffled reports tell about one person: a central epsilon, far below that of one report."""
    from stratagem.mechanism.export.saved import read_saved

    with progress("computing"):
        found = read_saved(file).strategy.blanket.shuffled(users, delta)
    if json:
        write_json(asdict(found))
    else:
        write(str(found).replace(". ", ".\n"))
