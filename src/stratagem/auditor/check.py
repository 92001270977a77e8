"""The checks of an audit: tests whether the counts of reports agree with the probabilities of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.auditor.goodness import GROUPS, byte_fit, fit, groups, pair_fit, position_fit, share_fit
from stratagem.auditor.plan import AuditPlan
from stratagem.auditor.runner import Reports

CHECKS = {
    "outputs": "outputs come as often as the table says (chi-squared)",
    "parts": "parts of a survey are drawn as often as their shares say (chi-squared)",
    "placements": "patterns are placed on attributes as often as the table says (chi-squared)",
    "event share": "the outputs that favour a user type come as often as the table says (exact binomial)",
    "new clients": "the first report of a new client comes from the table, too (both tests)",
    "new processes": "the first report of a new process comes from the table, too (both tests)",
    "new devices": "the first report of a new device with a memo comes from the table, too (both tests)",
    "permanent reports": "permanent reports come as often as their own table says (both tests)",
    "permanent pairs": "two devices have one permanent report of a value as often as chance has it (exact binomial)",
    "memo": "a device that is started again repeats the same permanent report as often as stated (exact binomial)",
    "replaced": "what replaces a permanent report does not favour the value (exact binomial)",
    "independence": "an output does not depend on the last one, of all or of its type (chi-squared of pairs)",
    "value before": "an output does not favour the value asked before (exact sign test)",
    "id bytes": "the bytes of ids are uniform (chi-squared)",
    "schema": "every report has the form that the mechanism file describes",
    "fresh ids": "no id comes twice",
}
"""Statement that each check tests, by the name of the check."""
Found = tuple[str, int | None, float]
"""Name, user type and p-value of a check."""


@dataclass(frozen=True)
class Check:
    """One test of the reports about one user type, or about all."""

    name: str
    """Name of the check, a key of CHECKS."""
    user_type: int | None
    """User type that is tested; None for a test of all user types together."""
    p_value: float
    """Probability that a correct client shows at least this deviation; 0 for what a correct client never does."""
    level: float
    """Significance level: the check fails if the p-value is below it."""

    @property
    def passed(self) -> bool:
        """Whether the p-value reaches the level."""
        return self.p_value >= self.level


@dataclass(frozen=True, eq=False)
class Asked:
    """The questions of an audit in their order, with the reports that answered them."""

    places: np.ndarray
    """Place in the plan's list of user types for each question, of shape (k,)."""
    reports: Reports

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of questions about each user type of the plan, up to the last one asked, by its place."""
        return np.bincount(self.places)

    @cached_property
    def questions(self) -> list[np.ndarray]:
        """Numbers of the questions about each user type of the plan, one array for each place."""
        order = np.argsort(self.places, kind="stable")
        return np.split(order, np.cumsum(self.counts)[:-1])

    @cached_property
    def outputs(self) -> list[np.ndarray]:
        """Outputs about each user type of the plan, as `questions`, without those of malformed reports."""
        found = (self.reports.outputs[questions] for questions in self.questions)
        return [one[one >= 0] for one in found]


def checked(
    plan: AuditPlan,
    asked: Asked,
    firsts: Mapping[str, Asked],
    share: float,
    *,
    shuffled: bool,
    devices: tuple[Sequence[Found], Sequence[Found], Sequence[Reports]] = ((), (), ()),
) -> tuple[Check, ...]:
    """Return all checks; those of all user types together share half the false-alarm rate, the others the rest.

    The order of the questions must be random if it is `shuffled`; without that what an output says of the value
    before it is left out. `devices` are checks of all devices together and of each by itself, and their reports.
    Of malformed reports the ids alone are tested; a check that has no report to test is left out.
    """
    whole: list[Found] = []
    if asked.reports.formed:
        whole += [*_pooled(plan, asked), *(("independence", None, p) for p in _independence(plan, asked))]
        whole += [("value before", None, _value_before(plan, asked))] if shuffled else []
    whole += [one for name, first in firsts.items() for one in first_checks(plan, name, first)]
    whole += devices[0]
    if len(ids := asked.reports.ids_at(np.arange(len(asked.places)))):
        whole.append(("id bytes", None, position_fit(ids)))
    each = [*_each(plan, asked), *devices[1]]
    found = [Check(name, u, p, share / 2 / len(part)) for part in (whole, each) for name, u, p in part]
    every = [asked.reports, *(first.reports for first in firsts.values()), *devices[2]]
    level = share / 2 / max(len(whole), 1)
    found.append(Check("schema", None, float(not any(one.malformed for one in every)), level))
    ids = np.concatenate([one.ids_at(np.arange(len(one.outputs))) for one in every])
    if len(ids):
        found.append(Check("fresh ids", None, float(not repeated(ids)), level))
    return tuple(found)


def _each(plan: AuditPlan, asked: Asked) -> Iterator[Found]:
    """Yield the checks of every user type by itself."""
    for place, u in enumerate(plan.user_types):
        outputs, favoured = asked.outputs[place], plan.favoured[place]
        if len(outputs):
            for name, partition in plan.partitions[place]:
                yield name, u, fit(partition.counts(outputs), partition.probabilities)
            hits = int(favoured.holds(outputs).sum())
            yield "event share", u, share_fit(hits, len(outputs), favoured.probability)
        if len(ids := asked.reports.ids_at(asked.questions[place])):
            yield "id bytes", u, byte_fit(ids)


def _pooled(plan: AuditPlan, asked: Asked) -> Iterator[Found]:
    """Yield the checks of all user types together; they are tested as if all had the mean probabilities.

    A sum of counts that come from different probabilities varies less than one that comes from their mean
    (Hoeffding 1956 for the binomial tails): the tests are conservative.
    """
    weights = asked.counts / asked.counts.sum()
    for k, (name, first) in enumerate(plan.partitions[0]):
        counts, mean = np.zeros(len(first.probabilities), np.int64), np.zeros(len(first.probabilities))
        for outputs, partitions, weight in zip(asked.outputs, plan.partitions, weights, strict=False):
            counts += partitions[k][1].counts(outputs)
            mean += weight * partitions[k][1].probabilities
        yield name, None, fit(counts, mean)
    known = asked.reports.outputs >= 0
    places, outputs = asked.places[known], asked.reports.outputs[known]
    share = np.array([one.probability for one in plan.favoured])[places].mean() if len(places) else 0.0
    hits = int(_favours(plan, places, outputs).sum())
    yield "event share", None, share_fit(hits, len(places), float(share))


def first_checks(plan: AuditPlan, name: str, first: Asked) -> Iterator[Found]:
    """Yield the checks of reports of which each comes from another client, all user types together."""
    if first.reports.formed:
        yield from ((name, None, p) for _, _, p in _pooled(plan, first))


def _favours(plan: AuditPlan, places: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return whether each output (k,) favours the user type at a place of the plan (k,); -1 favours none."""
    found = np.zeros(len(outputs), dtype=bool)
    order = np.argsort(places, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(places[order])) + 1):
        part = part[outputs[part] >= 0]
        if len(part):
            found[part] = plan.favoured[places[part[0]]].holds(outputs[part])
    return found


