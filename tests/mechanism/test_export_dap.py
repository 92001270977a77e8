"""The description for DAP: every number checked against the circuit of Prio3Histogram, written out again here."""

import json

import jsonschema
import numpy as np
import pytest

import mechanisms
import stratagem as st
from stratagem.mechanism.export.dap import chunk_length, dap_description, proof_length, save_dap

SIZES = [*range(1, 200), 255, 256, 257, 1000, 2048, 4095, 4096, 10_000]


def mechanism(n: int = 5) -> st.Mechanism:
    return st.import_matrix(st.hadamard_response(n, 1.0).matrix, st.histogram(n), 1.0).mechanism


def proof(length: int, chunk: int) -> int:
    """Length of a proof by the draft: arity + degree (p - 1) + 1 over the gadgets, ParallelSum(Mul, chunk)."""
    calls, p = (length + chunk - 1) // chunk, 1
    while p < 1 + calls:
        p *= 2
    return 2 * chunk + 2 * (p - 1) + 1


def test_more_outputs_than_the_draft_counts_are_refused():
    with pytest.raises(ValueError, match="55218886430400 outputs, but Prio3Histogram at most 4294967295"):
        dap_description(mechanisms.mechanism("hundred"))


@pytest.mark.parametrize("length", SIZES)
def test_no_chunk_length_gives_a_shorter_proof(length):
    found = chunk_length(length)
    assert proof_length(length, found) == proof(length, found)
    assert proof(length, found) == min(proof(length, chunk) for chunk in range(1, length + 1))


# by optimal_chunk_length of the Rust crate prio, its loop followed by hand for the small ones
@pytest.mark.parametrize(("length", "chunk"), [(1, 1), (2, 2), (3, 1), (4, 2), (10, 4), (64, 10), (2048, 33)])
def test_known_chunk_lengths(length, chunk):
    assert chunk_length(length) == chunk


SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        "format",
        "version",
        "mechanism",
        "epsilon",
        "vdaf",
        "measurement",
        "aggregate_result",
        "task_config",
        "left_to_the_deployment",
    ],
    "properties": {
        "format": {"const": "stratagem-dap"},
        "version": {"const": 1},
        "mechanism": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "epsilon": {"type": "array", "items": {"type": "string", "pattern": "^[0-9]+$"}, "minItems": 2},
        "vdaf": {
            "type": "object",
            "properties": {
                "type": {"const": "Prio3Histogram"},
                "identifier": {"const": 4},
                "length": {"type": "integer", "minimum": 1, "maximum": 2**32 - 1},
                "chunk_length": {"type": "integer", "minimum": 1},
            },
        },
        "measurement": {"type": "object"},
        "aggregate_result": {"type": "object"},
        "task_config": {
            "type": "object",
            "properties": {
                "task_info": {"type": "string", "minLength": 1, "maxLength": 255},
                "vdaf_config": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
            },
        },
        "left_to_the_deployment": {"type": "array", "items": {"type": "string"}},
    },
}


def test_the_description_has_its_form_and_names_the_bundle():
    made = mechanism()
    data = dap_description(made)
    jsonschema.validate(data, SCHEMA)
    assert data["mechanism"] == made.identifier
    assert made.identifier in data["task_config"]["task_info"]
    assert data["epsilon"] == ["1", "1"]
    config = bytes.fromhex(data["task_config"]["vdaf_config"])
    assert [int.from_bytes(config[k : k + 4], "big") for k in (0, 4)] == [
        data["vdaf"]["length"],
        data["vdaf"]["chunk_length"],
    ]


def test_the_task_config_is_complete():
    """The fields of TaskConfig in draft-ietf-ppm-dap-taskprov-04, each given or left to the deployment."""
    data = dap_description(mechanism())
    assert {*data["task_config"], *data["left_to_the_deployment"]} == {
        "task_info",
        "leader_aggregator_endpoint",
        "helper_aggregator_endpoint",
        "time_precision",
        "min_batch_size",
        "batch_mode",
        "batch_config",
        "vdaf_type",
        "vdaf_config",
        "extensions",
    }


def test_reports_are_measurements_and_their_one_hot_sum_is_the_counts():
    made = mechanism()
    data = dap_description(made)
    outputs = [made.client.randomise(u % 5)["output"] for u in range(200)]
    limits = {key: data["measurement"][key] for key in ("type", "minimum", "maximum")}
    for output in outputs:
        jsonschema.validate(output, limits)
    shared = np.eye(data["vdaf"]["length"], dtype=int)[outputs].sum(axis=0)
    assert len(shared) == data["aggregate_result"]["length"] == made.outputs
    assert (shared == np.bincount(outputs, minlength=made.outputs)).all()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made.outputs, limits)


def test_it_is_saved_as_json_under_its_own_suffix(tmp_path):
    made = mechanism()
    path = save_dap(tmp_path / "h.dap.json", made)
    assert json.loads(path.read_text()) == dap_description(made)
    with pytest.raises(ValueError, match=r"\.dap\.json"):
        save_dap(tmp_path / "h.json", made)
