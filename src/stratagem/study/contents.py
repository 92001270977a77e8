"""The list of everything named: workloads, solvers, mechanisms, post-processings and bounds, with references."""

from __future__ import annotations

from dataclasses import dataclass

from stratagem.bounds import RULES
from stratagem.estimation.postprocessing import METHODS
from stratagem.io.toml import nearest
from stratagem.published import BASELINES
from stratagem.workloads.bibliography import cited, publications, readable
from stratagem.workloads.given import KINDS, entry, names


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
    shelves = {kind: {name: entry(kind, name) for name in names(kind)} for kind in KINDS}
    return {
        kind: tuple(Item.of(name, one.title, one.reference) for name, one in shelf.items())
        for kind, shelf in shelves.items()
    } | {
        "mechanisms": tuple(Item.of(one.name, one.title, one.reference) for one in BASELINES),
        "post-processings": tuple(Item.of(one.name, one.bias, one.reference) for one in METHODS.values()),
        "bounds": tuple(Item.of(rule.name, rule.meaning, rule.reference) for rule in RULES.values()),
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
