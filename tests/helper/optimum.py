"""The least objective of all strategies on few user types, in 80 digits: a judge that shares no code with bounds.

Every strategy splits into rows s in {1, E}^n, so the optimum is min over theta of max over y of a function convex in
theta, the weights of the 2^n - 2 patterns, and concave in y: nothing for an average, the prior for the worst user
type, weights of the queries for the worst query. A primal-dual interior-point method solves it, the first digits in
the longest floats, the others in decimals. What is returned is the value of its strategy, whose columns sum to one
in 20 digits, so that it is not below the optimum.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

DIGITS = 80
STEPS = 120
ROUGH, FEASIBLE = 1e-9, Decimal("1e-20")
"""The gap at which decimals take over, and how far column sums may be from one."""
PACES = 1000, 10, 2
"""How many times smaller a step may make the gap: the next where one fails. Where M loses rank at the optimum, as for
one query, eigenvalues of M fall with the gap. When one falls to t of what it was, its inverse is above Newton's line
by (1 - t)^2/t of what that was: half of it for t = 1/2, but more than all of it for t < 0.38, where the slacks z run
away from S lambda - g."""


@dataclass(frozen=True)
class Optimum:
    """A strategy's value, and how far above the optimum it may be."""

    value: Decimal
    gap: Decimal


@dataclass(frozen=True, eq=False)
class Derivatives:
    """A function of theta and y: it depends on theta by A theta alone, but for the terms of B."""

    A: np.ndarray
    """(d x m): the change of M by every pattern, as upper triangle."""
    K: np.ndarray
    """Second derivative by M (d x d)."""
    g: np.ndarray
    """Minus the derivative by theta (m,)."""
    slope: np.ndarray
    """Derivative by y (k,)."""
    B: np.ndarray
    """Mixed derivative (m x k)."""
    bend: np.ndarray
    """Second derivative by y (k x k)."""


def optimum(rows, epsilon, prior=None, objective="average", digits=DIGITS, accuracy="1e-14"):
    """The least objective, in the units of `Solution.objective`: L(Q), or a largest variance of one user.

    rows (p x n), epsilon and prior (n,) are floats, taken for what they are. The gap is relative to the
    variance that randomisation adds, the objective less what is left without it.
    """
    with decimal.localcontext() as context:
        context.prec = digits
        W = decimals(rows)
        p = decimals(np.ones(W.shape[1]) if prior is None else prior)
        return saddle(W, Decimal(epsilon).exp(), p / p.sum(), objective, Decimal(accuracy))


def saddle(W, E, p, objective, accuracy):
    """The optimum of queries of any size, their differences between user types scaled to size one."""
    whole = len(p) if objective == "average" else 0
    offset = whole * (np.square(W) @ p).sum()
    differences, p = merged(W - W[:, :1], p)
    if not differences.any():
        return Optimum(offset, Decimal(0))
    n = len(p)
    centred = differences - (differences @ p)[:, None]
    if objective == "worst-query":
        centred = longest_of_each(centred)
    square = np.square(centred).sum()
    found = Game(centred / square.sqrt(), patterns(n, E), n * p, objective).play(accuracy)
    scale = square * max(whole, 1) / n
    return Optimum(found.value * scale + offset, found.gap * scale)


def merged(W, p):
    """W (p x n) and the prior (n,) with user types that no query tells apart taken for one.

    The mean of their columns of Q, by the prior, has the same mean variance, and one column for all of them is allowed.
    """
    names = np.array([[str(x.normalize()) for x in row] for row in W])
    columns, first, place = np.unique(names, axis=1, return_index=True, return_inverse=True)
    sums = [p[place.ravel() == k].sum() for k in range(columns.shape[1])]
    return W[:, first], np.array(sums, dtype=object)


def longest_of_each(W):
    """Of queries (p x n) that are multiples of each other the longest: its variance is the largest of theirs."""
    kept = {}
    for row in W[np.argsort(-np.square(W).sum(axis=1), kind="stable")]:
        if row.any():
            kept.setdefault(tuple(f"{x / row[np.argmax(np.abs(row))]:.60e}" for x in row), row)
    return np.array(list(kept.values()), dtype=object)


def patterns(n, E):
    """All rows s in {1, E}^n but the constant ones, of mean one."""
    T = (np.arange(1, 2**n - 1)[:, None] >> np.arange(n)) & 1
    S = np.where(T == 1, E, Decimal(1))
    return S * (n / S.sum(axis=1))[:, None]


