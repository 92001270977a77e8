"""A strategy of nearly least variance for several queries, given the outputs of a linear programme."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.strategies import MatrixStrategy

SHRINKS = np.array([0.0, 1e-7, 1e-6, *np.geomspace(1e-5, 0.6, 18)])
"""Shares by which the numbers may be shrunk towards a common point, where no probabilities reach them exactly."""
SAMPLE = 16
"""Approximate number of distinct user types that are tested first for a share."""
TEMPERATURES = np.geomspace(1.0, 1e-6, 7)
"""Weights of the barrier, in units of the largest squared answer; the last costs 1e-6 of an output each."""
NEWTON, HALVINGS = 40, 20
"""Most Newton steps at each weight of the barrier, and most halvings of one step."""
RIDGE = 1e-14
"""Relative amount added to the diagonal of the Hessian, too small to change a Newton step noticeably."""
SURE = 0.05
"""Squared Newton decrement below which a full step of a self-concordant function is safe."""
EXACT = 1e-12
"""Largest error of a user type's mean answer, and of the sum of its probabilities, that counts as rounding."""


def served_strategy(
    answers: np.ndarray, theta: np.ndarray, numbers: np.ndarray, E: float
) -> tuple[MatrixStrategy, np.ndarray]:
    """Return an unbiased strategy of nearly least variance with given least probabilities, and its answers (K x r).

    Each user type u chooses probabilities q_k between theta_k (K,) and E theta_k, whose sum is 1 and whose
    mean answer is its vector f_u (n x r), at the least sum_k q_k ||t_k||^2 plus a small barrier. If some user
    type has no such probabilities, all vectors are shrunk towards a common point by the least share in
    `SHRINKS` that gives every user type some, and the answers are stretched by the same factor.

    Guarantee:
        Row k lies between theta_k and E theta_k, so that epsilon is at most log E.

    Raises:
        LinAlgError: if no share in `SHRINKS` gives every user type feasible probabilities.
    """
    rows, kind = np.unique(numbers, axis=0, return_inverse=True)
    middle, unit = theta @ answers / theta.sum(), float(np.abs(answers).max())
    t = (answers - middle) / unit
    balance = _Balance(
        np.column_stack([np.ones(len(t)), t]), np.square(answers / unit).sum(axis=1), (E - 1) * theta
    )
    wanted = np.column_stack([np.ones(len(rows)), (rows - middle) / unit])
    constant, hard = theta @ balance.A, np.arange(len(rows))
    for shrink in SHRINKS:  # who is within reach stays so
        drawn = wanted * np.append(1.0, np.full(t.shape[1], 1 - shrink)) - constant
        if balance.unmet(drawn[hard[:: 1 + len(hard) // SAMPLE]]).any():
            continue
        hard = hard[balance.unmet(drawn[hard])]
        if len(hard) == 0:
            q = theta[:, None] + balance.cheapest(drawn).T
            q = np.clip(q, theta[:, None], E * theta[:, None])[:, kind.ravel()]
            return MatrixStrategy(q), middle + unit * t / (1 - shrink)
    raise np.linalg.LinAlgError("no outputs within reach")


@dataclass(frozen=True, eq=False)
class _Balance:
    """Maximise p^T b - sum_k max_g (c_k g - w (-log g - log(1 - g))), c_k = (p^T a_k - ||t_k||^2) room_k, over p.

    p are dual prices, one vector for each user type. Output k has the probability theta_k + g_k room_k with
    room_k = (E - 1) theta_k and 0 < g_k < 1; the best g_k is a closed form of c_k/w. The gradient is
    b - sum_k g_k room_k a_k, so at the maximum the wanted b is met, whatever the weight w of the barrier.
    """

    A: np.ndarray
    """a_k = (1, t_k) (K x (1 + r))."""
    cost: np.ndarray
    room: np.ndarray

    def shares(self, prices: np.ndarray, weight: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the shares g, the rest 1 - g and c/w, each of shape (types, K)."""
        u = (prices @ self.A.T - self.cost) * self.room / weight
        least = 2 / (2 + np.abs(u) + np.hypot(2, u))
        return np.where(u > 0, 1 - least, least), np.where(u > 0, least, 1 - least), u

    def value(self, wanted: np.ndarray, weight: float, prices: np.ndarray) -> np.ndarray:
        """Return the concave function divided by the barrier's weight w, for each user type (types,)."""
        g, rest, u = self.shares(prices, weight)
        return (prices * wanted).sum(axis=1) / weight - (u * g + np.log(g) + np.log(rest)).sum(axis=1)

    def unmet(self, wanted: np.ndarray) -> np.ndarray:
        """Return whether no feasible probabilities are found for each user type, a boolean array (types,)."""
        missing = self.solved(wanted, float(self.room.max()), np.zeros_like(wanted))[1]
        return ~(np.abs(missing).max(axis=1) <= EXACT)

    def cheapest(self, wanted: np.ndarray) -> np.ndarray:
        """Return g_k room_k (types x K) at the smallest weight of the barrier for which Newton's method succeeds.

        Raises:
            LinAlgError: if it fails at the first weight.
        """
        prices, best = np.zeros_like(wanted), None
        for weight in TEMPERATURES * self.room.max():
            prices, missing = self.solved(wanted, weight, prices)
            if not np.abs(missing).max() <= EXACT:
                break
            best = self.shares(prices, weight)[0] * self.room
        if best is None:
            raise np.linalg.LinAlgError("no prices found")
        return best

    @np.errstate(all="ignore")
    def solved(self, wanted: np.ndarray, weight: float, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the best prices and the gradients there (the unmet part of b), both (types x (1 + r)).

        Newton's method starts from `prices`; a step is halved while it does not raise the function enough.
        """
        prices, d = prices.copy(), self.A.shape[1]
        products = (self.A[:, :, None] * self.A[:, None, :]).reshape(len(self.A), d * d)
        missing, active = np.zeros_like(prices), np.arange(len(prices))
        for _ in range(NEWTON):
            g, rest, _ = self.shares(prices[active], weight)
            missing[active] = wanted[active] - (g * self.room) @ self.A
            active_again = np.abs(missing[active]).max(axis=1) > EXACT / 10
            if not active_again.any():
                break
            active, g, rest = active[active_again], g[active_again], rest[active_again]
            slope = self.room**2 / weight / (1 / g**2 + 1 / rest**2)
            H = (slope @ products).reshape(-1, d, d)
            H += (RIDGE * np.trace(H, axis1=1, axis2=2) + np.finfo(float).tiny)[:, None, None] * np.eye(d)
            step = np.linalg.solve(H, missing[active, :, None])[:, :, 0]
            prices[active] += (
                self._length(wanted[active], weight, prices[active], step, missing[active]) * step
            )
        return prices, missing

    def _length(
        self, wanted: np.ndarray, weight: float, prices: np.ndarray, step: np.ndarray, missing: np.ndarray
    ) -> np.ndarray:
        """Return the length of every Newton step as a share of the full step (types, 1)."""
        length, rise = np.ones(len(prices)), (step * missing).sum(axis=1) / weight
        before = self.value(wanted, weight, prices)
        near = rise < SURE
        for _ in range(HALVINGS):
            after = self.value(wanted, weight, prices + length[:, None] * step)
            worse = ~near & ~(after >= before + 0.1 * length * rise)
            if not worse.any():
                break
            length[worse] /= 2
        return length[:, None]
