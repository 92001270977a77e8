"""Named solvers: a catalogue entry names a class, its other keys are fields of that class."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from stratagem.catalogue.catalogue import HEADER, entry
from stratagem.file.toml import build, naming, nearest
from stratagem.solvers import Auto, Certified, Junta, OneQuery, Orbit, ProjectedGradient, Solver

SOLVERS: dict[str, type[Solver] | type[Auto]] = {
    "Auto": Auto,
    "Certified": Certified,
    "Junta": Junta,
    "OneQuery": OneQuery,
    "Orbit": Orbit,
    "ProjectedGradient": ProjectedGradient,
}


def load_solver(name: str, **overrides: Any) -> Solver | Auto:
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


def _overridden(solver: Solver | Auto, given: dict[str, Any]) -> Solver | Auto:
    """Return the solver with some fields replaced."""
    known = [field.name for field in fields(solver)]
    if extra := [name for name in given if name not in known]:
        raise ValueError(f"{extra[0]} was given, but this solver takes {', '.join(known)}: leave it out")
    return replace(solver, **given)
