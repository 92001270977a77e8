"""An audit in words: what was found of a bundle's certificate, of its clients, and of a file of their reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stratagem.auditor.audit import Audit, Evidence
from stratagem.auditor.check import CHECKS
from stratagem.auditor.device import DevicePlan
from stratagem.auditor.known import KnownReports
from stratagem.io.screen import visible
from stratagem.io.table import Table
from stratagem.math.number import count
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.memo import Memo

SHOWN = 4
"""Unknown columns that a sentence names."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Audited:
    """The audits of a mechanism's clients, by the name of each."""

    mechanism: Mechanism
    clients: Mapping[str, Audit]
    false_alarm: float
    """Probability that correct clients fail, all of them together."""
    known: KnownReports | None = None
    """The file of reports; None where clients were run."""

    @property
    def passed(self) -> bool:
        """Whether all clients passed."""
        return all(one.passed for one in self.clients.values())

    def record(self) -> dict[str, Any]:
        """Return everything that was found as named values."""
        mechanism, known = self.mechanism, self.known
        certificate = next(iter(self.clients.values())).certificate
        columns = {} if known is None else {"unknown_columns": known.unknown, "absent_columns": known.absent}
        return {
            "workload": mechanism.name,
            "domain": str(mechanism.domain),
            "identifier": mechanism.identifier,
            "epsilon": float(mechanism.epsilon),
            "permanent_epsilon": None if mechanism.memo is None else float(mechanism.memo.permanent),
            "passed": self.passed,
            "false_alarm": self.false_alarm,
            "certificate": {
                "holds": certificate.holds,
                "equal_sums": certificate.equal_sums,
                "ratio": [str(certificate.high), str(certificate.low)],
                "allowed": float(certificate.allowed),
            },
            "clients": {name: _client_data(one) for name, one in self.clients.items()},
            **columns,
        }

    def sentences(self) -> Iterator[str | Table]:
        """Yield what was found of the certificate, of every client by name, and of the columns of a file of reports."""
        mechanism, memo, epsilon = self.mechanism, self.mechanism.memo, float(self.mechanism.epsilon)
        certificate = next(iter(self.clients.values())).certificate
        every = (
            "" if memo is None else f" a report and {float(memo.permanent):g} for all reports about one value"
        )
        yield (
            f"{visible(mechanism.name)} over domain {mechanism.domain}, epsilon {epsilon:g}{every}, "
            f"{mechanism.outputs} outputs"
        )
        ratio = f"{certificate.high / certificate.low:.12g}" if certificate.low else "infinitely"
        yield (
            f"certificate: {'holds' if certificate.holds else 'DOES NOT HOLD'}; an output is up to {ratio} times as "
            f"likely for one user type as for another, exp({epsilon:g}) = {float(certificate.allowed):.12g} allowed"
        )
        for name, one in self.clients.items():
            yield from ("", f"{name} client: {'passed' if one.passed else 'FAILED'}", "", _table(one), "")
            yield from (*_asked(one), *_malformed(one, self.known))
            if one.tested:
                yield from (*_proved(one, epsilon), *_power(one, epsilon), *_kept(one, memo))
        yield from (
            "",
            f"correct clients fail an audit like this with probability {self.false_alarm:g} at most",
        )
        yield "no test from outside sees a value that is hidden in the ids, or what a client does after more reports"


def _table(one: Audit) -> Table:
    rows = []
    for name, meaning in CHECKS.items():
        if checks := [check for check in one.checks if check.name == name]:
            worst = min(checks, key=lambda check: check.p_value / check.level)
            failed = sum(not check.passed for check in checks)
            numbers = f"{worst.p_value:.2g}", f"{worst.level:.2g}"
            rows.append((meaning, str(len(checks)), str(failed), *numbers))
    return Table(("check", "tests", "failed", "smallest p-value", "fails below"), rows)


def _asked(one: Audit) -> Iterator[str]:
    """Say what was asked, and what repeats it."""
    tested = f"{len(one.user_types):,} of {count(one.domain_size)} user types"
    if one.drawn is None:
        tested = f"the {len(one.user_types):,} user types, all that there are"
    elif one.drawn:
        tested = f"{tested}, {one.drawn:,} of them drawn at random"
    order = "" if one.seed is None else f"; seed={one.seed} asks the same again"
    least = "" if one.seed is not None else " or more"
    yield f"{one.samples:,}{least} reports of each of {tested}{order}"


def _malformed(one: Audit, known: KnownReports | None) -> Iterator[str]:
    """Say what the form of the reports left out of the tests, and which columns are to blame."""
    if known is not None and known.unknown:
        named = ", ".join(repr(name[:40]) for name in known.unknown[:SHOWN])
        more = ", ..." if len(known.unknown) > SHOWN else ""
        yield visible(f"no report has the key {named}{more}: a row that does has another form")
    if known is not None and known.absent:
        yield f"the form of {' and '.join(known.absent)} is not tested: no row has it"
    if not one.tested:
        yield "no report has the form that the bundle describes: outputs and epsilon are not tested"
    elif one.malformed:
        yield f"{one.malformed:,} reports have another form than the bundle describes: of these, ids alone are tested"


