"""The list of everything named: workloads, solvers, mechanisms, post-processings and bounds, with references."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from stratagem.baselines import BASELINES
from stratagem.catalogue.bibliography import MEANINGS, cited, publications, readable
from stratagem.catalogue.catalogue import HEADER, KINDS, entry, names
from stratagem.estimation.postprocessing import METHODS
from stratagem.io.toml import build, naming, nearest
from stratagem.solvers import Auto, Certified, FewQueries, Junta, Orbit, ProjectedGradient, Solver

SOLVERS: dict[str, type[Solver] | type[Auto]] = {
    "Auto": Auto,
    "Certified": Certified,
    "Junta": Junta,
    "FewQueries": FewQueries,
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


def solver_of(
    solver: Solver | Auto | str | None,
    *,
    gap: float | None = None,
    seconds: float | None = None,
    **others: Any,
) -> Solver | Auto:
    """Return the solver itself, the one of a name or, with limits alone, `Auto`; limits that are None change nothing.

    `gap` is how close to the bound is close enough, 0.01 for 1 %, `seconds` the longest search; `others` are
    further fields of the solver.

    >>> solver_of("quick", seconds=2.0).max_seconds, solver_of(None, gap=0.01).gap
    (2.0, 0.01)

    Raises:
        ValueError: for what is no solver, and as `load_solver`.
    """
    given = {"gap": gap, "max_seconds": seconds, **others}
    if isinstance(solver, str):
        return load_solver(solver, **given)
    if not isinstance(solver, Solver | Auto | None):
        raise ValueError(
            f"{type(solver).__name__} was given as the solver, but it is an object or a name: give st.Auto() or 'quick'"
        )
    chosen = Auto() if solver is None else solver
    given = {name: value for name, value in given.items() if value is not None}
    return _overridden(chosen, given) if given else chosen


def _overridden(solver: Solver | Auto, given: dict[str, Any]) -> Solver | Auto:
    """Return the solver with some fields replaced."""
    known = [field.name for field in fields(solver)]
    if extra := [name for name in given if name not in known]:
        raise ValueError(f"{extra[0]} was given, but this solver takes {', '.join(known)}: leave it out")
    return replace(solver, **given)


@dataclass(frozen=True)
class Item:
    """A named workload, solver, mechanism, post-processing or bound, with its reference."""

    name: str
    title: str
    reference: str
    """The reference as readable text."""
    keys: tuple[str, ...]
    """BibTeX keys of the literature that the reference cites."""

    @staticmethod
    def of(name: str, title: str, reference: str) -> Item:
        """Return the item for a reference that cites literature as @key."""
        return Item(name, title, readable(reference), cited(reference))


def contents() -> dict[str, tuple[Item, ...]]:
    """Return all named items by kind: workloads, solvers, mechanisms, post-processings and bounds."""
    shelves = {kind: [entry(kind, name) for name in names(kind)] for kind in KINDS}
    return {
        **{
            kind: tuple(
                Item.of(name, one.title, one.reference) for name, one in zip(names(kind), shelf, strict=True)
            )
            for kind, shelf in shelves.items()
        },
        "mechanisms": tuple(Item.of(one.name, one.title, one.reference) for one in BASELINES),
        "post-processings": tuple(Item.of(one.name, one.bias, one.reference) for one in METHODS.values()),
        "bounds": tuple(Item.of(name, *meaning) for name, meaning in MEANINGS.items()),
    }


def bibtex(*chosen: str) -> str:
    """Return the BibTeX entries of the literature behind some names, by default behind everything.

    A name of several kinds, as `fourier` may be, stands for all of them.

    Raises:
        ValueError: for an unknown name, with the nearest known ones.

    Example:
        >>> print(bibtex("subset-selection").splitlines()[0])
        @misc{wang2016mutual,
    """
    items = [item for shelf in contents().values() for item in shelf]
    known = {item.name for item in items}
    if unknown := [name for name in chosen if name not in known]:
        raise ValueError(
            f"{unknown[0]!r} was given, but has no reference: {nearest(unknown[0], sorted(known))}"
        )
    keys = {key for item in items if not chosen or item.name in chosen for key in item.keys}
    return "\n\n".join(publications()[key].bibtex for key in sorted(keys)) + "\n"