class Game:
    """The saddle point of theta against y."""

    def __init__(self, W, S, h, objective):
        self.W, self.S, self.h, self.objective = W, S, h, objective
        self.n = W.shape[1]
        self.upper = np.triu_indices(self.n)
        self.outer = np.array([np.outer(s, s)[self.upper] for s in S], dtype=S.dtype).T
        self.one = S[0, 0] / S[0, 0]
        self.players = {"average": 0, "worst-case": self.n, "worst-query": len(W)}[objective]

    def play(self, accuracy):
        """The optimum to an accuracy."""
        rough = Game(*(longest(array) for array in (self.W, self.S, self.h)), self.objective)
        with np.errstate(
            divide="ignore", invalid="ignore"
        ):  # a step without digits is none: the decimals go on
            state, _ = rough.approached(rough.first(), ROUGH, ROUGH, 0.1, PACES[0])
        state, least = [decimals(part) for part in state], 1e-3
        for pace in PACES:
            _, found = self.approached(state, accuracy, FEASIBLE, least, pace)
            if found:
                return found
            state, least = self.first(), 1e-9  # the floats or long steps ended in a corner
        raise AssertionError(f"no optimum in {STEPS} steps")

    def first(self):
        """theta, z, y, v, lambda and tau to begin with; z and v are the slacks of both players."""
        m, k = len(self.S), self.players
        theta = np.full(m, self.one)
        theta, y = theta / (self.S.T @ theta).max(), np.full(k, self.one / max(k, 1))
        at = self.derivatives(theta, y)
        lam = np.full(self.n, max(at.g) * 2 / self.n)
        tau = np.full(1, 2 * max(np.abs(at.slope), default=0 * self.one))
        return [theta, self.S @ lam - at.g, y, tau - at.slope, lam, tau]

    def approached(self, state, accuracy, feasible, least, pace):
        """The state after Newton's steps and the optimum; the last state before a short step where rounding rules."""
        m, k, length, kept = len(self.S), self.players, self.one / 2, state
        for _ in range(STEPS):
            theta, z, y, v, lam, tau = state
            at = self.derivatives(theta, y)
            gap, missing, value = theta @ z + y @ v, 1 - self.S.T @ theta, self.value(theta, at)
            above = self.above(at, theta, y, lam)
            if above <= accuracy * abs(value) and max(abs(missing)) <= feasible:
                return state, Optimum(value, above)
            target = max((1 - length) ** 2, self.one / pace) * gap / (m + k)
            dtheta, dlam, dy, dtau = self.step(at, state, target, missing)
            dz, dv = target / theta - z - z / theta * dtheta, target / y - v - v / y * dy
            x, dx = np.concatenate(state[:4]), np.concatenate([dtheta, dz, dy, dv])
            length = min([self.one, *(-a / b * 98 / 100 for a, b in zip(x, dx, strict=True) if b < 0)])
            rounded = max(abs(missing)) > gap / 1000 or not np.isfinite(dx.astype(float)).all()
            if rounded or length < least:
                break
            kept = state if length > 0.5 else kept
            moved = np.split(x + length * dx, [m, 2 * m, 2 * m + k])
            state = [*moved, lam + length * dlam, tau + length * dtau]
        return kept, None

    def above(self, at, theta, y, lam):
        """What the value may be above the optimum: 1^T lambda is below it where no slack S lambda - g is negative."""
        slack = self.S @ lam - at.g
        return theta @ slack + self.n * max(0, -min(slack)) + (max(at.slope) - y @ at.slope if len(y) else 0)

    def value(self, theta, at):
        """The variance that randomisation adds: n times the largest of one user, or L less its offset."""
        if self.players:
            return max(at.slope)
        return theta @ at.g - self.h @ np.square(self.W).sum(axis=0)

    def step(self, at, state, target, missing):
        """Newton's step; A dtheta is an unknown, so that the system has n (n + 1)/2 + n + k + 1 of them."""
        theta, z, y, v, lam, tau = state
        S, D, k, d = self.S, theta / z, len(y), len(at.A)
        right = at.g - S @ lam + target / theta
        wide = np.concatenate([at.A, S.T, at.B.T])
        N, r = (wide * D) @ wide.T, wide @ (D * right)
        a, s, b = slice(0, d), slice(d, d + self.n), slice(d + self.n, d + self.n + k)
        size = d + self.n + k + bool(k)
        system, wanted = self.zeros(size, size), self.zeros(size)
        for part in (a, s, b):
            system[part, a] = N[part, a] @ at.K
            system[part, s], system[part, b], wanted[part] = N[part, s], N[part, b], r[part]
        system[a, a] += self.eye(d)
        wanted[s] -= missing
        if k:
            system[b, b] += np.diag(v / y) - at.bend
            wanted[b] += at.slope - tau + target / y
            system[b, -1] = system[-1, b] = self.one
            wanted[-1] = 1 - y.sum()
        solution = solved(system, wanted)
        dlam, dy = solution[s], solution[b]
        dtheta = D * (right - at.A.T @ (at.K @ solution[a]) - S @ dlam - at.B @ dy)
        return dtheta, dlam, dy, solution[d + self.n + k :].sum() if k else 0 * self.one

    def derivatives(self, theta, y):
        """All derivatives of tr(M^-1 V), less what the queries cost without noise where there is a y."""
        n, S, W, kind = self.n, self.S, self.W, self.objective
        length = S @ (n * y if kind == "worst-case" else self.h)
        A = self.outer / length
        M = self.zeros(n, n)
        M[self.upper] = A @ theta
        M = M + M.T - np.diag(np.diag(M))
        X = solved(M, self.eye(n))
        XF = X @ W.T
        G = (XF * y if kind == "worst-query" else XF) @ XF.T
        K = self.curvature(X, G)
        g = ((S @ G) * S).sum(axis=1) / length
        slope, B, bend = self.zeros(0), self.zeros(len(S), 0), self.zeros(0, 0)
        if kind == "worst-case":
            shares = theta / length
            J = -(A * shares) @ S
            slope = n * (S.T @ (shares * g) - np.square(W).sum(axis=0))
            B = n * (A.T @ (K @ J) + S * (g / length)[:, None])
            bend = n * n * (J.T @ K @ J - 2 * (S.T * (shares / length * g)) @ S)
        if kind == "worst-query":
            slope = (W * XF.T).sum(axis=1) - np.square(W) @ self.h
            B = -np.square(S @ XF) / length[:, None]
            bend = self.zeros(len(W), len(W))
        return Derivatives(A, K, g, slope, B, bend)

    def curvature(self, X, G):
        """The second derivative of tr(M^-1 V) by the upper triangle of M."""
        i, j = self.upper
        total = self.zeros(len(i), len(i))
        for a, b in ((i, j), (j, i)):
            for c, e in ((i, j), (j, i)):
                total = total + X[np.ix_(a, c)] * G[np.ix_(b, e)] + G[np.ix_(a, c)] * X[np.ix_(b, e)]
        once = np.where(i == j, 1, 2) * self.one / 2
        return total * once[:, None] * once

    def zeros(self, *shape):
        return np.full(shape, 0 * self.one)

    def eye(self, size):
        return np.eye(size, dtype=int) * self.one


