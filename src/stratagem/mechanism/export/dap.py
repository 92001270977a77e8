"""Mechanisms for other systems: aggregation of shares (DAP), and measurements of OpenDP."""

from __future__ import annotations

import json
import math
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stratagem.io.target import check_target, written_atomically
from stratagem.math.number import count_text
from stratagem.mechanism.attribute import value_of
from stratagem.mechanism.client import SCALE, exp_below
from stratagem.mechanism.mechanism import Mechanism

if TYPE_CHECKING:
    from opendp.mod import Measurement

SUFFIX = ".dap.json"
PRIO3_HISTOGRAM = 0x00000004
"""Identifier of Prio3Histogram in the registry of draft-irtf-cfrg-vdaf."""
MOST_BUCKETS = (1 << 32) - 1
"""Lengths are written in 32 bits."""


def dap_description(mechanism: Mechanism) -> dict[str, Any]:
    """Return what a DAP deployment needs to collect the reports of a mechanism: JSON values only.

    An output is one of m, so a report is a measurement of the VDAF Prio3Histogram with m buckets as it
    stands: the client draws the output first, Prio3Histogram shares its one-hot vector, and the aggregate
    result is the vector of counts that estimates start from. As long as one of the two servers is
    honest nobody sees a single report, and if neither is, they still see reports that hold epsilon.

    DAP knows nothing of a randomiser on the client: no field of a task or a report names one, and the
    servers cannot tell whether it ran. So the hash of the bundle stands beside the parameters, and in the
    `task_info` that a client with Taskprov binds to the task's identifier. What only a deployment can choose
    is listed and left open. The random `id` of a report is not sent, DAP has its own.

    Raises:
        ValueError: for more outputs than the lengths of the draft hold.

    Reference:
        draft-irtf-cfrg-vdaf as of 2025 (Prio3Histogram, its identifier and the length of its proofs);
        draft-ietf-ppm-dap-taskprov-04 (TaskConfig, Prio3HistogramConfig: two uint32, big-endian).
    """
    m = mechanism.outputs
    if m > MOST_BUCKETS:
        raise ValueError(
            f"the mechanism has {m} outputs, but Prio3Histogram at most {MOST_BUCKETS} buckets: choose a strategy "
            "with fewer"
        )
    chunk = chunk_length(m)
    return {
        "format": "stratagem-dap",
        "version": 1,
        "mechanism": mechanism.identifier,
        "epsilon": mechanism.bundle["epsilon"],
        "vdaf": {
            "type": "Prio3Histogram",
            "identifier": PRIO3_HISTOGRAM,
            "length": m,
            "chunk_length": chunk,
            "proof_length": proof_length(m, chunk),
        },
        "measurement": {
            "type": "integer",
            "minimum": 0,
            "maximum": m - 1,
            "description": "the output of the report, drawn by the client of the bundle; bucket = output",
        },
        "aggregate_result": {
            "type": "array",
            "length": m,
            "description": "element y counts the reports with output y",
        },
        "task_config": {
            "task_info": f"stratagem-mechanism {mechanism.identifier}",
            "vdaf_type": PRIO3_HISTOGRAM,
            "vdaf_config": (m.to_bytes(4, "big") + chunk.to_bytes(4, "big")).hex(),
        },
        "left_to_the_deployment": [
            "leader_aggregator_endpoint",
            "helper_aggregator_endpoint",
            "time_precision",
            "min_batch_size",
            "batch_mode",
            "batch_config",
            "extensions",
        ],
    }


def save_dap(path: str | Path, mechanism: Mechanism) -> Path:
    """Write the description, *.dap.json; the file appears complete or not at all.

    Raises:
        ValueError: for another suffix or a folder that does not exist.
    """
    path = check_target(path, (SUFFIX,))
    with written_atomically(path) as file:
        file.write((json.dumps(dap_description(mechanism), indent=1) + "\n").encode())
    return path


