"""What the command `audit` says to people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stratagem.cli.output import read_count, write, write_table
from stratagem.io.screen import visible

if TYPE_CHECKING:
    from stratagem.auditor.outcome import Audit
    from stratagem.mechanism.mechanism import Mechanism


def describe(mechanism: Mechanism, found: dict[str, Audit], false_alarm: float) -> None:
    """Say what was found of the certificate and of every client, by name."""
    certificate, epsilon = next(iter(found.values())).certificate, float(mechanism.epsilon)
    write(
        f"{visible(mechanism.name)} over domain {mechanism.domain}, epsilon {epsilon:g}, {mechanism.outputs} outputs"
    )
    ratio = f"{certificate.high / certificate.low:.12g}" if certificate.low else "infinitely"
    write(
        f"certificate: {'holds' if certificate.holds else 'DOES NOT HOLD'}; an output is up to {ratio} times as "
        f"likely for one user type as for another, exp({epsilon:g}) = {float(certificate.allowed):.12g} allowed"
    )
    for name, one in found.items():
        write(f"\n{name} client: {'passed' if one.passed else 'FAILED'}\n")
        write_table(("check", "tests", "failed", "smallest p-value", "fails below"), _rows(one), words=1)
        write()
        for line in (*_asked(one), *_proved(one, epsilon), *_power(one, epsilon)):
            write(line)
    write(f"\ncorrect clients fail an audit like this with probability {false_alarm:g} at most")


def _rows(one: Audit) -> list[tuple[str, ...]]:
    from stratagem.auditor.check import CHECKS

    rows = []
    for name, meaning in CHECKS.items():
        checks = [check for check in one.checks if check.name == name]
        if checks:
            worst = min(checks, key=lambda check: check.p_value / check.level)
            failed = sum(not check.passed for check in checks)
            rows.append(
                (meaning, str(len(checks)), str(failed), f"{worst.p_value:.2g}", f"{worst.level:.2g}")
            )
    return rows


def _asked(one: Audit) -> Iterator[str]:
    """Say what was asked, and what repeats it."""
    tested = f"{len(one.user_types):,} of {read_count(one.domain_size)} user types"
    if one.drawn is None:
        tested = f"the {len(one.user_types):,} user types, all that there are"
    elif one.drawn:
        tested = f"{tested}, {one.drawn:,} of them drawn at random"
    order = "" if one.seed is None else f"; --seed {one.seed} asks the same again"
    least = "" if one.seed is not None else " or more"
    yield f"{one.samples:,}{least} reports of each of {tested}{order}"


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
    for name, (count, share) in power.first_reports.items():
        found = "too few to be sure that such first reports are found"
        if share is not None:
            found = f"found, in 99 of 100, if {100 * share:.3g} % or more make such a first report"
        yield f"{count:,} {name} were asked once: {found}"


def _chance(probability: float) -> str:
    return f"{probability:.2g}" if probability >= 1e-9 else "below 1e-9"
