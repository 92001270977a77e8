"""What an attacker learns from one report, and strategies that cap it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stratagem.accuracy import UnsupportedWorkloadError, evaluate, goal
from stratagem.bounds.limited import limited_bound
from stratagem.io.screen import brief, show
from stratagem.io.table import Table
from stratagem.math.deadline import deadline, granted, within
from stratagem.math.number import integer, real, upper, upper_percent, users_text
from stratagem.math.privacy import best_guess, check_several, posterior, surest
from stratagem.problem import problem_of, relative_gap
from stratagem.solvers import Auto, Callback
from stratagem.solvers.capped import search_capped
from stratagem.solvers.solver import Step
from stratagem.strategies import (
    MatrixStrategy,
    Randomiser,
    Strategy,
    SupportOracle,
    TranslationStrategy,
    TwoLevelStrategy,
)
from stratagem.study.optimisation import optimise
from stratagem.study.solution import Design, Solution
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.given import WorkloadLike, workload_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stratagem.mechanism.mechanism import Mechanism
    from stratagem.mechanism.memo import Memo

LARGEST = 256
"""Largest number of user types for which a cap is designed for."""
LEAST = 1e-9
"""Smallest relative distance of a cap from a guess without a report."""
ROUNDS = 3
ROUNDING = 1e-6
"""Share of the cap that whole numbers may exceed it by."""
NEAR = 0.01
"""Gap at which the search without a cap ends."""
SECONDS = 10.0
"""Seconds after which it ends."""
POINTS = 6
"""Places of a frontier."""


@dataclass(frozen=True)
class Attack:
    """What the best attacks on one report reach, or on all of a device with a memo (theory.md, section 11)."""

    values: int
    """Number n of user types."""
    guess: float
    """Probability that the best guess of the user's type is right, all types equally likely before the report."""
    advantage: float
    """Largest detection rate less false alarm rate when two known types are told apart from one report."""
    epsilon: float
    """The odds of two types change by a factor e^epsilon at most."""
    repeated: bool = False
    """Whether it is on all reports of a device with a memo about one value, however many, instead of one."""

    @property
    def blind(self) -> float:
        """Probability 1/n that a guess without the report is right."""
        return 1 / self.values

    @property
    def believed(self) -> float:
        """The most that a fact of probability 1/2 before the report can have after it."""
        return posterior(0.5, self.epsilon)

    @property
    def roc(self) -> tuple[tuple[float, float], ...]:
        """False alarm and detection rates of the best tests between the two types that are farthest apart.

        Corners of the curve. Two-level strategies reach it; any other of this epsilon and advantage is on it or below.
        """
        E = math.exp(self.epsilon)
        a = self.advantage / (E - 1) if E > 1 else 0.0
        return (0.0, 0.0), (a, E * a), (1 - E * a, 1 - a), (1.0, 1.0)

    @property
    def _known(self) -> str:
        return "all reports about one value" if self.repeated else "the report"

    @property
    def guesses(self) -> str:
        """How often the best guess is right, with the report and without, in a sentence."""
        return (
            f"Whoever guesses one of {users_text(self.values)} equally likely answers is right with probability "
            f"at most {upper(100 * self.guess)} % with {self._known} and the best attack on "
            f"{'them' if self.repeated else 'it'}, {_percent(self.blind)} without."
        )

    def __str__(self) -> str:
        """Return what it means for one person in three sentences."""
        by, after = (self._known, "them") if self.repeated else ("one report", "the report")
        return (
            f"{self.guesses}\n"
            f"A test of one given answer against another, by {by}, raises a true alarm at most "
            f"{upper(100 * self.advantage)} percentage points more often than a false one.\n"
            f"Whoever thinks an answer as likely as not before {self._known} is {surest(self.epsilon)} sure of it "
            f"after {after}."
        )


def attack(strategy: Randomiser) -> Attack:
    """Return what an attacker learns from one report of a strategy.

    Exact for two-level strategies of up to 8,192 types and matrices that are not too large; upper limits otherwise.

    Raises:
        ValueError: without a finite epsilon.

    Example:
        >>> import stratagem as st
        >>> found = st.attack(st.randomised_response(4, 1.0))
        >>> round(found.guess, 4), round(found.advantage, 4)
        (0.4754, 0.3005)
    """
    blanket = strategy.blanket
    return Attack(
        strategy.domain_size, min(1.0, guessed(strategy)), blanket.distance, math.log(blanket.ratio)
    )


def attack_repeated(memo: Memo) -> Attack:
    """Return what an attacker learns from all reports of a device about one value, however many, if it keeps its memo.

    Many enough of them tell the permanent report, and no number tells more (theory.md, section 12).

    Example:
        >>> import stratagem as st
        >>> memo = st.optimise(st.histogram(4), epsilon=0.5).mechanism().memoised(2.0).memo
        >>> round(attack_repeated(memo).guess, 3)
        0.44
    """
    return replace(attack(memo.permanent_table.strategy), repeated=True)


