"""The command `simulate`: real data in, error against the truth out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import progress
from stratagem.cli.layout import read_policy, read_sources, read_values
from stratagem.cli.option import CLIP, DECIMAL, EDGES, INVALID, JSON, LABELS, MAP, MISSING, STRATEGY_FILE
from stratagem.cli.output import translated, write, write_json, write_table
from stratagem.io.screen import visible

if TYPE_CHECKING:
    from stratagem.domain.columns import Data
    from stratagem.estimation.simulation import Simulation
    from stratagem.mechanism.export.saved import StoredStrategy
    from stratagem.mechanism.mechanism import Mechanism


def simulate(
    file: STRATEGY_FILE,
    data: Annotated[Path, typer.Option(metavar="DATA", help="A CSV (with a header) or Parquet file.")],
    column: Annotated[
        list[str],
        typer.Option(help="The column to read; with several attributes ATTRIBUTE=COLUMN, repeated."),
    ],
    edges: EDGES = None,
    labels: LABELS = None,
    invalid: INVALID = "fail",
    missing: MISSING = None,
    mapping: MAP = None,
    decimal: DECIMAL = None,
    clip: CLIP = False,
    repetitions: Annotated[int, typer.Option(min=2, help="How often all users report.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Makes the run repeatable.")] = 0,
    queries: Annotated[int, typer.Option(min=1, help="Answers to show, evenly spread.")] = 10,
    json: JSON = False,
) -> None:
    """Run a saved strategy on a file: true and estimated answers, observed against predicted error."""
    from stratagem.domain.columns import read
    from stratagem.estimation.simulation import simulate_users
    from stratagem.math.number import spread
    from stratagem.mechanism.export.saved import read_saved
    from stratagem.workloads.serial import over

    policy = read_policy(data, invalid, missing, clip, decimal, mapping)
    stored = read_saved(file)
    domain = read_values(stored.workload.domain, edges, labels)
    asked = over(stored.workload, domain.attributes)
    with progress("simulating"):
        users = read(data, domain, read_sources(domain, column), policy)
        runs = {"repetitions": repetitions, "seed": seed, "prior": stored.prior}
        result = simulate_users(asked, stored.strategy, users.coordinates, users.counts, **runs)
    shown = spread(len(result.truth), queries)
    if json:
        write_json(_data(stored, users, result, shown))
    else:
        _describe(stored, users, result, shown)


def _data(
    stored: Mechanism | StoredStrategy, users: Data, result: Simulation, shown: list[int]
) -> dict[str, object]:
    errors = result.standard_errors
    answers = [
        {
            "query": int(i),
            "label": result.naming.label(i),
            "true": float(result.truth[i]),
            "estimate": float(result.estimates[i]),
            "standard_error": None if errors is None else float(errors[i]),
        }
        for i in shown
    ]
    return {
        "workload": stored.name,
        "domain": str(stored.workload.domain),
        "epsilon": float(stored.epsilon),
        "users": result.users,
        "outside": users.outside,
        "others": users.others,
        "queries": len(result.truth),
        "repetitions": len(result.observed),
        "observed": float(result.observed.mean()),
        "predicted": result.predicted,
        "ratio": None if result.exact else result.ratio,
        "ratio_standard_error": None if result.exact else result.ratio_error,
        "normalised_variance": result.normalised,
        "answers": answers,
    }


def _describe(stored: Mechanism | StoredStrategy, users: Data, result: Simulation, shown: list[int]) -> None:
    from stratagem.io.table import Table
    from stratagem.workloads.explicit import counts_users

    write(f"{visible(stored.name)} over domain {stored.workload.domain}, epsilon {float(stored.epsilon):g}")
    write(f"{users}\n")
    for sentence in users.notes:
        write(f"{translated(sentence)}\n")
    headings = ("query", "true", "estimate", "off by", "predicted standard error")
    write_table(Table(headings, _rows(result, shown)))
    write(
        f"\n{len(shown)} of {len(result.truth):,} queries shown, from repetition 1 of {len(result.observed)}"
    )
    if result.exact:
        write("these answers carry no error that double precision can show, so there is none to compare")
        return
    root = (result.predicted / len(result.truth)) ** 0.5
    counts = counts_users(stored.workload)
    write(f"predicted error of an answer (root mean square): {_error(root, result.users, counts=counts)}")
    if result.standard_errors is not None:
        worst = int(result.standard_errors.argmax())
        error = float(result.standard_errors[worst])
        write(
            f"predicted error of the least accurate one, {result.naming.label(worst)}: "
            f"{_error(error, result.users, counts=counts)}"
        )
    write(f"observed / predicted squared error: {result.ratio:.3f} ± {result.ratio_error:.3f} (1 expected)")


def _error(error: float, users: int, *, counts: bool) -> str:
    """Return a standard error as users and a share of them, or where answers count no users as it is."""
    if counts:
        return f"{error:,.1f} users, {100 * error / users:.2f} % of all"
    return f"{error:,.1f} in the units of the query, {error / users:.3g} a user"


def _rows(result: Simulation, shown: list[int]) -> list[tuple[str, ...]]:
    errors = result.standard_errors
    return [
        (
            result.naming.label(i),
            f"{result.truth[i]:,.6g}",
            f"{result.estimates[i]:,.1f}",
            f"{result.estimates[i] - result.truth[i]:+,.1f}",
            "" if errors is None else f"{errors[i]:,.1f}",
        )
        for i in shown
    ]
