"""Devices with memos: is a permanent report drawn once, from its table, kept, and repeated as often as stated?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, betainc

from stratagem.auditor.check import Asked, Found, first_checks
from stratagem.auditor.event import MISS, OutputClasses, quantile
from stratagem.auditor.goodness import noticed_share, share_fit
from stratagem.auditor.plan import AuditPlan, Classes
from stratagem.auditor.planning import by_part, plan
from stratagem.auditor.runner import Devices, Reports, joined
from stratagem.mechanism.client import WEIGHT_BITS
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.table import Table

DEVICES = (40, 200)
"""Least and most devices, in pairs of one value; within these limits as many as tell permanent reports that always
favour their value, that are drawn anew, and that all devices share."""
STARTS = 2
"""Times that each device is started; from the second start on it has been asked about another value in between."""
REPORTS = (1 << 6, 1 << 14)
"""Least and most reports of a start; within these limits as many as tell the permanent report from all others."""
SPARE = 0.01
"""Share of the level of a check that the chance of taking another report for the permanent one may use up."""


class Redrawn(NamedTuple):
    """The law rho of what replaces the permanent report, in its part, for runs of outputs that are equally likely."""

    probabilities: np.ndarray
    """Probability of each output of a run (k,)."""
    ends: np.ndarray
    """Number of the first output behind each run (k,)."""
    parts: np.ndarray
    """Number of the part of a survey that each run is of (k,), else 0."""

    def of(self, outputs: np.ndarray) -> np.ndarray:
        """Return the probabilities of outputs."""
        return self.probabilities[np.searchsorted(self.ends, outputs, side="right")]

    def part(self, outputs: np.ndarray) -> np.ndarray:
        """Return the parts that outputs are of."""
        return self.parts[np.searchsorted(self.ends, outputs, side="right")]


@dataclass(frozen=True, eq=False, kw_only=True)
class DevicePlan:
    """How many devices are asked how often, and what is known of their reports before any is seen.

    A device repeats the permanent report Y with probability alpha, else it draws from rho. Among r reports the output
    that exceeds its share r (1 - alpha) rho by the most is Y with probability 1 - error at least: either the excess of
    Y is below r alpha/2, or that of another output is not, and both are binomial tails. Of a survey that holds in the
    part of the device, which Y tells, with the alpha and rho of that part.
    """

    single: AuditPlan
    """Plan of an audit of single reports."""
    permanent: AuditPlan
    """Plan of an audit of permanent reports, of the same user types."""
    kept: np.ndarray
    """Probability alpha of repeating the permanent report in every part, of one table (1,)."""
    favoured: np.ndarray
    """Probability (parts x t) with which a report drawn whatever the value favours each user type, in every part."""
    redrawn: Redrawn
    devices: int
    reports: int
    """Reports of each start about the value of the device."""
    error: float
    """Bound on the probability of taking another report of a device for the permanent one."""
    missed: float
    """Bound on the probability of missing a client that draws its permanent reports anew at every start."""
    alike: float
    """Probability that two devices with one value have the same permanent report, averaged over the user types."""

    def shared(self, level: float) -> float | None:
        """Return the least share of pairs of devices with one permanent report that is noticed in 99 of 100 audits.

        `level` is that of a check of all devices together; None if not even one report for all is noticed.
        """
        return noticed_share(self.alike, self.devices // 2, level - self.devices * self.error)


def plan_devices(mechanism: Mechanism, single: AuditPlan, false_alarm: float) -> DevicePlan:
    """Return the plan of an audit of devices, which shares a false-alarm rate with the audit of single reports."""
    assert mechanism.memo is not None
    lasting = mechanism.memo.permanent_table.strategy
    permanent = plan(lasting, single.user_types, DEVICES[0], false_alarm / 4)
    kept, law = np.array(mechanism.memo.repeats), redrawn(mechanism.table)
    own, single_own = by_part(lasting, permanent), by_part(mechanism.strategy, single)
    shares = [share for share, _ in mechanism.table.drawn()]
    same = float(np.mean([_alike(parts[0][1]) for parts in permanent.partitions]))
    anew = float(np.dot(shares, [np.mean([_alike(parts[0][1]) for parts in one]) for one, _ in own]))
    raw = float(np.mean([one.probability for one in permanent.favoured]))
    wanted = (
        math.ceil(math.log(most) / math.log(p))
        for p, most in ((raw, false_alarm / 100), (anew, MISS), (math.sqrt(same), false_alarm / 100))
        if p < 1
    )
    devices = -(-min(max(DEVICES[0], *wanted, 0), DEVICES[1]) // 2) * 2
    others = sum(len(parts) + 2 for parts in single.partitions)
    level = false_alarm / 4 / (others + devices)
    reports, error, unseen = _reports(kept, law, level)
    return DevicePlan(
        single=single,
        permanent=permanent,
        kept=kept,
        favoured=_favoured(single_own, own, kept),
        redrawn=law,
        devices=devices,
        reports=reports,
        error=error,
        missed=min((anew + (1 - anew) * unseen) ** devices, 1.0),
        alike=same,
    )


def _alike(classes: OutputClasses) -> float:
    """Return the probability sum q^2 that two independent outputs are of one class."""
    return float(np.square(classes.probabilities).sum())


def _favoured(single: Sequence[Classes], permanent: Sequence[Classes], kept: np.ndarray) -> np.ndarray:
    """Return the probability (parts x t) that what replaces a permanent report favours each user type."""
    of_one, lasting = (
        np.array([[one.probability for one in favoured] for _, favoured in found])
        for found in (single, permanent)
    )
    return np.clip((of_one - kept[:, None] * lasting) / (1 - kept[:, None]), 0, 1)


def redrawn(table: Table) -> Redrawn:
    """Return the law rho of a table: rows, or patterns whose outputs are equally likely, by their weights alone."""
    found, first = [], 0
    for part, (_, one) in enumerate(table.drawn()):
        weights = np.asarray(one.weights) / (1 << WEIGHT_BITS)
        moved = one.strategy.translated
        ends = np.arange(len(weights) + 1) if moved is None else moved.offsets
        found.append((weights / np.diff(ends), first + np.asarray(ends)[1:], np.full(len(weights), part)))
        first += one.strategy.outputs
    return Redrawn(*map(np.concatenate, zip(*found, strict=True)))


def _reports(kept: np.ndarray, law: Redrawn, level: float) -> tuple[int, float, float]:
    """Return how many reports of a start tell the permanent report, the error, and how often another one is missed."""
    parts, runs = [], np.diff(law.ends, prepend=0)
    for part, alpha in enumerate(kept.tolist()):
        rho, place = np.unique(law.probabilities[law.parts == part], return_inverse=True)
        parts.append((alpha, rho, np.bincount(place, runs[law.parts == part])))
    r, most = REPORTS
    while True:
        error = max(_mistaken(alpha, rho, times, r) for alpha, rho, times in parts)
        unseen = max(
            _unseen(alpha, float(p), r, level - error) for alpha, rho, _ in parts for p in (rho[0], rho[-1])
        )
        if r >= most or (error <= SPARE * level and unseen <= MISS / 10):
            return r, error, unseen
        r *= 2


def _mistaken(kept: float, rho: np.ndarray, times: np.ndarray, r: int) -> float:
    """Return a bound on the probability that another output than Y exceeds its share the most."""
    limit = r * ((1 - kept) * rho + kept / 2)
    short = float(bdtr(np.ceil(limit) - 1, r, np.minimum(kept + (1 - kept) * rho, 1)).max())
    reached = np.ceil(limit)
    above = np.where(reached <= r, betainc(reached, np.maximum(r - reached, 0) + 1, (1 - kept) * rho), 0.0)
    return min(short + float(times @ above), 1.0)


def _unseen(kept: float, rho: float, r: int, level: float) -> float:
    """Return the probability that an output of probability (1 - alpha) rho passes for the permanent report."""
    if level <= 0:
        return 1.0
    p = kept + (1 - kept) * rho
    most = math.floor(quantile(level / 2, r, p))
    while most >= 0 and share_fit(most, r, p) >= level:
        most -= 1
    return float(betainc(most + 1, r - most, (1 - kept) * rho)) if most >= 0 else 1.0


class Seen(NamedTuple):
    """The reports of devices, each about one user type of the plan."""

    places: np.ndarray
    """Place in the plan's list of user types for each device (k,)."""
    starts: Sequence[Sequence[Reports]]
    """Reports of every start of every device."""

    @property
    def every(self) -> Reports:
        """All reports together."""
        return joined([one for device in self.starts for one in device])


