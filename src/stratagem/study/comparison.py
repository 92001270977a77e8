"""A strategy beside every published baseline and every bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar

from numpy.typing import ArrayLike

from stratagem.bounds import Bounds
from stratagem.estimators import ERROR, Users, both_needed
from stratagem.io.screen import Plotted, brief
from stratagem.io.table import Recorded, Table
from stratagem.io.toml import nearest
from stratagem.math.computing import on_one_core
from stratagem.math.deadline import Deadline, granted, within
from stratagem.math.number import above_minimum, number_text, users_text
from stratagem.published import BASELINES, Baseline
from stratagem.solvers import Callback, Solver
from stratagem.solvers.problem import Average, Problem, problem_of, relative_gap
from stratagem.study.literature import SCOPE
from stratagem.study.optimisation import ENDED_BY_HAND, solved
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
)
from stratagem.study.row import ALPHA, Row, check_data, ranked, row_of
from stratagem.study.solution import Solution
from stratagem.study.summary import OURS, bound_sentences, bound_table, less, people_needed, summary, text
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.centring import estimated
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.given import WorkloadLike

ENDED = "The search was ended by hand: the optimised strategy is the best until then."
"""What is said of a comparison that was interrupted."""


COMPARED = 2048
"""Largest number of user types for which a comparison sets up every published mechanism, which takes minutes."""
FOUND = 0.6
"""Share of the time after which the strategy is found where published mechanisms are set up after it."""
EACH = 5.0
"""Seconds that one published mechanism may take on so many user types."""
PEOPLE = ("typical answer", "every answer")
"""What people needed are stated for."""
SHOWN = 5
"""Published mechanisms of a comparison that does not show all."""


@dataclass(frozen=True)
class Comparison(Recorded, Plotted):
    """Mechanisms on one workload and epsilon, least objective first, with the lower bounds on unbiased ones.

    On data they come with the error that is expected there, the least of it first.
    """

    __repr__ = brief
    figure: ClassVar[str] = "plot_comparison"

    problem: Problem
    """The workload, the budget, the prior and the variance that was minimised."""
    rows: tuple[Row, ...]
    bounds: Bounds
    fewest_users: float
    """Lower bound on the users that any unbiased epsilon-LDP strategy (delta = 0) needs for worst-case
    normalised variance 0.01."""
    compared: Mapping[str, Solution | Contender] = field(repr=False)
    """The solution and the published mechanisms that the rows describe, by the name of the mechanism."""
    found: Solution | None = field(default=None, repr=False)
    """The strategy that was searched for; None where none was."""
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
        problem: Problem, bounds: Bounds, published: Ranking, found: Solution | None = None
    ) -> Comparison:
        compared: dict[str, Solution | Contender] = {one.mechanism: one for one in published}
        rows = [row_of(one.mechanism, one.parameters, one) for one in published]
        if found is not None:
            compared[OPTIMISED] = found
            ended = ", interrupted" if found.interrupted else ""
            rows.append(row_of(OPTIMISED, found.solver + ended, found))
        fewest = problem.least(bounds) / (problem.workload.queries * ALPHA)
        left_out = published.failed, published.late, published.partial
        return Comparison(problem, ranked(rows), bounds, fewest, compared, found, *left_out)

    @property
    def workload(self) -> Workload:
        """The queries."""
        return self.problem.workload

    @property
    def epsilon(self) -> float:
        """The budget asked for."""
        return self.problem.epsilon

    def on(self, data: ArrayLike) -> Comparison:
        """Return the same mechanisms with the errors that they are expected to make on a data vector.

        x = `data` (n,) counts the users of each type. The error of an answer is (sum_u x_u t_u / q)^(1/2), the
        root mean square over the q `estimated` answers and all that chance may do, in users: exact, nothing is drawn.
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
        x, queries = check_data(data, self.workload), estimated(self.workload)
        variances = {name: one.accuracy.total_variance(x) for name, one in self.compared.items()}
        rows = [
            replace(row, error=math.sqrt(max(0.0, variances[row.mechanism]) / queries)) for row in self.rows
        ]
        users, there = int(x.sum()), problem_of(self.workload, self.epsilon, prior=x)
        added = there.least(there.bounds)
        return replace(self, rows=ranked(rows), users=users, least_error=math.sqrt(users * added / queries))

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

    def _users(self, row: Row) -> Users:
        """Return the users for 1 %; after Ctrl-C not those for every single answer of a published mechanism."""
        if row.optimised or not self.interrupted:
            return self.users_for(row.mechanism)
        return both_needed(self.compared[row.mechanism].mean_variance, None)

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
            record["users_for_one_percent"] = self._users(row)._asdict()
            records.append(record)
        return records

    def table(self) -> Table:
        """Return the mechanisms as a table, the optimised one in bold."""
        users = [self._users(row) for row in self.rows]
        people, reports = zip(*users, strict=True), [row.report for row in self.rows]
        added = [(name, map(users_text, line)) for name, line in zip(PEOPLE, people, strict=True)]
        return self.objectives().beside(dict([*added, ("report", reports)]))

    def objectives(self) -> Table:
        """Return the objectives, on data the errors, as a table, the optimised mechanism in bold."""
        value = ("objective",) if self.users is None else ("error", "of people")
        rows = [
            (row.mechanism, row.parameters, *self._value(row), f"{100 * self.over(row):+.1f} %")
            for row in self.rows
        ]
        bold = next((place for place, row in enumerate(self.rows) if row.optimised), None)
        return Table(("mechanism", "parameters", *value, "above minimum"), rows, words=2, bold=bold)

    def details(self) -> list[str | Table]:
        """Return the objectives, on data the errors, of every mechanism, and every lower bound with its meaning."""
        tables = [self.objectives(), *([bound_table(self.bounds)] if self.users is None else [])]
        return [*tables, self.aside.removeprefix("; ")]

    def parts(self, shown: int = SHOWN) -> list[str | Table]:
        """Return what is said first: people to ask, on data the error, beside the best `shown` mechanisms."""
        published = {name: one for name, one in self.compared.items() if name != OPTIMISED}
        if self.users is not None:
            return ["\n".join(self._errors()), self.objectives().without("parameters").best(shown + 1)]
        name, ours, ended = OURS, self.found, "" if self.found is None else self.found.ending
        if ours is None:
            if not published:
                return [bound_sentences(self.problem, self.bounds)]
            name = min(published, key=lambda name: people_needed(published[name]))
            ours = published.pop(name)
        late = late_sentence(self.late, self.partial)
        said = summary(self.problem, self.bounds, ours, published, name, shown, cut=bool(late))
        return [*said, "\n".join(filter(None, (ended, late)))]

    def _errors(self) -> list[str]:
        """Return the expected errors on the data: of the strategy, the best published mechanism, and any mechanism."""
        assert self.users is not None, "errors are expected on data"
        ours, *others = sorted(self.rows, key=lambda row: (not row.optimised, row.value))
        unit = f"of {self.users:,} people, {100 * ours.value / self.users:.3g} % of them"
        if not counts_users(self.workload):
            unit = "in the units of the queries"
        said = [
            f"On these data answers are typically off by {number_text(ours.value)} {unit} (expected error)."
        ]
        if others:
            apart = less(ours.value, others[0].value, ("less than", "more than", "as much as"))
            said.append(f"{apart[0].upper()}{apart[1:]} with the best published, {others[0].mechanism}.")
        gap = relative_gap(ours.value, self.least)
        said.append(
            f"Error {above_minimum(gap)}, which is {number_text(self.least)} on these data."
            if self.least > 0
            else "The lower bounds prove no error on these data that every mechanism must make."
        )
        return [*said, *filter(None, [self.late_sentence])]

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
        return self.found is not None and self.found.status in ENDED_BY_HAND

    def footer(self) -> str:
        """Return the bounds in one line, the best of them marked; on data the least error there."""
        if self.least_error is not None:
            return (
                f"proven minimum: no unbiased {self.epsilon:g}-LDP mechanism has an expected error below "
                f"{number_text(self.least_error)} people on these data"
            )
        bounds = ", ".join(
            f"{one.name} {number_text(one.value)}{' (best)' if one.name == self.bounds.name else ''}"
            for one in self.bounds
        )
        return f"proven minimum of the objective for {SCOPE}, by bound: {bounds}{self.aside}"

    @property
    def aside(self) -> str:
        """What objectives and bounds leave out, and which mechanisms are left out; empty where nothing is."""
        known = number_text(self.bounds.offset)
        means = f"; objectives and bounds stand without {known}, which the means of the queries add"
        left = f"; left out, as double precision does not hold their numbers: {', '.join(self.failed)}"
        return (means if self.bounds.offset else "") + (left if self.failed else "")

    def __str__(self) -> str:
        """Return the people to ask, beside the best published mechanisms and the proven minimum, as printed."""
        return text(self.parts())

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        sentences = (f"epsilon {self.epsilon:g}", self.footer(), self.late_sentence)
        return self.table().html("; ".join(filter(None, sentences)))


def compare(
    workload: WorkloadLike,
    epsilon: float,
    solver: Solver | str | None = None,
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
    chosen = solver_of(solver, gap=gap, seconds=seconds)
    asked = problem_of(workload, epsilon, objective, prior, domain)
    n = asked.workload.domain_size
    with on_one_core(n), within(granted(seconds, chosen.limits.max_seconds)) as time:
        several = RANKED < n <= COMPARED
        with within(time.until(FOUND) if several else time.left):
            solution = solved(asked, chosen, on_step)
        if several and solution.strategy.translated is not None:
            solution = replace(solution, baselines=_all_baselines(solution, time))
        if more := tuple(also):
            solution = replace(solution, baselines=rank_also(solution.baselines, more, solution.problem))
        return time.done(lambda: Comparison.of(solution))


def _all_baselines(solution: Solution, time: Deadline) -> Ranking:
    """Return all published mechanisms; where there is no time for one, those of the solution, the others as late."""
    if time.left >= EACH:
        return rank_baselines(solution.problem, share=1.0, accurate=True)
    known = solution.baselines
    others = {one.name for one in BASELINES} - {one.mechanism for one in known}
    return Ranking(known, known.failed, [one.name for one in BASELINES if one.name in others])