def solved(A, b):
    """A^-1 b by elimination with pivots, A (n x n), b (n,) or (n x k)."""
    n = len(A)
    scale = np.abs(A).max(axis=1)[:, None]
    work = np.concatenate([A, b.reshape(n, -1)], axis=1) / scale
    for i in range(n):
        pivot = i + int(np.argmax(np.abs(work[i:, i])))
        work[[i, pivot]] = work[[pivot, i]]
        rest = work[i + 1 :, i] / work[i, i]
        work[i + 1 :, i:] = work[i + 1 :, i:] - np.multiply.outer(rest, work[i, i:])
    x = work[:, n:]
    for i in reversed(range(n)):
        x[i] = (x[i] - work[i, i + 1 : n] @ x[i + 1 :]) / work[i, i]
    return x.reshape(b.shape)


def decimals(values):
    """Floats of any length as decimals, exactly: each is the sum of two of 64 bits."""
    array = np.asarray(values)
    halves = [(float(x), float(x - float(x))) for x in array.ravel()]
    return np.array([Decimal(high) + Decimal(low) for high, low in halves], dtype=object).reshape(array.shape)


def longest(array):
    """Decimals as the longest floats there are."""
    return np.array([np.longdouble(str(x)) for x in array.ravel()]).reshape(array.shape)
