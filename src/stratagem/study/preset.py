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
    settings = dict(found.settings)
    kind = settings.pop("solver", None)
    if (made := SOLVERS.get(str(kind))) is None:
        raise ValueError(f"{found.source}: solver = {kind!r} is not a solver: {nearest(str(kind), SOLVERS)}")
    with naming(found.source):
        return _overridden(build(made, settings, found.source, also=HEADER), overrides)


def solver_of(
    solver: Solver | str | None, *, gap: float | None = None, seconds: float | None = None, **others: Any
) -> Solver:
    """Return the solver itself, the one of a name or, with limits alone, `Auto`; limits that are None change nothing.

    `gap` is how close to the bound is close enough, 0.01 for 1 %, `seconds` the longest search; `others` are
    further fields of the solver.

    >>> solver_of("quick", seconds=2.0).max_seconds, solver_of(None, gap=0.01).gap
    (2.0, 0.01)
    """
    seconds = None if seconds is None else granted(seconds)
    if isinstance(solver, str):
        return _timed(load_solver(solver, gap=gap, **others), seconds)
    if not isinstance(solver, Solver | None):
        raise ValueError(
            f"{type(solver).__name__} was given as the solver, but it is an object or a name: give st.Auto() or 'quick'"
        )
    return _timed(_overridden(solver or Auto(), {"gap": gap, **others}), seconds)


def limited(solver: Solver, seconds: float) -> Solver:
    """Return the solver with this limit of time, unless it has a smaller one."""
    own = getattr(solver, "max_seconds", None) or math.inf
    return _timed(solver, max(seconds, SOONEST) if seconds < own else None)


def _timed(solver: Solver, seconds: float | None) -> Solver:
    """Return the solver with so many seconds, if it has such a field; others ask the deadline of their call alone."""
    takes = "max_seconds" in (field.name for field in fields(solver))
    return solver if seconds is None or not takes else replace(solver, max_seconds=seconds)  # type: ignore[call-arg]


def _overridden(solver: Solver, given: dict[str, Any]) -> Solver:
    """Return the solver with some fields replaced, those whose value is not None."""
    given = {name: value for name, value in given.items() if value is not None}
    known = [field.name for field in fields(solver)]
    if extra := [name for name in given if name not in known]:
        raise ValueError(
            f"{extra[0]} was given, but {type(solver).__name__} takes {', '.join(known)}: leave it out"
        )
    return replace(solver, **given) if given else solver
