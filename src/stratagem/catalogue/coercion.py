"""Conversion of what stands for a workload: its name, a file or a matrix of queries."""

from __future__ import annotations

from pathlib import Path

from numpy.typing import ArrayLike

from stratagem.catalogue.catalogue import load
from stratagem.workloads import DomainLike, Workload, explicit

WorkloadLike = Workload | str | Path | ArrayLike
"""A workload, its name in the catalogue, the path of a .toml, .npy or .csv file, or queries as a matrix (p x n)."""


def workload_of(given: WorkloadLike, domain: DomainLike | None = None) -> Workload:
    """Return the workload itself, the one of a name or path as `load` reads it, or the one of a matrix.

    `domain` is that of a name which fits any, or names the columns of a matrix.

    >>> workload_of("prefix", 8).queries, workload_of([[1, 0], [1, 1]]).domain_size
    (8, 2)

    Raises:
        ValueError: for a workload with a domain beside its own; and as `load` and `explicit`.
    """
    if isinstance(given, str | Path):
        return load(given, domain=domain)
    if not isinstance(given, Workload):
        return explicit(given, domain)  # type: ignore[arg-type]
    if domain is not None:
        raise ValueError(
            f"domain {domain} was given with a workload over domain {given.domain}: leave it out"
        )
    return given
