"""The linear programme of one query: the optimal unbiased randomiser of a number, and prices that prove it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stratagem.bounds.interior import Answers, solve
from stratagem.bounds.nuclear import total_alone, total_term
from stratagem.bounds.sweep import peaks
from stratagem.numeric.linalg import centre, rank_one_factor
from stratagem.prior import uniform
from stratagem.privacy import ratio
from stratagem.workloads import Workload

LIMIT = 4096
"""Largest domain: a second or two up to 1,024 user types, all of it for the Gram matrix."""
GROUPS = 128
"""Numbers that are told apart; those of a group are at most 1/126 of their range from each other."""
GRID, TAIL = 192, 12
"""Answers to begin with, evenly spaced, and those beyond each end, up to twice as far out."""
FEW = 64
"""Numbers up to which the answers of randomised response, the best at large epsilon, are among the first."""
ROUNDS, ADDED = 4, 64
"""Solutions of the programme, and answers that join where the last one's prices are exceeded most."""
TIGHT, NEGLIGIBLE = 3e-4, 1e-6
"""Distance of bound and programme at which they end, relative to the variance and to the objective."""
LOWERINGS = 12
"""Times that prices are lowered."""
LARGEST_RATIO = 1e12
"""E beyond which sums over user types have no digits left."""
USED = 1e-5
"""Share of the largest probability below which an answer is let go."""
SAFETY = 1e-9
"""Relative amount taken off, far above the rounding of sums over kinds of users."""


@dataclass(frozen=True, eq=False)
class LinearDual:
    """The bound, and the outputs that come near it."""

    value: float
    """The bound on L(Q)."""
    query: np.ndarray
    """The one query less its mean, for every user type (n,)."""
    answers: np.ndarray
    """Answer t of every output (K,), ascending."""
    theta: np.ndarray
    """Least probability of every output (K,)."""
    total: float
    """What the total costs under every strategy, n p^T V p."""

    def cost(self, occurrence: np.ndarray) -> float:
        """Return L(Q) with these answers, for outputs that occur with given probabilities (K,)."""
        return self.total + len(self.query) * float(occurrence @ self.answers**2)


def linear(workload: Workload, epsilon: float, prior: np.ndarray | None = None) -> float | None:
    """Return the bound of `linear_dual`, None where it does not apply."""
    found = linear_dual(workload, epsilon, prior)
    return None if found is None else found.value


def linear_dual(workload: Workload, epsilon: float, prior: np.ndarray | None = None) -> LinearDual | None:
    """Return the optimum for queries that are multiples of one query and the total, from below.

    Let f (n,) be the query less its mean under h = n p, p a prior (n,), 1/n by default. A strategy with rows
    theta_k s_k, s_k in {1, E}^n, and the answer t_k for row k, unbiased, costs sum_k theta_k t_k^2 h^T s_k beside
    the total, n p^T V p. So the optimum is a linear programme over pairs (t, s), and by its dual

        L(Q) >= n p^T V p + sum_i (lambda_i + mu_i f_i) - max(0, max_t sum_i phi(lambda_i + mu_i t - h_i t^2))

    for all prices (lambda, mu), phi(c) = c + (E - 1) max(c, 0). The maximum over all real t is exact (module
    sweep); prices come from the programme over some answers (module interior), which more answers then join.
    User types with nearly the same f share their mean: whatever serves each of them serves, on average over
    them, the mean, so that the bound stays valid. None for other queries and beyond 4,096 user types.

    Reference:
        Badanidiyuru, Ghazi, Kamath, Kumar, Leeman, Manurangsi, Varadarajan, Zhang, Optimal Unbiased
        Randomizers for Regression with Label Differential Privacy, NeurIPS 2023 (the programme on a grid).
    """
    n = workload.domain_size
    if not 1 < n <= LIMIT or workload.norms is not None or total_alone(workload.gram()):
        return None
    f = rank_one_factor(centre(workload.gram(), prior))
    if f is None:
        return None
    E = ratio(epsilon)
    if E > LARGEST_RATIO:
        return None
    columns, weights = _groups(f, n * (uniform(n) if prior is None else prior))
    found = _programme(columns, weights, E, _grid(columns, epsilon, E))
    if not math.isfinite(found.bound):
        return None
    kept = found.theta > USED * found.theta.max()
    total = total_term(workload, prior)
    value = (total + max(found.bound, 0.0)) * (1 - SAFETY)
    return LinearDual(value, f, found.points[kept], found.theta[kept], total)


