"""The solver for worst-case objectives of few unknowns: weights and mixture in one convex programme."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from stratagem.bounds.proof import all_patterns
from stratagem.estimators import UnsupportedWorkloadError, estimator
from stratagem.math.answer_pricing import climbed, peaks
from stratagem.math.linalg import squared_distances
from stratagem.math.privacy import ratio
from stratagem.math.saddle_point import Equilibrium, Game, lightened, play
from stratagem.solvers.certified.certified import Certified
from stratagem.solvers.certified.design import Design, masses, project_to_feasible
from stratagem.solvers.certified.patterns import EXHAUSTIVE, distinct
from stratagem.solvers.certified.saddle import PriorAnswer
from stratagem.solvers.floor import SHARES, mixed_patterns
from stratagem.solvers.problem import Minimax, Problem
from stratagem.solvers.solver import Algorithm, Limits
from stratagem.strategies import Strategy, TwoLevelStrategy
from stratagem.strategies.two_level import pack

UNKNOWNS, KEPT = 800, 2
"""Most unknowns of a Newton step, about a second each, and how many patterns for each of them stay, the heaviest."""
ROWS, MOST, FEW, SHORT = 800, 1100, 0.05, 64
"""How many patterns stay where there are more unknowns. That suffices up to so many unknowns, or up to this share
1/(1 + E) of the types, which is about the share that optimal patterns hold, and on a domain up to this size."""
GAP, LOOSEST = 1e-6, 1e-3
"""Relative gap of weights and mixture over the given patterns, and the largest while other patterns join."""
FINER = 0.01
"""Share of what the last patterns gained that is the next gap."""
EVERYWHERE = (1e-5, 1e-7, 1e-9)
"""Shares of the uniform mixture that are mixed in, which cost a bound no more than such a share: a prior that hardly
knows some type has an ill-conditioned M. At large epsilon the first may cost a strategy a per cent."""
LIGHTEST = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-12, 0.0)
"""Shares of probability at or below which rows are left out, the first that costs no more than `DEARER`. Small queries
beside large ones may need rows of tiny weight."""
DEARER = 1e-4
"""Relative rise of the largest variance that fewer rows may cost."""
FIRST, STARTS, ADDED = 1024, 2048, 192
"""Random patterns to begin with, patterns near which undervalued ones are looked for, and those that join."""
FARTHEST = 3.0
"""Standard deviation of the logarithm of the distance of balls from the middle: from far away they are half-spaces."""
CLOSE = 3e-4
"""Share of the largest variance below which the excess over the prices ends the search."""
STEP = 0.3
"""Share of the way to the latest prices that the mean of all prices goes: the latest alone swing."""


def balls(queries: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return patterns (count x n): for a random point in the space of queries W (r x n), the types nearest to it."""
    columns = np.linalg.svd(queries - queries.mean(axis=1, keepdims=True), full_matrices=False)[2]
    columns = columns[: np.linalg.matrix_rank(queries)].T * np.sqrt(queries.shape[1])
    centres = rng.standard_normal((count, columns.shape[1]))
    centres *= np.exp(FARTHEST * rng.standard_normal((count, 1)))
    ranks = squared_distances(centres, columns).argsort(axis=1).argsort(axis=1)
    return ranks < np.exp(np.log(queries.shape[1]) * rng.random((count, 1)))


def unknowns(minimax: Minimax) -> int:
    """Return the number of unknowns of a Newton step for the weights of many patterns and the mixture together."""
    n = minimax.workload.domain_size
    rank = 1 if minimax.free else int(np.linalg.matrix_rank(minimax.listed()[0]))
    return n * rank + n + minimax.size


def suits(minimax: Minimax) -> bool:
    """Return whether `SaddlePoint` is fast for a problem: few unknowns, or few patterns that suffice."""
    n = minimax.workload.domain_size
    if 2 * n + minimax.size > UNKNOWNS:
        return False
    few = n <= SHORT and 1 / (1 + ratio(minimax.epsilon)) <= FEW
    return few or unknowns(minimax) <= MOST


