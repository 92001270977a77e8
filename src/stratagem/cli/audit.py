"""The command `audit`: does a bundle hold what it promises, and do its clients draw what it says?"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratagem.cli.interruption import begun, note, progress
from stratagem.cli.option import BUNDLE, JSON
from stratagem.cli.output import fail, read_count, write, write_json, write_table
from stratagem.io.screen import visible

if TYPE_CHECKING:
    from stratagem.auditor.device import DevicePlan
    from stratagem.auditor.known import KnownReports
    from stratagem.auditor.outcome import Audit, Evidence
    from stratagem.auditor.runner import Devices, Draw
    from stratagem.mechanism.mechanism import Mechanism
    from stratagem.mechanism.memo import Memo

FAILED = 1
CLIENTS = ("python", "node")
SHOWN = 4
"""Unknown columns that a sentence names."""


def audit(
    file: BUNDLE,
    client: Annotated[
        str | None,
        typer.Option(
            help="python, node or python,node: the clients to test; all that run here if not given."
        ),
    ] = None,
    reports: Annotated[
        Path | None,
        typer.Option(
            help="Audit these reports of a foreign client instead: *.csv, *.jsonl or *.parquet with a column output, "
            "and the value in a column for every attribute, or its number in user_type."
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=100, help="Reports of each user type; a million in all if not given.")
    ] = None,
    types: Annotated[int, typer.Option(min=2, help="Most user types to test.")] = 256,
    false_alarm: Annotated[
        float, typer.Option(help="Probability that correct clients fail, all of them together.")
    ] = 1e-6,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Repeats the choice of user types and their order; reports stay random."),
    ] = None,
    json: JSON = False,
) -> None:
    """Check a mechanism's certificate exactly and put its clients to the test; exit status 1 if one fails."""
    from stratagem.auditor.audit import check_options

    mechanism, known = _loaded(file), None
    check_options(100 if samples is None else samples, types, false_alarm, seed or 0)
    if reports is not None:
        if client is not None or samples is not None or seed is not None:
            raise ValueError("--reports audits a file: leave out --client, --samples and --seed")
        known, foreign = _of_file(mechanism, reports, types, false_alarm)
        found = {"foreign": foreign}
    else:
        found = _of_clients(
            file, mechanism, client, false_alarm, {"samples": samples, "types": types, "seed": seed}
        )
    if json:
        columns = {} if known is None else {"unknown_columns": known.unknown, "absent_columns": known.absent}
        write_json(_data(mechanism, found, false_alarm) | columns)
    else:
        describe(mechanism, found, false_alarm, known)
    if not all(one.passed for one in found.values()):
        raise SystemExit(FAILED)


def _loaded(file: Path) -> Mechanism:
    """Return the mechanism of a file; one that is there, but does not hold what it promises, fails the audit."""
    from stratagem.io.literal import BareMatrixError
    from stratagem.mechanism.mechanism import load_mechanism

    try:
        return load_mechanism(file)
    except BareMatrixError:
        raise
    except ValueError as error:
        fail(str(error), FAILED if file.is_file() else 2)


def _of_file(mechanism: Mechanism, file: Path, types: int, false_alarm: float) -> tuple[KnownReports, Audit]:
    """Read the reports of a file, and audit them."""
    from stratagem.auditor.known import audit_reports, read_known

    with progress("auditing the reports"):
        known = read_known(file, mechanism)
        options = {"ids": known.ids, "types": types, "false_alarm": false_alarm}
        return known, audit_reports(mechanism, known.user_types, known.outputs, **options)


def _of_clients(
    file: Path, mechanism: Mechanism, names: str | None, false_alarm: float, options: dict[str, Any]
) -> dict[str, Audit]:
    """Audit the clients of these names, all that run here without names."""
    from stratagem.auditor.audit import audit as run

    draws = _draws(file, mechanism, names)
    seed = (
        secrets.randbits(48) if options["seed"] is None else options["seed"]
    )  # one repeats the audits of all
    options |= {"seed": seed, "false_alarm": false_alarm / len(draws)}
    with progress(f"auditing {' and '.join(draws)}"):
        running = {
            name: begun(partial(run, mechanism, draw, new_processes, devices=devices, **options))
            for name, (draw, new_processes, devices) in draws.items()
        }
        return {name: result() for name, result in running.items()}


