"""Arguments and options that several commands share, and the workload that they name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stratagem.workloads import Workload

WORKLOAD = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="A name of `stratagem list`, or a .toml, .npy or .csv file.")
]
STRATEGY_FILE = Annotated[Path, typer.Argument(metavar="FILE", help="A strategy saved as .npz.")]
EPSILON = Annotated[float, typer.Option(help="Privacy budget of one user, in nats.")]
DOMAIN = Annotated[
    str | None, typer.Option(help="64, 2^6 (six binary attributes) or age=100,sex=2.", show_default=False)
]
ORDER = Annotated[
    int | None, typer.Option(help="Attributes a marginal or parity touches.", show_default=False)
]
WIDTH = Annotated[int | None, typer.Option(help="Most values a range spans.", show_default=False)]
SOLVER = Annotated[str, typer.Option(help="A solver of `stratagem list`.")]
OUTPUTS = Annotated[int | None, typer.Option(min=1, help="Reports the strategy may use.", show_default=False)]
RESTARTS = Annotated[int | None, typer.Option(min=1, help="Starts in all.", show_default=False)]
SEED = Annotated[int | None, typer.Option(min=0, help="Makes the run repeatable.", show_default=False)]
GAP = Annotated[
    float | None,
    typer.Option(help="Stop once this close to the bound, 0.01 for 1 %.", show_default=False),
]
SECONDS = Annotated[
    float | None, typer.Option(help="Stop the search after so many seconds.", show_default=False)
]
JSON = Annotated[bool, typer.Option("--json", help="Write one JSON object to standard output.")]


def read_workload(name: str, domain: str | None, order: int | None, width: int | None) -> Workload:
    """Return the workload that the command line names.

    Raises:
        ValueError: as `load_workload`.
    """
    from stratagem.catalogue import load_workload

    return load_workload(name, domain=domain, order=order, width=width)
