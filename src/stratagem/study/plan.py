"""Plans: from a column of data to bins, a mechanism, the errors to expect and what epsilon means for one person."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stratagem.collection.binning import Labels
from stratagem.collection.columns import distinct
from stratagem.collection.edges import Edges
from stratagem.collection.placeholder import placeholders
from stratagem.collection.proposal import Proposal, propose, stated
from stratagem.io.screen import brief
from stratagem.math.deadline import granted, within
from stratagem.math.number import real, upper_percent, users_text
from stratagem.math.privacy import check, posterior, surest
from stratagem.mechanism.mechanism import Mechanism
from stratagem.solvers import Auto, Callback
from stratagem.study.attack import Attack, attack
from stratagem.study.least_budget import least_budget
from stratagem.study.optimisation import optimise
from stratagem.study.ranking import Contender
from stratagem.study.solution import Solution
from stratagem.workloads import Domain
from stratagem.workloads.domain import OTHER
from stratagem.workloads.given import load, takes_numbers

EPSILON = 1.0
"""The budget of a plan that neither states one nor an error to reach."""
CLOSE = 0.01
"""Gap at which the search for a strategy ends."""
SECONDS = 10.0
"""Seconds after which it ends, where none are given."""
NOTHING = ("nan", "NaT", "<NA>")
"""What missing values of NumPy and pandas are as texts."""
ALONE = "value"
"""Name of the attribute where the column's own name cannot be one."""


