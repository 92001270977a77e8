"""The queries whose errors can be set beside each other: those that count users, where others have own units."""

from __future__ import annotations

import numpy as np

from stratagem.estimators.accuracy import ERROR, Accuracy, Users
from stratagem.estimators.estimator import Estimator
from stratagem.math.number import users_text
from stratagem.workloads import Workload
from stratagem.workloads.centring import parts
from stratagem.workloads.combined import Stack
from stratagem.workloads.explicit import Explicit, counting, counts_users
from stratagem.workloads.identity import Total


def comparable(workload: Workload) -> Workload:
    """Return the queries that count users, without weights, if there are any; else the workload itself.

    A mean error over counts and over sums of hours has no unit, and a weighted count has another one than users. The
    number of all users, which every strategy knows, is not among them where others are.
    """
    chosen = _counting(workload)
    plain = all(weight == 1 and counts_users(part) for weight, part in parts(workload))
    return workload if chosen is None or plain else chosen


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


def mean_variance(workload: Workload, estimator: Estimator, accuracy: Accuracy) -> float:
    """Return max_u t_u/p, what a user of the worst type adds to the variance of an answer, over `comparable` queries.

    `accuracy` is that of the estimator on all queries.
    """
    chosen = comparable(workload)
    found = accuracy if chosen is workload else estimator.accuracy(chosen)
    return found.worst_case_variance / chosen.queries


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
