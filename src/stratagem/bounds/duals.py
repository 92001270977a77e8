"""Groups of equal user types, and the dual solutions that several bounds share."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.bounds.bound import Case
from stratagem.bounds.exact import EXACT_LIMIT, ExactDual, exact_dual
from stratagem.bounds.formulas import Rule, attempted, root_trace
from stratagem.math.answer_programme import programme
from stratagem.math.deadline import deadline, fits, within
from stratagem.math.linalg import low_rank_factor
from stratagem.math.optimisers import descend
from stratagem.math.privacy import ratio
from stratagem.workloads import Workload

WEIGHTED = Rule("weighted", "from singular values, with the best weight on every user type", "@stratagem", 4)
LINEAR = Rule(
    "linear",
    "few queries: the linear programme over all unbiased randomisers",
    "@stratagem; @badanidiyuru2023optimal",
    11,
)
DESCENT, BEYOND = 13, 2.0
"""Products of two n x n matrices that take as long as the weighted bound, and the seconds it may be late."""
GROUPS, SEVERAL = 128, 64
"""Kinds of users that are told apart by one number, those of a group at most 1/126 of the range from each other, and
by two to five."""


def grouped(F: np.ndarray, weights: np.ndarray, *, fully: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (g x r) and weight (g,) of groups of nearly equal rows of F (n x r), in lexicographic order.

    Equal rows are one group, and `fully` no others are. Of one number the extremes are not grouped.
    """
    rows, group = np.unique(F, axis=0, return_inverse=True)
    group = group.ravel()
    single = rows.shape[1] == 1
    if not fully and len(rows) > (GROUPS if single else SEVERAL):
        group = (_cells(rows[:, 0]) if single else _halves(rows))[group]
    _, group = np.unique(group, return_inverse=True)
    total = np.bincount(group, weights)
    shares = np.where(total[group] > 0, weights, 1.0)
    means = [np.bincount(group, shares * f) / np.bincount(group, shares) for f in F.T]
    return np.column_stack(means), total


def _cells(f: np.ndarray) -> np.ndarray:
    """Return a cell for each number, ascending; the extremes have their own."""
    low, high = f.min(), f.max()
    place = 1 + np.floor((f - low) / (high - low) * (GROUPS - 2))
    return np.where(f == low, 0, np.where(f == high, GROUPS, place))


def _halves(rows: np.ndarray) -> np.ndarray:
    """Return a cell for each row (n x r): extreme rows have their own, the longest cells are halved."""
    shape = itertools.product([-1, 0, 1], repeat=rows.shape[1])
    directions = np.array(list(shape)) / np.maximum(np.ptp(rows, axis=0), np.finfo(float).tiny)
    extremes = np.unique((rows @ directions.T).argmax(axis=0))
    cell = np.zeros(len(rows), dtype=int)
    cell[extremes] = SEVERAL + np.arange(len(extremes))
    for new in range(1, SEVERAL - len(extremes)):
        sides = [np.ptp(rows[cell == one], axis=0) for one in range(new)]
        widest = int(np.argmax([side.max() for side in sides]))
        inside = np.flatnonzero(cell == widest)
        along = rows[inside, sides[widest].argmax()]
        cell[inside[along > (along.min() + along.max()) / 2]] = new
    return cell


WIDEST = 300.0
"""Largest distance of two log gamma: an optimum is far narrower, and beyond it exp overflows."""
SHARE_OF_WEIGHTS = 0.1
"""Share of the time that the weights may take; every step is a bound."""
FLAT = 1e-9
"""Gain of log S^2/sum(gamma) below which the search is over."""


@dataclass(frozen=True, eq=False)
class WeightedDual:
    """The weighted bound, the weights that give it and the information matrix that would attain it."""

    value: float
    gamma: np.ndarray
    """Weights on the user types (n,), positive, geometric mean one."""
    information: np.ndarray
    """Y (n x n), Y p = 0, up to scale: V^(1/2) (V^(1/2) G V^(1/2))^(-1/2) V^(1/2) on p^perp."""