def _draws(
    file: Path, mechanism: Mechanism, names: str | None
) -> dict[str, tuple[Draw, Draw, Devices | None]]:
    """Return the clients to test by name, those that run here without names.

    Each runs in one process, in new ones, and where the mechanism has a memo on devices that keep it.
    """
    import shutil

    from stratagem.auditor import runner

    asked = list(dict.fromkeys(CLIENTS if names is None else names.split(",")))
    if names is None and shutil.which("node") is None:
        note("node is not installed: the web client is not audited")
        asked.remove("node")
    for name in asked:
        if name not in CLIENTS:
            raise ValueError(f"the client {name!r} is none of {', '.join(CLIENTS)}: name one or both")
    make = {
        "python": lambda: (runner.python_client(mechanism), runner.python_processes(mechanism, file)),
        "node": lambda: (runner.web_client(mechanism, file), runner.web_processes(mechanism, file)),
    }
    devices = {"python": runner.python_devices, "node": runner.web_devices}
    keeps = mechanism.memo is not None
    return {name: (*make[name](), devices[name](mechanism, file) if keeps else None) for name in asked}


def _data(mechanism: Mechanism, found: dict[str, Audit], false_alarm: float) -> dict[str, Any]:
    certificate = next(iter(found.values())).certificate
    return {
        "workload": mechanism.name,
        "domain": str(mechanism.domain),
        "identifier": mechanism.identifier,
        "epsilon": float(mechanism.epsilon),
        "permanent_epsilon": None if mechanism.memo is None else float(mechanism.memo.permanent),
        "passed": all(one.passed for one in found.values()),
        "false_alarm": false_alarm,
        "certificate": {
            "holds": certificate.holds,
            "equal_sums": certificate.equal_sums,
            "ratio": [str(certificate.high), str(certificate.low)],
            "allowed": float(certificate.allowed),
        },
        "clients": {name: _client_data(one) for name, one in found.items()},
    }


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
            {
                "name": c.name,
                "user_type": c.user_type,
                "p_value": c.p_value,
                "level": c.level,
                "passed": c.passed,
            }
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


def describe(
    mechanism: Mechanism, found: dict[str, Audit], false_alarm: float, known: KnownReports | None
) -> None:
    """Say what was found of the certificate, of every client by name, and of the columns of a file of reports."""
    from stratagem.io.table import Table

    certificate, epsilon = next(iter(found.values())).certificate, float(mechanism.epsilon)
    memo = mechanism.memo
    every = "" if memo is None else f" a report and {float(memo.permanent):g} for all reports about one value"
    write(
        f"{visible(mechanism.name)} over domain {mechanism.domain}, epsilon {epsilon:g}{every}, "
        f"{mechanism.outputs} outputs"
    )
    ratio = f"{certificate.high / certificate.low:.12g}" if certificate.low else "infinitely"
    write(
        f"certificate: {'holds' if certificate.holds else 'DOES NOT HOLD'}; an output is up to {ratio} times as "
        f"likely for one user type as for another, exp({epsilon:g}) = {float(certificate.allowed):.12g} allowed"
    )
    for name, one in found.items():
        write(f"\n{name} client: {'passed' if one.passed else 'FAILED'}\n")
        write_table(Table(("check", "tests", "failed", "smallest p-value", "fails below"), _rows(one)))
        write()
        tests = (*_proved(one, epsilon), *_power(one, epsilon), *_kept(one, memo)) if one.tested else ()
        for line in (*_asked(one), *_malformed(one, known), *tests):
            write(line)
    write(f"\ncorrect clients fail an audit like this with probability {false_alarm:g} at most")
    write(
        "no test from outside sees a value that is hidden in the ids, or what a client does after more reports"
    )


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
    for name, (count, share) in power.first_reports.items():
        found = "too few to be sure that such first reports are found"
        if share is not None:
            found = f"found, in 99 of 100, if {100 * share:.3g} % or more make such a first report"
        yield f"{count:,} {name} were asked once: {found}"


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