def _groups(f: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and weight of groups of nearly equal numbers, ascending; the extremes are not grouped."""
    low, high = f.min(), f.max()
    place = 1 + np.floor((f - low) / (high - low) * (GROUPS - 2))
    place = np.where(f == low, 0, np.where(f == high, GROUPS, place))
    if len(numbers := np.unique(f)) <= GROUPS:
        place = np.searchsorted(numbers, f)
    _, group = np.unique(place, return_inverse=True)
    total = np.bincount(group, weights)
    shares = np.where(total[group] > 0, weights, 1.0)
    return np.bincount(group, shares * f) / np.bincount(group, shares), total


def _grid(columns: np.ndarray, epsilon: float, E: float) -> np.ndarray:
    """Return the answers to begin with: as wide as those of the piecewise mechanism, and randomised response's.

    Prices of rare extreme numbers would otherwise be exceeded far outside.
    """
    low, high, n = columns[0], columns[-1], len(columns)
    reach = (high - low) / 2 / math.tanh(epsilon / 4)
    told = ((E + n - 1) * columns - columns.sum()) / (E - 1)
    outer = np.geomspace(1.0, 2.0, TAIL + 1)[1:]
    shape = np.concatenate([-outer[::-1], np.linspace(-1, 1, GRID), outer])
    return np.union1d((low + high) / 2 + reach * shape, told if n <= FEW else [])


@dataclass(frozen=True, eq=False)
class _Found:
    """The programme over some answers, solved."""

    points: np.ndarray
    theta: np.ndarray
    value: float
    bound: float
    more: np.ndarray
    """Answers at which its prices are exceeded most, one between any two in use."""


def _programme(columns: np.ndarray, weights: np.ndarray, E: float, points: np.ndarray) -> _Found:
    """Return the cheapest outputs and the best bound of a few rounds."""
    noise, ends = float(weights @ columns**2), [points[0], points[-1]]
    best = found = _over(columns, weights, E, points)
    for _ in range(ROUNDS - 1):
        if best.value - best.bound <= TIGHT * (best.value - noise) + NEGLIGIBLE * best.value:
            break
        used = found.points[found.theta > USED * found.theta.max()]
        found = _over(columns, weights, E, np.unique(np.concatenate([used, ends, found.more])))
        cheaper, bound = min(best, found, key=lambda one: one.value), max(best.bound, found.bound)
        best = _Found(cheaper.points, cheaper.theta, cheaper.value, bound, cheaper.more)
    return best


def _over(columns: np.ndarray, weights: np.ndarray, E: float, points: np.ndarray) -> _Found:
    """Solve the programme over given answers; inside, the largest is 1."""
    unit = float(np.abs(points).max())
    given = Answers(points[:, None] / unit, columns[:, None] / unit, weights, E)
    at = solve(given)
    t, excess = peaks(at.prices, weights, E)
    value = float((given.costs * (at.theta[:, None] + at.x)).sum())
    bound = _lowered(at.prices, given)
    cell = np.searchsorted(points[at.theta > USED * at.theta.max()], t * unit)
    order = np.lexsort((-excess, cell))
    worst = order[np.diff(cell[order], prepend=-1) > 0]
    worst = worst[excess[worst] > 0]
    worst = worst[np.argsort(-excess[worst])][:ADDED]
    return _Found(points, at.theta, value * unit**2, bound * unit**2, t[worst] * unit)


def _lowered(prices: np.ndarray, given: Answers) -> float:
    """Return the bound by prices that are lowered, all lambda alike, until hardly any pattern exceeds them.

    The largest excess is convex in the amount, so Newton's steps approach its zero from one side; what
    remains after the last is subtracted whole.
    """
    lowered, weights = prices.copy(), given.weights
    for _ in range(LOWERINGS):
        t, excess = peaks(lowered, weights, given.E)
        worst = int(excess.argmax())
        if excess[worst] <= 0:
            break
        raised = lowered @ [1, t[worst]] > weights * t[worst] ** 2
        lowered[:, 0] -= excess[worst] / (len(weights) + (given.E - 1) * int(raised.sum()))
    left = float(peaks(lowered, weights, given.E).values.max())
    return float((lowered * given.wanted).sum()) - max(0.0, left)