def weighted_dual(case: Case, max_steps: int | None = None) -> WeightedDual:
    """Return the maximum over gamma >= 0 of ||W 1||^2/n + n S(gamma)^2/((kappa - 1) sum gamma) <= L(Q), and its gamma.

    With Gamma = diag(gamma) - kappa gamma gamma^T/sum(gamma), every s in {1, E}^n has s^T Gamma s <= 0,
    hence tr(Gamma M) <= 0; on 1^perp that reads tr(G Y) <= (kappa - 1) sum(gamma)/n and Cauchy-Schwarz
    gives S = tr (V^(1/2) G V^(1/2))^(1/2). gamma = 1 is the closed form. log S^2/sum(gamma) is maximised by
    L-BFGS over log gamma; any gamma with G >= 0 is a valid bound, so stopping early is safe.
    A prior p puts n p^T V p, p^perp and (I - 1 p^T) V (I - p 1^T) in their places; M (n p) = 1 ends the proof
    as before. gamma = p is then the closed form.

    By default 4096/n steps, 3 to 60: on large domains the first three come within a few 1e-4 of the rest.
    """
    n, p, seen = case.n, case.shares, case.seen
    half = case.factor(seen.gram)
    if not half.any():
        return WeightedDual(case.safe(case.total), np.ones(n), np.zeros((n, n)))
    evaluate = _Value(case, half, float(seen.own.sum()))
    time = deadline().part(SHARE_OF_WEIGHTS)
    left, before = max_steps or int(np.clip(4096 // n, 3, 60)), math.inf
    # gamma = p, its least entries raised so little that G stays positive semidefinite
    start = np.maximum(p, 0.01 / (case.kappa * n)) * n
    # a line search that met the edge of G >= 0 ends early: from its best weights there is a way on
    while left > 0:
        found = descend(evaluate, np.log(start), left, time=time)
        if time.over or not evaluate.best < before - FLAT:
            break
        left, before, start = left - max(1, found.nit), evaluate.best, evaluate.gamma
    value = case.safe(case.total + n * evaluate.certain() / math.sinh(case.epsilon / 2) ** 2)
    return WeightedDual(value, evaluate.gamma, evaluate.scaled @ evaluate.scaled.T)


class _Value:
    """-log(S(gamma)^2/sum gamma) with its gradient in log gamma; a high plateau where G is not >= 0.

    Keeps the best weights evaluated and their half H^(-1/4), each the price of an eigendecomposition.
    """

    def __init__(self, case: Case, half: np.ndarray, size: float) -> None:
        self.half = half
        """F (n x r) with F F^T = A V A^T, A = I - 1 p^T."""
        self.kappa, self.shares, self.ulps = case.kappa, case.shares, case.ulps
        self.size = size
        """Size that the rounding error of F F^T is relative to."""
        self.best, self.gamma, self.scaled = math.inf, np.ones(len(half)), half

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        if np.ptp(theta) > WIDEST:
            return 1e10, np.zeros_like(theta)
        gamma, kappa = np.exp(theta - theta.mean()), self.kappa
        total = gamma.sum()
        if not self.valid(gamma):
            return 1e10, np.zeros_like(theta)
        S, scaled = self.root(gamma)
        if S == 0:  # rounding left nothing of H at a very high epsilon
            return 1e10, np.zeros_like(theta)
        # dS = tr(H^(-1/2) dH)/2 = tr(B dGamma)/2 with B = half H^(-1/2) half^T = scaled scaled^T
        B_gamma = scaled @ (scaled.T @ gamma)
        slope = np.square(scaled).sum(axis=1) - kappa * (2 * B_gamma / total - gamma @ B_gamma / total**2)
        value = math.log(total) - 2 * math.log(S)
        if value < self.best:
            self.best, self.gamma, self.scaled = value, gamma, scaled
        return value, gamma * (1 / total - slope / S)

    def root(self, gamma: np.ndarray) -> tuple[float, np.ndarray]:
        """Return S = tr H^(1/2) and half H^(-1/4) (n x r) for H = half^T Gamma half."""
        values, vectors = np.linalg.eigh(self.pressed(gamma))
        keep = values > 4 * len(values) * np.finfo(float).eps * values[-1]
        return float(np.sqrt(values[keep]).sum()), self.half @ vectors[:, keep] / values[keep] ** 0.25

    def pressed(self, gamma: np.ndarray) -> np.ndarray:
        """Return H = F^T Gamma F (r x r), computed so that no large numbers cancel.

        Because F^T p = 0, a multiple of p is subtracted from the weights first.
        """
        half, total = self.half, gamma.sum()
        pulled = half.T @ (gamma - total * self.shares)
        return (half.T * gamma) @ half - np.outer(pulled, pulled) * (self.kappa / total)

    def certain(self) -> float:
        """Return S^2/sum(gamma) at the best weights from below, zero where there are none.

        H is off by the rounding of its two products, the second of which is no larger than the first where
        `valid`, and by Gamma^(1/2) times the error of F F^T times Gamma^(1/2), Gamma <= max(gamma) on p^perp.
        """
        if not math.isfinite(self.best):
            return 0.0
        gamma, weighed = self.gamma, float(self.gamma @ np.square(self.half).sum(axis=1))
        error = self.ulps * (4 * weighed + float(gamma.max()) * self.size)
        return root_trace(np.linalg.eigvalsh(self.pressed(gamma)), error) ** 2 / float(gamma.sum())

    def valid(self, gamma: np.ndarray) -> bool:
        """Return whether Gamma is positive semidefinite on p^perp.

        It is iff (gamma^T v)^2 <= sum(gamma)/kappa wherever v^T diag(gamma) v = 1 and p^T v = 0. The maximum
        there is sum(gamma) - 1/sum(p^2/gamma), so that with g = gamma/sum(gamma) it is iff (kappa - 1) X <= 1,
        X = sum (p - g)^2/g; the root of X has an error of a few n ulp.
        """
        g = gamma / gamma.sum()
        root = math.sqrt(float((np.square(self.shares - g) / g).sum()))
        return (self.kappa - 1) * (root + 4 * len(g) * np.finfo(float).eps) ** 2 <= 1 - 1e-12


LINEAR_LIMIT = 4096
"""Largest domain: a second or two up to 1,024 user types, all of it for the Gram matrix."""
LARGEST_RATIO = 1e12
"""E beyond which sums over user types have no digits left."""
RANK = 5
"""Queries, up to multiples, sums and the total, beyond which boxes that prove a bound are too many: six take
ten times as many as five."""
SIMPLE, LISTED = 3, 12
"""More queries than the first number are left to the search among all patterns, which is exact, up to the second
number of user types."""
SHARE, LONGEST = 0.5, 60.0
"""Share of the time that the linear programme may take, and the most seconds; it is a valid bound whenever it ends."""
COARSE, SOLVED = 0.75, 30
"""Share of that time for groups of users, after which it is solved for all of them, and steps of one solution."""
SAFETY = 1e-9
"""Relative amount taken off for the small columns of a pivoted Cholesky factor, which keep half the digits."""


@dataclass(frozen=True, eq=False)
class LinearDual:
    """The bound of the linear programme for few queries, and a strategy whose objective is close to it."""

    value: float
    """The bound on L(Q)."""
    queries: np.ndarray
    """The queries less their means, for every user type (n x r)."""
    answers: np.ndarray
    """Answers t of every output (K x r), in lexicographic order."""
    theta: np.ndarray
    """Least probability of every output (K,)."""
    total: float
    """Constant part n p^T V p of L(Q), the same for every strategy."""

    def cost(self, answers: np.ndarray, occurrence: np.ndarray) -> float:
        """Return L(Q) with some answers (K x r), for outputs that occur with given probabilities (K,)."""
        return self.total + len(self.queries) * float(occurrence @ np.square(answers).sum(axis=1))


def linear_dual(case: Case) -> LinearDual | None:
    """Return the optimum for queries that are combinations of one to five and the total, from below.

    Let F (n x r) be the queries less their means under h = n p, p a prior (n,), 1/n by default, with
    V = F F^T seen from p^perp. A strategy with rows theta_k s_k, s_k in {1, E}^n, and the answers t_k in R^r for
    row k, unbiased, costs sum_k theta_k ||t_k||^2 h^T s_k beside the total, n p^T V p. So the optimum is a
    linear programme over pairs (t, s), and by its dual

        L(Q) >= n p^T V p + sum_i (lambda_i + mu_i^T f_i) - max(0, max_t sum_i phi(lambda_i + mu_i^T t - h_i ||t||^2))

    for all prices (lambda, mu), phi(c) = c + (E - 1) max(c, 0). The maximum over all t in R^r is exact for r = 1
    (`answer_pricing.peaks`) and bounded box by box above (`ceiling`); prices come from the programme over some answers
    (`optimisers.solve`), which more answers then join. First user types with nearly the same f share their mean:
    whatever serves each of them serves, on average over them, the mean, so that the bound is valid. Then the answers
    found serve them all, and join others as long as there is time. None for other queries, for more than three
    queries up to 12 user types, and beyond 4,096.

    Reference:
        Badanidiyuru, Ghazi, Kamath, Kumar, Leeman, Manurangsi, Varadarajan, Zhang, Optimal Unbiased
        Randomizers for Regression with Label Differential Privacy, NeurIPS 2023 (the programme on a grid, r = 1).
    """
    n = case.n
    if not 1 < n <= LINEAR_LIMIT or case.workload.structure.norms is not None:
        return None
    V = case.seen.gram
    F = low_rank_factor(V, RANK) if V.any() else None
    if F is None or (F.shape[1] > SIMPLE and n <= LISTED):
        return None
    E, h = ratio(case.epsilon), case.h
    if E > LARGEST_RATIO:
        return None
    F = F @ np.linalg.eigh((F.T * h) @ F)[1]
    with within(min(SHARE * deadline().left, LONGEST)):
        few, every = grouped(F, h), grouped(F, h, fully=True)
        merged = len(few[0]) < len(every[0])
        with within((COARSE if merged else 1.0) * deadline().left):
            found = programme(*few, case.epsilon, E)
        if merged and fits(SOLVED * F.size * len(found.points) ** 2):
            found = programme(*every, case.epsilon, E, found)
    if not math.isfinite(found.bound):
        return None
    value = case.safe((case.total + max(found.bound, 0.0)) * (1 - SAFETY))
    return LinearDual(value, F, found.points, found.theta, case.total)


WEIGHTED_LIMIT, WEIGHTED_BESIDE = 4096, 1024
"""Domain sizes up to which the weighted bound, half a dozen eigendecompositions, is computed unasked: the second
where the others are known in closed form."""


@dataclass(frozen=True, eq=False)
class Duals:
    """The dual solutions of the average case, each computed when it is first asked for."""

    case: Case

    @cached_property
    def weighted(self) -> WeightedDual | None:
        """The weighted bound; None where it is not computed by default (see `weighed`), fails, or takes too long."""
        if not weighed(self.case.workload) or not fits(DESCENT * self.case.n**3, BEYOND):
            return None
        return attempted(lambda: weighted_dual(self.case))

    @cached_property
    def exact(self) -> ExactDual | None:
        """The optimum over all patterns; None where they are too many to list."""
        if self.case.n > EXACT_LIMIT:
            return None
        found = attempted(lambda: exact_dual(self.case))
        return found if found is not None and math.isfinite(found.value) else None

    @cached_property
    def linear(self) -> LinearDual | None:
        """The linear programme of few queries, None for other queries and larger domains."""
        return attempted(lambda: linear_dual(self.case))


def weighed(workload: Workload) -> bool:
    """Return whether the domain is small enough for the weighted bound to be computed by default."""
    return workload.domain_size <= (WEIGHTED_LIMIT if workload.structure.norms is None else WEIGHTED_BESIDE)
