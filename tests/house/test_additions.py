"""New things by the guide for contributors: one of each kind, added to a copy of the package where it says so."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKLOAD = '''
"""Every second value."""

from dataclasses import dataclass

import numpy as np

from stratagem.domain.domain import Domain
from stratagem.workloads.query import Query, cell
from stratagem.workloads.structure import Structure
from stratagem.workloads.workload import Workload


@dataclass(frozen=True, eq=False)
class EveryOther(Workload):
    """Count the users with the values 0, 2, 4, ... of one attribute."""

    domain: Domain

    @property
    def cells(self):
        return np.arange(0, self.domain.size, 2)

    @property
    def queries(self):
        return len(self.cells)

    @property
    def frobenius_squared(self):
        return float(self.queries)

    @property
    def structure(self):
        return Structure(translation_spectrum=lambda: np.full(self.domain.sizes, self.queries / self.domain.size))

    def _gram(self):
        return np.diag(np.arange(1, self.domain.size + 1) % 2.0)

    def _describe(self, query):
        return cell(self.domain, [0], 2 * query)

    def _answer(self, x):
        return x[self.cells]

    def _adjoint(self, y):
        found = np.zeros((self.domain.size, y.shape[1]))
        found[self.cells] = y
        return found


def every_other(domain):
    return EveryOther(Domain.of(domain))
'''
STRATEGY = '''
"""Strategies whose columns are the first one, moved round."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import circulant

from stratagem.strategies.strategy import MatrixStrategy


@dataclass(frozen=True, eq=False)
class MovedRound(MatrixStrategy):
    """Reports u + k with probability first[k]."""

    @classmethod
    def of(cls, first):
        return cls(circulant(first))
'''
SOLVER = '''
"""Randomised response, whatever is asked."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from stratagem.estimators import estimator
from stratagem.solvers.solver import Algorithm, Limits
from stratagem.strategies.moved_round import MovedRound


class Reached(NamedTuple):
    strategy: object
    objective: float
    stuck: bool = True


@dataclass(frozen=True)
class Hasty(Algorithm):
    reference: ClassVar[str] = "@stratagem, a test"

    @property
    def limits(self):
        return Limits(1, 1, 0.0, 1, 10.0, 0.0)

    def begin(self, problem, start, best):
        n, E = problem.workload.domain_size, np.exp(problem.epsilon)
        found = MovedRound.of(np.where(np.arange(n) == 0, E, 1.0) / (E + n - 1))
        return Reached(found, estimator(found).objective(problem.workload))

    def advance(self, problem, state):
        return state

    def finish(self, problem, state):
        return state.strategy
'''
BOUND = '''
"""Half the closed bound."""

from stratagem.bounds.formulas import Rule

HALF = Rule("half", "half the closed one, of a test", "@stratagem", 99)


def half(closed):
    return closed / 2
'''
NEW = {
    "src/stratagem/workloads/every_other.py": WORKLOAD,
    "src/stratagem/strategies/moved_round.py": STRATEGY,
    "src/stratagem/solvers/hasty.py": SOLVER,
    "src/stratagem/bounds/half.py": BOUND,
    "workloads/every-other.toml": 'title = "Every second value"\nreference = "@stratagem"\nfamily = "every-other"\n',
    "solvers/hasty.toml": 'title = "A test"\nreference = "@stratagem, a test"\nsolver = "Hasty"\n',
}
TIMID = """

TIMID = Baseline(
    "timid-response", "Randomised response with half the budget", "@warner1965randomized",
    untuned(lambda n, epsilon: randomised_response(n, epsilon / 2)),
)
"""
LINES = {
    "src/stratagem/workloads/recipe.py": {
        "from stratagem.math.privacy import check\n": "from stratagem.workloads.every_other import every_other\n",
        "FAMILIES: dict[str, Family] = {\n": '    "every-other": Family(every_other),\n',
    },
    "src/stratagem/workloads/serial.py": {
        "from stratagem.workloads.explicit import Explicit\n": (
            "from stratagem.workloads.every_other import EveryOther\n"
        ),
        "KINDS: dict[str, type[Workload]] = {\n": '    "every-other": EveryOther,\n',
    },
    "src/stratagem/study/preset.py": {
        "from stratagem.math.deadline import granted\n": "from stratagem.solvers.hasty import Hasty\n",
        "SOLVERS: dict[str, type[Solver]] = {\n": '    "Hasty": Hasty,\n',
    },
    "src/stratagem/bounds/__init__.py": {
        "from stratagem.bounds.generation import Generation\n": "from stratagem.bounds.half import HALF, half\n",
        "    n, bounds = case.n, _of_all_sizes(case)\n": (
            '    bounds = bounds.having(*Bound.of(HALF, half(bounds["closed"].value)))\n'
        ),
        "        NOISELESS,\n": "        HALF,\n",
    },
    "src/stratagem/published/__init__.py": {
        "from stratagem.published.baseline import Baseline, Setting\n": (
            "from stratagem.published.randomised_response import TIMID\n"
        ),
        "BASELINES: tuple[Baseline, ...] = (\n": "    TIMID,\n",
    },
}
"""Lines that are added to files, each behind one that stands there."""
USED = """
import json
import numpy as np
import stratagem as st
from stratagem.strategies.moved_round import MovedRound

