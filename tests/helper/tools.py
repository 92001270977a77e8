"""Tools that tests share: what they need from outside, what they take away, what they watch."""

import builtins
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


def take_away(monkeypatch, package: str) -> None:
    """Let every import of a package fail, as on a machine without it."""
    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)


class Counting:
    """A table that counts how often it is read."""

    def __init__(self, numbers):
        self.numbers, self.reads = numbers, 0

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, place):
        found = self.numbers[place]
        self.reads += len(found) if isinstance(place, slice) else 1
        return found
