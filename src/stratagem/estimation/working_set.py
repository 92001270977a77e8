"""The data vector that fits best: nearest on the simplex, of least squares where most cells are empty, most likely,
or most plausible beside a prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from stratagem.strategies import Strategy
from stratagem.workloads import Workload

MAX_STEPS = 100
"""Interior-point steps at most; far fewer suffice."""
INSIDE = 0.995
"""Share of the way to the boundary that a step may go."""


def nearest_on_simplex(x: np.ndarray, total: float) -> np.ndarray:
    """Return argmin ||z - x||_2 subject to z >= 0, sum z = total: z = max(x + delta, 0), by sorting x (n,).

    Reference: Held, Wolfe, Crowder 1974; Duchi et al., ICML 2008, Figure 1.

    Example:
        >>> nearest_on_simplex(np.array([6.0, 5.0, -1.0]), 9.0).tolist()
        [5.0, 4.0, 0.0]
    """
    x = np.asarray(x, dtype=float)
    descending = -np.sort(-x)
    shifts = (total - np.cumsum(descending)) / np.arange(1, len(x) + 1)
    kept = np.flatnonzero(descending + shifts > 0)[-1]
    return np.maximum(x + shifts[kept], 0.0)


def minimise_quadratic(H: np.ndarray, centre: np.ndarray, slope: np.ndarray, gap: float) -> np.ndarray:
    """Return argmin f on the simplex z >= 0, sum z = 1, f(z) = slope^T (z - centre) + ||z - centre||_H^2 / 2.

    H (n x n) is positive semidefinite, centre (n,) any point. Stops when f(z) - min f <= g^T z - min_u g_u <=
    `gap`, g the gradient at z: the bound that convexity gives (Frank and Wolfe 1956), so the answer carries its
    own certificate, which `duality_gap` repeats. Primal-dual interior points with Mehrotra's corrector (1992):
    one Cholesky factorisation of H + diag(w / z) a step, whatever the condition of H.
    """
    n = len(centre)
    z, best, best_gap = np.full(n, 1 / n), np.full(n, 1 / n), np.inf
    g = slope + H @ (z - centre)
    level = g.min() - max(np.ptp(g), np.finfo(float).tiny)
    w = g - level
    for _ in range(MAX_STEPS):
        g = slope + H @ (z - centre)
        current = duality_gap(g, z)
        if current < best_gap:
            best, best_gap = z, current
        if current <= gap:
            break
        try:
            K = cho_factor(H + np.diag(w / z), lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            break
        dz, _, dw = _direction(K, z, w, g - level, np.zeros(n))
        length = min(_room(z, dz), _room(w, dw))
        mean = z @ w / n
        target = mean * ((z + length * dz) @ (w + length * dw) / (n * mean)) ** 3
        dz, rise, dw = _direction(K, z, w, g - level, target - dz * dw)
        length = INSIDE * min(_room(z, dz), _room(w, dw))
        z, w, level = z + length * dz, w + length * dw, level + length * rise
        z /= z.sum()
    return best


def _direction(
    K: tuple[np.ndarray, bool], z: np.ndarray, w: np.ndarray, reduced: np.ndarray, products: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Solve K dz = products / z - reduced + rise 1, sum dz = 1 - sum z; return dz, rise and dw.

    The conditions of optimality g = level 1 + w, z w = products, sum z = 1, linearised; reduced = g - level 1.
    """
    even = cho_solve(K, np.ones(len(z)), check_finite=False)
    move = cho_solve(K, products / z - reduced, check_finite=False)
    rise = (1 - z.sum() - move.sum()) / even.sum()
    dz = move + rise * even
    return dz, rise, (products - w * dz) / z - w


def duality_gap(g: np.ndarray, z: np.ndarray) -> float:
    """Return g^T z - (sum z) min_u g_u >= f(z) - min f for a convex f of gradient g on {z >= 0, fixed sum}."""
    return float((g - g.min()) @ z)


