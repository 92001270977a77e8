"""The command `audit`: does a bundle hold what it promises, and do its clients draw what it says?"""

from __future__ import annotations

import secrets
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from stratagem.cli.command import options
from stratagem.cli.interruption import begun, note, progress
from stratagem.cli.option import BUNDLE, JSON
from stratagem.cli.output import fail, write_result

if TYPE_CHECKING:
    from stratagem.auditor.audit import Audit
    from stratagem.auditor.known import KnownReports
    from stratagem.auditor.runner import Devices, Draw
    from stratagem.mechanism.mechanism import Mechanism

FAILED = 1
CLIENTS = ("python", "node")


@options
class AuditOptions:
    """Which clients are tested, and how much."""

    client: Annotated[
        str | None,
        Option(
            help="python, node or python,node: the clients to test; all that run here if not given. Or the client of "
            "a folder, such as page/client.js of `stratagem export --web page`."
        ),
    ] = None
    reports: Annotated[
        Path | None,
        Option(
            help="Audit these reports of a foreign client instead: *.csv, *.jsonl or *.parquet with a column output, "
            "and the value in a column for every attribute, or its number in user_type."
        ),
    ] = None
    samples: Annotated[
        int | None, Option(min=100, help="Reports of each value; a million in all if not given.")
    ] = None
    types: Annotated[int, Option(min=2, help="Most values to test.")] = 256
    false_alarm: Annotated[
        float, Option(help="Probability that correct clients fail, all of them together.")
    ] = 1e-6
    seed: Annotated[
        int | None,
        Option(min=0, help="Repeats the choice of values and their order; reports stay random."),
    ] = None

    def check(self) -> None:
        """Refuse numbers that no audit has, and options that a file of reports decides."""
        from stratagem.auditor.audit import check_options

        samples = 100 if self.samples is None else self.samples
        check_options(samples, self.types, self.false_alarm, self.seed or 0)
        if self.reports is not None and (self.client, self.samples, self.seed) != (None, None, None):
            raise ValueError("--reports audits a file: leave out --client, --samples and --seed")


def audit(file: BUNDLE, tested: AuditOptions, json: JSON = False) -> None:
    """Check a mechanism's certificate exactly and put its clients to the test; exit status 1 if one fails."""
    from stratagem.report.audited import Audited

    mechanism, known = _loaded(file), None
    tested.check()
    if tested.reports is not None:
        known, foreign = _of_file(mechanism, tested.reports, tested)
        found = {"foreign": foreign}
    else:
        found = _of_clients(file, mechanism, tested)
    told = Audited(mechanism=mechanism, clients=found, false_alarm=tested.false_alarm, known=known)
    write_result(told, json=json)
    if not told.passed:
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


def _of_file(mechanism: Mechanism, file: Path, tested: AuditOptions) -> tuple[KnownReports, Audit]:
    """Read the reports of a file, and audit them."""
    from stratagem.auditor.known import audit_reports, read_known

    with progress("auditing the reports"):
        known = read_known(file, mechanism)
        options = {"ids": known.ids, "types": tested.types, "false_alarm": tested.false_alarm}
        return known, audit_reports(mechanism, known.user_types, known.outputs, **options)


def _of_clients(file: Path, mechanism: Mechanism, tested: AuditOptions) -> dict[str, Audit]:
    """Audit the clients that are named, all that run here where none is."""
    from stratagem.auditor.audit import audit as run

    draws = _draws(file, mechanism, tested.client)
    seed = secrets.randbits(48) if tested.seed is None else tested.seed  # one repeats the audits of all
    options = {"samples": tested.samples, "types": tested.types, "seed": seed}
    options |= {"false_alarm": tested.false_alarm / len(draws)}
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
    copies = {name: Path(name) for name in asked if name.endswith(".js") and Path(name).is_file()}
    for name in asked:
        if name not in (*CLIENTS, *copies):
            raise ValueError(
                f"the client {name!r} is none of {', '.join(CLIENTS)}, and no file *.js: name one or several"
            )

    def made(name: str) -> tuple[Draw, Draw, Devices | None]:
        keeps = mechanism.memo is not None
        if name == "python":
            devices = runner.python_devices(mechanism, file) if keeps else None
            return runner.python_client(mechanism), runner.python_processes(mechanism, file), devices
        web = mechanism, file, copies.get(name)
        return (
            runner.web_client(*web),
            runner.web_processes(*web),
            runner.web_devices(*web) if keeps else None,
        )

    return {name: made(name) for name in asked}
