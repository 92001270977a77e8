"""The default solver: it chooses the algorithm and its size for a problem, and states the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from stratagem.math.deadline import granted
from stratagem.math.number import count_text
from stratagem.math.privacy import ratio
from stratagem.math.vector import WHOLE as WRITTEN
from stratagem.solvers.certified.certified import Certified
from stratagem.solvers.certified.patterns import EXHAUSTIVE
from stratagem.solvers.few_queries import FewQueries
from stratagem.solvers.junta.junta import SOLVED, Junta
from stratagem.solvers.junta.signature_choice import ORDERED as TOGETHER
from stratagem.solvers.junta.signature_choice import searchable
from stratagem.solvers.orbit.orbit import LARGEST, Orbit
from stratagem.solvers.orbit.sets import is_exact, is_prefix
from stratagem.solvers.parts import Parts, asks_in_parts
from stratagem.solvers.problem import AVERAGE, Constraint, GuessCap, Permanent, Problem, Shuffled, Steps
from stratagem.solvers.solver import Choice, Limits, Solver, check_limits, check_whole
from stratagem.workloads.ranges import AllRange
from stratagem.workloads.workload import GRAM_LIMIT, Workload

ALIKE, ORDERED = 256, 1024
"""Least numbers of user types at which symmetry is used: for attributes whose values queries only compare for
equality, and for attributes with ordered values."""
PREFIX = 1024
"""Most user types for which prefixes are solved without symmetry; translates on a cycle are less accurate there."""
MIXED = 4096
"""Number of user types above which stacks of tables with ordered values are solved by translates. A search
without symmetry ends closer to the optimum, but forms n x n arrays."""
SLOW = 1e-3
"""Relative gain that three rounds of a search without symmetry must make on prefixes of at least `ORDERED`
values; one such round takes a third of a minute."""
PLACED, LOOKED_AT = 12, 6
"""Limits of `Junta` where queries only compare values for equality: at most 12 attributes in the domain, or at
most 6 in each query."""
TABLE = 1 << 17
"""Number of cells above which the table of all attributes is always solved by `Orbit`, with sets of cells and
their multiples; smaller tables only where these are exact."""
WHOLE = 1 << 16
"""Most cells of a domain with several attributes for `Orbit`; its first patterns take seconds up to there."""
DENSE = math.isqrt(GRAM_LIMIT)
"""Number of user types of the largest Gram matrix that is formed."""
LONGEST = 1800.0
"""Seconds that a search may take where none are given."""
PRODUCT = 1e-10
"""Seconds that one weight update takes for each row and each entry of an n x n matrix, on two cores."""
MIRRORED = 2
"""Number of rows of prefixes whose weights are updated in the time of one, as their mirror images need no products."""
FIRST = 0.5
"""Share of the time that the first rows and their weights may take; the rest is for new rows and checks."""
FEWEST = 4
"""Least number of rows per user type, the number of the published solver."""


@dataclass(frozen=True)
class Auto(Solver):
    """The choice of a solver and its size by the workload, the domain, the outputs and the time.

    `FewQueries` solves one to five queries as a linear programme. `Parts` solves queries about several tables of
    attributes, as surveys have them, table by table. On larger domains the symmetry of the
    workload decides. `Junta` is chosen where the queries only compare values for equality, and beyond 4,096
    user types for tables with ranges and prefixes. `Orbit` is chosen for ranges and histograms of one
    attribute or of one large table, and for prefixes of more than 1,024 values or where time is short.
    `Certified` is chosen for all other workloads, and with a prior or a limit of outputs; its two-level rows
    contain an optimal strategy. Where `outputs` limits the rows it runs the projected gradient too. Up to 12
    user types it lists all rows. On larger domains the first weight updates must fit into the time, so a
    short search uses fewer rows. Fewer outputs than user types suffice only for a workload of low rank. Then
    idle rows are dropped, and the result says how many are left.
    """

    reference: ClassVar[str] = (
        "@stratagem, the solver that fits the workload and its domain, within the limits given"
    )
    general: ClassVar[bool] = True
    chooses: ClassVar[bool] = True
    constraints: ClassVar[tuple[type[Constraint], ...]] = (GuessCap, Permanent, Shuffled, Steps)

    outputs: int | None = None
    """Largest number m of rows, if at least n; by default it follows from the domain size and the time."""
    seed: int = 0
    max_seconds: float | None = None
    """Seconds after which the search stops and returns the best strategy so far; half an hour by default."""
    gap: float = 0.0
    """Stop as soon as objective / lower bound - 1 is at most this."""
    parted: bool = True
    """Whether queries about several tables may be solved by `Parts`, one of them at random."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_whole(outputs=self.outputs)
        check_whole(0, seed=self.seed)
        granted(self.max_seconds, name="max_seconds")
        check_limits(None, gap=self.gap)

    @property
    def limits(self) -> Limits:
        return Limits(0, 1, 0.0, 1, self.max_seconds or LONGEST, self.gap)

    def select(self, problem: Problem) -> Choice:
        if problem.kind != AVERAGE:
            return self.dense(problem)
        single = problem.linear
        if single is not None and len(single.answers) <= (self.outputs or math.inf):
            gap = {"gap": self.gap} if self.gap else {}
            return Choice(FewQueries(**gap), "few queries, whose optimal randomiser is a linear programme")
        free = self.outputs is None and problem.prior is None
        n = problem.workload.domain_size
        if self.parted and free and problem.plain and n > EXHAUSTIVE and asks_in_parts(problem.workload):
            parts = Parts(replace(self, parted=False), self.seed, self.max_seconds or LONGEST, self.gap)
            return Choice(parts, "the queries are about several tables, of which each report tells about one")
        return (free and self._symmetric(problem)) or self.dense(problem)

    def another(self, problem: Problem, tried: Solver) -> Choice | None:
        """Return the search that is tried beside a linear programme, or by symmetry beside parts; None without one.

        Parts are joined on common tables themselves where these are small.
        """
        return self.together(problem) if isinstance(tried, Parts) else self.dense(problem)

    def together(self, problem: Problem) -> Choice | None:
        """Return the search by symmetry for all tables together; None without one."""
        return replace(self, parted=False)._symmetric(problem)

    def dense(self, problem: Problem) -> Choice:
        """Return the certified solver in the size that fits, whatever the symmetry of the workload.

        Raises:
            ValueError: for a domain too large for a search without symmetry.
        """
        n, seconds = problem.workload.domain_size, self.max_seconds or LONGEST
        if n > DENSE:
            raise ValueError(
                f"{count_text(n)} user types were given to a search without symmetry, which takes at most {DENSE}: ask "
                f"for the average over user types of marginals of up to {LOOKED_AT} attributes, of parities or of "
                f"ranges and prefixes that know an order of at most {TOGETHER} cells of a table, without a prior and "
                f"a limit of outputs, or use coarser values{_merging(problem.workload)}"
            )
        translated = n >= ORDERED and problem.prior is None and is_prefix(problem.workload)
        certified = Certified(seed=self.seed, max_seconds=seconds, gap=self.gap, translated=translated)
        if translated:
            certified = replace(certified, tolerance=SLOW)
        if self.outputs is not None:
            reason = f"two-level rows polished by the gradient fit {self.outputs} outputs for {n} user types"
            if self.outputs < n:
                reason = (
                    f"{self.outputs} outputs for {n} user types cannot be promised, but idle rows are dropped"
                )
            limited = max(n, int(self.outputs))
            return Choice(Certified(limited, self.seed, max_seconds=seconds, gap=self.gap), reason)
        if n <= EXHAUSTIVE:
            return Choice(certified, f"all {2**n - 2} two-level rows over {n} user types can be listed")
        usual, affordable = certified.rows(n), _affordable(certified, n, seconds)
        affordable *= MIRRORED if translated else 1
        if affordable >= usual:
            known = "" if n < ALIKE else "; no symmetry that would do with less is used"
            return Choice(
                certified, f"two-level rows hold an optimum, and {n} user types leave room to find it{known}"
            )
        few = Certified(affordable, self.seed, max_seconds=seconds, gap=self.gap, polish=False)
        return Choice(few, f"{seconds:g} s are enough for {affordable} two-level rows over {n} user types")

    def _patient(self, n: int) -> bool:
        """Return whether a search for prefixes over n user types without symmetry is affordable.

        It is if n is at most `PREFIX` and the first weight updates fit into half the time.
        """
        certified = Certified()
        seconds = self.max_seconds or LONGEST
        return n <= PREFIX and MIRRORED * _affordable(certified, n, seconds) >= certified.rows(n)

    def _symmetric(self, problem: Problem) -> Choice | None:
        """Return the solver that uses the workload's symmetry; None if the certified solver fits better."""
        workload = problem.workload
        sizes, spectrum = workload.domain.sizes, workload.structure.spectrum
        limits = {"seed": self.seed, "gap": self.gap}
        if self.max_seconds is not None:
            limits["max_seconds"] = self.max_seconds
        n = workload.domain_size
        if workload.whole_table and n <= LARGEST:
            if len(sizes) == 1 and n >= ALIKE:
                return Choice(
                    Orbit(**limits), f"the {n} values are alike, so sets of them on a cycle serve all"
                )
            if n > SOLVED and (n > TABLE or is_exact(n, ratio(problem.epsilon))):
                return Choice(
                    Orbit(**limits), f"the {n} cells are alike, so sets of them on a cycle serve all"
                )
        few = spectrum is not None and (len(sizes) <= PLACED or spectrum.order <= LOOKED_AT)
        if few and len(sizes) > 1 and n >= ALIKE:
            return Choice(
                Junta(**limits),
                f"values only count as equal or not, so patterns on a few of {len(sizes)} attributes serve all, "
                "placed and translated at random",
            )
        if spectrum is not None and len(sizes) > 1 and ALIKE <= n <= WHOLE:
            return Choice(
                Orbit(**limits),
                f"values only count as equal or not, so all translates of patterns on {n} cells serve all",
            )
        if spectrum is None and len(sizes) > 1 and n > MIXED and searchable(workload) is not None:
            return Choice(
                Junta(**limits),
                f"the queries are about tables of a few of {len(sizes)} attributes, so patterns on a few serve all, "
                "translated at random along ordered values too",
            )
        ordered = spectrum is not None or isinstance(workload.unweighted[1], AllRange)
        ordered = ordered or (is_prefix(workload) and not self._patient(n))
        if len(sizes) == 1 and n >= ORDERED and ordered:
            return Choice(Orbit(**limits), f"all translates of patterns on a cycle serve {n} ordered values")
        return None


def _affordable(solver: Certified, n: int, seconds: float) -> int:
    """Return the number of rows whose first weight updates fit into half the seconds, at least 4 n."""
    return max(FEWEST * n, math.floor(FIRST * seconds / (PRODUCT * solver.weight_updates(n) * n**2)))


def _merging(workload: Workload) -> str:
    """Return how user types that no query tells apart are given as one; "" where that is not looked at or too many."""
    if workload.queries * workload.domain_size > WRITTEN:
        return ""
    kinds = np.unique(workload.adjoint(np.eye(workload.queries)), axis=0)
    if len(kinds) > DENSE:
        return ""
    return (
        f"; the queries tell {len(kinds):,} kinds of user types apart: give W of one type of each kind, and how many "
        "types each has as the prior, as np.unique(W, axis=1, return_counts=True) returns both"
    )