def _room(z: np.ndarray, dz: np.ndarray) -> float:
    """Return the largest step, at most 1, that keeps z + step dz >= 0."""
    falling = dz < 0
    return min(1.0, float(np.min(z[falling] / -dz[falling], initial=np.inf)))


WORTH = 256
"""Smallest number of cells for which a working set pays."""
FIRST = 0.125
"""Largest size of the first working set, as a share of all cells."""
DENSE = 0.5
"""Size of the working set above which all cells are solved for at once, as a share of all cells."""
GROWTH = 0.5
"""Largest number of cells that enter in a round, as a share of those that stay; 16 cells always may."""
FINER = 1e-3
"""Duality gap asked for within the working set, as a share of the last gap over all cells."""
EMPTY = 1e-2
"""A cell u leaves S if |S| z_u is below this share of its reduced cost, relative to the largest one."""
MAX_ROUNDS = 20


def sparse_minimum(H: np.ndarray, centre: np.ndarray, slope: np.ndarray, gap: float) -> np.ndarray:
    """Return argmin f on the simplex with the certificate of `minimise_quadratic`, faster where it is sparse.

    Interior points solve for the cells of a working set S, the others empty: |S|^3 a step in place of n^3. The
    gradient over all n cells then bounds what is missing, f(z) - min f <= g^T z - min_u g_u; while that is above
    `gap`, the cells with g_u < g^T z enter, steepest first, at most half as many as there are. Cells that S left
    empty leave it, but only in rounds that divided the gap by ten, so that nothing circles. S starts with the
    largest cells of the nearest point of the simplex after a gradient step, an eighth of all at most: few cells
    suffice where H has a low rank, too. Once S would hold more than half of the cells, all are solved for.
    """
    n = len(centre)
    curvature = max(np.diag(H).max(), np.ptp(slope), np.finfo(float).tiny)
    start = nearest_on_simplex(centre - slope / curvature, 1.0)
    S, within, best = _largest(start, int(FIRST * n)), np.inf, np.inf
    for _ in range(MAX_ROUNDS if n >= WORTH else 0):
        if len(S) > DENSE * n:
            break
        z = np.zeros(n)
        z[S] = _minimum_of(S, H, centre, slope, max(gap / 2, within))
        g = slope + H @ (z - centre)
        current = duality_gap(g, z)
        if current <= gap:
            return z
        stay = _stay(S, z, g) if current < best / 10 else S
        within, best = FINER * current, min(current, best)
        S = np.union1d(stay, _enter(S, g, float(g @ z), max(16, int(GROWTH * len(stay)))))
    return minimise_quadratic(H, centre, slope, gap)


def _largest(z: np.ndarray, most: int) -> np.ndarray:
    """Return the largest cells of z that are not empty."""
    order = np.argsort(-z, kind="stable")[:most]
    return order[z[order] > 0]


def _minimum_of(
    S: np.ndarray, H: np.ndarray, centre: np.ndarray, slope: np.ndarray, gap: float
) -> np.ndarray:
    """Return the minimum (|S|,) over the cells S, with all others empty."""
    others = np.where(np.isin(np.arange(len(centre)), S), 0.0, centre)
    return minimise_quadratic(H[np.ix_(S, S)], centre[S], slope[S] - H[S] @ others, gap)


