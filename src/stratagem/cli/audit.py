"""The command `audit`: does a bundle hold what it promises, and do its clients draw what it says?"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratagem.cli.option import BUNDLE, JSON
from stratagem.cli.output import fail, write, write_json, write_table
from stratagem.cli.progress import note, progress

if TYPE_CHECKING:
    from stratagem.auditor.audit import Audit
    from stratagem.auditor.runner import Draw
    from stratagem.mechanism.mechanism import Mechanism

FAILED = 1
CLIENTS = ("python", "node")


def audit(
    file: BUNDLE,
    client: Annotated[
        str | None,
        typer.Option(
            help="python, node or python,node: the clients to test; all that run here if not given.",
            show_default=False,
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=100, help="Reports of each user type.")] = 200_000,
    types: Annotated[int, typer.Option(min=2, help="User types to test.")] = 8,
    false_alarm: Annotated[
        float, typer.Option(help="Probability that correct clients fail, all of them together.")
    ] = 1e-6,
    seed: Annotated[int, typer.Option(min=0, help="Chooses user types; reports stay random.")] = 0,
    json: JSON = False,
) -> None:
    """Check a mechanism's certificate exactly and put its clients to the test; exit status 1 if one fails."""
    mechanism = _loaded(file)
    draws = _draws(file, mechanism, client)
    from stratagem.auditor.audit import audit as run

    found: dict[str, Audit] = {}
    for name, draw in draws.items():
        with progress(f"auditing the {name} client"):
            options = {"samples": samples, "types": types, "seed": seed}
            found[name] = run(mechanism, draw, false_alarm=false_alarm / len(draws), **options)
    if json:
        write_json(_data(mechanism, found, false_alarm))
    else:
        _describe(mechanism, found, false_alarm)
    if not all(one.passed for one in found.values()):
        raise SystemExit(FAILED)


def _loaded(file: Path) -> Mechanism:
    """Return the mechanism of a file; one that is there, but does not hold what it promises, fails the audit."""
    from stratagem.file.bare import BareMatrixError
    from stratagem.mechanism.mechanism import load_mechanism

    try:
        return load_mechanism(file)
    except BareMatrixError:
        raise
    except ValueError as error:
        fail(str(error), FAILED if file.is_file() else 2)


def _draws(file: Path, mechanism: Mechanism, names: str | None) -> dict[str, Draw]:
    """Return the clients to test by name; without names those that run here."""
    import shutil

    from stratagem.auditor.runner import python_client, web_client

    asked = list(dict.fromkeys(CLIENTS if names is None else names.split(",")))
    if names is None and shutil.which("node") is None:
        note("node is not installed: the web client is not audited")
        asked.remove("node")
    for name in asked:
        if name not in CLIENTS:
            raise ValueError(f"the client {name!r} is none of {', '.join(CLIENTS)}: name one or both")
    make = {
        "python": lambda: python_client(mechanism.client, mechanism.outputs),
        "node": lambda: web_client(file, mechanism.client, mechanism.outputs),
    }
    return {name: make[name]() for name in asked}


def _data(mechanism: Mechanism, found: dict[str, Audit], false_alarm: float) -> dict[str, Any]:
    certificate = next(iter(found.values())).certificate
    return {
        "workload": mechanism.name,
        "domain": str(mechanism.domain),
        "identifier": mechanism.identifier,
        "epsilon": float(mechanism.epsilon),
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
    def finite(number: float) -> float | None:
        return number if math.isfinite(number) else None

    return {
        "passed": one.passed,
        "samples": one.samples,
        "user_types": list(one.user_types),
        "epsilon_lower_bound": one.epsilon_bound,
        "confidence": 1 - one.false_alarm / 2,
        "provable_epsilon": finite(one.provable),
        "noticeable_epsilon": finite(one.noticeable),
        "samples_to_prove_5_percent": one.samples_needed,
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
        "events": [
            {
                "user_types": [e.event.u, e.event.v],
                "probabilities": [e.event.p, e.event.q],
                "hits": list(e.hits),
                "reports": list(e.trials),
                "epsilon_lower_bound": e.epsilon_bound,
            }
            for e in one.evidence
        ],
    }


def _describe(mechanism: Mechanism, found: dict[str, Audit], false_alarm: float) -> None:
    certificate, epsilon = next(iter(found.values())).certificate, float(mechanism.epsilon)
    write(
        f"{mechanism.name} over domain {mechanism.domain}, epsilon {epsilon:g}, {mechanism.outputs} outputs"
    )
    ratio = f"{certificate.high / certificate.low:.12g}" if certificate.low else "infinitely"
    write(
        f"certificate: {'holds' if certificate.holds else 'DOES NOT HOLD'}; an output is up to {ratio} times as "
        f"likely for one user type as for another, exp({epsilon:g}) = {float(certificate.allowed):.12g} allowed"
    )
    for name, one in found.items():
        write(f"\n{name} client: {'passed' if one.passed else 'FAILED'}\n")
        write_table(("check", "tests", "failed", "smallest p-value", "fails below"), _rows(one), words=1)
        _explain(one, epsilon)
    write(f"\ncorrect clients fail an audit like this with probability {false_alarm:g} at most")


def _rows(one: Audit) -> list[tuple[str, ...]]:
    from stratagem.auditor.audit import CHECKS

    rows = []
    for name, meaning in CHECKS.items():
        checks = [check for check in one.checks if check.name == name]
        if checks:
            least, failed = min(check.p_value for check in checks), sum(not check.passed for check in checks)
            rows.append((meaning, str(len(checks)), str(failed), f"{least:.2g}", f"{checks[0].level:.2g}"))
    return rows


def _explain(one: Audit, epsilon: float) -> None:
    """Say what was proved, and what could have been."""
    verdict = "within" if one.private else "ABOVE"
    write(
        f"\nits reports prove an epsilon of {one.epsilon_bound:.4f} or more, {verdict} the {epsilon:g} promised "
        f"(wrong with probability {one.false_alarm / 2:.1g})"
    )
    write(f"{one.samples:,} reports of each of {len(one.user_types)} user types{_join(one.user_types)}")
    if math.isfinite(one.noticeable):
        write(f"a client of epsilon {one.noticeable:.4g} or more is noticed to differ, in 99 of 100 audits")
    if math.isfinite(one.provable):
        write(f"a client of epsilon {one.provable:.4g} or more is proved to break the promise, in 99 of 100")
    if one.samples_needed is not None:
        write(f"{one.samples_needed:,} reports of each user type would prove {1.05 * epsilon:.4g}")


def _join(numbers: tuple[int, ...]) -> str:
    """List a few numbers, none where nobody would read their digits."""
    if max(numbers) >= 10**15:
        return ""
    shown = ", ".join(map(str, numbers[:12]))
    return f": {shown}" if len(numbers) <= 12 else f": {shown}, ..."