asked = st.load("every-other", domain=8)
found = st.optimise(asked, 1.0)
hasty = st.optimise("every-other", 1.0, "hasty", domain=8)
made = MovedRound.of(np.array([4, 2, 1, 1]) / 8)
mechanism = st.Mechanism.of(made, st.histogram(4), made.epsilon)
result = st.audit(mechanism, samples=200, seed=0)
kept = st.load_mechanism(found.mechanism(name="x").save("x.ldp.json"))
print(json.dumps({
    "queries": asked.queries, "names": [str(asked.describe(k)) for k in range(4)],
    "gap": found.gap, "hasty": [len(hasty.history), hasty.history[0].best / found.objective, hasty.status],
    "half": [found.bounds["half"].value, found.bounds["closed"].value],
    "published": [one.mechanism for one in st.compare(asked, 1.0, seconds=5).rows],
    "epsilon": made.epsilon, "outputs": mechanism.outputs, "passed": result.passed,
    "answers": kept.workload.answer(np.arange(8.0)).tolist(),
    "variances": [st.evaluate(st.histogram(4), one).objective for one in (made, mechanism.strategy)],
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the package with everything new, each in its places."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("src", "workloads", "solvers"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in NEW.items():
        assert not (folder / name).exists()
        (folder / name).write_text(text.lstrip("\n"))
    family = folder / "src/stratagem/published/randomised_response.py"
    family.write_text(family.read_text() + TIMID)
    for name, lines in LINES.items():
        text = (folder / name).read_text()
        for behind, line in lines.items():
            assert text.count(behind) == 1, f"{behind} stands once in {name}"
            text = text.replace(behind, behind + line)
        (folder / name).write_text(text)
    return folder


def run(folder, *arguments):
    words = {**os.environ, "PYTHONPATH": str(folder / "src")}
    found = subprocess.run(
        [sys.executable, *arguments], env=words, cwd=folder, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_each_is_picked_up_everywhere(copy):
    told = json.loads(run(copy, "-c", USED))
    assert told["queries"] == 4
    assert len({*told["names"]}) == 4
    assert told["gap"] <= 0.01
    assert told["hasty"][0] == 1
    assert told["hasty"][1] > 1.001, "randomised response is not the best"
    assert told["hasty"][2].startswith("No search beat")
    assert told["half"][0] == pytest.approx(told["half"][1] / 2)
    assert {"timid-response", "randomised-response", "optimised"} <= {*told["published"]}
    assert told["epsilon"] == pytest.approx(1.3862943611198906)
    assert told["outputs"] == 4
    assert told["passed"]
    assert told["answers"] == [0, 2, 4, 6]
    assert told["variances"][0] == pytest.approx(told["variances"][1], rel=1e-6)


def test_the_command_line_knows_them(copy):
    listed = run(copy, "-m", "stratagem.cli", "list")
    assert {"every-other", "hasty", "timid-response"} <= {*listed.replace(",", " ").split()}
    words = "optimise every-other --domain 8 --epsilon 1 --solver hasty --json"
    assert json.loads(run(copy, "-m", "stratagem.cli", *words.split()))["status"].startswith("No search beat")
    assert "half the closed one, of a test" in run(
        copy, "-m", "stratagem.cli", *words.split()[:-1], "--details"
    )


def test_the_guide_names_every_place():
    """Every file that is touched, or its folder if it is new, stands in the guide."""
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in LINES:
        assert f"`{name.removeprefix('src/stratagem/')}`" in guide, name
    for name in NEW:
        parent = str(Path(name).parent).removeprefix("src/stratagem/")
        assert f"`{parent}/" in guide, name