def _stay(S: np.ndarray, z: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the cells of S that are not both small in z and of high reduced cost g_u - min g."""
    reduced = g[S] - g[S].min()
    return S[z[S] * len(S) * reduced.max() >= EMPTY * reduced]


def _enter(S: np.ndarray, g: np.ndarray, level: float, most: int) -> np.ndarray:
    """Return the steepest cells outside S with g_u below the level."""
    outside = np.setdiff1d(np.flatnonzero(g < level), S)
    return outside[np.argsort(g[outside], kind="stable")[:most]]


ALIKE = 1e-9
"""Share of the largest entry of a Gram matrix up to which two of its entries are equal."""
LARGEST = 1 << 14
"""Largest number of user types for which `cells_alike` compares the entries of the Gram matrix."""


@dataclass(frozen=True)
class Fit:
    """The queries that a post-processing fits."""

    queries: str
    """Description of the queries in words."""
    holds: Callable[[Workload], bool]


def cells_alike(workload: Workload) -> bool:
    """Return whether ||W z||^2 = c ||z||^2 for every z that sums to zero: an error weighs the same in all cells.

    Then the nearest data vector has the nearest answers, and what helps cells helps answers. Ranges add up many
    cells: their answers have far smaller errors than their cells, and every change of a cell goes into many.
    """
    if workload.by_cell:
        return True
    if workload.domain_size > LARGEST:
        return False
    V = workload.gram()
    means = V.mean(axis=1)
    centred = V - means[:, None] - means + means.mean()
    even = np.eye(len(V)) - 1 / len(V)
    c = np.trace(centred) / max(1, len(V) - 1)
    return float(np.abs(centred - c * even).max()) <= ALIKE * float(np.abs(V).max())


def _any(workload: Workload) -> bool:
    return True


def _unordered(workload: Workload) -> bool:
    return workload.symmetry is not None


EVERY = Fit("all queries", _any)  # functions with names, so that estimates can be pickled
CELLS = Fit("queries that count every cell alone and alike (histograms)", cells_alike)
UNORDERED = Fit("queries that know no order of values (histograms, marginals)", _unordered)


GAP = 1e-5
"""Log-likelihood that the answer may lack: at most sqrt(2e-5) = 0.0045 standard errors in any direction."""
NEWTON_STEPS = 50
"""Newton steps at most; far fewer suffice."""
SUFFICIENT = 0.1
"""Share of the predicted decrease that a step must reach."""


def most_likely(strategy: Strategy, counts: np.ndarray, gap: float = GAP) -> np.ndarray:
    """Return argmax sum_y c_y log (Q z)_y over the simplex z >= 0, sum z = 1, from counts c (m,).

    It is what iterating Bayes' rule converges to, z_u <- z_u sum_y Q[y, u] (c_y / N) / (Q z)_y (IBU, Agrawal
    and Aggarwal, PODS 2001), an expectation-maximisation that needs thousands of rounds where privacy is
    strong. Here Newton's method on the simplex takes a few: under epsilon-LDP the likelihood is nearly
    quadratic. Stops when the likelihood is within `gap` of the largest: N (max_u (Q^T (c / (Q z)))_u / N - 1)
    <= gap, a bound by concavity that also holds for the iteration's own limit; from some 10^11 reports rounding
    keeps the bound, though hardly the answer, above 1e-5.
    """
    z = np.full(strategy.domain_size, 1 / strategy.domain_size)
    for _ in range(NEWTON_STEPS):
        slope = likelihood_slope(strategy, counts, z)
        if duality_gap(slope, z) <= gap:
            break
        curvature = _weighted_gram(strategy, _per_report(counts, strategy.forward(z) ** 2))
        target = sparse_minimum(curvature, z, slope, gap / 10)
        z = _along(strategy, counts, z, target - z, float(slope @ (target - z)), gap / 10)
    return z


def likelihood_slope(strategy: Strategy, counts: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return -Q^T (c / (Q z)) (n,), the gradient of the negative log-likelihood."""
    return -strategy.backward(_per_report(counts, strategy.forward(z)))


def _along(
    strategy: Strategy, counts: np.ndarray, z: np.ndarray, move: np.ndarray, slope: float, slack: float
) -> np.ndarray:
    """Return z + t move for the first t = 1, 1/2, 1/4, ... that raises the likelihood enough, give or take the slack.

    The slack is what the move itself was computed to: near the end it may gain nothing and only lower the bound.
    """
    before, change = strategy.forward(z), strategy.forward(move)
    seen = counts > 0
    c, relative = counts[seen], change[seen] / before[seen]
    t = 1.0
    while t > 1e-10:
        if (t * relative > -1).all() and -(c @ np.log1p(t * relative)) <= SUFFICIENT * t * slope + slack:
            return z + t * move
        t /= 2
    return z


