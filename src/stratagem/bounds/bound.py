"""A lower bound: what it is about, what it means and what proves it, and all bounds that are known for one problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stratagem.bounds.formulas import Rule, block_norms, root_trace, safe, ulps
from stratagem.bounds.proof import Proof
from stratagem.io.screen import brief
from stratagem.io.table import Table
from stratagem.math.deadline import fits
from stratagem.math.linalg import centred_factor
from stratagem.math.privacy import check, uniform
from stratagem.workloads import Workload
from stratagem.workloads.centring import (
    FAR,
    OUTWEIGHS,
    Centred,
    Outweighed,
    centred,
    levelled,
    root,
    total_term,
)
from stratagem.workloads.harmonics import Harmonics, harmonics, subsets
from stratagem.workloads.structure import Norms


@dataclass(frozen=True, eq=False)
class Case:
    """A workload, a budget and a prior, with the numbers that all bounds start from (theory.md, sections 1 and 7).

    Raises:
        ValueError: if epsilon is out of range.
    """

    workload: Workload
    epsilon: float
    prior: np.ndarray | None = None
    """Probabilities of the user types (n,); None for 1/n."""

    def __post_init__(self) -> None:
        """Check the budget."""
        object.__setattr__(self, "epsilon", check(self.epsilon))

    @property
    def n(self) -> int:
        """Number of user types."""
        return self.workload.domain.size

    @property
    def c(self) -> float:
        """Difference E - 1 of the two levels of a row."""
        return math.expm1(self.epsilon)

    @property
    def kappa(self) -> float:
        """(1 + E)^2/(4 E)."""
        return math.cosh(self.epsilon / 2) ** 2

    @property
    def shares(self) -> np.ndarray:
        """p (n,), 1/n without a prior."""
        return uniform(self.n) if self.prior is None else self.prior

    @property
    def h(self) -> np.ndarray:
        """n p (n,), for which M h = 1."""
        return self.n * self.shares

    @property
    def seen(self) -> Centred:
        """A V A^T with A = I - 1 p^T, and what its rounding error is relative to."""
        return centred(self.workload, self.prior)

    def factor(self, V: np.ndarray | None = None) -> np.ndarray:
        """Return F (n x r) with F F^T = A V A^T, of the queries unless another V (n x n) is given."""
        return centred_factor(self.seen.gram if V is None else V, self.prior)

    @property
    def total(self) -> float:
        """n p^T V p, the part of L(Q) that is the same for every strategy."""
        return total_term(self.workload, self.prior)

    @property
    def apart(self) -> Outweighed | None:
        """Queries of which the total is most, as of years or of dates in seconds, taken apart; None for others."""
        workload, prior, n = self.workload, self.prior, self.n
        rest = levelled(workload, prior)
        if rest is workload:
            return None
        own, total = np.square(root(workload, prior)).sum(axis=1), self.total
        seen = float(own.sum()) if prior is None else max(n * float(prior @ own), float(own.sum()))
        if not own.any() or total <= OUTWEIGHS * seen:
            return None
        return Outweighed(rest, total - total_term(rest, prior), total > FAR * seen)

    @property
    def ulps(self) -> float:
        """Relative error of V, of its factors and of n x n products."""
        return ulps(self.workload)

    def proof(
        self,
        gamma: np.ndarray,
        avoided: np.ndarray,
        prices: np.ndarray,
        spread: np.ndarray | None = None,
        level: tuple[float, float] = (0.0, 0.0),
    ) -> Proof:
        """Return the proof of a bound on this case from its arrays (see `Proof`), w = 0 by default."""
        return Proof(
            gamma=gamma,
            avoided=avoided,
            spread=np.zeros(self.n) if spread is None else spread,
            level=level,
            prices=prices,
            factor=self.factor(),
            total=self.total,
            epsilon=self.epsilon,
            prior=self.prior,
            ulps=self.ulps,
        )

    def safe(self, value: float) -> float:
        """Return a number that is certainly below the one of which `value` is the rounded one."""
        return safe(value, self.epsilon)


ADDED = 1e-14
"""Share by which what the means of queries add to L(Q) is lowered where it is added to bounds."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on L(Q) = tr(M^+ V), valid for every epsilon-LDP strategy."""

    rule: Rule
    value: float
    proof: Proof | None = field(default=None, compare=False, repr=False)
    """What anybody can compute the bound from again (see `Proof`); None for optima and closed forms (see theory.md)."""

    @classmethod
    def of(cls, rule: Rule, value: float | None, proof: Proof | None = None) -> tuple[Bound, ...]:
        """Return the bound of this value; none where it was not computed."""
        return () if value is None else (cls(rule, value, proof),)

    @property
    def name(self) -> str:
        """Name of the bound."""
        return self.rule.name

    @property
    def meaning(self) -> str:
        """What the bound is, in a few words."""
        return self.rule.meaning


