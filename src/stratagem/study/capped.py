"""Strategies under a cap on the best guess of a user's type."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from stratagem.bounds.constrained import limited_bound
from stratagem.math.deadline import deadline, within
from stratagem.math.number import above_minimum, upper, users_text
from stratagem.math.privacy import best_guess
from stratagem.mechanism.mechanism import Mechanism
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Candidate, valued
from stratagem.strategies import MatrixStrategy, Randomiser
from stratagem.study.attacks import attack, percent
from stratagem.study.constrained import Kind, SearchStart, Solve, constrained, in_whole_numbers, people
from stratagem.study.solution import Solution

LARGEST = 256
"""Largest number of user types for which a cap is designed for."""
ROUNDING = 1e-6
"""Share of the cap that whole numbers may exceed it by."""
NEAR = 0.01
"""Gap at which the search without a cap ends."""
FREE = "without the cap"
"""Name of the best strategy without a cap among the others of a solution."""


class CappedGuess(Kind):
    """A cap on the best guess (theory.md, section 11)."""

    def start(self, problem: Problem, seed: int, solve: Solve) -> SearchStart:
        """Return the best strategy without a cap, in as many reports as the cap allows."""
        cap, n, epsilon = problem.constraint.guess, problem.workload.domain_size, problem.epsilon
        with within(deadline().until(0.5)):
            free = solve(problem, NEAR)
        if free.strategy.guess <= cap:
            first = Candidate(free.strategy, free.objective, epsilon)
            return SearchStart(first, lambda _: free.bounds, others={FREE: free})
        if not problem.workload.counted or not 2 < n <= LARGEST:
            raise ValueError(
                f"a cap on the best guess was asked for over {users_text(n)} user types, but is designed for 3 to "
                f"{LARGEST}: use coarser values, or a smaller epsilon in place of a cap"
            )
        limited = limited_bound(problem.workload, epsilon, guess=(n * cap - 1) / math.expm1(epsilon))
        bounds = constrained(free.bounds, limited)

        def candidates() -> Iterator[Candidate]:
            from stratagem.solvers.limited import CAPPED_ROUNDS, search_capped  # compiled code

            V, rng = np.asarray(problem.gram, dtype=float), np.random.default_rng(seed)
            for step, strategy in enumerate(search_capped(V, epsilon, cap, CAPPED_ROUNDS, rng)):
                yield replace(valued(problem, strategy, epsilon), stuck=step + 1 == CAPPED_ROUNDS)

        first = valued(problem, _mixed(free.strategy, cap), epsilon)
        return SearchStart(first, lambda _: bounds, candidates, {FREE: free})

    def mechanism(self, solution: Solution, name: str) -> Mechanism:
        made = in_whole_numbers(solution, name, solution.epsilon)
        if made.strategy.guess > solution.problem.constraint.guess * (1 + ROUNDING):
            raise ArithmeticError("whole numbers do not keep the cap on the best guess")
        return made

    def text(self, solution: Solution) -> str:
        free, epsilon = solution.others[FREE], solution.epsilon
        more = solution.accuracy.average_variance / free.accuracy.average_variance - 1
        return (
            f"{attack(solution.strategy)}\n{people(solution)}\n"
            f"The cap costs {100 * more:.1f} % more variance than epsilon {epsilon:g} alone, where the best guess "
            f"is right with probability {percent(free.strategy.guess)}.\n"
            f"Objective {above_minimum(solution.gap)} for epsilon {upper(epsilon)} under this cap."
        )

    def record(self, solution: Solution) -> dict[str, Any]:
        told = {name: one for name, one in attack(solution.strategy).record().items() if name != "epsilon"}
        free = solution.others[FREE].objective
        return {"cap": solution.problem.constraint.guess, **told, "objective_without_cap": free}


def _mixed(free: Randomiser, cap: float) -> MatrixStrategy:
    """Return a strategy without a cap in as many reports as the cap allows, and an even report in all others."""
    Q = free.dense().matrix
    n = Q.shape[1]
    share = min(1.0, (cap - 1 / n) / (best_guess(Q) - 1 / n) * (1 - 1e-12))
    return MatrixStrategy(np.vstack([share * Q, np.full((1, n), 1 - share)]))