def _proved(one: Audit, epsilon: float) -> Iterator[str]:
    """Say what was proved of epsilon, and what could have been."""
    verdict = "within" if one.private else "ABOVE"
    yield (
        f"its reports prove an epsilon of {one.epsilon_bound:.4f} or more, {verdict} the {epsilon:g} promised "
        f"(wrong with probability {one.false_alarm / 2:.1g})"
    )
    if math.isfinite(one.noticeable):
        yield f"a client of epsilon {one.noticeable:.4g} or more is noticed to differ, in 99 of 100 audits"
    if math.isfinite(one.provable):
        yield f"a client of epsilon {one.provable:.4g} or more is proved to break the promise, in 99 of 100"
    if one.samples_needed is not None:
        yield f"{one.samples_needed:,} reports of each user type would prove {1.05 * epsilon:.4g}"


def _power(one: Audit, epsilon: float) -> Iterator[str]:
    """Say which liars are missed how often."""
    power = one.power
    more = _chance(power.excess_missed)
    yield f"a client of 5 % more epsilon, {1.05 * epsilon:.4g}, is missed with probability {more}"
    if power.raw_reports is not None and power.bad_types is not None:
        missed, raw = _chance(power.bad_types_missed), f"{100 * power.raw_reports:.3g} %"
        yield f"a client that treats 5 % of the user types badly is missed with probability at most {missed};"
        yield f"badly: {raw} of their reports, or more, are sure to be outputs that favour their value"
    else:
        yield "a client that treats 5 % of the user types badly may be missed: test more types, or more reports"
    for name, (many, share) in power.first_reports.items():
        found = "too few to be sure that such first reports are found"
        if share is not None:
            found = f"found, in 99 of 100, if {100 * share:.3g} % or more make such a first report"
        yield f"{many:,} {name} were asked once: {found}"


def _kept(one: Audit, memo: Memo | None) -> Iterator[str]:
    """Say how memos were tested, and what is missed."""
    if memo is None:
        return
    if one.devices is None:
        yield "the memo was not tested: these reports do not say which of them come from one device"
        return
    found = one.devices
    yield (
        f"{found.devices:,} devices with a memo were started twice, for {found.reports:,} reports each time: a client "
        f"that draws its permanent report anew is missed with probability {_chance(found.missed)}"
    )
    share = found.shared(one.checks[0].level)
    if share is None:
        yield "a permanent report that all devices share may be missed: too many of them are alike by chance"
    else:
        yield (
            "permanent reports that devices share are found, in 99 of 100 audits, if "
            f"{100 * share:.3g} % or more of all pairs of devices with one value share theirs"
        )


def _chance(probability: float) -> str:
    return f"{probability:.2g}" if probability >= 1e-9 else "below 1e-9"


def _client_data(one: Audit) -> dict[str, Any]:
    return {
        "passed": one.passed,
        "seed": one.seed,
        "samples": one.samples,
        "user_types": list(one.user_types),
        "user_types_drawn": one.drawn,
        "user_types_in_all": one.domain_size,
        "epsilon_lower_bound": one.epsilon_bound if one.tested else None,
        "malformed": one.malformed,
        "confidence": 1 - one.false_alarm / 2,
        "provable_epsilon": _finite(one.provable),
        "noticeable_epsilon": _finite(one.noticeable),
        "samples_to_prove_5_percent": one.samples_needed,
        "memo": None if one.devices is None else _device_data(one.devices, one.checks[0].level),
        "power": {
            "excess_of_5_percent_missed": one.power.excess_missed,
            "bad_type_from_raw_share": one.power.raw_reports,
            "5_percent_bad_types_missed": one.power.bad_types_missed,
            "bad_types_found_from_share": one.power.bad_types,
            "first_reports": {
                name: {"asked": asked, "found_from_raw_share": share}
                for name, (asked, share) in one.power.first_reports.items()
            },
        },
        "checks": [
            {name: getattr(c, name) for name in ("name", "user_type", "p_value", "level", "passed")}
            for c in one.checks
        ],
        "pooled": None if one.pooled is None else _event_data(one.pooled),
        "events": [_event_data(e) | {"user_types": [e.event.u, e.event.v]} for e in one.evidence],
    }


def _device_data(devices: DevicePlan, level: float) -> dict[str, Any]:
    return {
        "devices": devices.devices,
        "reports_of_each_start": devices.reports,
        "drawn_anew_missed": devices.missed,
        "shared_found_from_share": devices.shared(level),
    }


def _event_data(found: Evidence) -> dict[str, Any]:
    return {
        "probabilities": [found.event.p, found.event.q],
        "hits": list(found.hits),
        "reports": list(found.trials),
        "epsilon_lower_bound": found.epsilon_bound,
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
