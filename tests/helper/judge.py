"""A judge of strategies in 80 digits: what a matrix of probabilities is worth, whatever anybody states about it.

The entries of Q (m x n) are taken for the numbers they are, its columns divided by their sums. With h = n p, d = Q h
and z_y = q_y/d_y - 1/n the information matrix is M = 11^T/n + Z, Z = sum_y d_y z_y z_y^T and Z h = 0; a query w less
its mean w^T h/n is w_c, its estimate from report y has the variable part w_c^T Z^+ z_y, and
tr(M^+ V) = n sum_i (p^T w_i)^2 + sum_i w_ci^T Z^+ w_ci: the total, which is known, and the rest.

Rounding of Q leaves directions in which user types differ by 10^-17. Nobody can use them, so Z^+ is that of the
eigenvectors whose eigenvalue is above 10^-18 of the largest, and of as many more, largest eigenvalue first, as all
queries need for 10^-9 of their own norms.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from optimum import DIGITS, decimals, optimum

SUPPORT = Decimal("1e-9")
"""Share of a query's own norm, its mean removed, that may be missing."""
KNOWN = Decimal("1e-18")
"""Share of the largest eigenvalue of Z above which one is no rounding of doubles."""
SWEEPS, NOTHING = 60, Decimal("1e-70")
"""Sweeps of Jacobi's method at most, and the size of an angle that is rounding."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The worth of a strategy with the reconstruction of a prior, in decimals."""

    missing: np.ndarray
    """Share of every query's norm that no estimate has (p,), its mean removed: above 1e-9 it is unsupported."""
    total: Decimal
    """n sum_i (p^T w_i)^2: what is known without reports."""
    rest: Decimal
    """tr(M^+ V) less the total."""
    variances: np.ndarray
    """Variance (p x n) that a user of every type adds to every query."""
    room: np.ndarray
    """Twice the missing share of every query's squared norm (p,): a variance that takes the query off in place of the
    estimate's mean may differ by that, which counts where epsilon is large."""
    shares: np.ndarray
    """Probabilities of the user types (n,)."""

    @property
    def per_type(self):
        """t_u (n,): variance that a user of type u adds, all queries together."""
        return self.variances.sum(axis=0)

    @property
    def per_query(self):
        """Variance of every query (p,) for a user drawn from the shares."""
        return self.variances @ self.shares

    def added(self, objective):
        """The variance that a user adds: on average over the shares, of the worst type, or of the worst query."""
        if objective == "average":
            return self.per_type @ self.shares
        return max(self.per_type if objective == "worst-case" else self.per_query)


def judged(rows, Q, prior=None, shares=None):
    """Judge Q (m x n) on queries (p x n); `prior` chooses the reconstruction, `shares` the users, by default 1/n."""
    with decimal.localcontext() as context:
        context.prec = DIGITS
        W, Q = decimals(rows), decimals(Q)
        n, Q = W.shape[1], Q / Q.sum(axis=0)
        h = n * proportions(prior, n)
        d = Q @ h
        Q, d = Q[d > 0], d[d > 0]
        z = Q / d[:, None] - Decimal(1) / n
        differences = W - W[:, :1]  # exactly zero where a query is constant
        centred = differences - (differences @ h / n)[:, None]
        values, vectors = eigen((z * d[:, None]).T @ z)
        parts = centred @ vectors
        kept, missing = supporting(parts, values, int((values > KNOWN * values.max(initial=0)).sum()))
        scores = (parts[:, :kept] / values[:kept]) @ (z @ vectors[:, :kept]).T
        expected = parts[:, :kept] @ vectors[:, :kept].T  # of the scores, by user type
        variances = np.square(scores) @ Q - np.square(expected)
        rest = (np.square(parts[:, :kept]) / values[:kept]).sum() if kept else Decimal(0)
        total = np.square(W @ h).sum() / n
        room = 2 * missing * np.square(centred).sum(axis=1)
        return Judged(missing, total, rest, variances, room, proportions(shares, n))