def chunk_length(length: int) -> int:
    """Return the chunk length of the shortest proof, the smallest of equals.

    The calls of the gadget and one seed are filled up to a power of two, so only ceil(length/(2^k - 1)) can
    be best. The draft recommends to try, near the root of the length; Rust's crate prio chooses the same
    (`optimal_chunk_length`).
    """
    calls = ((1 << k) - 1 for k in range((length + 1).bit_length() - 1, 0, -1))
    return min((-(-length // most) for most in calls), key=lambda chunk: proof_length(length, chunk))


def proof_length(length: int, chunk: int) -> int:
    """Return the field elements of a Prio3Histogram proof, 2 c + 2 (p - 1) + 1.

    p is the least power of two above ceil(length/c), the calls of a gadget of 2 c inputs and degree 2.
    """
    calls = -(-length // chunk)
    return 2 * chunk + 2 * ((1 << calls.bit_length()) - 1) + 1


MOST_TYPES = (1 << 31) - 1
"""Most user types: OpenDP takes them as 32-bit numbers."""


def to_opendp(mechanism: Mechanism) -> Measurement:
    """Return an OpenDP measurement that randomises one user's type: chain it, compose it, ask its map.

    It maps the number of a user type (0..n-1, the last attribute fastest) to an output, drawn by the
    exact client with secure randomness. Its input domain are those numbers with the discrete distance, its
    privacy measure is the max divergence (pure differential privacy), and its privacy map is 0 at distance 0
    and `certified_epsilon` at every other: values differ or they do not, as in OpenDP's own randomised
    response. A user type outside the domain is refused, where OpenDP itself does not look.

    OpenDP runs functions from outside only for those who said so:
    `opendp.prelude.enable_features("contrib", "honest-but-curious")`.

    Raises:
        ImportError: without the package opendp; the extra `opendp` installs it.
        ValueError: if these features are not enabled, or for more than 2^31 - 1 user types.
    """
    from opendp.domains import atom_domain
    from opendp.measurements import make_user_measurement
    from opendp.measures import max_divergence
    from opendp.metrics import discrete_distance
    from opendp.mod import GLOBAL_FEATURES

    if missing := {"contrib", "honest-but-curious"} - GLOBAL_FEATURES:
        features = ", ".join(f'"{name}"' for name in sorted(missing))
        raise ValueError(
            f"OpenDP takes a function from outside only with {' and '.join(sorted(missing))} enabled: call "
            f"opendp.prelude.enable_features({features}) first"
        )
    n, epsilon, client = mechanism.domain.size, certified_epsilon(mechanism), mechanism.client
    if n > MOST_TYPES:
        raise ValueError(
            f"the domain has {count_text(n)} user types, but a whole number of OpenDP at most {MOST_TYPES}: use the "
            "client of the mechanism itself"
        )

    def randomise(cell: int) -> int:
        if not 0 <= cell < n:
            raise ValueError(f"{cell} was given as a user type, but there are {n}: give 0 to {n - 1}")
        return client.sampler.draw(client.cell(value_of(client.attributes, cell)), secrets.token_bytes)

    return make_user_measurement(
        atom_domain(bounds=(0, n - 1), T=int),
        discrete_distance(),
        max_divergence(),
        randomise,
        lambda distance: epsilon if distance else 0.0,
        TO=int,
    )


def certified_epsilon(mechanism: Mechanism) -> float:
    """Return a double that the certificate of the mechanism holds for, at most 2^-50 above the least.

    Guarantee:
        largest * 2^64 <= smallest * `exp_below`(epsilon) in whole numbers, so that the worst ratio in a row
        is at most exp(epsilon) for the very number that is returned.
    """
    high, low = (int(mechanism.bundle["certificate"][key]) for key in ("worst_high", "worst_low"))
    epsilon = max(0.0, math.log(high / low) * (1 - 2**-52) - 2**-53)
    while high << SCALE > low * exp_below(*epsilon.as_integer_ratio()):
        epsilon += max(math.ulp(epsilon), 2**-56)
    return epsilon