@dataclass(frozen=True)
class AnyEstimator:
    """No protocol and no estimator of W p has a smaller mean squared error for every population p (theory.md, 16).

    It is the least average over populations whose shares of the `types` are Dirichlet(alpha, ..., alpha) and zero of
    all others, so that some population has an error as large. Estimates may be biased, and what the device of a
    later person does may depend on all earlier reports.
    """

    people: int
    """N people, drawn at random from the population, who send one report each."""
    squared_error: float
    """sum_i E (estimate_i - (W p)_i)^2, in squared shares, at least."""
    queries: int
    """Number of queries that share the squared error: all but the number of all people, which is known."""
    concentration: float
    """alpha: shares are even but for a relative standard deviation of about alpha^(-1/2)."""
    types: np.ndarray = field(compare=False, repr=False)
    """The user types in the population (m,), by their number in the domain."""

    @property
    def typical_error(self) -> float:
        """Root mean square over the queries of the error of a share."""
        return math.sqrt(self.squared_error / self.queries)

    def __str__(self) -> str:
        """Return the bound as a clause."""
        return f"any estimator, {self.people:,} people: typical error of a share at least {self.typical_error:.4g}"

    def record(self) -> dict[str, Any]:
        """Return the bound as named values."""
        return {
            "people": self.people,
            "squared_error": self.squared_error,
            "typical_error": self.typical_error,
            "types": len(self.types),
            "concentration": self.concentration,
        }


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on L(Q) = tr(M^+ V), each of them valid for every epsilon-LDP strategy.

    L is the variance of unbiased estimates from one report per user, averaged over the user types or the prior:
    biased estimates, or rounds that build on each other, may have smaller errors.
    They are bounds on L(Q)/n instead where n > 2^53 (see `workload.counted`).

    >>> import stratagem as st
    >>> bounds = st.lower_bounds(st.prefix(32), 1.0)
    >>> bounds.name, bounds["svd"].value < bounds.best
    ('weighted', True)
    """

    found: tuple[Bound, ...]
    """The bounds that were computed."""
    offset: float = 0.0
    """What the means of the queries add to L(Q) where they outweigh all else (see `Case.apart`), else zero.

    It is the same for every strategy, and stands beside the bounds, so that these keep their digits.
    """
    cut: bool = field(default=False, compare=False)
    """Whether time ended the search for larger ones."""
    any_estimator: AnyEstimator | None = None
    """An error that every estimator, biased or not, has for some population, where a number of people was given."""

    __repr__ = brief

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.found)

    def __contains__(self, name: str) -> bool:
        return any(one.name == name for one in self.found)

    def __getitem__(self, name: str) -> Bound:
        """Return the bound of a name, without the `offset`."""
        for one in self.found:
            if one.name == name:
                return one
        raise KeyError(f"{name} was not computed: only {', '.join(one.name for one in self.found)}")

    @property
    def optimal(self) -> bool:
        """Whether the largest bound is the optimum: all patterns were tried, or there is one query."""
        return "exact" in self or self.name == "linear"

    def known(self) -> dict[str, float]:
        """Return the bounds on L(Q) that were computed, by name."""
        return {one.name: one.value + self.offset for one in self.found}

    def record(self) -> dict[str, Any]:
        """Return the bounds that were computed, by name, and the best of them."""
        wider = {} if self.any_estimator is None else {"any_estimator": self.any_estimator.record()}
        return {**self.known(), "best": self.best, **wider}

    def __str__(self) -> str:
        """Return the bounds that were computed, one a line, the best of them marked, and that of any estimator."""
        lines = [f"{name:<10} {value}" for name, value in self._rows()]
        return "\n".join(lines if self.any_estimator is None else [*lines, str(self.any_estimator)])

    def _repr_html_(self) -> str:
        """Return the bounds as a table for a notebook."""
        return Table(("bound", "value"), self._rows()).html("lower bounds")

    def _rows(self) -> list[tuple[str, str]]:
        known = self.known().items()
        return [(name, f"{value:.6g}{' (best)' if name == self.name else ''}") for name, value in known]

    def having(self, *more: Bound) -> Bounds:
        """Return the bounds with others, which replace those of the same name."""
        found = {one.name: one for one in (*self.found, *more)}.values()
        return replace(self, found=tuple(sorted(found, key=lambda one: one.rule.place)))

    def mapped(self, change: Callable[[float], float], offset: float = 0.0) -> Bounds:
        """Return bounds on what a rising function makes of L(Q), without their proofs."""
        return Bounds(tuple(Bound(one.rule, change(one.value)) for one in self.found), offset, self.cut)

    def above(self, known: float, *, far: bool) -> Bounds:
        """Return bounds on an L(Q) that is `known` more for every strategy; beside the bounds where that is `far`."""
        known *= 1 - ADDED  # its own rounding, and that of the sum
        return self.mapped(lambda value: value, known) if far else self.mapped(lambda value: value + known)

    @property
    def best(self) -> float:
        """The largest bound."""
        return self.best_apart + self.offset

    @property
    def best_apart(self) -> float:
        """The largest bound, without the `offset`."""
        return max(one.value for one in self.found)

    @property
    def name(self) -> str:
        """Name of the largest bound."""
        return max(self.found, key=lambda one: one.value).name


EIGENVALUES, BEYOND = 4, 1.0
"""Products of two n x n matrices that take as long as the eigenvalues for both norms, and seconds beyond the time."""


def norms(case: Case) -> Norms:
    """Return ||W 1||^2/n^2 and the nuclear norms of W and W P, both over n^(1/2).

    Under a prior p (n,): p^T V p, nan, as no bound needs it, and W (I - p 1^T) diag(n p)^(1/2) in place of W P.
    Where the workload does not know them: by blocks where these are smaller than the domain, else by one
    eigendecomposition for each norm. Where there is no time for these, the Frobenius norms, which are no larger.
    """
    workload, prior, n = case.workload, case.prior, case.n
    known = workload.structure.norms if prior is None else None
    if known is not None:
        return known
    found = harmonics(workload) if prior is None else None
    if found is not None and _functions(found) < n:
        return block_norms(found)
    V, error, p, seen = workload.gram(), ulps(workload), case.shares, case.seen
    root, total = np.sqrt(p), case.total / n
    inner, trace = root[:, None] * seen.gram * root, error * float(p @ seen.own)
    whole = math.nan
    if not fits(EIGENVALUES * n**3, BEYOND):
        whole = whole if prior is not None else _least_root(V / n, error * float(np.trace(V)) / n)
        return Norms(total, whole, _least_root(inner, trace))
    rest = root_trace(np.linalg.eigvalsh(inner), trace)
    if prior is None:
        whole = root_trace(np.linalg.eigvalsh(V / n), error * float(np.trace(V)) / n)
    return Norms(total, whole, rest)


def _least_root(A: np.ndarray, error: float) -> float:
    """Return a lower bound on tr(A)^(1/2), which is at most tr(A^(1/2)), from a computed A as in `root_trace`."""
    return math.sqrt(max(float(np.trace(A)) - len(A) * error, 0.0))


def _functions(found: Harmonics) -> int:
    """Return how many functions of the ordered attributes the queries touch, the rows of the largest block."""
    kept = ([i for i in part.attributes if i in found.ordered] for part in found.parts)
    touched = {own for held in kept for own in subsets(held)}
    return sum(math.prod(found.plain.sizes[i] - 1 for i in own) for own in touched)
