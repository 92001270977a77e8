"""Imports point one way: no circle between files, none between rooms, lazy imports and those for types counted."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
ROOMS, ARROWS = 20, 105
"""Rooms of the package, a loose file of its root counted as one, and arrows between them: no more than now."""


def name(path):
    """Return the dotted name of a module."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree, modules):
    """Return the modules of the package that a syntax tree imports anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name the whole path"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if (found := inner if inner in modules else node.module) in modules:
                    yield found


@cache
def files():
    """Return what each module imports."""
    paths = {name(path): path for path in SOURCE.rglob("*.py")}
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in paths.items()}
    return {module: set(imported(tree, paths)) - {module} for module, tree in trees.items()}


def rooms(graph):
    """Return what each room imports: the folders and loose files of the root."""

    def room(module):
        return ".".join(module.split(".")[:2])

    found = {room(module): set() for module in graph}
    for module, others in graph.items():
        found[room(module)] |= {room(other) for other in others} - {room(module)}
    return found


def test_no_circle_between_files():
    TopologicalSorter(files()).prepare()


def test_no_circle_between_rooms():
    TopologicalSorter(rooms(files())).prepare()


def test_rooms_and_arrows_do_not_grow():
    found = rooms(files())
    assert len(found) <= ROOMS
    assert sum(map(len, found.values())) <= ARROWS


def test_a_lazy_import_that_points_upwards_is_found():
    graph = files()
    tree = ast.parse("def plot():\n    from stratagem.report.plots import plot_estimate\n")
    graph["stratagem.estimation.estimate"] |= set(imported(tree, graph))
    for found in (graph, rooms(graph)):
        with pytest.raises(CycleError, match="cycle"):
            TopologicalSorter(found).prepare()
