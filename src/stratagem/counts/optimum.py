"""Optimal count mechanisms with the properties asked for, and the files of such designs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, get_args

import numpy as np

from stratagem.counts import bundle
from stratagem.counts.closed import ExplicitFair, Geometric, Kind, route
from stratagem.counts.criteria import (
    Aggregate,
    Loss,
    Property,
    check_aggregate,
    distance_power,
    names,
    property_set,
    total_cost,
    weights_of,
)
from stratagem.counts.exact import (
    BITS,
    decay,
    fixed_point,
    log_decay,
    proper_fraction,
    repaired,
    whole_size,
)
from stratagem.counts.mechanism import MATRIX, CountMechanism, CountTable
from stratagem.counts.program import SMALLEST, TIGHT, CountRequest, Engine, Program, minimise, other
from stratagem.io.screen import show
from stratagem.io.table import Table
from stratagem.io.target import check_target, written_atomically
from stratagem.math.number import integer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAGNIFIED = 23
"""Number of bits of the magnification: residuals are multiplied by 2^23, and a variable moves by at most 2^-23."""
TIGHT_SLACK = 4.0
"""Magnified slack above which so small a move cannot break an inequality; such inequalities are left out."""
BALANCED = 1e-17
"""Error of the column sums below which no refinement is done."""


class Optimum(NamedTuple):
    """A nearly feasible matrix of nearly least cost, with a lower bound on every cost."""

    cells: np.ndarray
    """P (n+1 x n+1) in multiples of 2^-80, Python integers."""
    bound: float
    """Lower bound on the cost of every mechanism that satisfies the request."""


def solve(request: CountRequest, engine: Engine = "HIGHS") -> Optimum:
    """Return the optimum, the one of least sum |i - j|^1.5 where there are several.

    Raises:
        RuntimeError: if the solver fails.
    """
    bound = Program(request, SMALLEST, request.magnitude).bound(engine)
    program = Program(request, SMALLEST, bound or request.magnitude)
    y = program.optimum(engine)
    value = float(program.cost.value) * program.unit
    attempts: list[tuple[float, Engine]] = [(1.0, engine), (1.0, other(engine)), (SMALLEST, other(engine))]
    for smallest, proving in attempts:
        if value > bound * (1 + TIGHT):
            with suppress(RuntimeError):  # a proof more that fails leaves the bound as it is
                bound = max(bound, Program(request, smallest, program.unit).bound(proving))
    return Optimum(refined(program, y, engine)[program.variable].reshape(request.n + 1, -1), bound)


def refined(program: Program, y: np.ndarray, engine: Engine) -> np.ndarray:
    """Return the probabilities of the variables in multiples of 2^-80, with residuals about 2^-23 as large.

    The residuals of y are computed in whole numbers; the move of least cost that mends them, all of it
    magnified by 2^23, is a linear program with the inequalities that are nearly tight. Where a solver finds
    no such move, y is returned.

    Reference:
        Gleixner, Steffy, Wolter, "Iterative refinement for linear programming", INFORMS J. Computing 2016.
    """
    import cvxpy as cp

    request, variable = program.request, program.variable
    n, one = request.n, 1 << BITS
    whole = fixed_point(program.scale * y)
    lacking = one - whole[variable].reshape(n + 1, n + 1).sum(axis=0)[: program.columns]
    if np.abs(lacking).max() <= BALANCED * one:
        return whole
    exact = {float(family.factor): family.factor for family in request.families}
    slack = np.empty(len(program.less))
    for factor, fraction in exact.items():
        these = program.factor == factor
        p, q = fraction.as_integer_ratio()
        above, below = (whole[variable[cells[these]]] for cells in (program.greater, program.less))
        slack[these] = _magnified((q * above - p * below) / q) / program.size[these]
    tight = slack < TIGHT_SLACK
    x, worst = cp.Variable(len(y)), cp.Variable()
    limits: list[Any] = [
        program.sums @ x == _magnified(lacking),
        program.differences[tight] @ x >= -slack[tight],
        x >= np.maximum(-1, -_magnified(whole) / program.scale),
        x <= 1,
    ]
    if Property.WH in request.properties:
        over = _magnified(whole[program.diagonal] - one / (n + 1))
        limits.append(x[program.diagonal] >= -over / program.scale[program.diagonal])
    spent = program.costs @ y
    limits.append(program.costs @ x <= worst + np.ldexp(spent.max() - spent, MAGNIFIED))
    try:
        minimise(worst + program.ties @ x, limits, engine)
    except RuntimeError:
        return whole
    step = np.ldexp(np.asarray(x.value) * program.scale, BITS - MAGNIFIED)
    moved = whole + np.array([int(value) for value in step], dtype=object)
    return np.maximum(moved, 0)


def _magnified(numbers: np.ndarray) -> np.ndarray:
    """Return multiples of 2^-80 as floating-point multiples of 2^-23."""
    return np.ldexp(numbers.astype(float), MAGNIFIED - BITS)


NEAR = 1e-6
"""Largest gap for which a mechanism is called optimal."""
SLIGHT = 1e-9
"""Fraction of the uniform mechanism's cost below which a cost counts as zero."""


