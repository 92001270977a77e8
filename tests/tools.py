"""Tools outside Python that some tests need."""

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
