"""The verdict: what epsilon means, the error to expect and the distance from the best; and the facts behind it."""

from __future__ import annotations

import math

from stratagem.accuracy import comparable, users_needed
from stratagem.catalogue.bibliography import MEANINGS, SCOPE
from stratagem.math.number import number_text, percent_apart, ratio, upper, users_text
from stratagem.math.privacy import surest
from stratagem.mechanism.mechanism import Mechanism
from stratagem.report.content import ReportContent
from stratagem.report.wording import BEST, above, at_most, count, counted, unbroken
from stratagem.solvers import Status
from stratagem.study.attack import attack
from stratagem.study.comparison import OPTIMISED
from stratagem.study.comparison_sweep import BOUND
from stratagem.workloads.domain import Attribute
from stratagem.workloads.explicit import counts_users

DELTA = 1e-6
"""Probability that the central epsilon of shuffled reports does not cover."""
LISTED = 12
"""Largest number of attributes, and of values of one attribute, that are written out."""


def verdict(subject: ReportContent) -> dict[str, object]:
    """Return the title, what is asked of whom, and the verdict: three sentences by what they are about."""
    return {
        "title": subject.cover.title or _title(subject),
        "about": _about(subject),
        "sentences": {
            "Privacy": _privacy(subject),
            "Accuracy": _accuracy(subject),
            "Distance from the best": _distance(subject),
        },
    }


def _title(subject: ReportContent) -> str:
    """Return what is asked and how close to the best possible unbiased mechanism it is."""
    gap = subject.solution.gap
    if not math.isfinite(gap):
        return f"{subject.name} at ε = {subject.solution.epsilon:g}"
    close = "" if gap < BEST else f"within {above(gap)} of "
    return f"{subject.name} at ε = {subject.solution.epsilon:g}: {close}the best possible unbiased mechanism"


def _about(subject: ReportContent) -> dict[str, str]:
    workload, cover = subject.solution.workload, subject.cover
    names = dict.fromkeys(subject.naming.label(query) for query in (0, workload.queries - 1))
    found = {
        "Question": cover.question,
        "Possible answers": _possible(subject.attributes),
        "What is estimated": f"{counted(workload.queries, 'query')} over "
        f"{counted(workload.domain_size, 'user type')}: {', …, '.join(names)}",
        "Users": f"{count(cover.users)}, one randomised report each" if cover.users else "",
        "Date": cover.date,
    }
    return {term: words for term, words in found.items() if words}


def _possible(attributes: tuple[Attribute, ...]) -> str:
    if len(attributes) == 1:
        return values_text(attributes[0])
    some = [f"{one.name} ({count(one.size)} values)" for one in attributes[:LISTED]]
    return " × ".join([*some, f"{len(attributes) - LISTED:,} more"] if len(attributes) > LISTED else some)


def values_text(attribute: Attribute) -> str:
    """Return the values of an attribute as its owner calls them, some of them where there are many."""
    unit = f" {attribute.unit}" if attribute.unit else ""
    if not (attribute.labels or attribute.edges):
        return f"0 to {count(attribute.size - 1)}{unit}"
    last = attribute.size - 1
    shown = range(last) if attribute.size <= LISTED else range(LISTED - 2)
    some = [attribute.words(k, k) for k in shown] + ["…"] * (attribute.size > LISTED)
    return ", ".join([*some, attribute.values_text(last, last)])


def _privacy(subject: ReportContent) -> str:
    epsilon = subject.solution.epsilon
    memo, every = subject.mechanism and subject.mechanism.memo, ""
    if memo:
        sure = unbroken(surest(float(memo.permanent)))
        every = f" All reports about one value together, however many, have ε = {upper(float(memo.permanent))}: {sure}."
    return (
        f"ε = {epsilon:g} means: whoever thinks a fact about one person's answer as likely as not before seeing that "
        f"person's report is {unbroken(surest(epsilon))} sure of it afterwards, whatever else they know.{every}"
    )


def _accuracy(subject: ReportContent) -> str:
    solution, users = subject.solution, subject.cover.users
    if users is None:
        return f"{solution.users_sentence()}."
    mean, single, chosen = solution.mean_variance, solution.largest_comparable, comparable(solution.workload)
    every = "" if single is None else f", and {_error(subject, single)} for the least accurate one"
    unit = "of all users" if counts_users(chosen) else "in the units of the queries"
    if chosen.queries < solution.workload.queries:
        unit += f" in the {chosen.queries:,} of {solution.workload.queries:,} queries that count users"
    return (
        f"With {users_text(users)} users, an answer has a standard error of {_error(subject, mean)} {unit}, "
        f"root mean square over the queries{every}, even if everybody had the least favourable type."
    )


