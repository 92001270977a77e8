"""How large and how knotted the package is: `python tests/house/house_numbers.py` prints a line a number."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
PACKAGE = SOURCE / "stratagem"
LONG = 45
"""Lines from which on a function is long, its docstring and its parameters counted."""
MANY = 12
"""Parameters above which a function outside the command line has too many."""

KINDS = {"Randomiser", "Runnable", "Strategy", "TranslationStrategy", "SurveyStrategy"}
"""Types of the first argument of what may choose by the kind of a strategy."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of every module by its dotted name."""
    return {name(path): ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}


def name(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    """Return the folder, or the loose file of the root, that a module belongs to."""
    return ".".join(module.split(".")[:2])


def imported(tree: ast.AST, modules: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the modules of the package that a syntax tree imports anywhere.

    Raises:
        AssertionError: for an import that does not name the whole path.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name the whole path"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if (found := inner if inner in modules else node.module) in modules:
                    yield found


def files() -> dict[str, set[str]]:
    """Return what each module imports."""
    return {module: set(imported(tree, trees())) - {module} for module, tree in trees().items()}


def rooms(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return what each room imports: the folders and loose files of the root."""
    found: dict[str, set[str]] = {room(module): set() for module in graph}
    for module, others in graph.items():
        found[room(module)] |= {room(other) for other in others} - {room(module)}
    return found


def circles() -> int:
    """Return how many of the two graphs, of files and of rooms, hold a circle."""
    found = 0
    for graph in (files(), rooms(files())):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError:
            found += 1
    return found


def functions(*, commands: bool = True) -> Iterator[Function]:
    """Yield every function and method, those of the command line only if asked."""
    for module, tree in trees().items():
        if commands or room(module) != "stratagem.cli":
            yield from (node for node in ast.walk(tree) if isinstance(node, Function))


def parameters(function: Function) -> list[str]:
    """Return the names of a function's parameters, the instance of a method left out."""
    given = function.args
    named = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [one for one in named if one not in ("self", "cls")]


def public_classes() -> Counter[str]:
    """Return how often each name of a public class stands for one."""
    return Counter(
        node.name
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )


def numbers() -> dict[str, int]:
    """Return every number by what it counts."""
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    public = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    lazy = [
        node
        for function in functions(commands=False)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    tables = [
        function
        for function in functions()
        if any(ast.unparse(one) == "singledispatch" for one in function.decorator_list)
        and KINDS & {*re.findall(r"\w+", ast.unparse(function.args))}
    ]
    every, outside = list(functions()), list(functions(commands=False))
    nodes = [node for tree in trees().values() for node in ast.walk(tree)]
    houses = rooms(files())
    return {
        "public names at top level": len(public),
        "dispatch tables on kinds of strategy": len(tables),
        "isinstance": sum(isinstance(node, ast.Name) and node.id == "isinstance" for node in nodes),
        "parameters called prior": sum("prior" in parameters(one) for one in every),
        "names of public classes used twice": sum(many > 1 for many in public_classes().values()),
        "imports inside functions outside the command line": len({id(node) for node in lazy}),
        f"functions over {LONG} lines": sum(_lines(one) > LONG for one in every),
        f"functions with more than {MANY} parameters outside the command line": sum(
            len(parameters(one)) > MANY for one in outside
        ),
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")),
        "files": len(trees()),
        "rooms": len(houses),
        "arrows between rooms": sum(map(len, houses.values())),
        "circles": circles(),
    }


def _lines(function: Function) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


if __name__ == "__main__":
    for what, number in numbers().items():
        sys.stdout.write(f"{number:8,}  {what}\n")
