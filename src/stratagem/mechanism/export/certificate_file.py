"""Certificates of lower bounds in files: arrays from which anybody can compute the bound again."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.bounds.formulas import ulps
from stratagem.bounds.proof import Proof, listed_size
from stratagem.io.npz import array_names, read_arrays
from stratagem.io.target import check_target, written_atomically
from stratagem.io.toml import naming
from stratagem.math.linalg import centred_factor
from stratagem.math.privacy import check, check_prior, uniform
from stratagem.mechanism.export.saved import specified
from stratagem.solvers.problem import Problem
from stratagem.workloads import Workload
from stratagem.workloads.centring import centred, total_term
from stratagem.workloads.serial import to_data

SUFFIX = ".npz"
ARRAYS = {"gamma": 1, "avoided": 2, "spread": 1, "level": 1, "prices": 1, "gram": 2, "prior": 1}
"""Names of the arrays of a certificate and their number of axes; every axis has length n, but that of `level` has 2."""
NUMBERS = ("epsilon", "listed", "value")
SPECIFICATION = "specification"
LARGEST, SECONDS = 1024, 60.0
"""Largest number of user types of a certificate, and the longest search for it in seconds."""
AGREE = 1e-9
"""Largest relative difference between a number stored in the file and the same number computed again."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """A lower bound on L(Q) of every epsilon-LDP strategy for a workload, with its proof."""

    workload: Workload
    proof: Proof

    @property
    def value(self) -> float:
        """The lower bound on L(Q) that the proof shows."""
        return self.proof.value

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the certificate as .npz (see `save_certificate`)."""
        return save_certificate(path, self, overwrite=overwrite)


def certified(problem: Problem, enough: float = math.inf, seconds: float = SECONDS) -> Certificate:
    """Return a certificate of the nonnegative bound, searched for until it is enough or time is up."""
    workload = problem.workload
    if workload.domain_size > LARGEST:
        raise ValueError(
            f"the domain has {workload.domain_size} user types, but a proof holds n x n numbers, n at most "
            f"{LARGEST}: use a smaller domain"
        )
    from stratagem.bounds.nonnegative import nonnegative  # compiled code

    return Certificate(workload, nonnegative(workload, problem.epsilon, seconds, enough, problem.prior))


def save_certificate(path: str | Path, certificate: Certificate, *, overwrite: bool = False) -> Path:
    """Write a certificate as .npz and return its path.

    It holds the arrays `gamma`, `avoided` (N), `spread` (w), `level` (r_0, r_1) and `prices` (lambda) of `Proof`,
    `gram` (V), `prior`, the numbers `epsilon`, `listed` and `value`, and the text `specification`, from which the
    workload is built again.

    Raises:
        ValueError: for another suffix, a path that cannot be written, or a file that exists, unless `overwrite`.
    """
    path = check_target(path, (SUFFIX,), overwrite=overwrite)
    proof = replace(certificate.proof, gamma=certificate.proof.definite)
    n = len(proof.gamma)
    arrays: dict[str, Any] = {name: getattr(proof, name) for name in ("gamma", "avoided", "spread", "prices")}
    arrays |= {"level": np.array(proof.level), "gram": certificate.workload.gram(), "epsilon": proof.epsilon}
    arrays |= {"prior": uniform(n) if proof.prior is None else proof.prior, "value": proof.value}
    arrays |= {"listed": listed_size(n)}
    with written_atomically(path) as file:
        np.savez(file, **arrays, specification=np.str_(json.dumps(to_data(certificate.workload))))
    return path


def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate and compute its bound again from the workload and the arrays."""
    path = Path(path)
    with naming(str(path)):
        arrays, specification = _read(path)
        workload = specified(specification)
        proof = _proof(arrays, workload)
        stated = float(arrays["value"])
        if not stated <= proof.value * (1 + AGREE):
            raise ValueError(
                f"it states the bound {stated:.10g}, but its arrays prove {proof.value:.10g}: do not rely on it"
            )
    return Certificate(workload, proof)


def _read(path: Path) -> tuple[dict[str, np.ndarray], str]:
    """Return the arrays and numbers of a file, checked one by one, and the specification of the workload."""
    known = (*ARRAYS, *NUMBERS, SPECIFICATION)
    try:
        missing = sorted(set(known) - set(array_names(path)))
        if missing:
            raise ValueError(f"it lacks the array {missing[0]}")
        arrays = read_arrays(path, known)
    except OSError as error:
        raise ValueError(f"{error.strerror or error}: give the path of a proof of a bound") from None
    except ValueError as error:
        raise ValueError(f"it is no proof of a bound, {error}: give a file that stratagem wrote") from None
    text = arrays.pop(SPECIFICATION)
    for name, array in arrays.items():
        if array.ndim != ARRAYS.get(name, 0) or array.dtype.kind not in "if" or not np.isfinite(array).all():
            raise ValueError(f"the array {name} does not hold the numbers of a proof: give another file")
    return arrays, str(text)


def _proof(arrays: dict[str, np.ndarray], workload: Workload) -> Proof:
    """Return the proof that the arrays hold, its factor of V computed from the workload."""
    n, N = workload.domain_size, arrays["avoided"]
    for name, dimensions in ARRAYS.items():
        shape = (2,) if name == "level" else (n,) * dimensions
        if arrays[name].shape != shape:
            raise ValueError(
                f"the array {name} has the shape {arrays[name].shape}, but its {n} user types need {shape}: "
                "give another file"
            )
    V = workload.gram()
    if np.abs(V - arrays["gram"]).max() > AGREE * np.abs(V).max():
        raise ValueError("the array gram is not V of its workload: do not rely on it")
    if (N != N.T).any():
        raise ValueError("the array avoided is not symmetric: do not rely on it")
    p = arrays["prior"]
    prior = None if (p == uniform(n)).all() else check_prior(p, n)
    return Proof(
        gamma=arrays["gamma"],
        avoided=N,
        spread=arrays["spread"],
        level=(float(arrays["level"][0]), float(arrays["level"][1])),
        prices=arrays["prices"],
        factor=centred_factor(centred(workload, prior).gram, prior),
        total=total_term(workload, prior),
        epsilon=check(float(arrays["epsilon"])),
        prior=prior,
        ulps=ulps(workload),
    )