PRINTED = 10
"""Group size up to which the matrix is printed."""
REACHES = "1 hides one person's answer, n any count from any other"


class CountStatus(StrEnum):
    """How a design ended; the text says what it means and what to do."""

    OPTIMAL = "Optimal: no mechanism with these properties costs less by more than 1e-6 of the cost."
    NEAR = (
        "Feasible, but the optimum may lie below by up to the gap; losses and weights of similar size help."
    )


@dataclass(frozen=True, eq=False)
class CountDesign:
    """A count mechanism, its cost, and a lower bound on the cost of every mechanism that was allowed."""

    mechanism: CountMechanism
    loss: str
    cost: float
    """Exact cost of the mechanism as its whole numbers define it."""
    bound: float
    """Lower bound on the cost of every mechanism with the properties requested."""
    route: str
    """How the mechanism was found, in words."""
    requested: frozenset[Property]
    uniform: float
    """Cost of the uniform mechanism, the scale against which a cost counts as small."""

    @property
    def gap(self) -> float:
        """Relative excess of the cost over the bound (see `excess`)."""
        return self.excess(self.cost)

    def excess(self, cost: float) -> float:
        """Return cost / bound - 1; where the bound is next to nothing, relative to 1e-9 of the uniform cost."""
        above, scale = cost - self.bound, max(self.bound, SLIGHT * self.uniform)
        return above / scale if above else 0.0

    @property
    def status(self) -> CountStatus:
        """Whether the cost is within 1e-6 of the bound."""
        return CountStatus.OPTIMAL if self.gap <= NEAR else CountStatus.NEAR

    def __str__(self) -> str:
        """Return a few lines with the mechanism found, its cost and its gap."""
        found = self.mechanism
        return (
            f"{found.name} mechanism for counts 0 to {found.size}, alpha = {float(found.alpha):.6g}\n"
            f"{self.loss} {self.cost:.6f}, bound {self.bound:.6f}; {self.route}\n"
            f"properties: {', '.join(names(found.properties)) or 'none'}\n{self.status}"
        )

    def record(self) -> dict[str, Any]:
        """Return the design as named values; the matrix of a large group is None."""
        found = self.mechanism
        return {
            "name": found.name,
            "size": found.size,
            "alpha": float(found.alpha),
            "epsilon": -log_decay(found.alpha),
            "epsilon_realised": abs(log_decay(1 / found.ratio())),
            "loss": self.loss,
            "cost": self.cost,
            "bound": self.bound,
            "gap": self.gap,
            "requested": names(self.requested),
            "properties": names(found.properties),
            "route": self.route,
            "status": str(self.status),
            "matrix": found.matrix.tolist() if found.size <= MATRIX else None,
        }

    def sentences(self) -> Iterator[str | Table]:
        """Yield what was found, with the matrix where it is small."""
        yield str(self)
        if self.mechanism.size <= PRINTED:
            counts = range(self.mechanism.size + 1)
            rows = zip(counts, self.mechanism.matrix, strict=True)
            cells = [(str(output), *(f"{p:.4f}" for p in row)) for output, row in rows]
            yield from ("", "probability of an output (row) at a count (column):")
            yield Table(("", *map(str, counts)), cells)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the matrix as a heat map, its properties marked; write an .svg, .png or .pdf if a path is given.

        Raises:
            ValueError: without matplotlib, for a path that cannot be written, or above n = 4096.
        """
        return show("plot_counts", self, path)


def design(
    size: int,
    alpha: float | str | Fraction | None = None,
    loss: str | Sequence | np.ndarray = "L0",
    properties: str | Iterable[str | Property] = (),
    *,
    epsilon: float | None = None,
    prior: Sequence[float] | np.ndarray | None = None,
    aggregate: Aggregate = "sum",
    reach: int = 1,
    column_ratio: float | str | Fraction | None = None,
    solver: Engine = "HIGHS",
) -> CountDesign:
    """Return a count mechanism of least cost.

    Minimises sum_j w_j L_j (or max_j L_j), L_j = sum_i C[i, j] P[i, j], over matrices P with columns that
    sum to one, P[i, j] >= alpha P[i, j'] for |j - j'| <= reach, and the properties asked for. Closed forms
    are taken where the flowchart knows them. Of several optima the one of least sum |i - j|^1.5 P[i, j] is
    taken, by a slight weight of that sum beside the cost, and a symmetric one wherever symmetry is free.

    Args:
        size: n, the people in a group; counts are 0 to n.
        alpha: exp(-epsilon), between 0 and 1; give this or epsilon.
        loss: "L0", "L1", "L2" ("L0,2": errors above 2 only), or a matrix C (n+1 x n+1).
        properties: names as in "RH,RM,WH", or "all".
        epsilon: the privacy budget, instead of alpha.
        prior: weights w of the counts (n+1); uniform by default. Under "max" only which are positive matters.
        aggregate: "sum" for the weighted sum, "max" for the worst count.
        reach: how far counts may differ for alpha to hold; n makes it local.
        column_ratio: least ratio between neighbouring outputs of a column, if any.
        solver: "HIGHS" or "CLARABEL".

    Guarantee:
        All inequalities hold exactly in whole numbers; `bound` is proved by the program's multipliers.

    Raises:
        ValueError: for parameters out of range.
        RuntimeError: if the solver fails.

    Reference:
        Ghosh, Roughgarden, Sundararajan, STOC 2009; Cormode, Kulkarni, Srivastava, ICDE 2018.

    Example:
        >>> from stratagem import counts
        >>> found = counts.design(8, "10/11", "L1", "all")
        >>> round(found.cost, 5)
        2.56862
    """
    n, a, asked = whole_size(size), decay(alpha, epsilon), property_set(properties)
    check_aggregate(aggregate)
    if solver not in get_args(Engine):
        raise ValueError(f"solver is {solver!r}: choose HIGHS or CLARABEL")
    reach = integer(reach, "reach", 1, n, REACHES)
    column_factor = None if column_ratio is None else proper_fraction(column_ratio, "column_ratio")
    weights = weights_of(prior, n)
    if aggregate == "max":
        weights = weights_of(weights > 0, n)
    usual = reach == 1 and column_factor is None and np.ptp(weights) == 0 and aggregate == "sum"
    reason, wanted = "linear program", asked
    if usual and isinstance(loss, str) and distance_power(loss, n)[:2] == (0, 0):
        kind, wanted, reason = route(n, a, asked)
        if kind is not Kind.PROGRAM:
            form = (Geometric if kind is Kind.GEOMETRIC else ExplicitFair)(n, a)
            cost = form.cost("L0")
            return CountDesign(form, "L0", cost, cost, reason, asked, uniform=1.0)
    if n > MATRIX:
        raise ValueError(f"a linear program for {n} people would be huge; {MATRIX} are the most")
    request = CountRequest(n, a, Loss.of(loss, n), weights, aggregate, wanted, reach, column_factor)
    return programmed(request, asked, reason, solver)


def programmed(request: CountRequest, asked: frozenset[Property], reason: str, solver: Engine) -> CountDesign:
    """Return the design that the linear program gives, exact and checked."""
    optimum = solve(request, solver)
    whole = repaired(optimum.cells, request.families, Property.WH in request.properties)
    mechanism = CountTable(request.n, request.alpha, whole, "programmed")
    missing = asked - mechanism.properties
    if missing or mechanism.ratio() > 1 / request.alpha:
        raise ArithmeticError(
            f"the mechanism lacks {', '.join(names(missing)) or 'privacy'}: please report this"
        )
    cost = mechanism.cost(request.loss.cost, request.weights, request.aggregate)
    bound = float(min(optimum.bound, cost))
    even = total_cost(request.loss.cost.mean(axis=0), request.weights, request.aggregate)
    return CountDesign(mechanism, request.loss.name, cost, bound, reason, asked, even)


def save(path: str | Path, design: CountDesign) -> Path:
    """Write a design: .csv for the matrix, a line for each output; .npz for all that belongs to it.

    The .npz holds `matrix` (n+1 x n+1 float64, columns sum to one), `alpha`, `loss` (its name), `cost`,
    `bound` and `properties` (the short names of those that hold). Both hold doubles; .count.json is the bundle,
    exact, from which `counts.load` makes a mechanism that runs. The file appears complete or not at all.

    Raises:
        ValueError: for another suffix, a folder that does not exist, or a group too large for the file.
    """
    path = check_target(path, tuple(WRITERS))
    writer = next(write for suffix, write in WRITERS.items() if path.name.lower().endswith(suffix))
    with written_atomically(path) as file:
        writer(file, design)
    return path


def _write_npz(file: BinaryIO, design: CountDesign) -> None:
    np.savez(
        file,
        matrix=design.mechanism.matrix,
        alpha=np.float64(design.mechanism.alpha),
        loss=np.str_(design.loss),
        cost=np.float64(design.cost),
        bound=np.float64(design.bound),
        properties=np.array(names(design.mechanism.properties), dtype=np.str_),
    )


def _write_csv(file: BinaryIO, design: CountDesign) -> None:
    np.savetxt(file, design.mechanism.matrix, fmt="%.17g", delimiter=",")


def _write_bundle(file: BinaryIO, design: CountDesign) -> None:
    file.write(bundle.text(design.mechanism).encode("utf-8"))


WRITERS: dict[str, Callable[[BinaryIO, CountDesign], None]] = {
    bundle.SUFFIX: _write_bundle,
    ".npz": _write_npz,
    ".csv": _write_csv,
}
"""Functions that write a design, by the suffix of the file, which may contain several dots."""