def _error(subject: ReportContent, variance: float) -> str:
    return standard_error(subject, variance, counts_users(comparable(subject.solution.workload)))


def standard_error(subject: ReportContent, variance: float, counts: bool) -> str:
    """Return (variance/N)^(1/2) for the N users of the cover: the standard error if each adds so much variance.

    In per cent of all users for counts of users; for other queries a user, in their own units.
    """
    share = math.sqrt(variance / (subject.cover.users or 1))
    return f"{100 * share:.3g}\u00a0%" if counts else f"{share:.3g} a user"


def _distance(subject: ReportContent) -> str:
    """Return how far the best published mechanism and the bound are, in the terms of the sentence on accuracy."""
    place = subject.line.sweep.places.index(subject.solution.epsilon)
    found = {name: line[place] for name, line in subject.line.sweep.variances().items()}
    ours, least = found.pop(OPTIMISED) or 0.0, found.pop(BOUND) or 0.0
    published = {name: variance for name, variance in found.items() if variance is not None}

    nobody, asked = f"no ε-LDP mechanism with {SCOPE}", subject.cover.users is not None
    words = _error if asked else _needed
    limit = f"{nobody} {'gets below' if asked else 'manages with fewer than'} {words(subject, least)}"
    if least <= 0 if asked else users_needed(least) <= 1:
        limit = f"the lower bound says nothing at ε = {subject.solution.epsilon:g}"
    if not published:
        return f"Published mechanisms were not set up on a domain of this size; {limit}."
    name = min(published, key=published.__getitem__)
    theirs = f"{'with as many it reaches ' if asked else ''}{words(subject, published[name])}"
    return (
        f"For the same error the best published mechanism, {name}, needs {_more(published[name], ours)} ({theirs}), "
        f"and {limit}."
    )


def _needed(_: ReportContent, variance: float) -> str:
    return counted(users_needed(variance), "user")


def _more(theirs: float, ours: float) -> str:
    times = ratio(theirs, ours)
    if times is None:
        return "infinitely many users"
    if abs(times - 1) <= BEST:
        return "as many users"
    return f"{unbroken(percent_apart(times))} {'more' if times > 1 else 'fewer'} users"


def _guess(subject: ReportContent) -> str:
    """Return how often the best guess of a user's type is right with a report and without, nothing without a limit."""
    strategy = subject.solution.strategy
    if strategy.delta > 0 or not math.isfinite(strategy.epsilon):
        return ""
    found = attack(strategy)
    return unbroken(
        f"at most {upper(100 * found.guess)} % with the report, {100 * found.blind:.3g} % without"
    )


def _shuffled(subject: ReportContent) -> str:
    """Return the central epsilon of the cover's users, or nothing without users or a finite local epsilon."""
    strategy, users = subject.solution.strategy, subject.cover.users
    if users is None or strategy.delta > 0 or not math.isfinite(strategy.epsilon):
        return ""
    found = strategy.blanket.shuffled(users, DELTA)
    return f"ε = {upper(found.epsilon)} with δ = {found.delta:g}"


def _repeated(mechanism: Mechanism | None) -> str:
    """Return the epsilons of repeated reports of one person, or nothing without a memo."""
    if mechanism is None or mechanism.memo is None:
        return ""
    memo = mechanism.memo
    return f"ε = {upper(memo.epsilon(10))} for 10, {upper(float(memo.permanent))} for any number"


def _steps(mechanism: Mechanism | None) -> str:
    """Return the budgets between neighbouring values on a line, or nothing where all are protected alike."""
    if mechanism is None or not mechanism.steps:
        return ""
    least, most = (f(map(float, mechanism.steps)) for f in (min, max))
    return f"ε = {upper(most)}" if least == most else f"ε = {upper(least)} to {upper(most)}"


def facts(subject: ReportContent) -> dict[str, object]:
    """Return the numbers of the mechanism and where it comes from, as texts."""
    solution = subject.solution
    name, unit = solution.bounds.name, " per user type" if solution.per_type else ""
    return {
        "solution": solution,
        "reports": count(solution.strategy.outputs),
        "objective": number_text(solution.objective) + unit,
        "bound": number_text(solution.lower_bound) + unit,
        "limit": f"no ε-LDP mechanism with {SCOPE} has less ({name}: {MEANINGS[name].title})",
        "gap": at_most(solution.gap),
        "guess": _guess(subject),
        "shuffled": _shuffled(subject),
        "repeated": _repeated(subject.mechanism),
        "steps": _steps(subject.mechanism),
        "saved": solution.status in (Status.SAVED, Status.SAVED_INTERRUPTED),
        "file": subject.origin.file or "a bundle",
    }
