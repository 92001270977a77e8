"""Imports point one way: no circle between files, none between rooms, lazy imports and those for types counted."""

import ast
from graphlib import CycleError, TopologicalSorter

import pytest
from house_numbers import SOURCE, files, imported, rooms, trees


def test_no_circle_between_files():
    TopologicalSorter(files()).prepare()


def test_no_circle_between_rooms():
    TopologicalSorter(rooms(files())).prepare()


def parameters(path):
    """Return the parameters of a file's functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield from (one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))


def test_what_values_are_is_threaded_through_no_room():
    """Beside the attributes, commands read it from options, the client from a bundle."""
    found = {
        path.relative_to(SOURCE / "stratagem").as_posix()
        for path in SOURCE.rglob("*.py")
        if {"edges", "units"} & set(parameters(path))
    }
    assert {name for name in found if name.split("/")[0] not in ("cli", "domain")} == {"mechanism/client.py"}


def test_a_lazy_import_that_points_upwards_is_found():
    graph = files()
    tree = ast.parse("def plot():\n    from stratagem.report.plots import plot_estimate\n")
    graph["stratagem.estimation.estimate"] |= set(imported(tree, trees()))
    for found in (graph, rooms(graph)):
        with pytest.raises(CycleError, match="cycle"):
            TopologicalSorter(found).prepare()
