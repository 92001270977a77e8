"""Tools outside this package that some tests need."""

import importlib.util
import os
import shutil

import pytest


def need(tool: str) -> str:
    """Return the path of a tool; skip without it, unless the run promises to have them all."""
    found = shutil.which(tool)
    if found is None:
        assert "STRATAGEM_REQUIRE_TOOLS" not in os.environ, f"{tool} is missing"
        pytest.skip(f"{tool} is not installed")
    return found


def need_package(name: str) -> None:
    """Skip without a Python package, unless the run promises to have them all."""
    if importlib.util.find_spec(name) is None:
        assert "STRATAGEM_REQUIRE_TOOLS" not in os.environ, f"the package {name} is missing"
        pytest.skip(f"the package {name} is not installed")