def roc(strategy: Randomiser, one: int, other: int) -> np.ndarray:
    """Return the false alarm and detection rates of the best tests for user type `one` against `other`, (m + 1, 2).

    The corners of the curve, by Neyman and Pearson: reports in the order of Q[y, one]/Q[y, other], falling.

    Raises:
        ValueError: for user types outside 0..n-1, or a strategy that is too large for a matrix.

    Example:
        >>> import stratagem as st
        >>> roc(st.randomised_response(2, 1.0), 0, 1).round(4).tolist()
        [[0.0, 0.0], [0.2689, 0.7311], [1.0, 1.0]]
    """
    n = strategy.domain_size
    for value in (one, other):
        integer(value, "a user type", 0, n - 1, "give the number of a value")
    Q = strategy.dense().matrix
    detected, alarmed = Q[:, one], Q[:, other]
    order = np.argsort(np.arctan2(-detected, alarmed), kind="stable")
    corners = np.cumsum(np.stack([alarmed[order], detected[order]], axis=1), axis=0)
    return np.concatenate([np.zeros((1, 2)), corners])


@singledispatch
def guessed(strategy: Randomiser) -> float:
    """Return (1/n) sum_y max_u Q[y, u], or what it is at most: E/(n + E - 1), that of randomised response."""
    E = math.exp(strategy.epsilon)
    return E / (strategy.domain_size + E - 1)


@guessed.register(SupportOracle)
@guessed.register(TranslationStrategy)
def _(strategy: SupportOracle | TranslationStrategy) -> float:
    """Return E gamma/n: no report is more likely than E times its least probability."""
    blanket = strategy.blanket
    return blanket.ratio * blanket.mass / strategy.domain_size


@guessed.register
def _(strategy: MatrixStrategy) -> float:
    return best_guess(strategy.matrix)


@guessed.register
def _(strategy: TwoLevelStrategy) -> float:
    return float(strategy.theta @ np.where(strategy.sizes > 0, strategy.ratio, 1.0)) / strategy.size


@dataclass(frozen=True, eq=False, kw_only=True)
class CappedDesign(Design):
    """A strategy under which the best guess of a user's type is right no more often than a cap says."""

    __repr__ = brief

    attack: Attack
    cap: float
    """The cap on `attack.guess`."""
    epsilon: float
    free: Solution
    """The best strategy without a cap."""

    def mechanism(self, **options: Any) -> Mechanism:
        """Return the strategy in whole numbers (see `Solution.mechanism`); its best guess is computed again.

        Raises:
            ValueError: as `Mechanism.of`.
            ArithmeticError: if whole numbers exceed the cap by more than 10^-6 of it.
        """
        from stratagem.mechanism.mechanism import Mechanism

        made = Mechanism.of(self.strategy, self.workload, self.epsilon, **options)
        if guessed(made.strategy) > self.cap * (1 + ROUNDING):
            raise ArithmeticError("whole numbers do not keep the cap on the best guess")
        return made

    def __str__(self) -> str:
        """Return what was found in sentences."""
        more = self.accuracy.average_variance / self.free.accuracy.average_variance - 1
        return (
            f"{self.attack}\n{self.users_for().sentence(goal(self.workload))}.\n"
            f"The cap costs {100 * more:.1f} % more variance than epsilon {self.epsilon:g} alone, where the best guess "
            f"is right with probability {_percent(attack(self.free.strategy).guess)}.\n"
            f"The total variance is at most {upper_percent(self.gap)} above the least of all unbiased strategies of "
            f"epsilon {upper(self.epsilon)} under this cap."
        )


def optimise_capped(
    workload: WorkloadLike,
    epsilon: float,
    guess: float,
    on_step: Callback | None = None,
    *,
    domain: DomainLike | None = None,
    seed: int = 0,
    seconds: float | None = None,
) -> CappedDesign:
    """Return the best strategy found under epsilon-LDP and a cap on the best guess of a user's type.

    The best guess is right with probability (1/n) sum_y max_u Q[y, u] if all n types are equally likely, at most
    `guess`; 1/n is reached without any report. Above what the best strategy without a cap has, that one is returned.
    Ctrl-C keeps the best so far, as does the end of the `seconds`.

    Guarantee:
        The cap holds for the probabilities of the result, computed after the search.

    Raises:
        ValueError: unless 1/n < guess <= 1, or for more than 256 user types under a cap that matters; as `optimise`.

    Example:
        >>> import stratagem as st
        >>> design = st.optimise_capped(st.prefix(8), 1.0, guess=0.2)
        >>> design.attack.guess <= 0.2 < st.attack(design.free.strategy).guess
        True
    """
    cap = _checked(guess, workload := workload_of(workload, domain))
    with within(granted(seconds)):
        return _capped(_free(workload, epsilon), cap, on_step, seed)


def _free(workload: Workload, epsilon: float) -> Solution:
    with within(deadline().until(0.5)):
        return optimise(workload, epsilon, Auto(gap=NEAR, max_seconds=SECONDS))


