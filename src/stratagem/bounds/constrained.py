"""Lower bounds for strategies that keep to a constraint besides epsilon: private by distance, or under a limit."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, helmert

from stratagem.bounds.exact import solve
from stratagem.bounds.formulas import ULP, Rule, noiseless, root_trace, safe, ulps
from stratagem.math.computing import on_one_core
from stratagem.math.deadline import deadline
from stratagem.math.linalg import factor
from stratagem.math.optimisers import descend
from stratagem.workloads import Workload
from stratagem.workloads.centring import centred, total_term

CONSTRAINED = Rule(
    "constrained", "for strategies that keep to the constraint besides epsilon", "@stratagem", 13
)
STEPS = 60
"""Steps in which the weights of pairs are found; every step is a bound."""
PRICES = 400
"""Prices of the limit that are tried."""


def limited_bound(
    workload: Workload, epsilon: float, *, apart: float | None = None, guess: float | None = None
) -> float:
    """Return a lower bound on L(Q) of every epsilon-LDP strategy under a limit, one of two.

    `apart` limits a_uv = sum_y theta_y [u in T_y, v not], `guess` limits sum_y theta_y [u not in T_y], for all types.

    With weights mu of the pairs, sum mu = 1, and their Laplacian G, section 4 of theory.md asks for D >= tr(G M):
    tr(G M) = sum_y theta_y c^2 cut(T_y)/(n + c k), sum_y theta_y (n + c k) = n, and the limit is
    sum_y theta_y cut(T_y) <= 2 apart or sum_y theta_y (1 - k/n) <= guess. So D = n nu + kappa times the limit, for
    any price kappa, nu the largest (c^2 cut/(n + c k) - kappa cut or (1 - k/n))/(n + c k) over all sizes k.

    Source:
        theory.md, sections 10 and 11.
    """
    n, c = workload.domain_size, np.expm1(epsilon)
    seen = centred(workload)
    F = factor(seen.gram)
    if not F.shape[1]:  # the queries ask for the total alone
        return safe(total_term(workload), epsilon)
    error = ulps(workload) * float(np.trace(seen.gram))
    k = np.arange(1, n)
    size = n + c * k
    mu = (np.ones((n, n)) - np.eye(n)) * (2 / (n * (n - 1)))
    best = 0.0
    for _ in range(STEPS):
        G = np.diag(mu.sum(axis=1)) - mu
        top = float(np.linalg.eigvalsh(G)[-1]) * (1 + 1e-9)
        cut = largest_cuts(np.diag(G), top)
        gained = c**2 * cut / size
        used, limit = (1 - k / n, guess) if apart is None else (cut, 2 * apart)
        assert limit is not None, "one limit is given"
        kappa = np.linspace(0, float((gained / used).max()), PRICES)[:, None]
        nu = np.maximum((gained - kappa * used) / size, 0).max(axis=1)
        values, vectors = np.linalg.eigh(F.T @ G @ F)
        S = root_trace(values, error * top)
        best = max(best, total_term(workload) + S**2 / float((n * nu + limit * kappa[:, 0]).min()))
        values = np.maximum(values, 1e-12 * values[-1])
        K = F @ (vectors / np.sqrt(values)) @ vectors.T @ F.T
        gain = np.diag(K)[:, None] + np.diag(K) - 2 * K
        if best > 0 and deadline().over:
            break
        mu = mu * np.sqrt(np.maximum(gain, 0) / gain.max())
        mu *= 2 / mu.sum()
    return safe(best, epsilon)


def largest_cuts(degrees: np.ndarray, top: float) -> np.ndarray:
    """Return what sets of k types cut at most (n - 1,), k = 1, ..., n - 1, by degrees and the largest eigenvalue of G.

    No such set cuts more than top k (n - k)/n, or than the k largest degrees.
    """
    n, k = len(degrees), np.arange(1, len(degrees))
    sums = np.cumsum(np.sort(degrees)[::-1])
    return np.minimum(top * k * (n - k) / n, np.minimum(sums[k - 1], sums[n - k - 1]))


BARRIERS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
"""Weights of the barrier that keeps G positive definite, in the order of the searches."""
ITERATIONS, RESTARTS = 1000, 20
"""Most steps of a search, and how often it goes on from where its line search met the edge."""
ENOUGH = 1e-6
"""Gain of a search, relative to the bound, below which it does not go on."""
FAINT, RENEWED = 1e-4, 0.1
"""Multiplier over n with which a product of sides begins that the first multipliers leave out, and the share of the
first multipliers in those that the next barrier begins with."""
PLATEAU = 1e6
"""Value of the search where G is not positive definite."""
SHARE = 0.4
"""Share of the time that is left for the search."""
ALIKE = 1e-10
"""Logarithms of rows, relative to the least distance, that count as the same; rounding is a hundredth of it."""
CLOSE = 1e-9
"""Relative gap to which the weights of all rays are found."""


class MetricDual(NamedTuple):
    """A lower bound and the information matrix that would attain it."""

    value: float
    information: np.ndarray
    """Y (n x n), Y 1 = 0, up to scale."""


def sides(steps: np.ndarray) -> np.ndarray:
    """Return the inequalities r^T s >= 0 of the rows that the steps (n - 1,) allow, scaled to r^T 1 = 1, (2 n - 2) x n.

    First s_(u+1) >= exp(-steps_u) s_u for all u, then s_u >= exp(-steps_u) s_(u+1).
    """
    one, shrunk, rest = np.eye(len(steps) + 1), np.exp(-steps)[:, None], -np.expm1(-steps)[:, None]
    return np.concatenate([(one[1:] - shrunk * one[:-1]) / rest, (one[:-1] - shrunk * one[1:]) / rest])


def metric_bound(workload: Workload, steps: np.ndarray) -> MetricDual:
    """Return a lower bound on L(Q) of every strategy with exp(-steps_u) <= Q[y, u]/Q[y, u + 1] <= exp(steps_u).

    A product of two sides r^T s >= 0, r'^T s >= 0 of the rows is r^T (s s^T) r' >= 0, hence R M R^T >= 0 entry by
    entry for the matrix R of all sides. With multipliers N >= 0 of these, G = -R^T N R and R 1 = 1,
    tr(G Y) <= 1^T N 1/n for Y = M - 1 1^T/n. If G, raised by t, is positive semidefinite on 1^perp,
    L >= 1^T V 1/n + S^2/D with S = tr (F^T G F)^(1/2), F F^T = V on 1^perp and D = 1^T N 1/n + t cap, where
    tr Y <= cap = min(n, cosh(sum of the steps)) - 1. Every N is a proof; one is found by L-BFGS over log N under a
    barrier for G, from a mixture of s_u^2 + s_v^2 <= 2 cosh(d_uv) s_u s_v for all pairs.

    Source:
        theory.md, section 13.
    """
    n, total, least = workload.domain_size, total_term(workload), float(steps.min())
    seen = centred(workload)
    U = helmert(n).T
    F = factor(U.T @ seen.gram @ U)
    if not F.shape[1]:  # the queries ask for the total alone
        return MetricDual(safe(total, least / n), np.zeros((n, n)))
    R = sides(steps) @ U
    with on_one_core(n):
        N = _searched(R, F / np.linalg.norm(F), first_multipliers(steps))
        H = -R.T @ N @ R
        lengths = np.linalg.norm(R, axis=1)
        size = float(lengths @ N @ lengths)
        rounding = 16 * n * ULP * size
        raised = rounding + max(0.0, -float(np.linalg.eigvalsh(H)[0]))
        D = float(N.sum()) / n + raised * (min(n, math.cosh(min(float(steps.sum()), 700.0))) - 1)
        values, vectors = np.linalg.eigh(F.T @ (H + raised * np.eye(n - 1)) @ F)
    S = root_trace(values, (ulps(workload) * size + rounding) * float(np.trace(seen.gram)))
    value = max(safe(total + S**2 / D, least / n), noiseless(workload))
    half = U @ F @ (vectors / np.maximum(values, ULP * values[-1]) ** 0.25)
    return MetricDual(value, half @ half.T)


def first_multipliers(steps: np.ndarray) -> np.ndarray:
    """Return multipliers N (2 n - 2, 2 n - 2) whose G is positive definite on 1^perp.

    The pairs u < v with weights 1/cosh(d_uv) have G = n P - diag(sum_v (1 - 1/cosh(d_uv))), at least I there. Each is
    the sum of the products of the sides between u and v, the rising one at i times the falling one at j weighted with
    exp(m_i - m_j), m the middles of the steps. All other products begin with little.
    """
    n, k = len(steps) + 1, np.arange(len(steps))
    places = np.concatenate([[0.0], np.cumsum(steps)])
    middles = (places[1:] + places[:-1]) / 2
    weights = np.triu(1 / np.cosh(places[:, None] - places), 1)
    around = np.cumsum(np.cumsum(weights, axis=0)[:, ::-1], axis=1)[:, ::-1]
    held = around[np.minimum.outer(k, k), np.maximum.outer(k, k) + 1]
    scale = np.sinh(steps / 2)
    X = np.exp(middles[:, None] - middles) * held * np.outer(scale, scale)
    rest = np.tile(-np.expm1(-steps), 2)
    N = FAINT / n * np.outer(rest, rest) * (1 - np.eye(2 * n - 2))
    N[: n - 1, n - 1 :] += X
    N[n - 1 :, : n - 1] += X.T
    return N / N.sum()


def _searched(R: np.ndarray, F: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return multipliers N with a large S^2/D; R (2 n - 2, n - 1) and F (n - 1, r) on a basis of 1^perp."""
    places = np.triu_indices(len(R), 1)
    n = R.shape[1] + 1
    best, time = (0.0, first), deadline().part(SHARE)

    def value(barrier: float, z: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        N = np.zeros_like(first)
        N[places] = np.exp(z - z.max())
        N = N + N.T
        H, D = -R.T @ N @ R, float(N.sum()) / n
        try:
            lower = cholesky(H, lower=True)
        except (LinAlgError, ValueError):
            return PLATEAU, np.zeros_like(z)
        values, vectors = np.linalg.eigh(F.T @ H @ F)
        values = np.maximum(values, ULP * values[-1])
        S = float(np.sqrt(values).sum())
        if S**2 / D > best[0]:
            best = S**2 / D, N
        half, inverse = F @ (vectors / values**0.25), np.linalg.inv(lower)
        pull = half @ half.T / S + barrier / (n - 1) * inverse.T @ inverse
        slope = R @ pull @ R.T + (1 + barrier) / (n * D)
        logs = 2 * barrier / (n - 1) * float(np.log(np.diag(lower)).sum())
        return (1 + barrier) * np.log(D) - 2 * np.log(S) - logs, (2 * slope * N)[places]

    begun = first[places]
    z = np.log(begun)
    options = {"maxfun": 2 * ITERATIONS, "maxcor": 20, "gtol": 1e-8}
    for barrier in BARRIERS:
        reached = np.inf
        for _ in range(RESTARTS):
            found = descend(partial(value, barrier), z, ITERATIONS, time=time, **options)
            z = found.x
            if found.fun > reached - ENOUGH or time.over:
                break
            reached = found.fun
        if time.over:
            break
        N = np.exp(z - z.max())
        z = np.log(N / N.sum() + RENEWED * begun / begun.sum())
    return best[1]


def all_rays(d: np.ndarray) -> np.ndarray:
    """Return all extreme rays s (m x n) of {s > 0: s_u <= exp(d_uv) s_v for all u, v}, scaled to the mean one.

    `d` (n x n, nats) is symmetric and obeys the triangle inequality. The pairs with s_u = exp(d_uv) s_v connect all
    values, so that every spanning tree, each of its edges in both directions, gives a candidate, a ray if it obeys
    all distances (theory.md, section 13). Trees are listed by their Pruefer sequences: n^(n-2) 2^(n-1) candidates.
    """
    n, same = len(d), ALIKE * float(d[d > 0].min())
    sequences = np.arange(n ** (n - 2))[:, None] // n ** np.arange(n - 2) % n
    trees = np.arange(len(sequences))
    degrees = 1 + (sequences[:, :, None] == np.arange(n)).sum(axis=1)
    edges: list[tuple[np.ndarray, np.ndarray]] = []
    for parent in (*sequences.T, np.full(len(trees), n - 1)):
        leaf = np.argmax(degrees == 1, axis=1)
        degrees[trees, leaf] = 0
        degrees[trees, parent] -= 1
        edges.append((leaf, parent))
    found = []
    for number in range(2 ** (n - 1)):
        x = np.zeros((len(trees), n))
        # parents are known before their leaves
        for place, (leaf, parent) in reversed(list(enumerate(edges))):
            x[trees, leaf] = x[trees, parent] + (1 if number >> place & 1 else -1) * d[leaf, parent]
        kept = np.ones(len(trees), dtype=bool)
        for v in range(n):
            kept &= (x - x[:, v, None] <= d[:, v] + same).all(axis=1)
        found.append(x[kept])
    x = np.concatenate(found)
    x -= x.max(axis=1, keepdims=True)
    _, first = np.unique(np.round(x / (10 * same)), axis=0, return_index=True)
    S = np.exp(x[first])
    return S / S.mean(axis=1, keepdims=True)


class ListedDual(NamedTuple):
    """A lower bound on L(Q), and weights of all rays that attain it up to the solver's gap."""

    value: float
    weights: np.ndarray
    """theta (m,), S^T theta = 1 up to 1e-12; empty if the queries ask for the total alone."""


def listed_bound(workload: Workload, d: np.ndarray, S: np.ndarray) -> ListedDual:
    """Return a lower bound on L(Q) of every strategy with Q[y, u] <= exp(d_uv) Q[y, v], from all rays S (m x n).

    With Y = U^T M U for the weights found and U (n x n-1) a basis of 1^perp, G = Y^-1 F F^T Y^-1, F F^T = U^T V U:
    any prices lambda with s^T U G U^T s/n <= lambda^T s for all rays prove L >= 1^T V 1/n + S^2/D with D = 1^T lambda
    and S = tr (F^T G F)^(1/2) (theory.md, sections 3 and 4). The solver's are shifted until that holds. As all rays
    are listed, the bound is the optimum up to the gap of the solver.

    Source:
        theory.md, section 13.
    """
    n, total, least = workload.domain_size, total_term(workload), float(d[d > 0].min())
    seen = centred(workload)
    U = helmert(n).T
    F = factor(U.T @ seen.gram @ U)
    if not F.shape[1]:
        return ListedDual(safe(total, least / n), np.zeros(0))
    with on_one_core():
        found = solve(S, seen.gram / np.trace(seen.gram), CLOSE)
        X = S @ U
        B = np.linalg.solve((X.T * found.theta) @ X / n, F)
    gained, prices = np.square(X @ B).sum(axis=1) / n, np.trace(seen.gram) * found.multiplier
    # rounding moves the logarithms of a ray by `moved` at most, and with them both sides
    moved = 8 * n * ULP * max(1.0, float(d.max()))
    step = moved * np.linalg.norm(S, axis=1) * np.linalg.norm(B, 2) / math.sqrt(n)
    excess = np.square(np.sqrt(gained) + step) - S @ prices + moved * (S @ np.abs(prices))
    D = float(prices.sum() + excess.max()) + 2 * n * ULP * float(np.abs(prices).sum())
    error = (ulps(workload) + 8 * n * ULP) * float(np.square(F).sum() * np.square(B).sum())
    root = root_trace(np.square(np.linalg.svd(F.T @ B, compute_uv=False)), error)
    value = total + (root**2 / D if D > 0 and math.isfinite(D) else 0.0)
    return ListedDual(max(safe(value, least / n), noiseless(workload)), found.theta)
