"""The command `list`: everything that has a name."""

from __future__ import annotations

from stratagem.cli.option import JSON
from stratagem.cli.output import write, write_json, write_table


def listing(json: JSON = False) -> None:
    """List the workloads, solvers, mechanisms and post-processings, each with one line and its reference."""
    from stratagem.baselines import BASELINES
    from stratagem.mechanism.postprocessing import METHODS

    mechanisms = [{"name": one.name, "title": one.title, "reference": one.reference} for one in BASELINES]
    methods = [{"name": one.name, "title": one.bias, "reference": one.reference} for one in METHODS.values()]
    tables = {
        "workloads": _catalogue("workloads"),
        "solvers": _catalogue("solvers"),
        "mechanisms": mechanisms,
        "post-processings": methods,
    }
    if json:
        write_json(tables)
        return
    for kind, entries in tables.items():
        write_table((kind, "", "reference"), [tuple(entry.values()) for entry in entries], words=3)
        write()


def _catalogue(kind: str) -> list[dict[str, str]]:
    from stratagem.catalogue import entry, names

    entries = {name: entry(kind, name) for name in names(kind)}
    return [{"name": name, "title": one.title, "reference": one.reference} for name, one in entries.items()]