def least_added(problem):
    """The least variance that a user adds, of all strategies, in the sense of `Judged.added`; to 14 digits."""
    found = optimum(problem.rows, problem.epsilon, problem.prior, problem.objective)
    if problem.objective != "average":
        return found.value
    with decimal.localcontext() as context:
        context.prec = DIGITS
        return (found.value - noiseless(problem)) / problem.rows.shape[1]


def noiseless(problem):
    """tr(M^+ V) less n times the average variance: n sum_i sum_u p_u W_iu^2."""
    with decimal.localcontext() as context:
        context.prec = DIGITS
        W, n = decimals(problem.rows), problem.rows.shape[1]
        return n * (np.square(W) @ proportions(problem.prior, n)).sum()


@dataclass(frozen=True, eq=False)
class Stated:
    """What is stated about a strategy, in the words of `Judged`, and about all strategies."""

    matrix: np.ndarray
    prior: np.ndarray | None
    """Prior of the reconstruction (n,)."""
    objective: float
    L: float
    per_type: np.ndarray
    per_query: np.ndarray
    largest: float
    """The largest variance that a user of any type adds to any query."""
    bounds: dict[str, float]
    """Lower bounds on the objective, by name."""
    least: float
    """Lower bound on the variance that a user adds."""


ACCURATE, ABOVE, NEAR = 1e-6, 1e-6, 5e-3
"""What stated values may be off, bounds be above the optimum, and strategies be worse than it, as a share."""
BELOW = 1e-6
"""What a strategy of double precision may seem better than the optimum: 10^-9 of a query may be missing."""
ROUNDED = 1e-12
"""What rounding may add to epsilon and to sums of columns."""
ZERO = 1e-12
"""Share of the largest variance below which others count as zero."""


def faults(problem, stated, least):
    """Sentences on what is false of the statements (see `Stated`), or not good enough, given the least added variance.

    An average objective is judged by L less the total. At large epsilon that is mostly n Var(w), which no strategy
    changes: `slack` tells how the variance itself compares.
    """
    with decimal.localcontext() as context:
        context.prec = DIGITS
        found = judged(problem.rows, stated.matrix, stated.prior, problem.prior)
        if found.missing.max() > SUPPORT:
            query, share = int(found.missing.argmax()), float(found.missing.max())
            return [f"unsupported: {share:.2g} of query {query} is missing"]
        known, value, best = Decimal(0), found.added(problem.objective), least
        if problem.objective == "average":
            known, value = found.total, found.total + found.rest
            best = noiseless(problem) + problem.rows.shape[1] * least
        sentences = [
            private(problem.epsilon, stated.matrix),
            off("objective", stated.objective, value, found.room.sum()),
            off("L", stated.L, found.total + found.rest),
            off("per type", stated.per_type, found.per_type, found.room.sum()),
            off("per query", stated.per_query, found.per_query, found.room),
            off("largest variance", stated.largest, found.variances.max(), found.room.max()),
            *(above(f"bound {name}", bound, best) for name, bound in stated.bounds.items()),
            above("least variance", stated.least, least),
            optimal(value - known, best - known),
        ]
        return [sentence for sentence in sentences if sentence]


def slack(problem, stated, least):
    """How far the variance that a user adds is above the least one, as a share."""
    added = judged(problem.rows, stated.matrix, stated.prior, problem.prior).added(problem.objective)
    return float(added / least - 1) if least else float(added)


def private(epsilon, Q):
    """A sentence if a row is not private, or a column no distribution."""
    if (Q < 0).any() or np.abs(Q.sum(axis=0) - 1).max() > ROUNDED:
        return "columns: not distributions"
    loss = np.log(Q[Q.any(axis=1)]).max(axis=1) - np.log(Q[Q.any(axis=1)]).min(axis=1)
    return (
        ""
        if loss.max() <= epsilon + ROUNDED
        else f"epsilon: {loss.max():.12g} where {epsilon:.12g} is allowed"
    )