def _independence(plan: AuditPlan, asked: Asked) -> list[float]:
    """Return p-values for the independence of an output from the previous one: over all reports, and by user type."""
    group = np.full(len(asked.places), -1)
    share = np.zeros((len(plan.user_types), GROUPS))
    for place in range(len(asked.counts)):
        partition, questions = plan.partitions[place][0][1], asked.questions[place]
        questions = questions[asked.reports.outputs[questions] >= 0]
        of_class = groups(partition.probabilities)
        share[place] = np.bincount(of_class, partition.probabilities, GROUPS)
        group[questions] = of_class[partition.classes(asked.reports.outputs[questions])]
    by_type = np.concatenate(asked.questions)
    return [pair_fit(group[order], asked.places[order], share) for order in (slice(None), by_type)]


def _value_before(plan: AuditPlan, asked: Asked) -> float:
    """Return the p-value for outputs being independent of the user type of the previous question.

    The test takes two outputs and the user types of the two questions before them. As the order of the
    questions is random, the outputs favour their own preceding user types more often than the exchanged ones
    with probability 1/2, ties left out.
    """
    count = len(asked.places) // 4
    before, outputs = asked.places[: 4 * count : 2], asked.reports.outputs[1 : 4 * count : 2]
    matched = _favours(plan, before, outputs).reshape(2, -1).sum(axis=0)
    exchanged = _favours(plan, np.roll(before, count), outputs).reshape(2, -1).sum(axis=0)
    more, fewer = int((matched > exchanged).sum()), int((matched < exchanged).sum())
    return share_fit(more, more + fewer, 0.5)


def repeated(ids: np.ndarray) -> int:
    """Return how many of the ids (k x 16 bytes) are repetitions; random ids of 128 bits practically never repeat."""
    halves = np.ascontiguousarray(ids).view(np.uint64)
    first = np.sort(halves[:, 0])
    if (first[1:] != first[:-1]).all():  # nearly always: no need to sort by both
        return 0
    ordered = halves[np.lexsort(halves.T)]
    return int((ordered[1:] == ordered[:-1]).all(axis=1).sum())
