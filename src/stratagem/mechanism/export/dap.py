"""A mechanism beside DAP, the IETF's protocol that adds up reports without any server seeing one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stratagem.io.target import check_target, written_atomically
from stratagem.mechanism.mechanism import Mechanism

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
