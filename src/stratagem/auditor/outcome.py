"""The outcome of an audit: the results of all checks and of all events."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from stratagem.auditor.check import Asked, Check, checked
from stratagem.auditor.device import DevicePlan, Seen, device_checks
from stratagem.auditor.event import EXCESS, Event, epsilon_bound, provable, samples_to_prove
from stratagem.auditor.goodness import Power, power
from stratagem.auditor.independent_check import Recheck, recheck
from stratagem.auditor.plan import AuditPlan, Chosen, PooledEvents
from stratagem.io.screen import brief
from stratagem.mechanism.mechanism import Mechanism


@dataclass(frozen=True)
class Evidence:
    """What the counts of one event prove about the client, whatever its code."""

    event: Event
    hits: tuple[int, int]
    """Numbers of reports in the event for user types u and v."""
    trials: tuple[int, int]
    epsilon_bound: float
    """Clopper and Pearson's lower bound on the client's epsilon."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit:
    """The outcome of an audit; a correct client passes with probability at least 1 - false_alarm."""

    __repr__ = brief

    identifier: str
    epsilon: Fraction
    """The privacy budget that the bundle states."""
    certificate: Recheck
    samples: int
    """Reports of each user type, in random order; for reports from a file, the fewest of any user type tested."""
    malformed: int
    """Reports that have another form than the bundle describes, of which the ids alone are tested."""
    tested: bool
    """Whether any report has that form, so that outputs and epsilon were tested at all."""
    user_types: tuple[int, ...]
    drawn: int | None
    """Number of user types that were drawn at random from all; 0 where a file names them; None where all are tested."""
    domain_size: int
    """Number n of user types, tested or not."""
    seed: int | None
    """Seed of the user types and their order; None where a file names them."""
    false_alarm: float
    checks: tuple[Check, ...]
    evidence: tuple[Evidence, ...]
    """Evidence from single pairs of user types."""
    pooled: Evidence | None
    """Evidence from all pairs together; None where no two user types can be compared."""
    power: Power
    """Defects that an audit of this size would notice."""
    provable: float
    """Smallest epsilon of a client that is proved to exceed the budget with probability 0.99; may be infinite."""
    devices: DevicePlan | None
    """Devices whose memos were tested; None where none were."""
    samples_needed: int | None
    """Reports of each user type needed to prove that a client of 1.05 times the budget exceeds it; None where
    no number suffices."""

    @property
    def noticeable(self) -> float:
        """Smallest epsilon above the table's that is noticed with probability 0.99."""
        return self.power.noticeable

    @property
    def epsilon_bound(self) -> float:
        """Highest lower bound on the client's epsilon; it exceeds the truth with probability false_alarm/2."""
        every = (*self.evidence, self.pooled)
        return max((one.epsilon_bound for one in every if one is not None), default=0.0)

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


def outcome(
    mechanism: Mechanism,
    chosen: Chosen,
    plan: AuditPlan,
    asked: Asked,
    firsts: Mapping[str, Asked],
    false_alarm: float,
    *,
    seed: int | None,
    devices: tuple[DevicePlan, Seen] | None = None,
) -> Audit:
    """Return the outcome of an audit; questions in the order that `seed` drew, or of a file without one."""
    budget, level, samples = float(mechanism.epsilon), false_alarm / 4, int(asked.counts.min())
    together, own = device_checks(*devices) if devices and devices[1].every.formed else ((), ())
    found = together, own, [devices[1].every] if devices else []
    checks = checked(plan, asked, firsts, false_alarm / 2, shuffled=seed is not None, devices=found)
    evidence, pooled = _evidence(plan.pool if asked.reports.formed else None, plan, asked, level)
    levels = checks[0].level, next((one.level for one in checks if one.user_type is not None), level)
    size, first = mechanism.domain.size, {name: len(one.places) for name, one in firsts.items()}
    needed = samples_to_prove(plan.pool.columns, budget, EXCESS, level) if plan.pool else None
    return Audit(
        identifier=mechanism.identifier,
        epsilon=mechanism.epsilon,
        certificate=recheck(mechanism.bundle),
        samples=samples,
        malformed=asked.reports.malformed,
        tested=asked.reports.formed,
        user_types=plan.user_types,
        drawn=chosen.drawn,
        domain_size=size,
        seed=seed,
        false_alarm=false_alarm,
        checks=checks,
        evidence=evidence,
        pooled=pooled,
        power=power(plan.favoured, chosen, size, budget, asked.counts, first, levels),
        provable=provable(pooled.event, budget, pooled.trials[0], level) if pooled else math.inf,
        devices=devices[0] if devices else None,
        samples_needed=None if needed is None or plan.pool is None else -(-needed // len(plan.pool.events)),
    )


def _evidence(
    pool: PooledEvents | None, plan: AuditPlan, asked: Asked, level: float
) -> tuple[tuple[Evidence, ...], Evidence | None]:
    """Return what single events prove, which share the level, and what all prove together.

    Of the two user types of a pair as many reports are counted, the first ones.
    """
    if pool is None:
        return (), None
    place, found = {u: k for k, u in enumerate(plan.user_types)}, []
    for event in pool.events:
        of_u, of_v = (asked.outputs[place[u]] for u in (event.u, event.v) if u is not None)
        count = min(len(of_u), len(of_v))
        hits = event.hits(of_u[:count]), event.hits(of_v[:count])
        found.append(_proved(event, hits, count, level / len(pool.events)))
    hits = sum(one.hits[0] for one in found), sum(one.hits[1] for one in found)
    return tuple(found), _proved(pool.mean, hits, sum(one.trials[0] for one in found), level)


def _proved(event: Event, hits: tuple[int, int], count: int, level: float) -> Evidence:
    return Evidence(event, hits, (count, count), epsilon_bound(hits, (count, count), level) if count else 0.0)
