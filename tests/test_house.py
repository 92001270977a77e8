"""The house itself: lint, types, the root, file sizes, notebooks."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import need

ROOT = Path(__file__).parents[1]
COPIED_OUT = {"client.py"}
"""Files that must hold everything they need, as people copy them out."""
PLACES = {
    ".ci",
    ".gitignore",
    "LICENSE",
    "README.md",
    "notebooks",
    "pyproject.toml",
    "solvers",
    "src",
    "tests",
    "workloads",
}


@pytest.mark.parametrize("command", [["ruff", "check", "."], ["ruff", "format", "--check", "."]])
def test_ruff_is_content(command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_pyright_is_content():
    need("node")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_nothing_else_stands_at_the_root():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split("/")[0] for line in tracked.splitlines()} <= PLACES


@pytest.mark.parametrize("path", sorted((ROOT / "src").rglob("*.py")), ids=lambda p: p.name)
def test_a_file_holds_one_idea(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= (585 if path.name in COPIED_OUT else 320)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_run(path):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--nbmake",
        "-p",
        "no:cacheprovider",
        "-W",
        "default",
        str(path),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
