"""Comparisons along several budgets or several domains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.estimators import Users, users_needed
from stratagem.estimators.accuracy import goal
from stratagem.io.screen import brief, show
from stratagem.io.table import Recorded, Table, save_records
from stratagem.math.deadline import granted, within
from stratagem.math.number import above_minimum, ratio, users_text
from stratagem.math.privacy import check
from stratagem.solvers import Callback, Certified, Solver
from stratagem.solvers.problem import Average, problem_of, relative_gap
from stratagem.study.bound_table import along, are_listed, place
from stratagem.study.comparison import OPTIMISED, PEOPLE, Comparison
from stratagem.study.optimisation import ENDED_BY_HAND, solved
from stratagem.study.preset import limited, solver_of
from stratagem.study.ranking import late_sentence
from stratagem.study.row import Row
from stratagem.study.solution import Solution
from stratagem.study.summary import MINIMUM, OURS, fewest_users, least_added, less, people_needed, text
from stratagem.workloads import DomainLike
from stratagem.workloads.centring import estimated
from stratagem.workloads.given import WorkloadLike, workload_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def path(
    workload: WorkloadLike,
    epsilons: Iterable[float],
    solver: Certified | None = None,
    on_step: Callback | None = None,
    *,
    domain: DomainLike | None = None,
    seconds: float | None = None,
) -> tuple[Solution, ...]:
    """Return a certified solution for every budget, in the order given; workload and domain as in `optimise`.

    At low budgets the patterns are large sets, and random fields alone come close to the optimum. At high
    budgets the patterns are small, hard to guess and change little with epsilon. Each search therefore starts
    with the patterns of the solution at the next lower budget as well. `seconds` are those of the call; each budget
    has an equal share of what is left.

    Raises:
        ValueError: if there is no budget or one is out of range, and as `optimise`.
        KeyboardInterrupt: if Ctrl-C ends it before all budgets are solved.

    Example:
        >>> import stratagem as st
        >>> solutions = path(st.prefix(8), [0.5, 1.0, 2.0])
        >>> [solution.gap < 0.01 for solution in solutions]
        [True, True, True]
    """
    if not are_listed(epsilons):
        raise ValueError(f"epsilons is {epsilons!r}: give several budgets, for example [0.5, 1, 2]")
    workload, budgets = workload_of(workload, domain), [check(epsilon) for epsilon in epsilons]
    if not budgets:
        raise ValueError("no epsilon was given: give at least one, for example [0.5, 1, 2]")
    if not isinstance(solver, Certified | None):
        raise ValueError(f"{type(solver).__name__} cannot start from other budgets: use st.Certified()")
    solver, found = solver or Certified(), dict[float, Solution]()
    with within(granted(seconds)) as time:
        rising = sorted(set(budgets))
        for place, epsilon in enumerate(rising):
            last = next(reversed(found.values()), None)
            if last is not None and last.strategy.two_level is not None:
                solver = replace(solver, start=last.strategy.two_level)
            with within(time.left / (len(rising) - place)):
                found[epsilon] = solved(problem_of(workload, epsilon), solver, on_step)
            if time.stopped:
                raise KeyboardInterrupt
    return tuple(found[epsilon] for epsilon in budgets)


BOUND = "lower bound"
"""Name of the bound among the mechanisms of a sweep."""

SILENT = "–"
"""What a table shows where the bound is at most one user."""
SILENCE = f"{SILENT}: the proven minimum is one person there, which says nothing"


def needed_texts(name: str, line: Iterable[int | None]) -> list[str]:
    """Return the users of one line of a sweep as texts: empty where unknown, a dash where a bound says nothing.

    >>> needed_texts("lower bound", [1, 28790]), needed_texts("subset-selection", [1, None])
    (['–', '28,790'], ['1', ''])
    """
    return [
        "" if users is None else SILENT if name == BOUND and users <= 1 else users_text(users)
        for users in line
    ]


@dataclass(frozen=True)
class Sweep(Recorded):
    """Comparisons of the same queries, one for each budget or each domain."""

    __repr__ = brief

    axis: str
    """What changes from one comparison to the next: epsilon or domain size."""
    comparisons: tuple[Comparison, ...]
    complete: bool = True
    """Whether every place asked for was computed; False if the user or the limit of time ended the sweep before."""

    @property
    def places(self) -> tuple[float, ...]:
        """The value on the axis of every comparison."""
        return tuple(place(self.axis, one.problem) for one in self.comparisons)

    def users_needed(self, *, least_accurate: bool = False) -> dict[str, list[int | None]]:
        """Return the users that every mechanism needs along the axis, None where it does not apply.

        For a standard error of 1 % of the users, root mean square over the queries or for every single answer, if
        everybody had the least favourable type. The strategy found comes first, the others by their objective at
        the last place where they apply, the bound last.
        """
        return {
            name: [None if variance is None else users_needed(variance) for variance in line]
            for name, line in self.variances(least_accurate=least_accurate).items()
        }

    def variances(self, *, least_accurate: bool = False) -> dict[str, list[float | None]]:
        """Return what one user of the least favourable type adds to the variance of an answer, as `users_needed`.

        In the mean over the queries, or for the least accurate answer: the bound is the same for both.
        """
        if least_accurate:
            return self._lines(lambda one, row: one.compared[row.mechanism].largest_comparable, _least)
        return self._lines(lambda one, row: one.compared[row.mechanism].mean_variance, _least)

    def sample_complexity(self) -> dict[str, list[float | None]]:
        """Return the users for worst-case normalised variance 0.01, in the order of `users_needed`.

        Reference:
            McKenna et al., VLDB 2020, Corollary 5.3.
        """
        return self._lines(lambda one, row: row.sample_complexity, lambda one: one.fewest_users)

    def over_bound(self) -> dict[str, list[float | None]]:
        """Return every mechanism's objective over the best lower bound, in the order of `users_needed`."""
        return self._lines(lambda one, row: ratio(row.objective, one.bounds.best), lambda one: 1.0)

    def _lines(
        self, of_row: Callable[[Comparison, Row], float | None], of_bound: Callable[[Comparison], float]
    ) -> dict[str, list[float | None]]:
        by_place = [{row.mechanism: of_row(one, row) for row in one.rows} for one in self.comparisons]
        names = {name: None for place in reversed(by_place) for name in place if name != OPTIMISED}
        lines: dict[str, list[float | None]] = {
            name: [place.get(name) for place in by_place] for name in (OPTIMISED, *names)
        }
        lines[BOUND] = [of_bound(one) for one in self.comparisons]
        return lines

    def records(self) -> list[dict[str, object]]:
        """Return a line for every mechanism and bound at every place, as named values."""
        lines = []
        for one in self.comparisons:
            size = one.workload.domain_size
            where = {"domain": str(one.workload.domain), "domain_size": size, "budget": one.epsilon}
            lines.extend(where | row for row in one.records())
            lines.append(
                where
                | {
                    "mechanism": BOUND,
                    "parameters": one.bounds.name,
                    "objective": one.bounds.best,
                    "sample_complexity": one.fewest_users,
                    "users_for_one_percent": Users(*[users_needed(_least(one))] * 2)._asdict(),
                }
            )
        return lines

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the records to a .csv or .json file.

        Raises:
            ValueError: for another suffix, a path that cannot be written, or a file that exists, unless `overwrite`.
        """
        return save_records(path, self.records(), overwrite=overwrite, axis=self.axis)

    def table(self, *, least_accurate: bool = False) -> Table:
        """Return the users needed as a table, one row a mechanism, the bound below the strategy found."""
        headings = (
            f"people needed, {PEOPLE[least_accurate]}, {self.axis} =",
            *(f"{place:g}" for place in self.places),
        )
        found, *others, bound = (
            (name, *needed_texts(name, line))
            for name, line in self.users_needed(least_accurate=least_accurate).items()
        )
        rows = [(OURS, *found[1:]), (MINIMUM, *bound[1:]), *others]
        return Table(headings, rows, bold=0)

    def headline(self) -> str:
        """Return how many people fewer than the best published mechanism is needed along the axis, and the gap."""
        shares, far, what = list[float](), 0.0, "People needed:"
        for one in self.comparisons:
            found = [
                one.compared[row.mechanism] for row in sorted(one.rows, key=lambda row: not row.optimised)
            ]
            ours, least = people_needed(found[0]), fewest_users(found[0].problem, one.bounds)
            if not least_added(one.problem, one.bounds):  # nothing is known of people
                ours, least, what = found[0].objective, one.bounds.best, "Objective:"
            far = max(far, relative_gap(ours, least))
            shares += [people_needed(found[0]) / min(map(people_needed, found[1:]))] if found[1:] else []
        near = f"{what} {above_minimum(far)}."
        if not shares:
            return near
        words = ("fewer", "more", "about as many")
        least, most = (less(share, 1, words) for share in (max(shares), min(shares)))
        between = most if least == most else f"{least.removesuffix(most[most.rindex(' ') :])} to {most}"
        than = " people than" if most.endswith(("fewer", "more")) else " people as"
        return f"Along the {self.axis} {OURS} needs {between}{than} the best published mechanism. {near}"

    def __str__(self) -> str:
        """Lay the people needed out as two aligned tables."""
        return text([*(self.table(least_accurate=which).best(7) for which in (False, True)), self.notes()])

    def notes(self) -> str:
        """Return what the numbers of the tables mean, their dashes where there are any, and what time ran out for."""
        silent = any(users == 1 for users in self.users_needed()[BOUND])
        needed = (
            f"People needed: for {goal(self.comparisons[0].workload)}. Typical answer: root mean square over the "
            "queries whose answers are not known exactly. Both hold whatever people answer."
        )
        return "\n".join(filter(None, (needed, SILENCE if silent else "", self.late_sentence)))

    @property
    def late_sentence(self) -> str:
        """The sentence that names the mechanisms for which time ran out at any place; empty where there are none."""
        late = dict.fromkeys(name for one in self.comparisons for name in one.late)
        partial = dict.fromkeys(name for one in self.comparisons for name in one.partial)
        return late_sentence(late, partial)

    def plot(
        self, path: str | Path | None = None, width: float | None = None, *, measure: str = "users needed"
    ) -> Figure:
        """Draw "users needed", those for the "least accurate" answer or "over bound" along the axis.

        An .svg, .png or .pdf file is written if a path is given.

        `width` in inches, that of the style by default.

        Raises:
            ValueError: without matplotlib, for a path or width that cannot be used, or an unknown measure.
        """
        return show("plot_sweep", self, path, width, measure=measure)


def _least(comparison: Comparison) -> float:
    """Return the lower bound on the mean variance of an answer per user; the least accurate answer has no less."""
    problem = comparison.problem
    return least_added(problem, comparison.bounds) / estimated(problem.counting.workload)


def sweep(
    workload: WorkloadLike | Sequence[WorkloadLike],
    epsilon: float | Iterable[float],
    solver: Solver | str | None = None,
    on_step: Callback | None = None,
    *,
    objective: str = Average.kind,
    domain: DomainLike | None = None,
    seconds: float | None = None,
) -> Sweep:
    """Compare the optimised strategy with every baseline and bound along several budgets or several domains.

    One of `workload` and `epsilon` is a sequence; each workload is given as in `optimise`, names over the `domain`.
    Figures 1 and 2 of McKenna et al. (VLDB 2020) are the plots of such sweeps. Ctrl-C ends the sweep after the
    comparison that it interrupts, which counts. `seconds` are those of the call; each place has an equal share of what
    is left, and those for which nothing is left are not in the sweep, which is then not complete.

    Raises:
        ValueError: if none or both of them are sequences, or one is empty; and as `compare`.

    Example:
        >>> import stratagem as st
        >>> line = sweep(st.prefix(8), [0.5, 1.0])
        >>> line.axis, [round(users, -3) for users in line.users_needed()["lower bound"]]
        ('epsilon', [146000, 33000])
    """
    axis, places = along(workload, epsilon, domain, objective=objective)
    done, ended = [], False
    with within(granted(seconds)) as time, time.ended_by_hand():
        chosen = limited(solver_of(solver), time.left / len(places))
        for problem, share in time.shares(places):
            with within(share):
                solution = solved(problem, chosen, on_step)
                done.append(Comparison.of(solution))
            if ended := time.stopped or solution.status in ENDED_BY_HAND:
                break
    if not done:
        raise KeyboardInterrupt
    return Sweep(axis, tuple(done), len(done) == len(places) and not (ended or time.stopped))