def _checked(guess: float, workload: Workload) -> float:
    cap, n = real(guess), check_several(workload.domain_size)
    if not n * cap - 1 > LEAST or cap > 1:
        raise ValueError(
            f"the cap on the best guess is {guess!r}, but must be above 1/{users_text(n)}, what a guess without any "
            "report reaches, and at most 1: give for example "
            f"{min(1.0, 1.5 / n):.3g}"
        )
    return cap


def _capped(free: Solution, cap: float, on_step: Callback | None = None, seed: int = 0) -> CappedDesign:
    """Return the best strategy under a cap, beside the one without."""
    workload, epsilon, n = free.workload, free.epsilon, free.workload.domain_size
    found: Strategy | TranslationStrategy = free.strategy
    objective, bound = free.objective, free.lower_bound
    if attack(found).guess > cap:
        if not workload.counted or not 2 < n <= LARGEST:
            raise ValueError(
                f"a cap on the best guess was asked for over {users_text(n)} user types, but is designed for 3 to "
                f"{LARGEST}: use coarser values, or a smaller epsilon in place of a cap"
            )
        bound = max(bound, limited_bound(workload, epsilon, guess=(n * cap - 1) / math.expm1(epsilon)))
        found = _mixed(free, cap)
        objective = problem_of(workload, epsilon).value(found, None)
        with within() as time, time.ended_by_hand():
            V = np.asarray(workload.gram(), dtype=float)
            for step, one in enumerate(search_capped(V, epsilon, cap, ROUNDS, np.random.default_rng(seed))):
                try:
                    value = problem_of(workload, epsilon).value(one, None)
                except UnsupportedWorkloadError:  # it lost a direction that the queries need
                    continue
                if value < objective:
                    found, objective = one, value
                record = Step(0, step, value, objective, relative_gap(objective, bound), time.elapsed)
                stopped = on_step is not None and on_step(record)
                if stopped or time.over:
                    break
    design = CappedDesign(
        workload=workload,
        strategy=found,
        attack=attack(found),
        cap=cap,
        epsilon=epsilon,
        accuracy=evaluate(workload, found),
        objective=objective,
        lower_bound=bound,
        free=free,
    )
    if design.attack.guess > cap * (1 + 1e-9) or design.gap < -1e-9:
        raise ArithmeticError("a capped strategy contradicts its bound or its cap")
    return design


def _mixed(free: Solution, cap: float) -> MatrixStrategy:
    """Return the strategy without a cap in as many reports as the cap allows, and an even report in all others."""
    Q, n = free.strategy.dense().matrix, free.workload.domain_size
    share = min(1.0, (cap - 1 / n) / (best_guess(Q) - 1 / n) * (1 - 1e-12))
    return MatrixStrategy(np.vstack([share * Q, np.full((1, n), 1 - share)]))


@dataclass(frozen=True)
class Frontier:
    """The least error found under several caps on the best guess, from none to a strict one."""

    __repr__ = brief

    designs: tuple[CappedDesign, ...]

    def table(self) -> Table:
        """Return a table: how often the best guess is right, objective, lower bound, users for an error of 1 %."""
        rows = [
            (
                _percent(one.attack.guess),
                f"{one.objective:,.6g}",
                f"{one.lower_bound:,.6g}",
                users_text(one.users_for().root_mean_square),
            )
            for one in self.designs
        ]
        return Table(("best guess", "objective", "lower bound", "users needed"), rows)

    def plot(self, path: str | Path | None = None, width: float | None = None) -> Figure:
        """Draw the objective and its bound over the best guess; write an .svg, .png or .pdf if a path is given.

        Raises:
            ValueError: without matplotlib, or for a path or width that cannot be used.
        """
        return show("plot_frontier", self, path, width)


def guess_frontier(
    workload: WorkloadLike,
    epsilon: float,
    guesses: Sequence[float] | None = None,
    on_step: Callback | None = None,
    *,
    domain: DomainLike | None = None,
    seed: int = 0,
    seconds: float | None = None,
) -> Frontier:
    """Return the best strategies found under several caps on the best guess, most permissive first.

    By default six caps between the best guess without a cap and a fifth of the way to 1/n. They share the `seconds`.

    Raises:
        ValueError: as `optimise_capped`.
    """
    workload, designs = workload_of(workload, domain), list[CappedDesign]()
    with within(granted(seconds)) as time:
        free = _free(workload, epsilon)
        if guesses is None:
            blind, top = 1 / workload.domain_size, attack(free.strategy).guess
            guesses = [blind + (top - blind) * share for share in np.linspace(1, 0.2, POINTS)]
        caps = sorted({_checked(guess, workload) for guess in guesses}, reverse=True)
        for cap in caps:
            with within(time.left / (len(caps) - len(designs))):
                designs.append(_capped(free, cap, on_step, seed))
    return Frontier(tuple(designs))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
