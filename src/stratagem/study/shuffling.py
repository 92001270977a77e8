"""Strategies for shuffled reports: the local budget and the pairs of user types chosen together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np

from stratagem.bounds import Bounds
from stratagem.bounds.constrained import limited_bound
from stratagem.math.deadline import deadline, within
from stratagem.math.number import above_minimum
from stratagem.math.shuffling import CentralPrivacy, PrivacyBlanket, Target
from stratagem.mechanism.mechanism import Mechanism
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Candidate, valued
from stratagem.study.constrained import Kind, SearchStart, Solve, constrained, in_whole_numbers, people
from stratagem.study.solution import Solution

LARGEST = 256
"""Largest number of user types for which pairs are chosen; above, the local budget alone is."""
FACTORS = (1.1, 1.3, 1.6, 2.0)
"""Local budgets that are tried first, as multiples of the one that the best strategy without a shuffler may have."""
HALVINGS = 2
"""How often the steps between budgets are halved around the best."""
ROUNDS = 4
"""Rounds of new patterns at the best of all budgets."""
NEAR = 0.01
"""Relative distance from the central budget at which the search for that multiple ends."""
TRIES = 5
ROUNDING = 1e-5
"""Share of the central epsilon that is left for the rounding to whole numbers."""
OWN, SAFE = "own pairs", "safe for all"
"""Names of other strategies: the best without a shuffler at the largest local budget that its own pairs allow, and at
the one that holds for every strategy."""


class BehindAShuffler(Kind):
    """Reports that are shuffled (theory.md, section 10)."""

    def start(self, problem: Problem, seed: int, solve: Solve) -> SearchStart:
        """Return the best strategy without a shuffler, at the largest local budget that its own pairs allow."""
        workload, shuffler, n = problem.workload, problem.constraint, problem.workload.domain_size
        target, aim = (shuffler.target(problem.epsilon * share) for share in (1, 1 - ROUNDING))

        def solved(epsilon: float) -> Solution:
            with within(deadline().left / 4):
                return solve(replace(problem, epsilon=epsilon), NEAR)

        safe = solved(_safe(target, shuffler.local))
        own = _own(aim, safe, shuffler.local, solved)
        chosen = workload.counted and 2 < n <= LARGEST

        def bounds(epsilon: float) -> Bounds:
            found = replace(problem, epsilon=epsilon, constraints=()).bounds
            if not chosen:
                return found
            return constrained(found, limited_bound(workload, epsilon, apart=target.apart(epsilon)))

        def candidates() -> Iterator[Candidate]:
            return _candidates(problem, own.epsilon, aim, seed)

        first = Candidate(own.strategy, own.objective, own.epsilon)
        return SearchStart(first, bounds, candidates if chosen else None, {OWN: own, SAFE: safe})

    def mechanism(self, solution: Solution, name: str) -> Mechanism:
        made = in_whole_numbers(solution, name, solution.strategy.epsilon * (1 + 1e-12))
        if not solution.problem.constraint.target(solution.epsilon).reached(made.strategy.blanket):
            raise ArithmeticError("whole numbers do not reach the central epsilon")
        return made

    def text(self, solution: Solution) -> str:
        own, safe, central = solution.others[OWN], solution.others[SAFE], _central(solution)
        variance = solution.accuracy.average_variance
        other, saved = (1 - variance / one.accuracy.average_variance for one in (own, safe))
        return (
            f"{central}\n{people(solution)}\n"
            f"Its total variance is {100 * saved:.1f} % below that of a strategy for local epsilon {safe.epsilon:.3g}, "
            f"about the largest that is safe for every mechanism. It is {100 * other:.1f} % below that of a strategy "
            f"for local epsilon {own.epsilon:.3g}, about the largest that such a strategy's own pairs of values "
            "allow.\n"
            f"Objective {above_minimum(solution.gap)} for exactly this local epsilon, {central.local:.4g}, and a "
            "central epsilon, computed the same way, that is no larger."
        )

    def record(self, solution: Solution) -> dict[str, Any]:
        others = {
            name.replace(" ", "_"): {"epsilon": one.epsilon, "objective": one.objective}
            for name, one in solution.others.items()
        }
        return {"shuffled": asdict(_central(solution)), **others}


def _central(solution: Solution) -> CentralPrivacy:
    """Return the central privacy; the epsilon asked for was checked, to which the search for one only comes near."""
    shuffler = solution.problem.constraint
    found = solution.shuffled(shuffler.users, shuffler.delta)
    return replace(found, epsilon=min(found.epsilon, solution.epsilon))


def _safe(target: Target, local: float) -> float:
    """Return the largest local budget, within 0.1 %, of which every strategy reaches the target."""
    if target.reached(PrivacyBlanket.worst(local)):
        return local
    low, high = target.epsilon, local
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if target.reached(PrivacyBlanket.worst(middle)) else (low, middle)
    return low


def _own(target: Target, safe: Solution, local: float, solved: Callable[[float], Solution]) -> Solution:
    """Return the best strategy without a shuffler at nearly the largest local budget that its own pairs allow."""
    best, high = safe, local * (1 + NEAR)
    for _ in range(TRIES):
        if deadline().over:
            break
        central = best.strategy.blanket.epsilon(target.delta, target.users)
        wanted = best.epsilon * target.epsilon / max(central, 1e-12) * (1 - NEAR / 4)
        tried = min(local, wanted, math.sqrt(best.epsilon * high) if wanted >= high else wanted)
        if tried <= best.epsilon * (1 + NEAR):
            break
        found = solved(tried)
        if target.reached(found.strategy.blanket):
            best = found
        else:
            high = tried
    return best


def _candidates(problem: Problem, own: float, target: Target, seed: int) -> Iterator[Candidate]:
    """Yield strategies with chosen pairs at several local budgets, then better ones at the best of them."""
    from stratagem.solvers.limited import search_shuffled  # compiled code

    V, tried = np.asarray(problem.gram, dtype=float), dict[float, float]()
    local = problem.constraint.local

    def found(epsilon: float, rounds: int) -> Iterator[Candidate]:
        for strategy in search_shuffled(V, epsilon, target, rounds, np.random.default_rng(seed)):
            one = valued(replace(problem, epsilon=epsilon), strategy, epsilon)
            tried[epsilon] = min(one.objective, tried.get(epsilon, math.inf))
            yield one

    for factor in FACTORS:
        yield from found(min(local, own * factor), 1)
    for _ in range(HALVINGS):
        known = sorted({own, *tried})
        at = known.index(min(tried, key=tried.__getitem__))
        for one, two in pairwise(known[at - 1 : at + 2]):
            yield from found(math.sqrt(one * two), 1)
    yield from found(min(tried, key=tried.__getitem__), ROUNDS)
