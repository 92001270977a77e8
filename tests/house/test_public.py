"""The public surface: names, lazy imports, executed docstrings, no side effects."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import FunctionType

import pytest

import stratagem as st
from face import public_names

MODULES = [
    info.name for info in pkgutil.walk_packages(st.__path__, "stratagem.") if "__main__" not in info.name
]


PUBLIC = {name: attrgetter(name)(st) for name in public_names()}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_exists_and_is_documented(name):
    home, _, own = f"stratagem.{name}".rpartition(".")
    assert PUBLIC[name].__doc__ or name in ("central.Neighbours", "solvers.Callback"), (
        "aliases of types have none"
    )
    assert own in dir(importlib.import_module(home))


SHAPE = re.compile(r"\(\w[\w+* ]*,?( \w[\w+* ]*)*\)|\w x \w|shape|R\^n")
"""A shape in a docstring: (n,), (m, k), n x n, "of the same shape"."""
RAISES = re.compile(r"^\s+raise \w+Error\(", re.MULTILINE)
YEAR = re.compile(r"\b(19|20)\d\d\b")


def said(found: type, name: str) -> str:
    """Return the docstring of a member of a class, that of a base class where it has none of its own."""
    texts = (getattr(vars(base).get(name), "__doc__", None) for base in found.__mro__)
    return inspect.cleandoc(next(filter(None, texts), ""))


def functions():
    """Yield every public function and every public method of a public class, by name, with what is said of it."""
    for name, found in PUBLIC.items():
        if inspect.isfunction(found):
            yield name, (found, inspect.getdoc(found) or "")
        elif inspect.isclass(found):
            for own, member in vars(found).items():
                inner = getattr(member, "fget", None) or getattr(member, "func", None)
                function = inner or getattr(member, "__func__", member)
                if not own.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{own}", (function, said(found, own))


FUNCTIONS = dict(functions())


def lacking(function, text) -> set[str]:
    """Return what the docstring of a function ought to say and does not."""
    types = str(inspect.get_annotations(function).values())
    lacks = set() if text.split("\n\n")[0].rstrip().endswith((".", ":")) else {"a sentence"}
    lacks |= {"shapes"} if re.search("ndarray|ArrayLike", types) and not SHAPE.search(text) else set()
    lacks |= {"errors"} if RAISES.search(inspect.getsource(function)) and "Raises:" not in text else set()
    published = function.__module__.startswith("stratagem.published") and "." not in function.__qualname__
    return lacks | ({"its source"} if published and not YEAR.search(text) else set())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_state_shapes_errors_and_sources(name):
    assert lacking(*FUNCTIONS[name]) == set()


def test_a_docstring_that_states_nothing_is_found():
    """Negative control."""

    def answer(x: "np.ndarray") -> None:  # noqa: F821
        """Do it"""
        raise ValueError("no")

    assert lacking(answer, answer.__doc__) == {"a sentence", "shapes", "errors"}


def undocumented(found: type) -> set[str]:
    """Return the public methods and properties of a class that neither it nor a base class says anything about."""
    kinds = (FunctionType, classmethod, staticmethod, property, cached_property)
    own = {name for name, one in vars(found).items() if isinstance(one, kinds) and not name.startswith("_")}
    return {name for name in own if not said(found, name)}


def test_public_methods_are_documented_where_they_are_declared():
    """An override says nothing where it would only repeat its interface."""
    classes = {
        one
        for name in MODULES
        for one in vars(importlib.import_module(name)).values()
        if inspect.isclass(one) and one.__module__ == name and not one.__name__.startswith("_")
    }
    assert {f"{one.__qualname__}.{name}" for one in classes for name in undocumented(one)} == set()


def test_a_method_that_nobody_documents_is_found():
    """Negative control."""

    class Interface:
        def told(self):
            """Say what it does."""

        def untold(self):
            pass

    class Leaf(Interface):
        def told(self):
            pass

        def own(self):
            pass

    assert (undocumented(Interface), undocumented(Leaf)) == ({"untold"}, {"own"})


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="attribute wizard"):
        _ = st.wizard


@pytest.mark.sampled(10, 2)
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


def test_searches_that_need_no_compiled_code_load_none():
    code = (
        "import sys, stratagem as st; st.optimise(st.prefix(16), 1.0); st.compare(st.marginals('2^4', 2), 1.0); "
        "heavy = {'jax', 'optax', 'cvxpy', 'matplotlib', 'duckdb'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_mechanisms_know_nothing_of_solvers():
    code = (
        "import sys; from stratagem.mechanism import matrix_import; "
        "from stratagem.mechanism.export import saved, opendp; "
        "above = {'stratagem.solvers.problem', 'stratagem.solvers.solver', 'stratagem.study', 'jax', 'opendp', "
        "'duckdb'} & set(sys.modules); "
        "assert not above, above"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


LAYERS = [
    "math.linalg",
    "math.galois",
    "workloads",
    "strategies",
    "estimators",
    "bounds",
    "solvers.problem",
    "solvers.auto",
    "published",
    "study.comparison_sweep",
]
"""Rooms, and modules in them, from the bottom up; none may import from one above it."""


SHIPPED = [
    "collection.collection",
    "estimation.estimation",
    "estimation.released",
    "mechanism.mechanism",
    "mechanism.matrix_import",
    "auditor.audit",
    "mechanism.export.opendp",
    "mechanism.export.saved",
]
"""What runs a strategy, from the bottom up, knows nothing of how it was found, nor of what stands above it."""
FORBIDDEN = [(room, LAYERS[k + 1 :]) for k, room in enumerate(LAYERS[:-1])]
FORBIDDEN += [
    (room, [*LAYERS[LAYERS.index("bounds") :], *SHIPPED[k + 1 :]]) for k, room in enumerate(SHIPPED)
]


@pytest.mark.sampled(3)
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
    own = [name for name in st.__all__ if not inspect.ismodule(getattr(st, name))]
    hidden = [name for name in own if (package / f"{name}.py").exists() or (package / name).is_dir()]
    assert hidden == []