def ask(planned: DevicePlan, draw: Devices, rng: np.random.Generator) -> Seen:
    """Ask new devices about their values, two about each, then about another value and their own after a new start."""
    types = planned.single.user_types
    order = np.arange(planned.devices) // 2 + int(rng.integers(len(types)))
    places = rng.permutation(order) % len(types)
    rows = []
    for place in places.tolist():
        own, other = types[place], types[(place + 1) % len(types)]
        rows.append([[own] * planned.reports] + [[other] + [own] * planned.reports] * (STARTS - 1))
    return Seen(places, draw(rows))


def device_checks(planned: DevicePlan, seen: Seen) -> tuple[list[Found], list[Found]]:
    """Return the checks of all devices together, and of each by itself.

    The p-values hold if the permanent reports were found, and are raised by the probability that they were not.
    """
    permanent, own, kept, replaced = [], [], [], []
    for place, (first, *later) in zip(seen.places.tolist(), seen.starts, strict=True):
        y = _permanent(planned, first)
        permanent.append(y)
        after = np.concatenate([_valid(one.outputs[1:]) for one in later])
        rho, part = float(planned.redrawn.of(np.array([y]))[0]), int(planned.redrawn.part(np.array([y]))[0])
        alpha = float(planned.kept[part])
        kept.append((int((after == y).sum()), len(after), alpha + (1 - alpha) * rho))
        own.append(("memo", planned.single.user_types[place], min(share_fit(*kept[-1]) + planned.error, 1.0)))
        others, favoured = after[after != y], planned.single.favoured[place]
        inside = planned.favoured[part, place] - rho * float(favoured.holds(np.array([y]))[0])
        share = inside / (1 - rho) if rho < 1 else 0.0
        replaced.append((int(favoured.holds(others).sum()) if len(others) else 0, len(others), share))
    reports = np.array(permanent)
    counted = {"memo": kept, "replaced": replaced, "permanent pairs": list(_pairs(planned, seen, reports))}
    return list(_together(planned, seen, reports, counted)), own


