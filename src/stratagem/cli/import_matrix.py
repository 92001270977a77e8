"""The command `import`: a strategy matrix made elsewhere becomes a checked mechanism."""

from __future__ import annotations

import math
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from stratagem.cli.layout import read_described
from stratagem.cli.option import (
    DOMAIN,
    EDGES,
    EPSILON,
    FORCE,
    JSON,
    LABELS,
    ORDER,
    PRIOR,
    UNIT,
    WIDTH,
    check_free,
    read_prior,
)
from stratagem.cli.output import write, write_json


def conversion(path: Path) -> str:
    """Return the advice that makes a bundle of a file of numbers: it names the command to type."""
    from stratagem.io.npz import array_names
    from stratagem.mechanism.export.saved import KEYS

    given, made = shlex.quote(str(path)), shlex.quote(f"{path.stem}.ldp.json")
    saved = False
    with suppress(OSError, ValueError):  # no archive holds no arrays
        saved = set(KEYS) <= set(array_names(path))
    if saved:
        return f"stratagem export {given} -o {made} makes one of it"
    asked = "--workload NAME --domain SIZES --epsilon EPSILON"
    return f"stratagem import {given} {asked} -o {made} makes one of a strategy matrix"


def import_matrix(
    matrix: Annotated[
        Path, typer.Argument(metavar="MATRIX", help="A .npy, .npz, .csv, .mat or .parquet file.")
    ],
    workload: Annotated[str, typer.Option(help="What is asked, as in `stratagem optimise`.")],
    epsilon: EPSILON,
    out: Annotated[Path, typer.Option("-o", "--out", help="The bundle to write, .ldp.json.")],
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    prior: PRIOR = None,
    edges: EDGES = None,
    labels: LABELS = None,
    unit: UNIT = None,
    variable: Annotated[str | None, typer.Option(help="The array of an .npz or .mat file.")] = None,
    transposed: Annotated[
        bool, typer.Option("--transposed", help="Rows are user types, columns outputs.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Move what breaks epsilon to the private side.")
    ] = False,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Check a strategy matrix made elsewhere (outputs x user types), say how good it is, and write it as a bundle.

    Without --domain, --edges and --labels the values are as many as the matrix has.
    """
    from stratagem.io.toml import naming
    from stratagem.math.number import number_text, upper_percent
    from stratagem.mechanism.matrix_import import import_matrix
    from stratagem.mechanism.matrix_input import read_probabilities
    from stratagem.mechanism.mechanism import SUFFIX
    from stratagem.workloads.given import leaves_domain

    check_free(out, (SUFFIX,), force=force)
    given = read_probabilities(matrix, variable)
    if domain is None and not (edges or labels) and given.ndim == 2 and leaves_domain(workload):
        domain = str(given.shape[0 if transposed else 1])
    asked = read_described(workload, domain, order, width, edges, labels, unit)
    belief = read_prior(prior, asked)
    with naming(str(matrix)):
        adopted = import_matrix(
            given,
            asked,
            epsilon,
            transposed=transposed,
            repair=repair,
            name=workload,
            prior=belief,
        )
    mechanism = adopted.mechanism
    mechanism.save(out, overwrite=True)
    if json:
        write_json(
            {
                "workload": workload,
                "domain": str(asked.domain),
                "epsilon": epsilon,
                "epsilon_realised": mechanism.strategy.epsilon,
                "outputs": mechanism.outputs,
                "objective": adopted.objective,
                "lower_bound": adopted.bounds.best,
                "bound": adopted.bounds.name,
                "gap": adopted.gap if math.isfinite(adopted.gap) else None,
                "moved": adopted.moved,
                "loss": adopted.loss if math.isfinite(adopted.loss) else None,
                "mechanism": mechanism.identifier,
                "file": str(out),
            }
        )
        return
    write(
        f"{out} holds the strategy of {mechanism.outputs} possible reports x {asked.domain_size} user types, in whole "
        f"numbers that hold epsilon {epsilon:g} exactly"
    )
    write(
        f"objective {number_text(adopted.objective)}, at most {upper_percent(adopted.gap)} above the proven minimum "
        f"of {number_text(adopted.bounds.best)} (the {adopted.bounds.name} bound)"
    )
    if adopted.moved:
        cost = f"{100 * adopted.loss:+.3g} %" if math.isfinite(adopted.loss) else "not comparable"
        write(
            f"repaired: at most {100 * adopted.moved:.3g} % of the users of a type report otherwise; "
            f"objective {cost}"
        )
