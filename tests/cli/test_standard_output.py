"""Standard output of a command with --json: one JSON object, whatever solvers print themselves."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import run_json
from stratagem.math.computing import quiet_solver

SOURCE = Path(__file__).parents[2] / "src"
SOLVED = re.compile(r"\.solve\(solver=|DefaultSolver\(|\blinprog\(|\bmilp\(|highspy")
"""What calls compiled solvers."""
LINEAR = ("count", "--size=6", "--alpha=.9", "--loss=L2", "--properties=WH,CM")
COMMANDS = {
    "HiGHS by CVXPY": LINEAR,
    "HiGHS by SciPy": ("count", "--size=3", "--alpha=.9", "--max", "--loss=L2"),
    "Clarabel by CVXPY": (*LINEAR, "--solver=clarabel"),
    "the exact bound": ("optimise", "prefix", "--domain=5", "--epsilon=1", "--solver=quick"),
    "the three-point bound": ("bound", "marginals", "--domain=2^5", "--order=2", "--epsilon=1"),
    "a comparison": ("compare", "prefix", "--domain=5", "--epsilon=1", "--solver=quick"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_one_object_at_the_level_of_file_descriptors(capfd, name):
    """HiGHS 1.16 printed its version before the object."""
    assert run_json(capfd, *COMMANDS[name])


def test_it_is_one_object_in_a_process_of_its_own():
    command = [sys.executable, "-m", "stratagem.cli", *LINEAR, "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout)["name"] == "programmed"
    assert ended.stderr == ""


def test_what_a_solver_prints_goes_nowhere_and_what_others_print_stays(capfd):
    os.write(1, b"before ")
    with quiet_solver():
        os.write(1, b"lost ")
        with pytest.raises(KeyError), quiet_solver():
            raise KeyError(os.write(1, b"lost as well "))
        os.write(1, b"lost ")
    os.write(1, b"after")
    assert capfd.readouterr().out == "before after"


def test_a_closed_output_stays_closed():
    code = (
        "import os\nfrom stratagem.math.computing import quiet_solver\n"
        "os.close(1)\nwith quiet_solver(): pass\nos.dup(1)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stderr.rstrip().endswith("Bad file descriptor")


def test_every_compiled_solver_is_called_quietly():
    calling = {path.name for path in SOURCE.rglob("*.py") if SOLVED.search(path.read_text(encoding="utf-8"))}
    assert calling == {"exact.py", "three_point.py", "program.py", "remap.py"}
    for path in SOURCE.rglob("*.py"):
        if path.name in calling:
            text = path.read_text(encoding="utf-8")
            assert text.count("with quiet_solver()") >= len(re.findall(r"\.solve\(solver=|= linprog\(", text))
