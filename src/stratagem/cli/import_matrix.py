"""The command `import`: a strategy matrix made elsewhere becomes a checked mechanism."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from stratagem.cli.command import options
from stratagem.cli.layout import read_described
from stratagem.cli.option import (
    DOMAIN,
    EPSILON,
    FORCE,
    JSON,
    PRIOR,
    QueryOptions,
    ValueOptions,
    check_free,
    read_prior,
)
from stratagem.cli.output import write_result

if TYPE_CHECKING:
    from stratagem.mechanism.matrix_import import MatrixImport


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


@options
class MatrixOptions:
    """What the numbers of a matrix are, and what becomes of them."""

    variable: Annotated[str | None, Option(help="The array of an .npz or .mat file.")] = None
    transposed: Annotated[bool, Option("--transposed", help="Rows are user types, columns outputs.")] = False
    repair: Annotated[bool, Option("--repair", help="Move what breaks epsilon to the private side.")] = False


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A foreign matrix as a mechanism, and the file that it was written to."""

    adopted: MatrixImport
    workload: str
    epsilon: float
    out: Path

    def record(self) -> dict[str, Any]:
        """Return the mechanism as named values."""
        adopted, mechanism = self.adopted, self.adopted.mechanism
        return {
            "workload": self.workload,
            "domain": str(mechanism.domain),
            "epsilon": self.epsilon,
            "epsilon_realised": mechanism.strategy.epsilon,
            "outputs": mechanism.outputs,
            "objective": adopted.objective,
            "lower_bound": adopted.bounds.best,
            "bound": adopted.bounds.name,
            "gap": adopted.gap if math.isfinite(adopted.gap) else None,
            "moved": adopted.moved,
            "loss": adopted.loss if math.isfinite(adopted.loss) else None,
            "mechanism": mechanism.identifier,
            "file": str(self.out),
        }

    def sentences(self) -> Iterator[str]:
        """Yield what was written, how good it is, and what a repair did."""
        from stratagem.math.number import number_text, upper_percent

        adopted, mechanism = self.adopted, self.adopted.mechanism
        yield (
            f"{self.out} holds the strategy of {mechanism.outputs} possible reports x {mechanism.domain.size} user "
            f"types, in whole numbers that hold epsilon {self.epsilon:g} exactly"
        )
        yield (
            f"objective {number_text(adopted.objective)}, at most {upper_percent(adopted.gap)} above the proven "
            f"minimum of {number_text(adopted.bounds.best)} (the {adopted.bounds.name} bound)"
        )
        if adopted.moved:
            cost = f"{100 * adopted.loss:+.3g} %" if math.isfinite(adopted.loss) else "not comparable"
            yield (
                f"repaired: at most {100 * adopted.moved:.3g} % of the users of a type report otherwise; "
                f"objective {cost}"
            )


def import_matrix(
    *,
    matrix: Annotated[Path, Argument(metavar="MATRIX", help="A .npy, .npz, .csv, .mat or .parquet file.")],
    workload: Annotated[str, Option(help="What is asked, as in `stratagem optimise`.")],
    epsilon: EPSILON,
    out: Annotated[Path, Option("-o", "--out", help="The bundle to write, .ldp.json.")],
    domain: DOMAIN = None,
    queries: QueryOptions,
    values: ValueOptions,
    foreign: MatrixOptions,
    prior: PRIOR = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Check a strategy matrix made elsewhere (outputs x user types), say how good it is, and write it as a bundle.

    Without --domain, --edges and --labels the values are as many as the matrix has.
    """
    from stratagem.io.toml import naming
    from stratagem.mechanism.matrix_import import import_matrix
    from stratagem.mechanism.matrix_input import read_probabilities
    from stratagem.mechanism.mechanism import SUFFIX
    from stratagem.workloads.given import leaves_domain

    check_free(out, (SUFFIX,), force=force)
    given = read_probabilities(matrix, foreign.variable)
    if domain is None and not (values.edges or values.labels) and given.ndim == 2 and leaves_domain(workload):
        domain = str(given.shape[0 if foreign.transposed else 1])
    asked = read_described(workload, domain, queries, values)
    options: dict[str, Any] = {"name": workload, "prior": read_prior(prior, asked)}
    with naming(str(matrix)):
        options |= {"transposed": foreign.transposed, "repair": foreign.repair}
        adopted = import_matrix(given, asked, epsilon, **options)
    adopted.mechanism.save(out, overwrite=True)
    write_result(Imported(adopted=adopted, workload=workload, epsilon=epsilon, out=out), json=json)
