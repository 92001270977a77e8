"""Strategies for shuffled reports: the local budget and the pairs of user types chosen together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from stratagem.accuracy import evaluate, goal
from stratagem.bounds.limited import limited_bound
from stratagem.io.screen import brief
from stratagem.math.deadline import deadline, granted, within
from stratagem.math.number import integer, real, upper_percent
from stratagem.math.privacy import MINIMUM, check, check_delta, check_several
from stratagem.math.shuffling import USERS, PrivacyBlanket, Shuffled
from stratagem.problem import problem_of, relative_gap
from stratagem.solvers import Auto, Callback
from stratagem.solvers.shuffled import Target, search_shuffled
from stratagem.solvers.solver import Step
from stratagem.strategies import Strategy
from stratagem.study.optimisation import optimise
from stratagem.study.solution import Design, Solution
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.given import WorkloadLike, workload_of

if TYPE_CHECKING:
    from stratagem.mechanism.mechanism import Mechanism

LOCAL = 10.0
"""The largest local budget, above which clients refuse to run."""
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
SECONDS = 10.0
"""Seconds after which the search for a strategy without a shuffler ends."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ShuffledDesign(Design):
    """A strategy whose shuffled reports have a central epsilon, beside what is had without choosing pairs."""

    __repr__ = brief

    target: Target
    """The central privacy asked for."""
    central: Shuffled
    """The central privacy that it has, and its local epsilon."""
    own: Solution
    """The best strategy without a shuffler, at the largest local budget that its own pairs allow."""
    naive: Solution
    """The best strategy without a shuffler, at the local budget that holds for every strategy."""
    seconds: float

    def mechanism(self, **options: Any) -> Mechanism:
        """Return the strategy in whole numbers (see `Solution.mechanism`); its central epsilon is computed again.

        Raises:
            ValueError: as `Mechanism.of`.
            ArithmeticError: if the whole numbers do not reach the central epsilon.
        """
        from stratagem.mechanism.mechanism import Mechanism

        made = Mechanism.of(self.strategy, self.workload, self.strategy.epsilon * (1 + 1e-12), **options)
        if not self.target.reached(made.strategy.blanket):
            raise ArithmeticError("whole numbers do not reach the central epsilon")
        return made

    def __str__(self) -> str:
        """Return what was found in four sentences."""
        variance = self.accuracy.average_variance
        saved, other = (1 - variance / one.accuracy.average_variance for one in (self.naive, self.own))
        return (
            f"{self.central}\n"
            f"{self.users_for().sentence(goal(self.workload))}.\n"
            f"Its total variance is {100 * saved:.1f} % below that of a strategy for local epsilon "
            f"{self.naive.epsilon:.3g}, about the largest that is safe for every mechanism. It is {100 * other:.1f} % "
            f"below that of a strategy for local epsilon {self.own.epsilon:.3g}, about the largest that such a "
            "strategy's own pairs of values allow.\n"
            f"It is at most {upper_percent(self.gap)} above the least of all unbiased strategies of exactly this local "
            f"epsilon, {self.central.local:.4g}, whose central epsilon, computed the same way, is no larger."
        )


