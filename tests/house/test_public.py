"""The public surface: names, lazy imports, executed docstrings, no side effects."""

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import stratagem as st

MODULES = [
    info.name for info in pkgutil.walk_packages(st.__path__, "stratagem.") if "__main__" not in info.name
]


@pytest.mark.parametrize("name", st.__all__)
def test_every_public_name_exists_and_is_documented(name):
    assert getattr(st, name).__doc__
    assert name in dir(st)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="attribute wizard"):
        _ = st.wizard


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_importing_the_package_loads_nothing_heavy_and_switches_nothing():
    code = (
        "import sys, stratagem; heavy = {'jax', 'numpy', 'scipy', 'matplotlib', 'duckdb'} & set(sys.modules); "
        "assert not heavy, heavy; stratagem.ProjectedGradient; import jax; assert not jax.config.jax_enable_x64"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_mechanisms_know_nothing_of_solvers():
    code = (
        "import sys; from stratagem.mechanism import matrix_import; "
        "from stratagem.mechanism.export import saved, opendp; "
        "above = {'stratagem.solvers', 'stratagem.study', 'jax', 'opendp', 'duckdb'} & set(sys.modules); "
        "assert not above, above"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


LAYERS = [
    "math.linalg",
    "math.galois",
    "workloads",
    "strategies",
    "accuracy",
    "bounds",
    "solvers",
    "baselines",
    "study.comparison_sweep",
]
"""Rooms from the bottom up; none may import from a room above it."""


SHIPPED = [
    "collection.collection",
    "estimation.estimation",
    "estimation.marginal_release",
    "mechanism.mechanism",
    "mechanism.matrix_import",
    "auditor.audit",
    "mechanism.export.dap",
    "mechanism.export.saved",
]
"""What runs a strategy, from the bottom up, knows nothing of how it was found, nor of what stands above it."""
FORBIDDEN = [(room, LAYERS[k + 1 :]) for k, room in enumerate(LAYERS[:-1])]
FORBIDDEN += [
    (room, [*LAYERS[LAYERS.index("bounds") :], *SHIPPED[k + 1 :]]) for k, room in enumerate(SHIPPED)
]


@pytest.mark.parametrize(("room", "forbidden"), FORBIDDEN)
def test_imports_point_downwards(room, forbidden):
    code = (
        f"import sys, stratagem.{room}; "
        f"above = [m for m in {forbidden!r} if 'stratagem.' + m in sys.modules]; assert not above, above"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_module_hides_a_public_name():
    """Importing stratagem.x sets the attribute x of the package, whatever was public under that name."""
    package = Path(st.__file__).parent
    hidden = [name for name in st.__all__ if (package / f"{name}.py").exists() or (package / name).is_dir()]
    assert hidden == []