@dataclass(frozen=True)
class SaddlePoint(Algorithm):
    """Minimisation of the largest of k variances over the weights of patterns, with the mixture as the other player.

    Where many strategies are optimal for the worst mixture, only certain mixtures of them have equal variances: one
    programme for the weights and the mixture finds these (module `math.saddle_point`). Up to 12 user types all
    patterns are listed and one programme is the whole search. Beyond, patterns that its prices undervalue join, and
    it is solved again (theory.md, section 7).
    """

    reference: ClassVar[str] = "@stratagem, saddle point of weights and mixture by interior points"
    general: ClassVar[bool] = True
    costly: ClassVar[bool] = True

    minimax: Minimax
    inner: Certified
    """The limits of the search and its seed."""
    tolerance: float = 1e-4
    """Relative gain of the largest variance that `patience` rounds must make."""
    patience: int = 3

    @property
    def limits(self) -> Limits:
        inner = self.inner
        return Limits(inner.max_steps, 1, self.tolerance, self.patience, inner.max_seconds, inner.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> SaddlePointState:
        """Return the saddle point over all patterns, or over single user types, all but one, and random balls."""
        n, rng = problem.workload.domain_size, np.random.default_rng(self.inner.seed)
        if n <= EXHAUSTIVE:
            return self._state(problem, all_patterns(n)[1:-1], None, GAP)
        single, drawn = np.eye(n, dtype=bool), balls(self.minimax.listed()[0], FIRST, rng)
        return self._state(problem, distinct(np.concatenate([single, ~single, drawn])), None, LOOSEST)

    def advance(self, problem: Problem, state: SaddlePointState) -> SaddlePointState:
        """Return the state with the patterns that the last prices undervalue most, and without unused ones."""
        rng = np.random.default_rng([self.inner.seed, len(state.patterns)])
        n, kept, E = problem.workload.domain_size, state.patterns, ratio(problem.epsilon)
        masses = state.point.theta * (1 + (E - 1) * kept.mean(axis=1))
        drawn = kept[rng.choice(len(kept), STARTS, p=masses / masses.sum())]
        starts = np.concatenate([kept, drawn ^ (rng.random(drawn.shape) < 2 / n)])
        middle = (state.prices + state.centre) / 2
        (new, excess), *others = (undervalued(one, E, starts) for one in (state.prices, state.centre, middle))
        if excess <= CLOSE * state.point.value:
            return replace(state, stuck=True)
        new = distinct(np.concatenate([new[:ADDED], *(more[:ADDED] for more, _ in others)]), kept)
        many = unknowns(self.minimax)
        heavy = np.sort(np.argsort(-masses, kind="stable")[: KEPT * many if many <= UNKNOWNS else ROWS])
        gap = min(max(GAP, FINER * excess / state.point.value), LOOSEST)
        return self._state(problem, np.concatenate([kept[heavy], new]), state, gap)

    def finish(self, problem: Problem, state: SaddlePointState) -> Strategy:
        return state.found.strategy

    def _state(
        self, problem: Problem, patterns: np.ndarray, last: SaddlePointState | None, gap: float
    ) -> SaddlePointState:
        """Return the state with the saddle point over some patterns, up to a relative gap."""
        W, prior = self.minimax.listed()
        rows = 1 + (ratio(problem.epsilon) - 1) * patterns.astype(float)
        game = Game(rows, W, prior)
        point = play(game, gap)
        mixtures = [(1 - share) * point.mixture + share / len(point.mixture) for share in EVERYWHERE]
        priors = [self.minimax.mixed(mixture).prior for mixture in mixtures]
        given = self._answer(problem, patterns, point, priors if prior is None else priors[:1])
        found = given.unless(last and last.found)
        prices = game.prices(point)
        centre = prices if last is None else last.centre + STEP * (prices - last.centre)
        mixture = mixtures[0] if last is None or found is given else last.mixture
        return SaddlePointState(
            point, patterns, mixture, prices, centre, found, len(patterns[0]) <= EXHAUSTIVE
        )

    def _answer(
        self, problem: Problem, patterns: np.ndarray, point: Equilibrium, priors: list[np.ndarray | None]
    ) -> PriorAnswer:
        """Return the strategy with the fewest rows whose largest variance is within `DEARER` of the least."""
        E, answers, theta, value = ratio(problem.epsilon), list[PriorAnswer](), point.theta, point.value
        rows = 1 + (E - 1) * patterns.astype(float)
        few = (lightened(rows, theta, share) for share in LIGHTEST)
        for weights in (one for one in few if one is not None):
            kept = weights > 0
            strategy = TwoLevelStrategy(pack(patterns[kept]), weights[kept], patterns.shape[1], E)
            answers += self._answers(strategy, priors)
        if min((one.value for one in answers), default=math.inf) > (1 + DEARER) * value:
            # queries that others outweigh need rows that double precision hardly balances
            chances = theta * (1 + (E - 1) * masses(patterns, problem.shares))
            design = Design(patterns, chances / chances.sum(), 1.0, np.zeros(patterns.shape[1]), 0.0)
            whole = project_to_feasible(design, problem)
            for strategy in (whole, *(mixed_patterns(whole, E, share) for share in SHARES)):
                answers += self._answers(strategy, priors)
        if not answers:
            raise np.linalg.LinAlgError("no weights with column sums of one answer the queries")
        least = min(one.value for one in answers)
        return next(one for one in answers if one.value <= (1 + DEARER) * least)

    def _answers(self, strategy: TwoLevelStrategy, priors: list[np.ndarray | None]) -> list[PriorAnswer]:
        """Return the strategy with its best estimator among those of some priors; empty if it answers not all."""
        try:
            variances = [self.minimax.variances(estimator(strategy, prior)) for prior in priors]
        except UnsupportedWorkloadError:
            return []
        given = [
            PriorAnswer(strategy, prior, own, self.minimax.largest(own))
            for prior, own in zip(priors, variances, strict=True)
        ]
        return [min(given, key=lambda one: one.value)]


def undervalued(prices: np.ndarray, E: float, starts: np.ndarray) -> tuple[np.ndarray, float]:
    """Return patterns (k x n) that gain more than prices (n x (2 + r)), most first, and what the first gains more.

    See `Game.prices`. As p^T s is at least 1, an excess is at most what the mean variance can still fall.

    For one query these are all that a change of the answer makes the best; for more, ascents start near the patterns
    `starts` (k x n).
    """
    p, prices = prices[:, 0], prices[:, 1:]
    if prices.shape[1] == 2:
        t, gains = peaks(prices, p, E)
        t = t[:, None]
    else:
        rows = 1 + (E - 1) * starts
        t, gains = climbed(prices, p, E, rows @ prices[:, 1:] / (2 * rows @ p)[:, None])
    t = t[np.argsort(-gains)][: int((gains > 0).sum())]
    patterns = prices[:, 0] + t @ prices[:, 1:].T > np.outer(np.square(t).sum(axis=1), p)
    return patterns, float(gains.max())


@dataclass(frozen=True, eq=False)
class SaddlePointState:
    """The state of the search: the saddle point over some patterns."""

    point: Equilibrium
    patterns: np.ndarray
    """The patterns (m x n), boolean."""
    mixture: np.ndarray
    """The mixture (k,) of the round with the smallest largest variance, positive everywhere."""
    prices: np.ndarray
    """Prices of the saddle point (n x (2 + r))."""
    centre: np.ndarray
    """Mean of the prices of all rounds, the latest first."""
    found: PriorAnswer
    """The strategy with the smallest largest variance so far."""
    stuck: bool

    @property
    def objective(self) -> float:
        """The smallest value of the largest variance so far."""
        return self.found.value

    @property
    def adversary(self) -> np.ndarray:
        """The adversary's best weights (k,)."""
        return self.mixture
