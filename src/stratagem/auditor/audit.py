"""The audit of a mechanism: its certificate checked anew, and its client put to the test as a black box."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from stratagem.auditor.event import Event, epsilon_bound, noticeable, provable, samples_to_prove
from stratagem.auditor.goodness import byte_fit, fit, pair_fit, share_fit
from stratagem.auditor.plan import Plan, planned
from stratagem.auditor.runner import Draw, Reports, python_client
from stratagem.auditor.stranger import Recheck, recheck
from stratagem.mechanism.mechanism import Mechanism
from stratagem.screen import brief

SAMPLES, TYPES, FALSE_ALARM = 200_000, 8, 1e-6
EXCESS = 0.05
"""The excess over epsilon for which the samples needed are stated."""
CHECKS = {
    "outputs": "outputs come as often as the table says (chi-squared)",
    "placements": "patterns are placed on attributes as often as the table says (chi-squared)",
    "event share": "the outputs that favour a user type come as often as the table says (exact binomial)",
    "independence": "an output does not depend on the one before it (chi-squared of pairs)",
    "id bytes": "the bytes of ids are uniform (chi-squared)",
    "schema": "every report has the form that the bundle describes",
    "fresh ids": "no id comes twice",
}
"""What each check asks."""


@dataclass(frozen=True)
class Check:
    """One test of the reports about one user type, or about all."""

    name: str
    """A key of CHECKS."""
    user_type: int | None
    p_value: float
    """Probability that a correct client does as badly; 0 for what a correct client never does."""
    level: float
    """The check fails below this p-value."""

    @property
    def passed(self) -> bool:
        """Whether the p-value reaches the level."""
        return self.p_value >= self.level


@dataclass(frozen=True)
class Evidence:
    """What the counts of one event prove about the client, whatever its code."""

    event: Event
    hits: tuple[int, int]
    """How often the event came for user types u and v."""
    trials: tuple[int, int]
    epsilon_bound: float
    """Lower bound on the client's epsilon, by Clopper and Pearson."""


@dataclass(frozen=True, eq=False)
class Audit:
    """The outcome of an audit; a correct client passes with probability at least 1 - false_alarm."""

    __repr__ = brief

    identifier: str
    epsilon: Fraction
    """The budget promised."""
    certificate: Recheck
    samples: int
    """Reports asked for of each user type."""
    user_types: tuple[int, ...]
    false_alarm: float
    checks: tuple[Check, ...]
    evidence: tuple[Evidence, ...]
    provable: float
    """A client's epsilon from here on is proved to exceed the budget with probability 0.99; may be infinite."""
    noticeable: float
    """A client's epsilon from here on is noticed as another than the table's with probability 0.99."""
    samples_needed: int | None
    """Reports of each user type that prove 1.05 times the budget to exceed it; None where none are enough."""

    @property
    def epsilon_bound(self) -> float:
        """Highest lower bound on the client's epsilon; it exceeds the truth with probability false_alarm/2."""
        return max((one.epsilon_bound for one in self.evidence), default=0.0)

    @property
    def private(self) -> bool:
        """Whether no evidence puts the client's epsilon above the budget."""
        return self.epsilon_bound <= float(self.epsilon)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def passed(self) -> bool:
        """Whether certificate, privacy and every check hold."""
        return self.certificate.holds and self.private and not self.failures


