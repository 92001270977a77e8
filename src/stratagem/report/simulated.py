"""A simulation in words: true and estimated answers of a saved strategy, observed against predicted errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stratagem.domain.columns import Data
from stratagem.domain.domain import Domain
from stratagem.estimation.simulation import Simulation, simulate, simulate_users
from stratagem.io.screen import visible
from stratagem.io.table import Table
from stratagem.math.number import spread
from stratagem.mechanism.export.saved import StoredStrategy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.strategies import TranslationStrategy
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.serial import over


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulated:
    """The simulation of a saved strategy on the users of a file."""

    stored: Mechanism | StoredStrategy
    users: Data
    result: Simulation
    shown: list[int]
    """Numbers of the queries that are shown."""

    def record(self) -> dict[str, Any]:
        """Return the simulation as named values."""
        stored, users, result = self.stored, self.users, self.result
        errors = result.standard_errors
        answers = [
            {
                "query": int(i),
                "label": result.naming.label(i),
                "true": float(result.truth[i]),
                "estimate": float(result.estimates[i]),
                "standard_error": None if errors is None else float(errors[i]),
            }
            for i in self.shown
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

    def sentences(self) -> Iterator[str | Table]:
        """Yield whose reports were simulated, some answers as a table, and the errors."""
        stored, result = self.stored, self.result
        yield f"{visible(stored.name)} over domain {stored.workload.domain}, epsilon {float(stored.epsilon):g}"
        for sentence in (str(self.users), *self.users.notes):
            yield from (sentence, "")
        yield self._table()
        some = f"{len(self.shown)} of {len(result.truth):,} queries shown"
        yield from ("", f"{some}, from repetition 1 of {len(result.observed)}")
        if result.exact:
            yield "these answers carry no error that double precision can show, so there is none to compare"
            return
        root = (result.predicted / len(result.truth)) ** 0.5
        yield f"predicted error of an answer (root mean square): {self._error(root)}"
        if result.standard_errors is not None:
            worst = int(result.standard_errors.argmax())
            error = self._error(float(result.standard_errors[worst]))
            yield f"predicted error of the least accurate one, {result.naming.label(worst)}: {error}"
        yield f"observed / predicted squared error: {result.ratio:.3f} ± {result.ratio_error:.3f} (1 expected)"

    def _error(self, error: float) -> str:
        """Return a standard error as users and a share of them, or where answers count no users as it is."""
        if counts_users(self.stored.workload):
            return f"{error:,.1f} users, {100 * error / self.result.users:.2f} % of all"
        return f"{error:,.1f} in the units of the query, {error / self.result.users:.3g} a user"

    def _table(self) -> Table:
        result, errors = self.result, self.result.standard_errors
        rows = [
            (
                result.naming.label(i),
                f"{result.truth[i]:,.6g}",
                f"{result.estimates[i]:,.1f}",
                f"{result.estimates[i] - result.truth[i]:+,.1f}",
                "" if errors is None else f"{errors[i]:,.1f}",
            )
            for i in self.shown
        ]
        return Table(("query", "true", "estimate", "off by", "predicted standard error"), rows)


def simulated(
    stored: Mechanism | StoredStrategy,
    domain: Domain,
    users: Data,
    *,
    repetitions: int,
    seed: int,
    shown: int,
) -> Simulated:
    """Return the simulation of a strategy, whose values are those of `domain`, on the users of a file."""
    asked, runs = over(stored.workload, domain.attributes), {"repetitions": repetitions, "seed": seed}
    if isinstance(stored.strategy, TranslationStrategy):
        result = simulate_users(asked, stored.strategy, users.coordinates, users.counts, **runs)
    else:
        result = simulate(asked, stored.strategy, users.x, **runs, prior=stored.prior)
    return Simulated(stored=stored, users=users, result=result, shown=spread(len(result.truth), shown))
