"""The kinds of constraints: for each, how it is solved and what is said of the result."""

from __future__ import annotations

from stratagem.solvers.problem import Constraint, GuessCap, Permanent, Shuffled, Steps
from stratagem.study.capped import CappedGuess
from stratagem.study.constrained import Kind
from stratagem.study.metric import ByDistance
from stratagem.study.repeated import Memoised
from stratagem.study.shuffling import BehindAShuffler

KINDS: dict[type[Constraint], Kind] = {
    GuessCap: CappedGuess(),
    Permanent: Memoised(),
    Shuffled: BehindAShuffler(),
    Steps: ByDistance(),
}
"""A new constraint is a class in `problem.constraint`, a solver in `solvers/` or here, and a kind."""