class Errors(NamedTuple):
    """Standard errors of estimated shares, as shares of the users, if all users have the least favourable type."""

    root_mean_square: float
    """Root mean square over the queries."""
    least_accurate: float | None
    """That of the least accurate answer; None where the queries are too many to be looked at one by one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """A mechanism for one column: the values to ask for, the strategy, and the errors to expect of its estimates."""

    __repr__ = brief

    column: str
    """Name of the column."""
    proposal: Proposal
    """The bins or labels, the last of them "other"."""
    x: np.ndarray
    """Rows of each value (n,), integers."""
    others: dict[str, int]
    """Rows that count as other, by reason."""
    name: str
    """Name of the workload."""
    solution: Solution
    """The strategy with its accuracy and its bounds."""
    users: int
    """People who will take part."""
    error: float | None
    """The standard error asked for, as a share of the users; None where none was."""
    unit: str | None
    placeholders: dict[str, int]
    """Rows of each text that looks like a placeholder for no answer, such as 999 among ages."""
    complete: bool
    """Whether epsilon is the smallest, up to 1 %, that reaches the error; False where time ran out before."""

    @property
    def epsilon(self) -> float:
        """The privacy budget of one person."""
        return self.solution.epsilon

    @property
    def best_published(self) -> Contender:
        """The published mechanism with the least objective on this workload and budget."""
        return self.solution.baselines[0]

    @property
    def errors(self) -> Errors:
        """The standard errors of the plan's mechanism, as shares of its users."""
        return self._errors(self.solution)

    @property
    def published_errors(self) -> Errors:
        """The standard errors of the best published mechanism."""
        return self._errors(self.best_published)

    def _errors(self, found: Solution | Contender) -> Errors:
        """Return (t/(p N))^(1/2) for the largest total variance t of a user over p queries, and the largest one's."""
        mean, single = found.mean_variance, found.largest_comparable
        return Errors(self._share(mean), None if single is None else self._share(single))

    def _share(self, variance: float) -> float:
        return math.sqrt(variance / self.users)

    @property
    def least_error(self) -> float:
        """A lower bound on the root mean square of unbiased estimates from one epsilon-LDP report per user."""
        return self._share(self.solution.least_variance / self.solution.workload.queries)

    @property
    def users_needed(self) -> int | None:
        """The people needed for the error asked for, root mean square over the queries; None without one."""
        return None if self.error is None else self.solution.users_for(self.error).root_mean_square

    @property
    def believed(self) -> float:
        """The most that a fact of probability 1/2 before the report can have after it."""
        return posterior(0.5, self.epsilon)

    @cached_property
    def attack(self) -> Attack:
        """What the best attacks on one report reach."""
        return attack(self.solution.strategy)

    @property
    def best_guess(self) -> float:
        """Probability that the best guess from one report is the person's value, all values equally likely before."""
        return self.attack.guess

    def answer(self) -> tuple[str, ...]:
        """Return what to expect in three sentences: ours, the best published mechanism, and the bound.

        Where an error was asked for, a sentence on the people that it takes comes first.
        """
        return (*self._reached(), self._found(), self._published(), self._limit())

    def _reached(self) -> tuple[str, ...]:
        needed = self.users_needed
        if self.error is None or needed is None:
            return ()
        asked = f"A standard error of {_percent(self.error)} takes {users_text(needed)} people"
        enough = "are enough" if needed <= self.users else "are not enough"
        return (f"{asked} at epsilon {self.epsilon:g}; {users_text(self.users)} {enough}.",)

    def _found(self) -> str:
        mean, single = self.errors
        every = "" if single is None else f", {_percent(single)} for the least accurate one"
        gaps = self.others.get("missing", 0)
        asked = "share of all people" if gaps else "share"
        less = "; shares of those who answered are usually less exact" if gaps else ""
        return (
            f"With {users_text(self.users)} people and epsilon {self.epsilon:g}, an estimated {asked} has a standard "
            f"error of {_percent(mean)} of the people, which is {mean * self.users:,.0f} people (root mean square "
            f"over {self.solution.workload.queries:,} queries{every}), even if everybody had the least favourable "
            f"value{less}."
        )

    def _published(self) -> str:
        name, theirs = self.best_published.mechanism, self.published_errors.root_mean_square
        more = (theirs / self.errors.root_mean_square) ** 2 - 1
        if more < CLOSE:
            return f"The best published mechanism, {name}, is as accurate."
        needs = f"it needs {100 * more:.0f} % more people for the same error"
        return f"The best published mechanism, {name}, has {_percent(theirs)}: {needs}."

    def _limit(self) -> str:
        least = f"No unbiased mechanism with one report per person has less than {_percent(self.least_error)}"
        if self.solution.least_variance <= 0:
            least = f"At epsilon {self.epsilon:g} the lower bound on the error says nothing"
        gap = self.solution.variance_gap
        near = f"the total variance of this one is proven to be at most {upper_percent(gap)} above the least possible"
        if not math.isfinite(gap):
            near = "nothing is proven of how near this one is to the least possible"
        return f"{least}; {near}."

    def meaning(self) -> tuple[str, ...]:
        """Return what the budget means for one person, in two sentences."""
        believed = (
            f"Epsilon {self.epsilon:g} means: whoever thinks an answer as likely as not before the report is "
            f"{surest(self.epsilon)} sure of it after the report."
        )
        return believed, self.attack.guesses

    def values(self) -> tuple[str, ...]:
        """Return which values people choose from, and which rows of the data are in none of the others."""
        rows, rest = int(self.x.sum()), int(self.x[-1])
        kind = "bins" if self.proposal.ordered else "labels"
        shares = ", ".join(f"{reason} {count:,}" for reason, count in self.others.items())
        return (
            f"{self.column}: {len(self.x) - 1} {kind} and {OTHER!r} ({self.proposal.rule}): {self.proposal.option}",
            f"{rest:,} of {rows:,} rows count as {OTHER!r}{f' ({shares})' if shares else ''}.",
        )

    def warning(self) -> str | None:
        """Return what is to be done about values that were read from the data; None where they were stated."""
        if self.proposal.rule == "stated":
            return None
        option = "edges" if self.proposal.ordered else "labels"
        return (
            f"These {option} were read from the data and tell something about them: if these are the people to "
            f"protect, state {option} that you know without the data."
        )

    def notes(self) -> tuple[str, ...]:
        """Return what is to be done about values, and what time ran out for, each in a sentence."""
        texts = list(self.placeholders)
        rows = ", ".join(f"{text!r} {rows:,}" for text, rows in self.placeholders.items())
        held = f"{self.column} holds numbers that look like placeholders for no answer (rows with {rows})"
        placeholder = f"{held}: if they are, say so with missing={texts}." if texts else None
        late = self.solution.baselines.late_sentence
        ended = "Time ran out before the smallest epsilon was found; ask with more seconds."
        return tuple(filter(None, (self.warning(), placeholder, late, None if self.complete else ended)))

    def __str__(self) -> str:
        """Return the whole plan in sentences."""
        return "\n".join((*self.answer(), *self.meaning(), *self.values(), *self.notes()))

    def mechanism(self) -> Mechanism:
        """Return the mechanism in whole numbers, with its bins or labels; refused unless epsilon holds exactly.

        Raises:
            ValueError: if the strategy does not fit into whole numbers.
        """
        attribute, values = self.solution.workload.domain.attributes[0], self.proposal.values
        edges = {attribute: values.edges} if isinstance(values, Edges) else None
        labels = {attribute: values.labels} if isinstance(values, Labels) else None
        units = {attribute: self.unit} if self.unit else None
        return self.solution.mechanism(name=self.name, labels=labels, edges=edges, units=units)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the mechanism as a bundle, *.ldp.json, and return its path.

        Raises:
            ValueError: for another suffix, a file that exists, unless `overwrite`, or as `mechanism`.
        """
        return self.mechanism().save(path, overwrite=overwrite)


def plan(
    data: str | Path | Iterable[object],
    column: str | None = None,
    *,
    workload: str | None = None,
    epsilon: float | None = None,
    users: int | None = None,
    error: float | None = None,
    edges: str | None = None,
    labels: str | None = None,
    missing: Iterable[str] = (),
    unit: str | None = None,
    on_step: Callback | None = None,
    seconds: float | None = None,
) -> Plan:
    """Plan a survey of one question from data like those that it will collect.

    `data` is a CSV or Parquet file with a `column`, or the values themselves; None, NaN and the texts in `missing`
    stand for no answer. Bins or labels are proposed as `propose` says, unless `edges` or `labels` state them; whatever
    is in none of them counts as "other". The queries are those of `workload`, a name of the catalogue: by default
    `prefix` for numbers and dates (the share below every edge) and `histogram` for labels.
    Of `epsilon`, `users` (by default the rows of the data) and `error` (a standard error as a share of the users, root
    mean square over the queries) at most two are given. An error without epsilon asks for the smallest epsilon, up to
    1 %, that reaches it with so many users; otherwise epsilon is 1 by default. The call takes at most `seconds`;
    without them each search for a strategy takes at most 10.

    Raises:
        ValueError: for data that cannot be read or hold no answers, all three of epsilon, users and error, numbers out
            of range, or an error that epsilon 10 does not reach with so many users.

    Example:
        >>> import stratagem as st
        >>> found = st.plan([20, 30, 30, 40, None], users=10_000)
        >>> found.proposal.option, found.name, found.epsilon
        ('20:41:1,other', 'prefix', 1.0)
    """
    if epsilon is not None and users is not None and error is not None:
        raise ValueError(
            "epsilon, users and error were all given, but each follows from the other two: leave one out"
        )
    if not column and isinstance(data, str | Path):
        raise ValueError(f"no column of {data} was named: name the one that holds the answers")
    if isinstance(missing, str):
        raise ValueError(f"missing was given as the text {missing!r}, but is several: write a tuple of texts")
    column = column or ALONE
    counts = _counts(data, column, frozenset(text.strip() for text in missing))
    proposal = stated(edges, labels) or propose(counts, column)
    if unit and not proposal.ordered:
        raise ValueError(f"the unit {unit!r} was given, but {column!r} has labels: leave it out")
    x, others = proposal.count(counts)
    people = _people(int(x.sum()) if users is None else users)
    name = workload or ("prefix" if proposal.ordered else "histogram")
    if takes_numbers(name):
        raise ValueError(
            f"{name} asks about numbers, but the value {OTHER!r} is none: plan prefix, histogram or all-range"
        )
    asked = load(name, domain=_domain(column, len(x)))

    solver, complete = Auto(gap=CLOSE, max_seconds=granted(seconds, SECONDS)), True

    def solve(budget: float) -> Solution:
        return optimise(asked, budget, solver, on_step)

    error = None if error is None else _share(error)
    with within(granted(seconds)):
        if error is not None and epsilon is None:
            solution, complete = least_budget(asked, people, error, solve)
        else:
            solution = solve(check(EPSILON if epsilon is None else epsilon))
    return Plan(
        column=column,
        proposal=proposal,
        x=x,
        others=others,
        name=name,
        solution=solution,
        users=people,
        error=error,
        unit=unit,
        placeholders=placeholders(counts) if proposal.ordered else {},
        complete=complete,
    )


def _counts(data: str | Path | Iterable[object], column: str, missing: frozenset[str]) -> Counter[str | None]:
    if isinstance(data, str | Path):
        found = distinct(data, column)
    else:
        found = Counter(None if value is None or str(value) in NOTHING else str(value) for value in data)
    counts: Counter[str | None] = Counter()
    for text, rows in found.items():
        counts[None if text is not None and text.strip() in missing else text] += rows
    return counts


def _domain(column: str, size: int) -> Domain:
    try:
        return Domain((column,), (size,))
    except ValueError:
        return Domain((ALONE,), (size,))


def _people(users: int) -> int:
    if isinstance(users, bool) or not isinstance(users, int | np.integer) or users < 1:
        raise ValueError(
            f"users is {users!r}: give the whole number of people who will take part, for example 5000"
        )
    return int(users)


def _share(error: float) -> float:
    share = real(error)
    if not 0 < share < 1:
        raise ValueError(
            f"error is {error!r}: give a standard error as a share of the users, for example 0.01 for 1 %"
        )
    return share


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