def _pairs(planned: DevicePlan, seen: Seen, permanent: np.ndarray) -> Iterator[tuple[int, int, float]]:
    """Yield how many pairs of devices of a user type have the same permanent report, of how many, and how likely.

    No device is in two pairs, so that pairs are independent if devices are.
    """
    for place in np.unique(seen.places).tolist():
        classes = planned.permanent.partitions[place][0][1]
        found = classes.classes(permanent[seen.places == place])
        first, second = found[: len(found) // 2 * 2].reshape(-1, 2).T
        yield int((first == second).sum()), len(first), _alike(classes)


def _together(
    planned: DevicePlan,
    seen: Seen,
    permanent: np.ndarray,
    counted: Mapping[str, Sequence[tuple[int, int, float]]],
) -> Iterator[Found]:
    """Yield the checks of first reports, of permanent reports, and of hits, trials and probabilities of devices.

    Hits of several probabilities vary less than those of their mean (Hoeffding 1956).
    """
    starts = [device[0].at(np.arange(1)) for device in seen.starts]
    whole = np.array([len(one.outputs) > 0 for one in starts])
    yield from first_checks(planned.single, "new devices", Asked(seen.places[whole], joined(starts)))
    error = planned.devices * planned.error
    for name, u, p in first_checks(
        planned.permanent, "permanent reports", Asked(seen.places, Reports(permanent))
    ):
        yield name, u, min(p + error, 1.0)
    for name, parts in counted.items():
        hits, trials, probabilities = np.array(parts).T
        mean = float(np.clip(trials @ probabilities / max(trials.sum(), 1), 0, 1))
        yield name, None, min(share_fit(int(hits.sum()), int(trials.sum()), mean) + error, 1.0)


def _permanent(planned: DevicePlan, first: Reports) -> int:
    """Return the output that exceeds its share among the reports of a first start by the most."""
    outputs, counts = np.unique(_valid(first.outputs), return_counts=True)
    if not len(outputs):
        return 0
    share = (1 - planned.kept[planned.redrawn.part(outputs)]) * planned.redrawn.of(outputs)
    return int(outputs[(counts - counts.sum() * share).argmax()])


def _valid(outputs: np.ndarray) -> np.ndarray:
    return outputs[outputs >= 0]
