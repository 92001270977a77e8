"""Named solvers: each catalogue entry names a solver class and values for its fields."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

from stratagem.io.toml import build, naming, nearest
from stratagem.math.deadline import granted
from stratagem.solvers import Auto, Certified, FewQueries, Junta, Orbit, ProjectedGradient, Solver
from stratagem.workloads.given import HEADER, entry

SOONEST = 1e-3
"""Seconds of a solver whose call has none left: it returns its first state."""
SOLVERS: dict[str, type[Solver]] = {
    "Auto": Auto,
    "Certified": Certified,
    "Junta": Junta,
    "FewQueries": FewQueries,
    "Orbit": Orbit,
    "ProjectedGradient": ProjectedGradient,
}


def load_solver(name: str, **overrides: Any) -> Solver:
    """Return a solver from its name in the catalogue; overrides that are None are left out.

    Raises:
        ValueError: for an unknown name, with the nearest ones, or an override the solver does not take.

    Example:
        >>> load_solver("projected-gradient", seed=7).seed
        7
    """
    found = entry("solvers", name)
    kind = found.settings.get("solver")
    if not isinstance(kind, str) or kind not in SOLVERS:
        raise ValueError(f"{found.source}: solver = {kind!r} is not a solver: {nearest(str(kind), SOLVERS)}")
    given = {key: value for key, value in overrides.items() if value is not None}
    with naming(found.source):
        settings = {key: value for key, value in found.settings.items() if key != "solver"}
        solver = build(SOLVERS[kind], settings, found.source, also=HEADER)
        return _overridden(solver, given)


def solver_of(
    solver: Solver | str | None,
    *,
    gap: float | None = None,
    seconds: float | None = None,
    **others: Any,
) -> Solver:
    """Return the solver itself, the one of a name or, with limits alone, `Auto`; limits that are None change nothing.

    `gap` is how close to the bound is close enough, 0.01 for 1 %, `seconds` the longest search; `others` are
    further fields of the solver.

    >>> solver_of("quick", seconds=2.0).max_seconds, solver_of(None, gap=0.01).gap
    (2.0, 0.01)
    """
    seconds = None if seconds is None else granted(seconds)
    given = {"gap": gap, **others}
    if isinstance(solver, str):
        return _timed(load_solver(solver, **given), seconds)
    if not isinstance(solver, Solver | None):
        raise ValueError(
            f"{type(solver).__name__} was given as the solver, but it is an object or a name: give st.Auto() or 'quick'"
        )
    chosen = Auto() if solver is None else solver
    given = {name: value for name, value in given.items() if value is not None}
    return _timed(_overridden(chosen, given) if given else chosen, seconds)


def limited(solver: Solver | str | None, seconds: float) -> Solver:
    """Return the solver of `solver_of` with this limit of time, unless it has a smaller one."""
    chosen = solver_of(solver)
    own = getattr(chosen, "max_seconds", None) or math.inf
    return _timed(chosen, max(seconds, SOONEST) if seconds < own else None)


def _timed(solver: Solver, seconds: float | None) -> Solver:
    """Return the solver with so many seconds, if it has such a field; others ask the deadline of their call alone."""
    takes = "max_seconds" in (field.name for field in fields(solver))
    return solver if seconds is None or not takes else replace(solver, max_seconds=seconds)  # type: ignore[call-arg]


def _overridden(solver: Solver, given: dict[str, Any]) -> Solver:
    """Return the solver with some fields replaced."""
    known = [field.name for field in fields(solver)]
    if extra := [name for name in given if name not in known]:
        raise ValueError(
            f"{extra[0]} was given, but {type(solver).__name__} takes {', '.join(known)}: leave it out"
        )
    return replace(solver, **given)
