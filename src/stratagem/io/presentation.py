"""A register of the functions that show results, so that the classes of results import no figures or pages."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_modules: dict[str, str] = {}
"""Module to import for the functions whose name begins with a given word, up to the first underscore."""
_functions: dict[str, Callable[..., Any]] = {}


def shown_by(**modules: str) -> None:
    """Name the modules that register functions when they are imported, by the first word of the functions' names."""
    _modules.update(modules)


def presents(function: Function) -> Function:
    """Register a function that shows results, under its own name."""
    _functions[function.__name__] = function
    return function


def show(name: str, /, *arguments: Any, **options: Any) -> Any:
    """Return what a registered function makes of a result: a figure, or the path of the file that was written.

    Raises:
        LookupError: if no module registers a function of this name.
    """
    module = _modules.get(name.partition("_")[0])
    if module is not None:
        import_module(module)
    if name not in _functions:
        raise LookupError(f"{name!r} was asked for, but no module registers it: name one with `shown_by`")
    return _functions[name](*arguments, **options)