def audit(
    mechanism: Mechanism,
    draw: Draw | None = None,
    *,
    samples: int = SAMPLES,
    types: int = TYPES,
    false_alarm: float = FALSE_ALARM,
    seed: int = 0,
) -> Audit:
    """Ask a client for `samples` reports of each of some user types, and test them against the table.

    The client is the mechanism's own, in Python, unless `draw` makes the reports of another.

    Half of `false_alarm` is shared by the chi-squared and binomial checks, half by the events that bound
    epsilon from below; user types and events are chosen from the table before any report is seen, with `seed`.

    Guarantee:
        A client that draws from the table, independently and with random ids, fails with probability at
        most `false_alarm` (up to the chi-squared approximation of three kinds of checks). A client whose
        epsilon is at most the budget is found to exceed it with probability at most false_alarm/2.

    Raises:
        ValueError: for fewer than 100 samples, 2 user types, or a false-alarm rate outside (0, 0.5).

    Example:
        >>> import stratagem as st
        >>> mechanism = Mechanism.of(st.randomised_response(4, 1.0), st.histogram(4), epsilon=1.0)
        >>> result = audit(mechanism, samples=1000)
        >>> result.passed, result.epsilon_bound <= 1, result.provable > 1
        (True, True, True)

    References:
        Neyman and Pearson 1933 for the events, Clopper and Pearson 1934 for the bounds.
    """
    _check(samples, types, false_alarm)
    draw = python_client(mechanism.client, mechanism.outputs) if draw is None else draw
    count = min(types, mechanism.strategy.domain_size)
    level = false_alarm / 2 / count
    rng = np.random.default_rng(seed)
    plan = planned(mechanism.strategy, types, samples, level, rng)
    reports = {u: draw(u, samples) for u in plan.user_types}
    evidence = tuple(_evidence(event, reports[event.u], reports[event.v], level) for event in plan.events)
    budget = float(mechanism.epsilon)
    checks = _checks(plan, reports, evidence, false_alarm / 2)
    needed = samples_to_prove(plan.columns, budget, EXCESS, level) if plan.columns else None
    return Audit(
        identifier=mechanism.identifier,
        epsilon=mechanism.epsilon,
        certificate=recheck(mechanism.bundle),
        samples=samples,
        user_types=plan.user_types,
        false_alarm=false_alarm,
        checks=checks,
        evidence=evidence,
        provable=min((provable(event, budget, samples, level) for event in plan.events), default=math.inf),
        noticeable=min(
            (noticeable(event, budget, samples, checks[0].level) for event in plan.events), default=math.inf
        ),
        samples_needed=needed,
    )


def _evidence(event: Event, of_u: Reports, of_v: Reports, level: float) -> Evidence:
    hits = event.hits(of_u.outputs), event.hits(of_v.outputs)
    trials = len(of_u.outputs), len(of_v.outputs)
    bound = epsilon_bound(hits, trials, level) if min(trials) else 0.0
    return Evidence(event, hits, trials, bound)


def _checks(
    plan: Plan, reports: Mapping[int, Reports], evidence: Sequence[Evidence], share: float
) -> tuple[Check, ...]:
    """Return all checks; those whose p-values are probabilities share the false-alarm rate equally."""
    found: list[tuple[str, int | None, float]] = []
    for partitions, (u, one) in zip(plan.partitions, reports.items(), strict=True):
        for name, partition in partitions:
            found.append((name, u, fit(partition.counts(one.outputs), partition.probabilities)))
        finest = partitions[0][1]
        found.append(("independence", u, pair_fit(finest.classes(one.outputs), finest.probabilities)))
        if one.ids is not None:
            found.append(("id bytes", u, byte_fit(one.ids)))
    for one in evidence:
        for u, hits, trials, probability in zip(
            (one.event.u, one.event.v), one.hits, one.trials, (one.event.p, one.event.q), strict=True
        ):
            found.append(("event share", u, share_fit(hits, trials, probability)))
    level = share / len(found)
    found.append(("schema", None, float(not any(one.malformed for one in reports.values()))))
    ids = [one.ids for one in reports.values() if one.ids is not None]
    if ids:
        found.append(("fresh ids", None, float(not repeated(np.concatenate(ids)))))
    return tuple(Check(name, u, p, level) for name, u, p in found)


def repeated(ids: np.ndarray) -> int:
    """Return how many ids (k x 16 bytes) came before; random ones of 128 bits never do."""
    halves = np.ascontiguousarray(ids).view(np.uint64)
    ordered = halves[np.lexsort(halves.T)]
    return int((ordered[1:] == ordered[:-1]).all(axis=1).sum())


def _check(samples: int, types: int, false_alarm: float) -> None:
    if samples < 100:
        raise ValueError(f"{samples} samples were given, but an audit needs 100 or more: give 200000")
    if types < 2:
        raise ValueError(f"{types} user types were given, but at least 2 are compared: give 8")
    if not 0 < false_alarm < 0.5:
        raise ValueError(f"the false-alarm rate is {false_alarm}, but must be between 0 and 0.5: give 1e-6")
