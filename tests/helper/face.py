"""The public names of the package: those at the top, and those of the modules that stand there."""

from inspect import ismodule

import stratagem as st

APART = {"central", "counts"}
"""Modules in which a name of the top stands for something else."""


def public_names() -> list[str]:
    """Return every public name once, as one writes it behind `st.`."""
    modules = [name for name in st.__all__ if ismodule(getattr(st, name))]
    top = [name for name in st.__all__ if name not in modules]
    return top + [
        f"{module}.{name}"
        for module in modules
        for name in getattr(st, module).__all__
        if name not in top or module in APART
    ]
