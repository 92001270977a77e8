"""Accuracy of estimates: exact variances, users needed, and the queries whose errors can be set beside each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.number import real, users_text
from stratagem.workloads import Workload
from stratagem.workloads.centring import LISTED, first_dependent, levelled, parts
from stratagem.workloads.combined import Stack
from stratagem.workloads.explicit import Explicit, counting, counts_users
from stratagem.workloads.identity import Total
from stratagem.workloads.naming import Naming
from stratagem.workloads.product import Product

ERROR = 0.01
"""Standard error of an answer, as a share of the users, at which the users needed are stated."""
SMALLEST = 1e-9
"""Smallest standard error that may be asked for; the largest is its inverse."""
NOISE = 1e-12
"""Relative error of double precision, which must not round 80,000.000000001 users up to one more."""


class Users(NamedTuple):
    """Users needed for a standard error, whole numbers, even if everybody had the least favourable type."""

    root_mean_square: int
    """Users needed for the root mean square of the standard errors over the `estimated` answers."""
    least_accurate: int | None
    """Users enough for every single answer: no more than needed, but for prefixes and ranges of very many values an
    upper bound (see `largest_variance`); None where there are too many queries to compute each."""

    def __str__(self) -> str:
        """Return both numbers in words."""
        single = "not known" if self.least_accurate is None else users_text(self.least_accurate)
        return f"{users_text(self.root_mean_square)} people for a typical answer; for every answer: {single}"


class Errors(NamedTuple):
    """Standard errors of answers as shares of the users, if all of them have the least favourable type."""

    root_mean_square: float
    """Root mean square over the `estimated` answers."""
    least_accurate: float | None
    """That of the least accurate answer; None where the queries are too many to be looked at one by one."""


def errors(root_mean_square: float, least_accurate: float | None, users: int) -> Errors:
    """Return (variance/N)^(1/2) for the mean and the largest variance that one of N users adds to an answer."""
    single = None if least_accurate is None else math.sqrt(least_accurate / users)
    return Errors(math.sqrt(max(0.0, root_mean_square) / users), single)


def users_needed(variance: float, error: float = ERROR) -> int:
    """Return the least N with (N variance)^(1/2)/N <= error, at least one.

    N users of one type add N times the variance of one to the variance of a count; the standard error of the
    answer as a share of the users is (variance/N)^(1/2).

    Raises:
        ValueError: for an error that is no number from 1e-9 to 1e9.

    Example:
        >>> users_needed(2.5), users_needed(2.5, 0.1)
        (25000, 250)
    """
    share = real(error)
    if not SMALLEST <= share <= 1 / SMALLEST:
        raise ValueError(
            f"the standard error is {error!r}, but must be a share of the users from {SMALLEST:g} on: give for "
            "example 0.01"
        )
    users = variance / share**2
    return max(1, round(users) if abs(users - round(users)) <= NOISE * users else math.ceil(users))


def both_needed(root_mean_square: float, least_accurate: float | None, error: float = ERROR) -> Users:
    """Return the users needed, from the mean and the largest variance that one user adds to an answer."""
    single = None if least_accurate is None else users_needed(least_accurate, error)
    return Users(users_needed(root_mean_square, error), single)


class UnsupportedWorkloadError(ValueError):
    """The workload is not in the row space of the strategy: no unbiased estimate of it exists."""


@dataclass(frozen=True, eq=False)
class Accuracy:
    """The variance of a workload's answers under a strategy, for one user of each type.

    A user of type u adds t_u = sum_y Q[y, u] ||W R e_y||^2 - ||W e_u||^2 to the total variance of the
    answers, R = M^+ Q^T D^-1 (McKenna et al., VLDB 2020, Theorem 3.4, with R as in Theorem 3.10). R, M and D
    are those of a prior p over the user types: D = diag(n Q p), M = Q^T D^-1 Q; p = 1/n unless one is given.
    """

    __repr__ = brief

    objective: float
    """L(Q) = tr(M^+ V) = n sum_u p_u (t_u + V_uu), with p = 1/n Theorem 3.11's average case; per user type,
    L/n, on a domain that is not `counted`."""
    per_type: np.ndarray
    """t_u (n,): total variance over all queries added by one user of type u, in squared counts; (1,) where all
    types add the same."""
    queries: int
    """Number p of queries."""
    attributes: tuple[int, ...] | None = None
    """The attributes whose cells `per_type` lists, where others do not matter and n is large; None for all."""

    @property
    def worst_case_variance(self) -> float:
        """max_u t_u: total variance per user if everybody had the least favourable type."""
        return float(self.per_type.max())

    @property
    def average_variance(self) -> float:
        """mean_u t_u = (L(Q) - tr V)/n: total variance per user, averaged over the types."""
        return float(self.per_type.mean())

    def samples_for(self, alpha: float) -> float:
        """Return the users needed for a worst-case normalised variance alpha: max_u t_u / (p alpha).

        Normalised variance: the variance of an answer divided by N, averaged over the p queries, with the
        answers as fractions of the N users (McKenna et al., VLDB 2020, Corollary 5.3). It is the square of the
        standard error as a share of the users, so that a standard error of 1 %, root mean square over all queries,
        takes samples_for(0.0001) users; single answers may take more, as `Solution.users_for` says.

        Raises:
            ValueError: if alpha is not a positive number.
        """
        if not (alpha > 0 and math.isfinite(alpha)):
            raise ValueError(f"alpha is {alpha!r}: give the wanted normalised variance, for example 0.01")
        return self.worst_case_variance / (self.queries * alpha)

    def total_variance(self, x: np.ndarray) -> float:
        """Return Var(x) = sum_u x_u t_u, the exact total variance for the data vector x (n,)."""
        return float((np.asarray(x, dtype=float) * self.per_type).sum())


WORK = 1 << 34
"""Largest number of multiplications spent on all queries: some seconds."""
ENTRIES = 1 << 28
"""Largest number of queries times user types for which variances are computed."""


def check_domain(workload: Workload, domain_size: int) -> None:
    """Refuse a workload and a strategy with different numbers of user types."""
    if domain_size != workload.domain.size:
        raise ValueError(
            f"the strategy has {domain_size} user types and the workload {workload.domain.size}; "
            "both must speak of the same domain"
        )


def check_sizes(workload: Workload, sizes: tuple[int, ...]) -> None:
    """Refuse a workload over other attributes than those of a strategy."""
    if workload.domain.sizes != sizes:
        raise ValueError(
            f"the strategy has {len(sizes)} attributes of {math.prod(sizes)} cells and the workload the domain "
            f"{workload.domain}; both must speak of the same domain, with the same attribute sizes in the same order"
        )


def check_work(workload: Workload, products: int) -> None:
    """Refuse queries whose variances take too long one by one."""
    if products > WORK:
        raise ValueError(
            f"the variances of {workload.queries} queries over {workload.domain_size} user types were asked for one "
            "by one, which takes too long: ask for fewer queries, or use evaluate for their sum"
        )


def check_entries(workload: Workload) -> None:
    """Refuse queries whose variances take too much memory."""
    if workload.queries * workload.domain_size > ENTRIES:
        raise ValueError(
            f"the variances of {workload.queries} queries over {workload.domain_size} user types take too long: "
            "ask for fewer queries, or use evaluate for their sum"
        )


def check_support(workload: Workload, null: np.ndarray, shares: np.ndarray) -> None:
    """Refuse a workload with a query that depends on data that no report depends on (see `first_dependent`).

    `null` (n x k) is an orthonormal basis of the data vectors that leave all reports unchanged, in which the shares
    p (n,) of the user types may be too.

    Raises:
        UnsupportedWorkloadError: naming the first query that is not answered, and what it needs.
    """
    query = first_dependent(workload, null, shares)
    if query is not None:
        raise _refusal(workload, query, null, shares)


def _refusal(
    workload: Workload, query: int, null: np.ndarray, shares: np.ndarray
) -> UnsupportedWorkloadError:
    """Return the error that names a query and two user types between which reports do not tell enough for it."""
    inner = levelled(workload.unmerged)
    w = inner.adjoint(np.eye(1, workload.queries, query)[0]) if workload.queries <= LISTED else np.zeros(0)
    hidden = null @ (null.T @ (w - shares @ w)) if len(w) else null[:, 0]
    plus, minus = sorted((int(hidden.argmax()), int(hidden.argmin())))
    name = Naming.of(workload).label(query)
    return UnsupportedWorkloadError(
        f"the strategy cannot answer query {query} of {workload.queries}, {name!r}: it depends on a difference, "
        f"largest between the user types {plus} and {minus}, that no report depends on: use a "
        "strategy made for these queries, or leave this query out"
    )


def comparable(workload: Workload) -> Workload:
    """Return the queries that count users, without weights, if there are any; else the workload itself.

    A mean error over counts and over sums of hours has no unit, and a weighted count has another one than users. The
    number of all users, which every strategy knows, is not among them where others are.
    """
    chosen = _counting(workload)
    plain = all(weight == 1 and counts_users(part) for weight, part in parts(workload))
    return workload if chosen is None or plain else chosen


def ranges(workload: Workload) -> np.ndarray:
    """Return the largest difference (p,) that the value of one person makes to each answer: 1 for counts of people."""
    return np.concatenate([abs(weight) * np.ptp(_extremes(part), axis=0) for weight, part in parts(workload)])


def _extremes(workload: Workload) -> np.ndarray:
    """Return the least and the largest (2, p) that one person adds to each answer, whose queries have no weights."""
    match workload:
        case Total():
            return np.ones((2, 1))
        case Product(factors=factors):
            found = np.ones((1, 1))
            for factor in factors:
                own = _extremes(factor.unweighted[1])
                found = np.einsum("ap,bq->abpq", found, own).reshape(2 * len(found), -1)
            return np.stack([found.min(axis=0), found.max(axis=0)])
    if workload.given is None:
        return np.array([np.zeros(workload.queries), np.ones(workload.queries)])
    return np.stack([workload.given.min(axis=1), workload.given.max(axis=1)])


def _counting(workload: Workload) -> Workload | None:
    """Return the queries that count users, without weights; None where there are none."""
    if inner := workload.split():
        found = tuple(one for part in inner if (one := _counting(part)) is not None)
        return Stack(found) if found else None
    _, workload = workload.unweighted
    match workload:
        case Total():
            return None
        case Explicit():
            rows = workload.rows
            chosen = counting(rows) & (np.ptp(rows, axis=1) > 0)
            return Explicit(rows[chosen], workload.domain) if chosen.any() else None
    return workload if counts_users(workload) else None


def goal(workload: Workload) -> str:
    """Return the standard error for which people are counted, in words: 1 % of all people.

    Where answers are sums of numbers and not of people, it is 0.01 a person in the units of the queries; where there
    are both, it is that of those that count people.
    """
    chosen = comparable(workload)
    if not counts_users(chosen):
        return f"a standard error of {ERROR:g} a person, in the units of the queries"
    some = f" in the {chosen.queries:,} of {workload.queries:,} queries that count people"
    return f"a standard error of {100 * ERROR:g} % of all people{some * (chosen.queries < workload.queries)}"


def off(workload: Workload, size: str = "", answers: str = "") -> str:
    """Return `goal` as a clause on the answers: answers are typically off by 1 % of them (standard error).

    `size` is another error than that of the goal; `answers` begins the clause on others, such as the least accurate.
    """
    chosen = comparable(workload)
    if not answers:
        answers = "the answer is" if workload.queries == 1 else "answers are"
    if chosen.queries < workload.queries:
        answers = f"the {chosen.queries:,} of {workload.queries:,} answers that count people are"
    goal = (
        f"{100 * ERROR:g} % of them"
        if counts_users(chosen)
        else f"{ERROR:g} a person in the units of the queries"
    )
    return f"{answers} typically off by {size or goal}{'' if size else ' (standard error)'}"


def ask(users: Users, workload: Workload) -> list[str]:
    """Return the users needed (`users` for the standard error `ERROR`) as sentences that say how many to ask."""
    few, many = users_text(users.root_mean_square), users_text(users.least_accurate)
    said = [f"Ask {few} {'person' if few == '1' else 'people'}: {off(workload)}."]
    if (queries := comparable(workload).queries) == 1:
        return said
    if users.least_accurate is None:
        return [*said, "Single answers may take more people; they are too many to look at one by one."]
    which = "both answers are" if queries == 2 else f"every one of the {queries:,} answers is"
    if queries < workload.queries:
        which = f"every one of these {queries:,} is"
    return [*said, f"Ask {many} and {which} that exact."]