def optimal(value, least):
    """A sentence if a strategy is too far above the optimum, or below."""
    if not least:
        return "" if value <= 0 else f"not optimal: {value:.6g} where nothing need be added"
    share = float(value / least - 1)
    if -BELOW <= share <= NEAR:
        return ""
    return f"{'not optimal' if share > 0 else 'judge'}: {share:.3g} from the least {least:.6g}"


def off(name, stated, true, extra=Decimal(0)):
    """A sentence if one of the stated numbers is not accurate; `extra` is allowed as well."""
    true = np.atleast_1d(true)
    stated = np.broadcast_to(np.asarray(stated, dtype=float), true.shape)
    errors = [abs(decimal_of(x) - y) for x, y in zip(stated, true, strict=True)]
    room = Decimal(ACCURATE) * true + Decimal(ZERO) * max(true) + extra
    worst = max(range(len(true)), key=lambda i: errors[i] - room[i])
    if errors[worst] <= room[worst]:
        return ""
    return f"{name}: {stated[worst]:.10g} where {true[worst]:.10g} is true"


def above(name, stated, optimum):
    """A sentence if a lower bound is above the optimum."""
    if decimal_of(stated) <= optimum * Decimal(1 + ABOVE):
        return ""
    share = f", by {float(decimal_of(stated) / optimum - 1):.3g}" if optimum else ""
    return f"{name}: {stated:.10g} is above the optimum {optimum:.10g}{share}"


def decimal_of(value):
    return Decimal(float(value)) if np.isfinite(value) else Decimal("1e999")


def supporting(parts, values, known):
    """How many directions are `known` or needed by queries of these parts (p x n), and the shares then missing (p,)."""
    squares = np.square(parts)
    norms = squares.sum(axis=1)
    norms[norms == 0] = 1
    rank = sum(value > 0 for value in values)
    for kept in range(min(known, rank), rank + 1):
        missing = np.array(
            [(x / norm).sqrt() for x, norm in zip(squares[:, kept:].sum(axis=1), norms, strict=True)]
        )
        if (missing <= SUPPORT).all():
            break
    return kept, missing


def proportions(prior, n):
    p = decimals(np.ones(n) if prior is None else prior)
    return p / p.sum()


def eigen(A):
    """Eigenvalues (n,), largest first, and eigenvectors (n x n) of a symmetric matrix, by Jacobi's rotations.

    Of a matrix without small negative eigenvalues: what is below 1e-70 of the largest is zero.
    """
    n, A = len(A), A.copy()
    U = np.eye(n, dtype=int) * Decimal(1)
    for _ in range(SWEEPS):
        turned = False
        for i in range(n - 1):
            for j in range(i + 1, n):
                if abs(A[i, j]) <= NOTHING * max(abs(A[i, i] * A[j, j]).sqrt(), abs(A).max() * NOTHING):
                    continue
                turned = True
                theta = (A[j, j] - A[i, i]) / (2 * A[i, j])
                t = (1 if theta >= 0 else -1) / (abs(theta) + (theta * theta + 1).sqrt())
                c = 1 / (t * t + 1).sqrt()
                turn = np.array([[c, t * c], [-t * c, c]])
                A[:, [i, j]] = A[:, [i, j]] @ turn
                A[[i, j]] = turn.T @ A[[i, j]]
                A[i, j] = A[j, i] = Decimal(0)
                U[:, [i, j]] = U[:, [i, j]] @ turn
        if not turned:
            break
    else:
        raise AssertionError(f"no eigenvectors in {SWEEPS} sweeps")
    values = np.diag(A).copy()
    values[values <= NOTHING * max(values)] = Decimal(0)
    order = np.argsort(-values, kind="stable")
    return values[order], U[:, order]
