"""A strategy beside every published baseline and every bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from stratagem.accuracy import ERROR, Users
from stratagem.baselines import BASELINES, Baseline
from stratagem.bounds import Bounds
from stratagem.catalogue.bibliography import SCOPE
from stratagem.io.screen import WIDTH, brief, show
from stratagem.io.table import Table
from stratagem.io.toml import nearest
from stratagem.math.computing import on_one_core
from stratagem.math.deadline import Deadline, granted, within
from stratagem.math.number import number_text, user_counts, users_text
from stratagem.problem import Average, Problem, problem_of, relative_gap
from stratagem.solvers import Auto, Callback, Solver
from stratagem.solvers.auto import time_limit
from stratagem.strategies import TranslationStrategy
from stratagem.study.optimisation import ENDED_BY_HAND, optimise
from stratagem.study.preset import solver_of
from stratagem.study.ranking import (
    OPTIMISED,
    RANKED,
    Contender,
    Ranking,
    late_sentence,
    rank_affordable,
    rank_also,
    rank_baselines,
    ten_digits,
)
from stratagem.study.solution import Solution
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.given import WorkloadLike, workload_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ENDED = "The search was ended by hand: the optimised strategy is the best until then."
"""What is said of a comparison that was interrupted."""


@dataclass(frozen=True)
class Row:
    """One mechanism of a comparison."""

    mechanism: str
    """Name of the baseline, or of the strategy that was found."""
    parameters: str
    """Tuned parameters in words; for the optimised strategy, the solver that found it."""
    objective: float
    """L(Q) = tr(M^+ V), or the objective that was asked for."""
    worst_case_variance: float
    """Total variance added by one user of the least favourable type."""
    sample_complexity: float
    """Users needed for worst-case normalised variance 0.01, the measure of the literature."""
    epsilon: float
    """Epsilon of the mechanism as measured from its probabilities."""
    outputs: int | None
    """Number of possible reports; None for a protocol, whose reports are sets, hashes or real vectors."""
    report: str
    """What one user sends, in a few words."""
    delta: float = 0.0
    """Probability with which the loss may exceed epsilon; 0 for pure epsilon-LDP."""
    error: float | None = None
    """Expected error of an answer on the data, root mean square, in users; None without data."""

    @property
    def value(self) -> float:
        """The number that rows are sorted by: the error on the data, or the objective without data."""
        return self.objective if self.error is None else self.error

    @property
    def optimised(self) -> bool:
        """Whether this is the strategy that was found."""
        return self.mechanism == OPTIMISED


ALPHA = 0.01
"""Normalised variance for which sample complexities are stated."""
COMPARED = 2048
"""Largest number of user types for which a comparison sets up every published mechanism, which takes minutes."""
FOUND = 0.6
"""Share of the time after which the strategy is found where published mechanisms are set up after it."""
EACH = 5.0
"""Seconds that one published mechanism may take on so many user types."""
DETAILED = 4096
"""Largest number of user types for which the bound for given data is computed, which takes a minute."""
USERS = ("users needed", "least accurate")
NEEDED = (
    "users needed: for a standard error of 1 % of the users, root mean square over the queries that\n"
    "count users, if any do; least accurate: for every single one; both for the least favourable type"
)


@dataclass(frozen=True)
class Comparison:
    """Mechanisms on one workload and epsilon, least objective first, with the lower bounds on unbiased ones.

    On data they come with the error that is expected there, the least of it first.
    """

    __repr__ = brief

    workload: Workload
    epsilon: float
    rows: tuple[Row, ...]
    bounds: Bounds
    fewest_users: float
    """Lower bound on the users that any unbiased epsilon-LDP strategy (delta = 0) needs for worst-case
    normalised variance 0.01."""
    compared: Mapping[str, Solution | Contender] = field(repr=False)
    """The solution and the published mechanisms that the rows describe, by the name of the mechanism."""
    failed: tuple[str, ...] = ()
    """Names of the published mechanisms that are left out because double precision does not hold their numbers."""
    late: tuple[str, ...] = ()
    """Names of the published mechanisms that were not evaluated because time ran out."""
    partial: tuple[str, ...] = ()
    """Names of those of which time ran out before all parameters were tried."""
    users: int | None = None
    """Number of users in the data; None without data."""
    least_error: float | None = None
    """Lower bound on the expected error on the data (in users) of any epsilon-LDP strategy (delta = 0) with
    unbiased answers, even one optimised for exactly these data; None without data."""

    @staticmethod
    def of(solution: Solution) -> Comparison:
        """Return the comparison of a solution with the baselines that were ranked for it."""
        return Comparison._of(solution.problem, solution.bounds, solution.baselines, solution)

    @staticmethod
    def published(problem: Problem) -> Comparison:
        """Return the comparison of the baselines with the bounds, without a search for a strategy.

        Beyond 512 user types it leaves out the baselines whose tables grow with the domain.
        """
        contenders = rank_affordable(problem, invariant=problem.plain)
        return Comparison._of(problem, problem.bounds, contenders)

    @staticmethod
    def _of(
        problem: Problem,
        bounds: Bounds,
        published: Ranking,
        found: Solution | None = None,
    ) -> Comparison:
        compared: dict[str, Solution | Contender] = {one.mechanism: one for one in published}
        rows = [_row(one.mechanism, one.parameters, one) for one in published]
        if found is not None:
            compared[OPTIMISED] = found
            ended = ", interrupted" if found.interrupted else ""
            rows.append(_row(OPTIMISED, found.solver + ended, found))
        fewest = problem.least(bounds) / (problem.workload.queries * ALPHA)
        left_out = published.failed, published.late, published.partial
        return Comparison(
            problem.workload, problem.epsilon, _ranked(rows), bounds, fewest, compared, *left_out
        )

    def on(self, data: ArrayLike) -> Comparison:
        """Return the same mechanisms with the errors that they are expected to make on a data vector.

        x = `data` (n,) counts the users of each type. The error of an answer is (sum_u x_u t_u / p)^(1/2), the
        root mean square over the p queries and over all that chance may do, in users: exact, nothing is drawn.
        The strategies stay as they are. With N users, L_x and V the objective and Gram matrix under the prior
        x/N, no unbiased strategy adds less than L_x/n - sum_u x_u V_uu/N a user; the bounds on L_x bound the error.

        Raises:
            ValueError: as `check_data`.

        Example:
            >>> import stratagem as st
            >>> comparison = compare(st.prefix(8), epsilon=1.0).on([40, 30, 10, 10, 5, 3, 1, 1])
            >>> comparison.users, comparison.least_error < comparison.rows[0].error < comparison.users
            (100, True)
        """
        x, queries = check_data(data, self.workload), self.workload.queries
        variances = {name: one.accuracy.total_variance(x) for name, one in self.compared.items()}
        rows = [
            replace(row, error=math.sqrt(max(0.0, variances[row.mechanism]) / queries)) for row in self.rows
        ]
        users, there = int(x.sum()), problem_of(self.workload, self.epsilon, prior=x)
        added = there.least(there.bounds)
        return replace(self, rows=_ranked(rows), users=users, least_error=math.sqrt(users * added / queries))

    def users_for(self, mechanism: str, error: float = ERROR) -> Users:
        """Return the users that a mechanism of the comparison needs for a standard error, as `Solution.users_for`.

        Raises:
            ValueError: for a name that is not in the comparison.
        """
        if mechanism not in self.compared:
            raise ValueError(
                f"{mechanism!r} is not in the comparison: {nearest(str(mechanism), self.compared)}"
            )
        return self.compared[mechanism].users_for(error)

    @property
    def least(self) -> float:
        """The best lower bound on the values of the rows."""
        return self.bounds.best if self.least_error is None else self.least_error

    def records(self) -> list[dict[str, object]]:
        """Return every mechanism as named values, the fields of `Row` that have one and the users for 1 %."""
        without = {"error"} if self.users is None else set()
        records: list[dict[str, object]] = []
        for row in self.rows:
            record: dict[str, object] = {k: v for k, v in asdict(row).items() if k not in without}
            record["users_for_one_percent"] = self.users_for(row.mechanism)._asdict()
            records.append(record)
        return records

    def table(self) -> Table:
        """Return the mechanisms as a table, the optimised one in bold."""
        value = ("objective",) if self.users is None else ("error", "of users")
        headings = ("mechanism", "parameters", *value, "over bound", *USERS, "report")
        rows = [
            (
                row.mechanism,
                row.parameters,
                *self._value(row),
                f"{100 * self.over(row):+.1f} %",
                *map(users_text, self.users_for(row.mechanism)),
                row.report,
            )
            for row in self.rows
        ]
        bold = next((place for place, row in enumerate(self.rows) if row.optimised), None)
        return Table(headings, rows, words=2, bold=bold)

    def best(self, most: int) -> Comparison:
        """Return the comparison with its first rows, the optimised one among them; the others cost no time then."""
        ours = next((row for row in self.rows[most:] if row.optimised), None)
        return replace(self, rows=self.rows[:most] if ours is None else (*self.rows[: most - 1], ours))

    def narrow_table(self) -> Table:
        """Return the table without the columns that leave no room for the others in 80 characters."""
        return self.table().without("parameters", "report", *([] if self.users is None else USERS[1:]))

    def stated(self, row: Row) -> float:
        """Return the objective of a row as it stands in tables, without `Bounds.offset`, the same for every row."""
        return row.objective if not self.bounds.offset else (1 + self.over(row)) * self.bounds.best_apart

    def over(self, row: Row) -> float:
        """Return how far a row is above the best lower bound, as a share of it."""
        if self.least_error is not None:
            return relative_gap(row.value, self.least)
        found = self.compared[row.mechanism]
        return found.problem.gap(self.bounds, row.value, found.accuracy)

    def _value(self, row: Row) -> tuple[str, ...]:
        if row.error is None or self.users is None:
            return (number_text(self.stated(row)),)
        return number_text(row.error), f"{100 * row.error / self.users:.3g} %"

    @property
    def late_sentence(self) -> str:
        """The sentences on what is missing: a search ended by hand, mechanisms out of time; empty where nothing is."""
        return " ".join(
            filter(None, (ENDED if self.interrupted else "", late_sentence(self.late, self.partial)))
        )

    @property
    def interrupted(self) -> bool:
        """Whether the search for the optimised strategy was ended by hand."""
        found = self.compared.get(OPTIMISED)
        return isinstance(found, Solution) and found.status in ENDED_BY_HAND

    def footer(self) -> str:
        """Return the bounds in one line, the best of them marked; on data the least error there."""
        if self.least_error is not None:
            return (
                f"lower bound: no unbiased {self.epsilon:g}-LDP mechanism has an expected error below "
                f"{number_text(self.least_error)} users on these data"
            )
        bounds = ", ".join(
            f"{name} {number_text(value)}{' (best)' if name == self.bounds.name else ''}"
            for name, value in self.bounds.without_offset().items()
        )
        left = f"; left out, as double precision does not hold their numbers: {', '.join(self.failed)}"
        known = number_text(self.bounds.offset)
        means = f"; objectives and bounds stand without {known}, which the means of the queries add"
        means = means if self.bounds.offset else ""
        return f"lower bounds on {SCOPE}: {bounds}{means}{left if self.failed else ''}"

    def __str__(self) -> str:
        """Lay the mechanisms out as an aligned table, the bounds below."""
        late = wrap(self.late_sentence, WIDTH, break_on_hyphens=False)
        return "\n".join([str(self.narrow_table()), *wrap(self.footer(), WIDTH), NEEDED, *late])

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        sentences = (f"epsilon {self.epsilon:g}", self.footer(), self.late_sentence)
        return self.table().html("; ".join(filter(None, sentences)))

    def plot(self, path: str | Path | None = None, width: float | None = None) -> Figure:
        """Draw the objectives, on data the errors, over the best bound; write an .svg, .png or .pdf file.

        `width` in inches, that of the style by default.

        Raises:
            ValueError: without matplotlib, or for a path or width that cannot be used.
        """
        return show("plot_comparison", self, path, width)


def compare(
    workload: WorkloadLike,
    epsilon: float,
    solver: Solver | Auto | str | None = None,
    on_step: Callback | None = None,
    *,
    objective: str = Average.kind,
    prior: ArrayLike | None = None,
    domain: DomainLike | None = None,
    gap: float | None = None,
    seconds: float | None = None,
    also: Iterable[Baseline] = (),
) -> Comparison:
    """Optimise a strategy and set it beside every baseline, each tuned to its best, and every bound.

    What may stand for a workload or a solver, and the options, are as in `optimise`: for `objective` and `prior`
    the baselines are tuned and the bounds computed too.
    A baseline that cannot answer the workload is left out; beyond 2048 user types all are whose tables grow
    with the domain. Those that do not fit into the time are named as `late`. `also` are more of them, made elsewhere.

    Raises:
        ValueError: as `optimise` and `rank_also`.

    Example:
        >>> import stratagem as st
        >>> comparison = compare(st.prefix(8), epsilon=1.0)
        >>> comparison.rows[0].mechanism
        'optimised'
    """
    workload, solver = workload_of(workload, domain), solver_of(solver, gap=gap, seconds=seconds)
    with on_one_core(workload.domain_size), within(granted(seconds, time_limit(solver))) as time:
        several = RANKED < workload.domain_size <= COMPARED
        with within(time.until(FOUND) if several else time.left):
            solution = optimise(workload, epsilon, solver, on_step, objective=objective, prior=prior)
        if several and isinstance(solution.strategy, TranslationStrategy):
            solution = replace(solution, baselines=_all_baselines(solution, time))
        if more := tuple(also):
            ranked = rank_also(solution.baselines, more, solution.problem)
            solution = replace(solution, baselines=ranked)
        return Comparison.of(solution)


def _all_baselines(solution: Solution, time: Deadline) -> Ranking:
    """Return all published mechanisms; where there is no time for one, those of the solution, the others as late."""
    if time.left >= EACH:
        return rank_baselines(solution.problem, share=1.0)
    known = solution.baselines
    others = {one.name for one in BASELINES} - {one.mechanism for one in known}
    return Ranking(known, known.failed, [one.name for one in BASELINES if one.name in others])


def check_data(data: ArrayLike, workload: Workload) -> np.ndarray:
    """Return a data vector (n,) as an array.

    Raises:
        ValueError: for more than 4096 user types, and as `user_counts`.
    """
    n = workload.domain_size
    if n > DETAILED:
        raise ValueError(
            f"data were given for {n} user types, but the bound on their error is computed for at most "
            f"{DETAILED}: use fewer and wider bins"
        )
    return user_counts(data, n)


def _row(mechanism: str, parameters: str, found: Solution | Contender) -> Row:
    strategy = found.strategy
    return Row(
        mechanism,
        parameters,
        found.objective,
        found.accuracy.worst_case_variance,
        found.accuracy.samples_for(ALPHA),
        strategy.epsilon,
        strategy.outputs,
        strategy.report,
        strategy.delta,
    )


def _ranked(rows: list[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: ten_digits(row.value)))
