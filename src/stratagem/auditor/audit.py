"""The audit of a mechanism, its certificate checked again and its client tested as a black box, and the outcome."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from stratagem.auditor.check import Asked, Check, checked
from stratagem.auditor.device import DevicePlan, Seen, ask, device_checks, plan_devices
from stratagem.auditor.event import EXCESS, Event, epsilon_bound, provable, samples_to_prove
from stratagem.auditor.goodness import Power, power
from stratagem.auditor.independent_check import Recheck, recheck
from stratagem.auditor.plan import AuditPlan, Chosen, PooledEvents
from stratagem.auditor.planning import choose, plan
from stratagem.auditor.runner import Devices, Draw, python_client, python_devices, python_processes
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


TYPES, FALSE_ALARM = 256, 1e-6
REPORTS, SLOW = 1 << 20, 25
"""Number of reports of all user types together, divided by 1 + attributes/25, as clients read many attributes
more slowly."""
CLIENTS, BYTES = (30, 500), 1 << 25
"""Least and most new clients, and the most bytes of bundles that all of them may read together."""
PROCESSES = (40, 200)
"""Least and most new processes; within these limits as many as are needed to notice first reports that always
favour their user type."""


def audit(
    mechanism: Mechanism,
    draw: Draw | None = None,
    new_processes: Draw | None = None,
    *,
    devices: Devices | None = None,
    samples: int | None = None,
    types: int = TYPES,
    false_alarm: float = FALSE_ALARM,
    seed: int | None = None,
) -> Audit:
    """Ask a client for reports of many user types in random order, and test them against the table.

    The client is the mechanism's own, in Python, unless `draw` makes the reports of another: a new client
    answers every row of user types that it is given. `new_processes` does so in a new process for every row; processes
    are left out where it is not given for another client.

    All user types are tested where there are no more than `types`, otherwise random ones, the first, the last,
    and the pair whose columns of the table differ most. One client answers `samples` questions about each of them;
    without `samples` a million reports are shared by all. Up to 500 more clients, and 40 to 200 more in
    processes of their own, answer one question each. `seed` chooses user types and order, and repeats them;
    without one it comes from the operating system, so that no client can know what it will be asked.

    Of a mechanism with a memo, 40 to 200 `devices` are started twice, with the memo that each keeps, and answer about
    one value: the output that comes too often by far is the permanent report, and must be the same after the second
    start. Two devices each have one value, and no more of these pairs than chance has it may have the same permanent
    report. In the other tests every client is new and keeps nothing. The memo is not tested where `devices` is not
    given for another client.

    Half of `false_alarm` is shared by the chi-squared and binomial checks, half by the events that bound
    epsilon from below. Events are chosen from the table before any report is seen.

    Guarantee:
        A client that draws from the table, independently and with random ids, fails with probability at
        most `false_alarm` (up to the chi-squared approximation of most kinds of checks). A client whose
        epsilon is at most the budget is found to exceed it with probability at most false_alarm/2.

    Raises:
        ValueError: for fewer than 100 samples, 2 user types, a seed below 0, or a false-alarm rate outside (0, 0.5).

    Example:
        >>> import stratagem as st
        >>> mechanism = Mechanism.of(st.published.randomised_response(4, 1.0), st.histogram(4), epsilon=1.0)
        >>> result = audit(mechanism, samples=1000)
        >>> result.passed, result.epsilon_bound <= 1, result.provable > 1
        (True, True, True)

    References:
        Neyman and Pearson 1933 for the events, Clopper and Pearson 1934 for the bounds, Hoeffding 1956, "On the
        distribution of the number of successes in independent trials", for both where probabilities differ.
    """
    if draw is None:
        draw, new_processes = python_client(mechanism), python_processes(mechanism)
        devices = python_devices(mechanism) if mechanism.memo is not None else None
    if devices is not None and mechanism.memo is None:
        raise ValueError("devices were given, but the mechanism has no memo to test: leave them out")
    seed = secrets.randbits(48) if seed is None else seed
    samples = default_samples(mechanism, types) if samples is None else samples
    check_options(samples, types, false_alarm, seed)
    rng = np.random.default_rng(seed)
    chosen = choose(mechanism.strategy, types, samples, false_alarm / 4, rng)
    planned = plan(mechanism.strategy, chosen.user_types, samples, false_alarm / 4)
    order = rng.permutation(np.repeat(np.arange(len(chosen.user_types)), samples))
    asked = Asked(order, draw([[chosen.user_types[place] for place in order.tolist()]]))
    clients = min(max(CLIENTS[0], BYTES // len(mechanism.text)), CLIENTS[1])
    firsts = {"new clients": _first(draw, clients, chosen, rng)}
    if new_processes is not None:
        firsts["new processes"] = _first(new_processes, _processes(planned, false_alarm), chosen, rng)
    seen = None
    if devices is not None:
        device_plan = plan_devices(mechanism, planned, false_alarm)
        seen = device_plan, ask(device_plan, devices, rng)
    return outcome(mechanism, chosen, planned, asked, firsts, false_alarm, seed=seed, devices=seen)


def default_samples(mechanism: Mechanism, types: int) -> int:
    """Return the default number of reports per user type."""
    reports = int(REPORTS / (1 + len(mechanism.domain.sizes) / SLOW))
    return max(reports // max(min(types, mechanism.domain.size), 1), 100)


def _processes(plan: AuditPlan, false_alarm: float) -> int:
    """Return the number of new processes; so many correct first reports seldom favour all their user types."""
    p = float(np.mean([one.probability for one in plan.favoured]))
    wanted = math.ceil(math.log(false_alarm / 100) / math.log(p)) if 0 < p < 1 else 0
    return min(max(PROCESSES[0], wanted), PROCESSES[1])


def _first(draw: Draw, count: int, chosen: Chosen, rng: np.random.Generator) -> Asked:
    """Ask new clients a question each, about all user types as evenly as possible."""
    places = rng.permutation(np.arange(count) + int(rng.integers(len(chosen.user_types)))) % len(
        chosen.user_types
    )
    return Asked(places, draw([[chosen.user_types[place]] for place in places.tolist()]))


def check_options(samples: int, types: int, false_alarm: float, seed: int) -> None:
    """Refuse options with which no audit can be made."""
    if samples < 100:
        raise ValueError(f"{samples} samples were given, but an audit needs 100 or more: give more")
    if types < 2:
        raise ValueError(f"{types} user types were given, but at least 2 are compared: give 256")
    if not 0 < false_alarm < 0.5:
        raise ValueError(f"the false-alarm rate is {false_alarm}, but must be between 0 and 0.5: give 1e-6")
    if seed < 0:
        raise ValueError(f"the seed is {seed}, but must be a whole number from 0 on: give one")
