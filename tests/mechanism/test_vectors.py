"""Vectors that any client may be held against: the same bytes make the same reports, the same bundles are refused."""

import io
import json

import pytest

from node import base64_text, run
from stratagem.mechanism.client import DEPTH, Client, load, parse
from write_vectors import FOLDER, nested

JUDGED = ("accepted", "refused", "refused-surveys")
REPORTS = sorted(path for path in FOLDER.glob("*.json") if path.stem not in (*JUDGED, "values"))


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_the_bytes_of_a_vector_make_its_reports(path):
    """In Python and on the web, each report after the very bytes that stand before it."""
    vector = json.loads(path.read_text("utf-8"))
    bundle, reports = vector["bundle"].encode(), vector["reports"]
    assert len(reports) > 10
    for one in reports:
        source = io.BytesIO(bytes.fromhex(one["bytes"]))
        assert Client(parse(bundle), source.read).randomise(one["value"]) == one["report"]
        assert source.read() == b""
    stream = bytes.fromhex("".join(one["bytes"] for one in reports))
    found = run("reports", bundle=bundle, stream=stream, values=[json.dumps(one["value"]) for one in reports])
    assert found == {"reports": [one["report"] for one in reports], "used": len(stream)}


def test_a_vector_with_another_byte_makes_other_reports():
    """The negative control: of the reports of all vectors, most depend on the first byte."""
    changed = 0
    for path in REPORTS:
        vector = json.loads(path.read_text("utf-8"))
        client_of = parse(vector["bundle"].encode())
        for one in vector["reports"]:
            raw = bytes.fromhex(one["bytes"])
            other = io.BytesIO(bytes([raw[0] ^ 128]) + raw[1:] + bytes(64))
            changed += Client(client_of, other.read).randomise(one["value"]) != one["report"]
    assert changed > 0.5 * sum(len(json.loads(path.read_text("utf-8"))["reports"]) for path in REPORTS)


def test_there_is_a_vector_of_every_kind_of_table_and_of_value():
    bundles = [json.loads(json.loads(path.read_text("utf-8"))["bundle"]) for path in REPORTS]
    assert {bundle["table"]["kind"] for bundle in bundles} == {"two-level", "columns", "translates", "parts"}
    parts = [part["table"]["kind"] for bundle in bundles for part in bundle["table"].get("parts", ())]
    assert {*parts} == {"two-level", "columns", "translates"}
    assert {bundle["table"]["bits"] for bundle in bundles if "bits" in bundle["table"]} == {32, 52}
    keys = {key for bundle in bundles for attribute in bundle["domain"] for key in attribute}
    assert keys >= {"labels", "edges"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("verdict", JUDGED)
def test_bundles_are_judged_as_the_vectors_say(verdict, tmp_path):
    bundles = json.loads((FOLDER / f"{verdict}.json").read_text("utf-8"))
    for why, text in bundles.items():
        path = tmp_path / "b.ldp.json"
        path.write_text(text, "utf-8")
        (web,) = run("accept", bundle=text.encode(), options=[{"memo": "null"}])
        if verdict == "accepted":
            memo = tmp_path if '"memo"' in text else None
            assert load(path, memo=memo).epsilon == web
            continue
        with pytest.raises(ValueError, match=": "):
            load(path)
        assert str(web).startswith("RangeError: "), why


def test_both_clients_stop_at_the_same_depth():
    raws = [nested(depth) for depth in (1, DEPTH, DEPTH + 1, 5 * DEPTH)]
    raws.append(b"[" * 100_000)
    said = []
    for raw in raws:
        try:
            said.append(parse(raw) and None)
        except ValueError as error:
            said.append(f"RangeError: {error}")
    assert said[:2] == [None, None]
    assert all("nested too deeply" in sentence for sentence in said[2:])
    assert run("parse", bundles=[base64_text(raw) for raw in raws]) == said
