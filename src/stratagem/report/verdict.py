"""The verdict: what epsilon means, the error to expect and the distance from the best; and the facts behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from stratagem.estimators import ERROR, ask, comparable, errors, mean_variance
from stratagem.math.number import at_most, count, counted, number_text, unbroken, upper, users_text
from stratagem.math.privacy import surest, told
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.usable import MEANS, TOTALS, Usability, usability
from stratagem.report.content import ReportContent
from stratagem.solvers import Status
from stratagem.study.attacks import attack
from stratagem.study.literature import SCOPE
from stratagem.study.solution import Solution
from stratagem.study.summary import (
    HARDEST,
    error_text,
    expect,
    fewer_sentence,
    hardest,
    minimum_sentence,
    minimum_text,
    openly_asked,
)
from stratagem.workloads import Attribute, Workload
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.question import LISTED, called, is_survey, questions

TYPICAL = (
    "The typical error of a question is the standard error of its answers, as a share of all people, or of what a mean "
    f"could be. Answers that are known exactly, such as the number of all people, do not count. {HARDEST}"
)
"""What the errors beside the questions of a survey are."""
PROPOSED = " The possible answers were proposed from example answers and tell something about those people."
"""What is said of values that were read from data."""
PERHAPS = (
    " This file does not say who chose the possible answers: if they were proposed from example answers, they tell "
    "something about those people."
)
"""What is said of values in a file that does not say where they are from."""
DELTA = 1e-6
"""Probability that the central epsilon of shuffled reports does not cover."""


def verdict(subject: ReportContent) -> dict[str, object]:
    """Return the title, what is asked of whom, and the verdict: sentences by what they are about, people first.

    `useless` are those on answers that cannot be used.
    """
    survey = is_survey(subject.solution.workload)
    judged = _judged(subject)
    useless = {name: one for name, one in judged.items() if not one.usable} if subject.cover.users else {}
    asked = f" {TOTALS[0].upper()}{TOTALS[1:]}" if survey and subject.solution.strategy.parted else ""
    enough = {"People": f"{_people(judged, useless)}{asked}"} if survey or useless else {}
    usable = {} if enough else {"Usable answers": _people(judged, useless)}
    accuracy = {"Accuracy": _accuracy(subject, {} if survey else judged)}
    told = {"Privacy": _privacy(subject), "Not protected": _unprotected(subject)}
    return {
        "title": subject.cover.title or _title(subject),
        "why": subject.cover.about,
        "about": _about(subject),
        "useless": [*enough, *accuracy] if useless and not survey else [],
        "questions": _lines(subject, judged) if survey else [],
        "means": MEANS if survey and subject.cover.users else "",
        "reasons": [f"{name}: {one}" for name, one in useless.items()] if survey else [],
        "sentences": {
            **(enough or accuracy),
            **told,
            **accuracy,
            **usable,
            **_price(subject, judged),
            "Distance from the best": _distance(subject),
        },
    }


def _title(subject: ReportContent) -> str:
    """Return what is asked, and the people to ask or the error to expect; the questions of a survey differ in that."""
    solution, users = subject.solution, subject.cover.users
    if users is not None and is_survey(solution.workload):
        lead = counted(users, "person")
    elif users is None:
        lead = f"ask {counted(solution.users_for().root_mean_square, 'person')}"
    else:
        counts = counts_users(comparable(solution.workload))
        error = errors(solution.mean_variance, None, users).root_mean_square
        size = error_text(error, counts).replace(" %", " percentage points")
        lead = f"typically off by {unbroken(size)}"
    return f"{called(subject.name, solution.workload.domain.names)} at ε = {solution.epsilon:g}: {lead}"


def _about(subject: ReportContent) -> dict[str, str]:
    workload, cover = subject.solution.workload, subject.cover
    names = dict.fromkeys(subject.told.label(query) for query in (0, workload.queries - 1))
    survey, alone = (
        is_survey(workload),
        subject.attributes[0].question if len(subject.attributes) == 1 else "",
    )
    over = counted(len(questions(workload)), "question") if survey else counted(workload.domain_size, "value")
    what = f"{workload.queries:,} answers to" if survey else f"{counted(workload.queries, 'query')} over"
    found = {
        "Question": cover.question or alone,
        "Possible answers": _possible(subject.attributes),
        "What is estimated": f"{what} {over}: {', …, '.join(names)}",
        "People": f"{count(cover.users)}, one randomised report each" if cover.users else "",
        "Date": cover.date,
    }
    return {term: words for term, words in found.items() if words}


def _possible(attributes: tuple[Attribute, ...]) -> str:
    if len(attributes) == 1:
        return values_text(attributes[0])
    some = [f"{one.name} ({count(one.size)} values)" for one in attributes[:LISTED]]
    return ", ".join([*some, f"{len(attributes) - LISTED:,} more"] if len(attributes) > LISTED else some)


def values_text(attribute: Attribute) -> str:
    """Return the values of an attribute as its owner calls them, some of them where there are many."""
    unit = f" {attribute.unit}" if attribute.unit else ""
    if (values := attribute.values).numbers:
        rest = (str(values.value(cell)) for cell in values.outside)
        return ", ".join([f"0 to {count(values.numbers - 1)}{unit}", *rest])
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
        f"ε = {epsilon:g} means: {unbroken(told(epsilon, seen='that report'))} This holds whatever else they know, and "
        f"for a guess of any fact about the answer.{every}"
    )


def _unprotected(subject: ReportContent) -> str:
    """Return what a report does not hide, in a sentence."""
    memo, asked = subject.mechanism and subject.mechanism.memo, subject.solution.workload
    part = " or which question it is about" * is_survey(asked)
    again = "several answers of one person" if memo else "a second report of one person"
    return (
        f"A report does not hide that somebody took part{part}, nor what is true of a whole group. {again[0].upper()}"
        f"{again[1:]} {'reveal' if memo else 'reveals'} more, and whoever runs the form could ask in the open instead."
        f"{_origin(subject)}"
    )


def _origin(subject: ReportContent) -> str:
    """Return what values that may be from example answers tell; nothing of those that are numbers alone."""
    if subject.cover.proposed is None:
        return PERHAPS * (bool(subject.file) and subject.solution.workload.domain.described)
    return PROPOSED * subject.cover.proposed


def _price(subject: ReportContent, judged: Mapping[str, Usability]) -> dict[str, str]:
    """Return how many people an ordinary survey takes for the same error; nothing where no answer counts people."""
    users, least = subject.cover.users, [one.error for one in judged.values() if one.counts and one.error]
    if not least:
        return {}
    return {"Price of privacy": openly_asked(min(least) if users else ERROR)}


def _accuracy(subject: ReportContent, judged: Mapping[str, Usability]) -> str:
    """Return the errors to expect; first whether answers can be used and what else would be enough, as plans do."""
    solution, users = subject.solution, subject.cover.users
    if users is None:
        return unbroken(" ".join(ask(solution.users_for(), solution.workload)))
    if is_survey(solution.workload):
        return TYPICAL
    useless = (str(one) for one in judged.values() if not one.usable)
    return unbroken(" ".join([*useless, *expect(solution, users), hardest(solution.problem)]))


def _people(judged: Mapping[str, Usability], useless: Mapping[str, Usability]) -> str:
    """Return in a sentence how many people are enough for all answers, and which cannot be used."""
    most = max((one.needed for one in judged.values() if one.needed is not None), default=None)
    several = len(judged) > 1
    if not useless:
        if several:
            return unbroken(f"{_enough(most)} for all {len(judged)} questions.")
        (one,) = judged.values()
        limit = f": usable is {one.limit}" if one.limit else ""
        return unbroken(
            f"{'The answers can be used. ' * (one.people > 1)}{_enough(most)} for usable answers{limit}."
        )
    users = next(iter(useless.values())).people
    who = "1 person" if users == 1 else f"{users_text(users)} people"
    about = "" if not several else f" to {len(useless)} of {len(judged)} questions"
    told = f"With {who} the answers{about} cannot be used."
    ask = "" if most is None else f" {_enough(most)}{' for all' * several}."
    return unbroken(f"{told}{ask}")


def _enough(people: int | None) -> str:
    """Return that about so many people are enough."""
    return "About 1 person is enough" if people == 1 else f"About {users_text(people)} people are enough"


def _lines(subject: ReportContent, judged: Mapping[str, Usability]) -> list[dict[str, object]]:
    """Return a line a question: its name, whether its answers can be used, the typical error, the people needed."""
    known = subject.cover.users is not None
    stated = {one.name: f" ({one.question})" for one in subject.attributes if one.question}
    lines = []
    for name, one in judged.items():
        needed = _enough(one.needed).replace("A", "a", 1)
        limit = f"; usable is {one.limit}, for which {needed}" if one.limit else ""
        widest = f"; {one.widest}" if one.widest else ""
        usable = f"{'' if one.usable else 'not '}usable with {counted(one.people, 'person')}"
        words = unbroken(
            f"{usable}: typical error {one.off}{widest}{limit}" if known else f"{needed} for usable answers"
        )
        lines.append(
            {"name": f"{name}{stated.get(name, '')}", "wrong": known and not one.usable, "words": words}
        )
    return lines


def _judged(subject: ReportContent) -> dict[str, Usability]:
    """Return whether answers of the cover's users can be used; of a survey question by question, else without a name.

    Where no number of users is stated, it is what one person tells, and the people needed are what counts.
    """
    solution, asked, users = subject.solution, subject.solution.workload, subject.cover.users or 1
    if not is_survey(asked):
        return {"": _usability(subject, asked, asked, solution.mean_variance, users)}
    found = {}
    for one in questions(asked):
        over, names = one.over(asked.domain), [asked.domain.names[place] for place in one.attributes]
        variance = mean_variance(over, solution.estimator, solution.estimator.accuracy(over))
        found[" x ".join(names)] = _usability(subject, one.workload, over, variance, users)
    return found


def _usability(
    subject: ReportContent, asked: Workload, over: Workload, variance: float, users: int
) -> Usability:
    """Return the verdict on queries, `over` all attributes, to whose answers each user adds so much variance."""
    own = [one for one in subject.attributes if one.name in asked.domain.names]
    gaps = max(len(one.values.outside) for one in own)
    one = subject.solution
    single = partial(one.estimator.largest, comparable(over))
    return usability(asked, one.epsilon, users, variance, other=gaps, single=single)


def standard_error(variance: float, users: int, counts: bool) -> str:
    """Return (variance/N)^(1/2) for N users as a text: the standard error if each adds so much variance.

    In per cent of all people for counts of people; for other queries a person, in their own units.
    """
    share = math.sqrt(variance / users)
    return f"{100 * share:.3g}\u00a0%" if counts else f"{share:.3g} a person"


def _distance(subject: ReportContent) -> str:
    """Return how far the best published mechanism and the proven minimum are, as commands say it."""
    solution, users = subject.solution, subject.cover.users
    near = nearness(solution)
    if least := minimum_text(solution.problem, solution.bounds, users):
        near += f" The proven minimum is {least}{' people' if users is None else ''}."
    return unbroken(f"{gain_sentence(solution, users)} {near}")


def gain_sentence(solution: Solution, users: int | None) -> str:
    """Return what ours gains over the best published mechanism, and which of them there was no time for."""
    known = solution.baselines
    late = known.late_sentence.replace("; ask with more seconds", "")
    return f"{fewer_sentence(solution, known, users, named=True, cut=bool(late))} {late}".rstrip()


def nearness(solution: Solution) -> str:
    """Return how far the variance is above the proven minimum, as commands say it; nothing where that is zero."""
    return minimum_sentence(solution, solution.bounds) if math.isfinite(solution.variance_gap) else ""


def _guess(subject: ReportContent) -> str:
    """Return how often the best guess of a person's value is right with a report and without; nothing without limit."""
    strategy = subject.solution.strategy
    if strategy.delta > 0 or not math.isfinite(strategy.epsilon):
        return ""
    return unbroken(attack(strategy, subject.solution.workload.domain.names).guessed)


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
    name, unit = solution.bounds.name, " per value" if solution.per_type else ""
    return {
        "solution": solution,
        "reports": count(solution.strategy.outputs),
        "objective": number_text(solution.objective) + unit,
        "bound": number_text(solution.lower_bound) + unit,
        "limit": f"no ε-LDP mechanism with {SCOPE} has less ({name}: {solution.bounds[name].meaning})",
        "gap": at_most(solution.variance_gap) if math.isfinite(solution.variance_gap) else "",
        "guess": _guess(subject),
        "shuffled": _shuffled(subject),
        "repeated": _repeated(subject.mechanism),
        "steps": _steps(subject.mechanism),
        "saved": solution.status in (Status.SAVED, Status.SAVED_INTERRUPTED),
        "file": subject.file or "a mechanism file",
    }
