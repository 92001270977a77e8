"""The solver for few queries: the solution of the linear programme of the lower bound, turned into a strategy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stratagem.bounds.duals import LINEAR_LIMIT, LISTED, RANK, SIMPLE, LinearDual
from stratagem.math.privacy import ratio
from stratagem.solvers.floor import answering, mixed_rows
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Algorithm, Limits, check_limits
from stratagem.strategies import MatrixStrategy, Strategy


def interval_strategy(
    answers: np.ndarray, theta: np.ndarray, numbers: np.ndarray, E: float
) -> MatrixStrategy:
    """Return the unbiased strategy of least variance whose outputs have given answers and least probabilities.

    Outputs with answers t_k (K,), ascending, stand side by side on a line, each as wide as its theta_k. A user
    type with the number f raises the probabilities by the factor E on one interval of the line, of width
    (1 - sum theta)/(E - 1), placed where the mean answer is f: least squares makes the set of raised t the set
    where a concave quadratic is positive. The mean is piecewise linear in the place. Answers are stretched
    where rounding has left the extreme numbers (n,) out of reach.

    Guarantee:
        Row k lies between theta_k and E theta_k, so that epsilon is at most log E.
    """
    ends = np.append(0.0, np.cumsum(theta))
    width = (1 - ends[-1]) / (E - 1)
    moments = np.append(0.0, np.cumsum(theta * answers))
    breaks = np.concatenate([ends, ends - width])
    places = np.unique(np.clip(breaks, 0.0, ends[-1] - width))
    raised = np.interp(places + width, ends, moments) - np.interp(places, ends, moments)
    means = np.maximum.accumulate(moments[-1] + (E - 1) * raised)
    first = np.interp(_within(numbers, means[0], means[-1]), means, places)
    overlap = np.minimum(ends[1:, None], first + width) - np.maximum(ends[:-1, None], first)
    return MatrixStrategy(theta[:, None] + (E - 1) * np.clip(overlap, 0.0, theta[:, None]))


def _within(numbers: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the numbers (n,) after the smallest shrinkage and shift that bring them between low and high."""
    shrink = min(1.0, (high - low) / np.ptp(numbers))
    moved = shrink * (numbers - numbers.min()) + numbers.min()
    return moved - max(0.0, moved.max() - high) + max(0.0, low - moved.min())


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
            q = np.clip(q, theta[:, None], E * theta[:, None])
            inner = np.minimum(q - theta[:, None], E * theta[:, None] - q).argmax(axis=0)
            # the entry with most room takes what rounding left
            q[inner, np.arange(q.shape[1])] += 1 - q.sum(axis=0)
            return MatrixStrategy(q[:, kind.ravel()]), middle + unit * t / (1 - shrink)
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
        """Return g_k room_k (types x K) at the smallest weight of the barrier for which Newton's method succeeds."""
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


@dataclass(frozen=True, eq=False)
class Randomised:
    """The state of the solver: the strategy that the solved linear programme gives."""

    strategy: MatrixStrategy
    objective: float
    """L(Q) with the answers of the programme."""
    stuck: bool = True


@dataclass(frozen=True)
class FewQueries(Algorithm):
    """The optimal unbiased randomiser of one to five numbers: a mean, a mean with a variance, a predicate, scores.

    Every output carries an answer, a vector of estimates of these numbers. Each user type raises the
    probabilities of some outputs, whose answers are near its own numbers, by the factor E. Answers and
    probabilities solve a linear programme (theory.md, section 8), which also gives the lower bound. The
    queries may be any combinations of five queries and of the total, with any prior.

    Raises:
        ValueError: for a gap that is not a number of at least 0; a search refuses other workloads likewise.

    Example:
        >>> import stratagem as st
        >>> st.optimise(st.moments([0.0, 0.3, 0.6, 1.0], 2), 1.0, st.solvers.FewQueries()).gap < 2e-3
        True
    """

    reference: ClassVar[str] = "@stratagem, linear programme over outputs; @badanidiyuru2023optimal"
    general: ClassVar[bool] = True
    partial: ClassVar[bool] = True

    gap: float = 1e-3
    """Gap above which more work is spent on a tighter lower bound."""

    def __post_init__(self) -> None:
        """Check the parameter."""
        check_limits(None, gap=self.gap)

    @property
    def limits(self) -> Limits:
        return Limits(1, 1, 0.0, 1, math.inf, self.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> Randomised:
        """Return the strategy that the solved linear programme gives.

        Raises:
            ValueError: if the linear programme does not take the workload.
        """
        found = problem.linear
        if found is None:
            raise ValueError(
                f"the solver FewQueries was given {problem.workload.queries} queries over "
                f"{problem.workload.domain_size} user types, but takes combinations of {RANK} queries and the total, "
                f"over at most {LINEAR_LIMIT}, more than {SIMPLE} over more than {LISTED}: "
                "use st.Auto() or st.Certified()"
            )
        strategy, answers = _strategy(found, ratio(problem.epsilon))
        return Randomised(strategy, found.cost(answers, strategy.forward(problem.shares)))

    def advance(self, problem: Problem, state: Randomised) -> Randomised:
        return state

    def finish(self, problem: Problem, state: Randomised) -> Strategy:
        return answering(problem, [state.strategy], mixed_rows)


def _strategy(found: LinearDual, E: float) -> tuple[MatrixStrategy, np.ndarray]:
    """Return the strategy of a solved linear programme (K outputs) and its answers (K x r).

    Randomised response with its answers (n x r) is returned if rounding leaves no feasible probabilities.
    """
    if found.queries.shape[1] == 1:
        strategy = interval_strategy(found.answers[:, 0], found.theta, found.queries[:, 0], E)
        return strategy, found.answers
    try:
        return served_strategy(found.answers, found.theta, found.queries, E)
    except np.linalg.LinAlgError:
        F, n = found.queries, len(found.queries)
        answers = ((E + n - 1) * F - F.sum(axis=0)) / (E - 1)
        return MatrixStrategy((np.ones((n, n)) + (E - 1) * np.eye(n)) / (E + n - 1)), answers
