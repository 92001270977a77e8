"""What caps on the best guess of a user's type cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from stratagem.io.screen import Plotted, brief
from stratagem.io.table import Table
from stratagem.math.deadline import granted, within
from stratagem.math.number import users_text
from stratagem.solvers import Auto, Callback
from stratagem.solvers.problem import GuessCap, problem_of
from stratagem.study.attacks import percent
from stratagem.study.capped import NEAR
from stratagem.study.optimisation import free_solution, solved
from stratagem.study.solution import Solution
from stratagem.workloads import DomainLike
from stratagem.workloads.given import WorkloadLike, workload_of

POINTS = 6
"""Places of a frontier."""


@dataclass(frozen=True)
class Frontier(Plotted):
    """The least error found under several caps on the best guess, from none to a strict one."""

    __repr__ = brief
    figure: ClassVar[str] = "plot_frontier"

    solutions: tuple[Solution, ...]

    def table(self) -> Table:
        """Return a table: how often the best guess is right, people for an error of 1 %, objective, lower bound."""
        rows = [
            (
                percent(one.strategy.guess),
                users_text(one.users_for().root_mean_square),
                f"{one.objective:,.6g}",
                f"{one.lower_bound:,.6g}",
            )
            for one in self.solutions
        ]
        return Table(("best guess is right", "people needed", "objective", "proven minimum"), rows)


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
        ValueError: as `GuessCap`.
    """
    workload, found = workload_of(workload, domain), list[Solution]()
    with within(granted(seconds)) as time:
        asked = problem_of(workload, epsilon)
        with within(time.until(0.5)):
            free = free_solution(asked, NEAR)
        if guesses is None:
            blind, top = 1 / workload.domain_size, free.strategy.guess
            guesses = [blind + (top - blind) * share for share in np.linspace(1, 0.2, POINTS)]
        caps = [GuessCap(guess).settled(workload, epsilon)[0] for guess in guesses]
        for cap in sorted(set(caps), key=lambda cap: -cap.guess):
            with within(time.left / (len(set(caps)) - len(found))):
                problem = replace(asked, constraints=(cap,))
                found.append(solved(problem, Auto(seed=seed), on_step, lambda *_: free))
    return Frontier(tuple(found))
