"""Counts where outputs by far outnumber reports: only those that came, the same however they are counted."""

import json

import ibis
import numpy as np
import pyarrow as pa
import pytest

from stratagem.collection.collection import Collection
from stratagem.collection.report_table import aggregate
from stratagem.collection.reports import ReportFormat
from stratagem.collection.tally import Aggregator, parse_tally, tally_data
from stratagem.math.vector import DENSE, SparseCounts, counted

IDENTIFIER = "0123456789abcdef" * 4
MANY = 1 << 53
OUTPUTS = [MANY - 1, 0, 7, MANY - 1, 1 << 52, 7, 7]
EXPECTED = ([0, 7, 1 << 52, MANY - 1], [1, 3, 1, 2])


def report(number, output):
    return {"mechanism": IDENTIFIER[:16], "id": f"{number:032x}", "output": output}


REPORTS = [report(number, output) for number, output in enumerate(OUTPUTS)]
RECEIVED = [*REPORTS, report(2, 7), report(50, 1), report(50, 2), report(60, MANY)]
"""With one again, one id with two outputs, and one output out of range."""


def pair(counts):
    assert isinstance(counts, SparseCounts)
    assert counts.outputs.dtype == counts.counts.dtype == np.int64
    assert counts.size == MANY
    return counts.outputs.tolist(), counts.counts.tolist()


def in_process(folder):
    aggregator = Aggregator(IDENTIFIER, MANY)
    for one in RECEIVED:
        aggregator.add(one)
    return aggregator.tally()


def in_a_collection(folder):
    path = folder / "reports.jsonl"
    path.write_text("\n".join(map(json.dumps, RECEIVED)))
    with Collection(None, IDENTIFIER, MANY) as collection:
        collection.add(path)
        return collection.tally()


def in_a_table(folder):
    return aggregate(ibis.memtable(pa.Table.from_pylist(RECEIVED)), IDENTIFIER, MANY)


def from_a_file(folder):
    text = json.dumps(tally_data(in_process(folder), IDENTIFIER)).encode()
    return parse_tally(text, ReportFormat(IDENTIFIER, MANY), "it")


@pytest.mark.parametrize("count", [in_process, in_a_collection, in_a_table, from_a_file])
def test_every_way_of_counting_comes_to_the_same(count, tmp_path):
    found = count(tmp_path)
    assert pair(found.counts) == EXPECTED
    assert (found.reports, found.duplicates, found.conflicting, found.received) == (7, 2, 1, 11)
    assert found.rejected == {"output out of range": 1}


def test_reports_without_ids_are_counted_too():
    found = aggregate(ibis.memtable(pa.table({"output": OUTPUTS})), IDENTIFIER, MANY, anonymous="count")
    assert pair(found.counts) == EXPECTED
    assert found.anonymous == found.reports == 7


def test_few_outputs_get_a_vector_and_many_do_not():
    outputs, times = np.array([3, 1, 3]), np.array([1, 2, 1 << 60])
    assert counted(outputs, 4).tolist() == [0, 1, 0, 2]
    assert counted(outputs, 4, times).tolist() == [0, 2, 0, (1 << 60) + 1]
    assert isinstance(counted(outputs, DENSE), np.ndarray)
    sparse = counted(outputs, DENSE + 1, times)
    assert isinstance(sparse, SparseCounts)
    assert (sparse.outputs.tolist(), sparse.counts.tolist()) == ([1, 3], [2, (1 << 60) + 1])
    assert np.array_equal(SparseCounts.of(sparse.dense()).counts, sparse.counts)
    with pytest.raises(ValueError, match="do not fit into one array"):
        counted(outputs, MANY).dense()


@pytest.mark.parametrize(
    ("outputs", "counts"),
    [
        ([2, 1], [1, 1]),
        ([1, 1], [1, 1]),
        ([-1], [1]),
        ([4], [1]),
        ([1], [0]),
        ([1], [1, 1]),
        ([0.5], [1]),
        ([[1]], [[1]]),
        ([True], [1]),
    ],
)
def test_counts_that_are_none_are_refused(outputs, counts):
    with pytest.raises(ValueError, match="must be"):
        SparseCounts(np.array(outputs), np.array(counts), 4)


@pytest.mark.parametrize(
    "counts",
    [
        [1],
        {"outputs": [1]},
        {"outputs": 1, "counts": 1},
        {"outputs": [1, 1], "counts": [1, 1]},
        {"outputs": [MANY], "counts": [2]},
        {"outputs": [1], "counts": [1]},
        {"outputs": [1], "counts": [True]},
        {"outputs": [1, 2], "counts": [7]},
    ],
)
def test_files_of_counts_that_do_not_belong_are_refused(counts, tmp_path):
    data = tally_data(in_process(tmp_path), IDENTIFIER) | {"counts": counts}
    with pytest.raises(ValueError, match=r"tally as it was written|SparseCounts"):
        parse_tally(json.dumps(data).encode(), ReportFormat(IDENTIFIER, MANY), "it")