def _per_report(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return counts / values (m,), zero for outputs without reports."""
    return np.divide(counts, values, out=np.zeros_like(counts), where=counts > 0)


def _weighted_gram(strategy: Strategy, weights: np.ndarray) -> np.ndarray:
    """Return Q^T diag(weights) Q (n x n)."""
    return strategy.backward(weights[:, None] * strategy.forward(np.eye(strategy.domain_size)))


SCALES = np.geomspace(3e-3, 3e2, 26)
"""Variances of the prior that are tried, over those of a Dirichlet distribution of weight one a cell."""
WIDER = 10.0
"""Variance of the prior that is used, over the one that makes the reports most likely. That one knows no limit at zero,
which draws estimates together as well; with 3 to 30 errors on real data differ by a few per cent."""
REACHES = (32, 8, 2)
"""Parts of the range of ordered values over which shares may be alike, tried beside no order."""
SEEN = 1e-9
"""Least variance of the noise, or of the prior, in a direction, over the largest, that counts as more than rounding."""
WORST = 1e10
"""Variance of the noise in some direction, over the mean one, beyond which double precision has lost the others."""
PLAUSIBLE = 1e-4
"""Distance of the answer from the exact one, in standard deviations of what is not known."""


def most_plausible(
    data: np.ndarray, users: int, noise: np.ndarray, shares: np.ndarray, *, ordered: bool
) -> np.ndarray:
    """Return the most likely shares z (n,) on the simplex under a normal prior whose variance the reports choose.

    `data` (n,) are unbiased shares, `noise` (n x n) the covariance of one report's at the shares e = `shares` (n,).
    The prior is N(e, t S): S that of Dirichlet(n e), or for ordered values of the same trace with correlations
    exp(-|u - v|/L) for some L. t and S make data - e most likely, whose covariance is noise/users + t S. Then
    z = argmin (z - data)^T (noise/users)^+ (z - data) + (z - e)^T (10 t S)^+ (z - e) over z >= 0, sum z = 1.

    Raises:
        ValueError: where the reports tell next to nothing in some direction, as of few queries.

    Source:
        Efron and Morris, Journal of the American Statistical Association 1973 (the prior's variance from the data).
    """
    n = len(shares)
    values, U = np.linalg.eigh(noise)
    if values[-1] > WORST * n:
        raise ValueError(
            "shrinkage was asked for, but needs reports that tell about all values, and these answer few queries: "
            "use wnnls"
        )
    seen = values > SEEN * values[-1]
    U, root = U[:, seen], np.sqrt(values[seen] / users)
    t, even = (U.T @ (data - shares)) / root, np.diag(shares) - np.outer(shares, shares)
    chosen, best = even, -np.inf
    for S in _priors(even, shares, ordered=ordered):
        found, V = np.linalg.eigh(U.T @ S @ U / root / root[:, None])
        spread = 1 + np.outer(SCALES, np.maximum(found, 0) / (n + 1))
        likely = -(np.square(V.T @ t) / spread + np.log(spread)).sum(axis=1) / 2
        if likely.max() > best:
            chosen, best = WIDER * SCALES[likely.argmax()] / (n + 1) * S, float(likely.max())
    variances, X = np.linalg.eigh(chosen)
    known = variances > SEEN * variances[-1]
    X = X[:, known] / np.sqrt(variances[known])
    H = (U / root) @ (U / root).T + X @ X.T
    centre = shares + np.linalg.pinv(H, SEEN, hermitian=True) @ ((U / root) @ t)
    return sparse_minimum(H, centre, np.zeros(n), n * PLAUSIBLE**2 / 2)


def _priors(even: np.ndarray, shares: np.ndarray, *, ordered: bool) -> Iterator[np.ndarray]:
    """Yield covariances (n x n) of shares, all of one trace."""
    yield even
    n = len(shares)
    for part in REACHES if ordered else ():
        reach = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) * part / n)
        A = np.eye(n) - np.outer(shares, np.ones(n))
        S = A @ (np.sqrt(np.outer(shares, shares)) * reach) @ A.T
        yield S * (np.trace(even) / np.trace(S))
