"""A result for people: how many to ask, beside published mechanisms and the proven minimum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stratagem.bounds import AnyEstimator, Bounds
from stratagem.estimators import (
    ERROR,
    Accuracy,
    Users,
    ask,
    both_needed,
    comparable,
    errors,
    mean_variance,
    off,
    users_needed,
)
from stratagem.io.screen import folded
from stratagem.io.table import Table
from stratagem.math.number import above_minimum, counted, number_text, percent_apart, users_text
from stratagem.solvers.problem import Problem, problem_of, relative_gap
from stratagem.study.literature import SCOPE
from stratagem.workloads.centring import estimated
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.question import is_survey
from stratagem.workloads.serial import to_data

if TYPE_CHECKING:
    from stratagem.mechanism.export.certificate_file import Certificate
    from stratagem.workloads import Workload


class Found:
    """A strategy with what it needs: a solution, or a published mechanism at its best."""

    problem: Any
    """What it was made for."""
    strategy: Any
    objective: Any
    """The variance that was to be small."""
    accuracy: Any
    """Exact variances of the strategy on the workload."""
    estimator: Any
    """The estimator of the strategy for the prior: exact variances, and answers from counts."""

    @cached_property
    def mean_variance(self) -> float:
        """The variance that one user of the worst type adds to an answer: mean of the `comparable` and `estimated`."""
        return mean_variance(self.problem.workload, self.estimator, self.accuracy)

    @cached_property
    def largest_comparable(self) -> float | None:
        """The largest variance that one user adds to any of the `comparable` answers; None for too many queries."""
        return self.estimator.worst(comparable(self.problem.workload))

    def users_for(self, error: float = ERROR) -> Users:
        """Return the users needed for a standard error, as a share of the users, if all had the worst type.

        First for the root mean square over the `estimated` answers, then for every single answer; None in place of the
        second where the queries are too many to be looked at one by one.

        Raises:
            ValueError: if the error is not a positive number.

        Example:
            >>> import stratagem as st
            >>> st.optimise(st.histogram(8), epsilon=1.0).users_for(0.01)
            Users(root_mean_square=27171, least_accurate=37595)
        """
        return both_needed(self.mean_variance, self.largest_comparable, error)


OURS, PUBLISHED, MINIMUM = "Stratagem", " (published)", "proven minimum"
"""Names of the rows of a table of people needed."""
HARDEST = "The numbers hold whatever people answer."
UNMOVED = "The prior does not lower them: it only says for which answers the mechanism was made."
"""What is said besides where there is a prior."""
EVERY = f"every mechanism with {SCOPE}"
ALIKE = 5e-4
"""Relative difference below which two numbers are the same, as it would read 0.0 %."""
LOOKED_AT = 128
"""User types up to which every answer of every published mechanism is looked at, which takes a second."""
WHOSE = {
    "worst-query": "for the hardest answer, on average over the values",
    "worst-case": "if everybody had the hardest value",
}
"""Whose variance an objective is, where that is no average over the user types."""
CUT = (
    "Time ended the search for a larger proven minimum: the bound alone, asked for with 300 seconds, may prove that "
    "more people are needed."
)
"""What is said of bounds that time cut short, and how to go on."""
ALL = "over all {:,} queries with their units and weights"
"""Which queries a bound is on, where only some of them can be compared."""
FAR = 100.0
"""Ratio above which a number of times is said, not per cents."""


def summary(
    problem: Problem,
    bounds: Bounds,
    ours: Found,
    published: Mapping[str, Found] | None,
    name: str = OURS,
    shown: int = 1,
    users: int | None = None,
    *,
    cut: bool = False,
) -> list[str | Table]:
    """Return what is said first of a result: the people to ask, a table of them, and how near the minimum they are.

    `published` are mechanisms to set beside ours, which is called `name`; the best `shown` of them stand in the table.
    None says nothing of them; `cut` says that there was no time for some. Where the number of `users` is known, the
    errors to expect take the place of people.
    """
    ranked = sorted((published or {}).items(), key=lambda one: people_needed(one[1]))
    said = (
        ask(ours.users_for(), problem.workload) if users is None else [*expect(ours, users), hardest(problem)]
    )
    rows = {name: ours} | {f"{other}{PUBLISHED * (shown == 1)}": one for other, one in ranked[:shown]}
    below = [
        hardest(problem)
        if published is None
        else fewer_sentence(ours, [one for _, one in ranked], users, cut=cut),
        minimum_sentence(ours, bounds),
    ]
    return ["\n".join(said), _people(problem, bounds, rows, users), "\n".join(below)]


def hardest(problem: Problem) -> str:
    """Return whose answers the people needed are stated for, in a sentence."""
    return HARDEST if problem.prior is None else f"{HARDEST} {UNMOVED}"


def openly_asked(error: float, which: str = "has a standard error as small") -> str:
    """Return how many people an ordinary survey takes for the same error as a share of them, in a sentence.

    A random sample of N people that answer in the open has the standard error (p (1 - p)/N)^(1/2) <= 1/(2 N^(1/2)).

    >>> openly_asked(0.13)
    'Without randomisation a random sample of 15 people has a standard error as small: that is the price of privacy.'
    """
    people = counted(max(1, math.ceil(0.25 / error**2 * (1 - 1e-12))), "person")
    return f"Without randomisation a random sample of {people} {which}: that is the price of privacy."


def text(parts: Iterable[str | Table]) -> str:
    """Return sentences and tables as text of at most `WIDTH` columns, an empty line between them."""
    shown = (
        part.text()
        if isinstance(part, Table)
        else "\n".join(x for line in part.split("\n") for x in folded(line))
        for part in parts
        if part
    )
    return "\n\n".join(shown)


def _people(problem: Problem, bounds: Bounds, rows: Mapping[str, Found], users: int | None) -> Table:
    """Return the people needed as a table, for `users` the errors: a row a mechanism, the proven minimum below."""
    workload, cells = problem.workload, list[tuple[str, ...]]()
    for name, one in rows.items():
        both = one.users_for() if users is None else errors(one.mean_variance, one.largest_comparable, users)
        cells.append((name, *(_number(value, users, workload) for value in both)))
    if least := minimum_text(problem, bounds, users):
        cells.append((MINIMUM, *(("", least) if problem.single else (least, ""))))
    heading = "people needed" if users is None else f"error with {users_text(users)} people"
    table = Table((heading, "typical answer", "every answer"), cells, bold=0)
    return table if workload.queries > 1 else table.without("every answer")


def minimum_text(problem: Problem, bounds: Bounds, users: int | None) -> str:
    """Return the least number of people that any mechanism needs, for `users` the least error; "" where unknown."""
    least = fewest_users(problem, bounds) if users is None else least_error(problem, bounds, users)
    return _number(least, users, problem.workload) if least > (1 if users is None else 0) else ""


def _number(value: Any, users: int | None, workload: Workload) -> str:
    """Return a number of people as text, for `users` an error as a share of them, or a person in other units."""
    if users is None or value is None:
        return users_text(value)
    return error_text(value, counts_users(comparable(workload)))


def error_text(error: float, counts: bool) -> str:
    """Return an error as text: in per cent of the people, or a person where queries do not count people."""
    return f"{100 * error:.3g} %" if counts else f"{error:.3g} a person"


def expect(found: Found, users: int) -> list[str]:
    """Return the errors to expect with so many users as a sentence."""
    workload = found.problem.workload
    mean, single = errors(found.mean_variance, found.largest_comparable, users)
    counts, size = counts_users(comparable(workload)), error_text(mean, counts_users(comparable(workload)))
    size += f" of them, or {counted(max(1, round(mean * users)), 'person')}" if counts else ""
    size += " (standard error)"
    said = [f"With {users_text(users)} people and epsilon {found.problem.epsilon:g}, {off(workload, size)}."]
    if single is not None and workload.queries > 1:
        most = f"{error_text(single, counts)}{' of them' * counts}"
        said.append(f"Every single answer is typically off by {most} or less.")
    return said


def least_error(problem: Problem, bounds: Bounds, users: int) -> float:
    """Return a lower bound on the error of unbiased estimates from one report of each user, as `fewest_users`."""
    return errors(_least(problem, bounds), None, users).root_mean_square


def _least(problem: Problem, bounds: Bounds) -> float:
    """Return what one user adds to the variance of an answer at least, in the mean over those of the objective."""
    return least_added(problem, bounds) / (1 if problem.single else estimated(problem.counting.workload))


def least_added(problem: Problem, bounds: Bounds) -> float:
    """Return what one user adds to the variance of the `comparable` answers at least, by bounds on these alone.

    Zero, which says nothing, where finding those takes long.
    """
    if (asked := problem.counting) is problem:
        return problem.least(bounds)
    long = problem.single and asked.workload.domain_size > LOOKED_AT
    return 0.0 if long else asked.least(asked.bounds)


def fewer_sentence(
    ours: Found, published: Sequence[Found], users: int | None, *, named: bool = False, cut: bool = False
) -> str:
    """Return how many people fewer ours needs than the best published mechanism, whose name may be said.

    `cut` says that there was no time for some of them.
    """
    if not published:
        return f"Published mechanisms were not set up on a domain of this size. {hardest(ours.problem)}"
    rival = min(published, key=people_needed)
    best = f"the best published{' mechanism' * named}{' that there was time for' * cut}{f', {rival}' * named}"
    needed, least = people_needed(ours), people_needed(rival)
    words = ("fewer people than", "more people than", "as many people as")
    many = needed > FAR * least
    apart = f"{number_text(needed / least)} times {words[-1]}" if many else less(needed, least, words)
    which = "every answer" if ours.problem.single else "a typical answer"
    always = "" if users is not None else f"\n{hardest(ours.problem)}"
    return f"For {which} {apart} {best}.{_better(ours, published, users)}{always}"


def _better(ours: Found, published: Sequence[Found], users: int | None) -> str:
    """Return which published mechanism needs fewer people for every answer, "" for none or where that takes long.

    For so many `users` it is off by less.
    """
    every, workload = ours.largest_comparable, ours.problem.workload
    known = workload.queries == 1 or ours.problem.single  # the typical answer is every answer
    if workload.domain_size > LOOKED_AT:  # of a survey those that ask each question alone
        published = [one for one in published if one.strategy.by_table] if is_survey(workload) else []
    if every is None or known:
        return ""
    others = [(one.largest_comparable, one) for one in published if one.largest_comparable is not None]
    least, best = min(others, key=lambda one: one[0], default=(every, None))
    if least >= every * (1 - ALIKE):
        return ""
    if users is not None:
        size = _number(errors(least, None, users).root_mean_square, users, workload)
        return f"\nWith {best} every single answer is typically off by {size} or less."
    return f"\nFor every answer {best} needs {users_text(users_needed(least))} people."


def minimum_sentence(found: Found, bounds: Bounds) -> str:
    """Return how far above their proven minimum the people needed are, and the variance that was to be small.

    It says whose values each holds for, and of which queries it is where people are needed for others.
    """
    problem, people = found.problem, ""
    over = "" if problem.counting is problem else f", {ALL.format(problem.workload.queries)}"
    if minimum_text(problem, bounds, None):
        ratio = people_needed(found) / fewest_users(problem, bounds)
        whose = ", which is proven for the average over the values" * problem.single
        people = f"People needed {above_minimum(ratio - 1)}{whose or ', for the hardest value'}.\n"
    gap = variance_gap(problem, bounds, found.objective, found.accuracy)
    average = "on average over the values" if problem.prior is None else "on average under the prior"
    cut = f"\n{CUT}" if bounds.cut else ""
    return f"{people}Variance {above_minimum(gap)}, {WHOSE.get(problem.kind, average)}{over}.{cut}"


def variance_gap(problem: Problem, bounds: Bounds, objective: float, accuracy: Accuracy) -> float:
    """Return what one user adds to the variance of the answers / the least that any mechanism adds - 1.

    L = n times that variance + ||W||_F^2 holds a constant besides, so that its gap is smaller.
    """
    added = accuracy.average_variance if problem.plain else problem.added(objective)
    return relative_gap(added, problem.least(bounds))


def bound_sentences(problem: Problem, bounds: Bounds) -> str:
    """Return what lower bounds on the objective say of the people that any mechanism needs."""
    at, asked = f"At epsilon {problem.epsilon:g}", problem.workload
    if problem.counting is not problem:
        return f"{at} the objective of {EVERY} is at least {number_text(bounds.best)}, {ALL.format(asked.queries)}."
    least = fewest_users(problem, bounds)
    if least <= 1:
        return f"{at} the lower bound is too small to say how many people are needed."
    goal = off(asked, answers="every single answer is" if problem.single else "")
    return f"{at} at least {users_text(least)} people are needed so that {goal}. This holds for {EVERY}."


def proof_sentences(found: Certificate) -> str:
    """Return what a proof of a bound shows, for which queries, and how many people that takes."""
    asked, epsilon, prior = found.workload, found.proof.epsilon, found.proof.prior
    under = "" if prior is None else ", under the prior that the file holds"
    said = (
        f"At epsilon {epsilon:g} the objective of {EVERY} is at least {found.value:,.6f}{under}. It is for "
        f"{asked.queries:,} queries of the kind {to_data(asked)['kind']} over domain {asked.domain}."
    )
    least = users_needed(problem_of(asked, epsilon, prior=prior).added(found.value) / estimated(asked))
    known = comparable(asked) is asked and least > 1
    return f"{said}\nSo at least {least:,} people are needed so that {off(asked)}." if known else said


def any_estimator_sentences(problem: Problem, bound: AnyEstimator) -> str:
    """Return what every estimator, biased or not, has as an error from the reports of so many people."""
    workload = problem.workload
    if comparable(workload) is workload:
        share = f"{100 * bound.typical_error:.3g} % of all people"
        units = f"{bound.typical_error:.3g} a person in the units of the queries"
        error = off(workload, f"at least {share if counts_users(workload) else units}")
    else:
        error = f"the squared errors of all shares add up to at least {number_text(bound.squared_error)}"
    return (
        f"From one report each of {counted(bound.people, 'person')} drawn from a population {error}, for some "
        "population, however they are estimated, biased or not. This holds also where the devices of later people know "
        "the reports of earlier ones."
    )


def bound_table(bounds: Bounds) -> Table:
    """Return every known bound on the objective with its meaning, the best one in bold."""
    rows = [(one.name, one.meaning, f"{one.value + bounds.offset:,.6f}") for one in bounds]
    best = [one.name for one in bounds].index(bounds.name)
    return Table(("lower bound", "what it is", "objective"), rows, words=2, bold=best)


def fewest_users(problem: Problem, bounds: Bounds) -> int:
    """Return the users that any unbiased mechanism needs for the `goal`, by lower bounds on the objective.

    For the root mean square over the queries; for the least accurate answer where the objective is its variance.
    """
    return users_needed(_least(problem, bounds))


def people_needed(found: Found) -> int:
    """Return the users needed for the `goal`, in the measure of `fewest_users`."""
    single = found.largest_comparable if found.problem.single else None
    return users_needed(found.mean_variance if single is None else single)


def less(ours: float, theirs: float, words: tuple[str, str, str]) -> str:
    """Return by how many per cent of theirs our number is less or more, in `words` for less, more and the same."""
    less, more, same = words
    ratio = ours / theirs if theirs > 0 else 1.0
    return same if abs(1 - ratio) < ALIKE else f"{percent_apart(ratio)} {less if ratio < 1 else more}"
