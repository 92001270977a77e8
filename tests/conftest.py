"""Fixtures shared by all tests."""

import os
import tempfile
import time

if (
    "PYTEST_XDIST_WORKER" in os.environ
):  # one process a core, so one thread a process; before NumPy is imported
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("STRATAGEM_COMPILATION_CACHE", "off")  # tests leave the user's folder alone

import stratagem
from stratagem.solvers.solver import release_compiled_code
from tools import need


def pytest_configure(config: pytest.Config) -> None:
    """Let the processes of a run, and the programs that they start, share what any of them has compiled."""
    if config.getoption("numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="stratagem-compiled-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", folder.name)
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave one case in k of a table marked `sampled(k, rest)` to the default run, and mark the others.

    One in `rest` of them is exhaustive, by default one in two where k is more than 2; those that are left are thorough.
    """
    places: Counter[str] = Counter()
    for item in items:
        if marker := item.get_closest_marker("sampled"):
            table = item.nodeid.split("[")[0]
            k, rest = (*marker.args, 1 + (marker.args[0] > 2))[:2]
            if places[table] % k:
                left = places[table] % k % rest != 0
                item.add_marker(pytest.mark.thorough if left else pytest.mark.exhaustive)
            places[table] += 1


def pytest_report_header() -> str:
    return f"stratagem from {Path(stratagem.__file__).parent}"


@pytest.fixture(scope="session", autouse=True)
def no_progress() -> Iterator[None]:
    """Let commands that take long here, on a machine that is busy, write no lines of progress."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stratagem.cli.interruption.INTERVAL", 1e6)
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The Chromium of the system, without a window."""
    chromium = need("chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


LOOKED = [0.0]
"""When it was last looked at how much compiled code there is, which takes some 10 ms where there is much."""


@pytest.fixture(autouse=True)
def room_for_compiled_code() -> Iterator[None]:
    """Let go of compiled code in time: hundreds of shapes pass through one run of all tests, a few in a second."""
    yield
    if time.monotonic() > LOOKED[0] + 1:
        release_compiled_code()
        LOOKED[0] = time.monotonic()