def optimise_shuffled(
    workload: WorkloadLike,
    epsilon: float,
    users: int,
    delta: float = 1e-6,
    on_step: Callback | None = None,
    *,
    domain: DomainLike | None = None,
    local: float = LOCAL,
    seed: int = 0,
    seconds: float | None = None,
) -> ShuffledDesign:
    """Return the best strategy found whose shuffled reports are (epsilon, delta)-differentially private.

    Without a shuffler large sets are best; with one, the distance of the worst pair of user types counts (theory.md,
    section 10), and smaller sets at a larger local epsilon are better. Local budgets up to `local` are tried, and at
    each the convex programme of `search_shuffled` chooses patterns and weights. Above 256 user types only the local
    budget is chosen. `on_step` receives a record after every strategy and may return True to stop; Ctrl-C keeps the
    best so far, as does the end of the `seconds`.

    Guarantee:
        The central epsilon of the result is computed from its own probabilities and is at most `epsilon`.

    Raises:
        ValueError: unless epsilon is from 10^-6 to `local`, users a whole number from 1 to 10^15 and 0 < delta < 1;
            for a domain of one value; and as `optimise`.
    """
    workload = workload_of(workload, domain)
    users = integer(users, "the number of users", 1, USERS, "give the number of reports that are shuffled")
    check_delta(delta)
    check_several(workload.domain_size)
    central, local = real(epsilon), check(local)
    if not MINIMUM <= central <= local:
        raise ValueError(
            f"the central epsilon is {epsilon!r}, but must be at least {MINIMUM:g} and at most the local one, "
            f"{local:g}: give for example 0.1"
        )
    epsilon = central
    target = Target(epsilon, delta, users)
    aim = Target(epsilon * (1 - ROUNDING), delta, users)
    with within(granted(seconds)) as time:
        naive = _solved(workload, _safe(target, local))
        own = _own(aim, naive, local)
        best: Solution | _Found = own
        with time.ended_by_hand():
            for step, found in enumerate(() if time.over else _searched(aim, own, local, seed)):
                if found.objective < best.objective:
                    best = found
                gap = relative_gap(best.objective, _bound(target, workload, best.epsilon))
                record = Step(0, step, found.objective, best.objective, gap, time.elapsed)
                stopped = on_step is not None and on_step(record)
                if stopped or time.over:
                    break
    strategy, central = best.strategy, best.strategy.blanket.shuffled(users, delta)
    design = ShuffledDesign(
        workload=workload,
        strategy=strategy,
        target=target,
        central=replace(central, epsilon=min(central.epsilon, epsilon)),
        accuracy=evaluate(workload, strategy),
        objective=best.objective,
        lower_bound=_bound(target, workload, best.epsilon),
        own=own,
        naive=naive,
        seconds=time.elapsed,
    )
    if not target.reached(strategy.blanket) or design.gap < -1e-9:
        raise ArithmeticError("a shuffled strategy contradicts its bound or its central epsilon")
    return design


@dataclass(frozen=True)
class _Found:
    strategy: Strategy
    objective: float
    epsilon: float


@lru_cache(maxsize=64)
def _bound(target: Target, workload: Workload, epsilon: float) -> float:
    """Return a lower bound on L(Q) of the strategies of a local epsilon that reach the target."""
    bound = problem_of(workload, epsilon).lower_bound
    if not workload.counted or not 2 < workload.domain_size <= LARGEST:
        return bound
    return max(bound, limited_bound(workload, epsilon, apart=target.apart(epsilon)))


def _solved(workload: Workload, epsilon: float) -> Solution:
    with within(deadline().left / 4):
        return optimise(workload, epsilon, Auto(gap=NEAR, max_seconds=SECONDS))


def _safe(target: Target, local: float) -> float:
    """Return the largest local budget, within 0.1 %, of which every strategy reaches the target."""
    if target.reached(PrivacyBlanket.worst(local)):
        return local
    low, high = target.epsilon, local
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if target.reached(PrivacyBlanket.worst(middle)) else (low, middle)
    return low


def _own(target: Target, naive: Solution, local: float) -> Solution:
    """Return the best strategy without a shuffler at nearly the largest local budget that its own pairs allow."""
    best, high = naive, local * (1 + NEAR)
    for _ in range(TRIES):
        if deadline().over:
            break
        central = best.strategy.blanket.epsilon(target.delta, target.users)
        wanted = best.epsilon * target.epsilon / max(central, 1e-12) * (1 - NEAR / 4)
        tried = min(local, wanted, math.sqrt(best.epsilon * high) if wanted >= high else wanted)
        if tried <= best.epsilon * (1 + NEAR):
            break
        found = _solved(naive.workload, tried)
        if target.reached(found.strategy.blanket):
            best = found
        else:
            high = tried
    return best


def _searched(target: Target, own: Solution, local: float, seed: int) -> Iterator[_Found]:
    """Yield strategies with chosen pairs at several local budgets, then better ones at the best of them."""
    n = own.workload.domain_size
    if not own.workload.counted or not 2 < n <= LARGEST:
        return
    V = np.asarray(own.workload.gram(), dtype=float)
    tried: dict[float, float] = {}

    def found(epsilon: float, rounds: int) -> Iterator[_Found]:
        for strategy in search_shuffled(V, epsilon, target, rounds, np.random.default_rng(seed)):
            value = problem_of(own.workload, epsilon).value(strategy, None)
            tried[epsilon] = min(value, tried.get(epsilon, math.inf))
            yield _Found(strategy, value, epsilon)

    for factor in FACTORS:
        yield from found(min(local, own.epsilon * factor), 1)
    for _ in range(HALVINGS):
        known = sorted({own.epsilon, *tried})
        at = known.index(min(tried, key=tried.__getitem__))
        for one, two in pairwise(known[at - 1 : at + 2]):
            yield from found(math.sqrt(one * two), 1)
    yield from found(min(tried, key=tried.__getitem__), ROUNDS)
