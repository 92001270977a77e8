"""Compiled code is kept between commands, in a folder of the user alone, of limited size, and answers stay the same."""

import os
import platform
import re
import subprocess
import sys

import pytest

from stratagem.cli.start import SETTINGS, keep_compiled_code, prune

COMMAND = (
    "optimise",
    "prefix",
    "--domain",
    "8",
    "--epsilon",
    "1",
    "--solver",
    "projected-gradient",
    "--json",
)
OURS = ("JAX_", "STRATAGEM_")
PROGRESS = re.compile(r"optimising: start \d+, step \d+, gap [\d.]+ %; \d+ s, \d+ s left\n")
"""What a search says every ten seconds, as on a busy machine."""


def ran(folder) -> str:
    """Run one command in a process of its own and return what it found, without its seconds."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    done = subprocess.run(
        [sys.executable, "-m", "stratagem.cli", *COMMAND],
        env={**plain, "STRATAGEM_COMPILATION_CACHE": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(line.startswith("optimising: ") for line in done.stderr.splitlines()), (
        "progress after 10 s alone"
    )
    return "\n".join(line for line in done.stdout.splitlines() if '"seconds"' not in line)


@pytest.mark.exhaustive
def test_a_second_command_compiles_nothing_and_says_the_same_even_from_broken_files(tmp_path):
    first = ran(tmp_path)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*-cache")}
    assert files
    assert ran(tmp_path) == first
    assert set(tmp_path.rglob("*-cache")) == set(files)
    for path, code in files.items():
        path.write_bytes(code[:100])
    assert ran(tmp_path) == first


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith(OURS):
            monkeypatch.delenv(name)
    for name in ("JAX_COMPILATION_CACHE_DIR", *SETTINGS):  # so that they are taken away again
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path


def used() -> str | None:
    """Return the folder that JAX is told to use."""
    keep_compiled_code()
    return os.environ.get("JAX_COMPILATION_CACHE_DIR")


def test_the_folder_is_the_users_alone(home):
    folder = home / "cache" / platform.node()
    assert used() == str(folder)
    assert os.name == "nt" or folder.stat().st_mode & 0o777 == 0o700


def test_a_variable_names_another_folder_or_none_and_one_of_jax_decides(home, monkeypatch):
    monkeypatch.setenv("STRATAGEM_COMPILATION_CACHE", "off")
    assert used() is None
    monkeypatch.setenv("STRATAGEM_COMPILATION_CACHE", str(home / "here"))
    assert used() == str(home / "here" / platform.node())
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "elsewhere")
    assert used() == "elsewhere"
    assert not (home / "cache").exists()


@pytest.mark.skipif(os.name == "nt", reason="folders have no such bits")
def test_a_folder_that_others_can_write_to_is_not_used(home):
    folder = home / "cache" / platform.node()
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert used() is None


def test_a_place_that_cannot_be_a_folder_is_not_used(home):
    (home / "cache").write_text("a file in its place")
    assert used() is None


def test_the_oldest_files_go_first(tmp_path):
    for age in range(5):
        (tmp_path / f"{age}").write_bytes(bytes(10))
        os.utime(tmp_path / f"{age}", (1e9 - age, 1e9 - age))
    prune(tmp_path, 30)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "2"}
