"""Parquet files whose statistics are false: their values count, as in a file that tells the truth."""

import numpy as np
import pyarrow as pa
import pytest

from lying_parquet import write
from report_files import IDENTIFIER, MECHANISM, OUTPUTS, collected
from stratagem.auditor.known import read_known
from stratagem.collection import report_table
from stratagem.collection.collection import Collection
from stratagem.domain.columns import distinct
from stratagem.math.vector import counted
from stratagem.mechanism.matrix_input import read_probabilities

SENT = [0, 1, 100, -5, -1, 3]
"""Outputs, of which three are none of the OUTPUTS."""
IDS = [f"{number:032x}" for number in range(1, 7)]
OTHERS = ["f" * 16, *[MECHANISM] * 5]
"""Mechanisms named, of which one is another."""
LIE = [(-5, 0), (100, 3)]
TYPES = [pa.int64(), pa.int32(), pa.int16(), pa.int8()]


def lying(path, kind=TYPES[0], lies=LIE, **columns):
    """A file of the reports SENT whose statistics put them inside the range."""
    outputs = {"output": pa.array(SENT, kind)}
    return write(path, columns | outputs, [(pa.scalar(a, kind), pa.scalar(b, kind)) for a, b in lies])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lies", [[], LIE], ids=["true", "false"])
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_what_is_out_of_range_is_rejected_whatever_the_file_states(kind, lies, tmp_path):
    path = lying(tmp_path / "a.parquet", kind, lies, id=pa.array(IDS))
    tally = collected(path)
    assert tally.counts.tolist() == [1, 1, 0, 1, 0, 0, 0]
    assert tally.rejected == {"output out of range": 3}
    anonymous = collected(lying(tmp_path / "b.parquet", kind, lies), anonymous="count")
    assert anonymous.counts.tolist() == tally.counts.tolist()


def test_reports_of_another_mechanism_are_rejected_whatever_the_file_states(tmp_path):
    """Its statistics say that all reports are of this mechanism."""
    columns = {"mechanism": pa.array(OTHERS), "id": pa.array(IDS), "output": pa.array([1] * 6)}
    path = write(tmp_path / "a.parquet", columns, [(pa.scalar("f" * 16), pa.scalar(MECHANISM))])
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        collection.add(path)
        assert collection.tally().counts.tolist() == [0, 5, 0, 0, 0, 0, 0]
        assert collection.tally().rejected == {"another mechanism": 1}
        assert collection.foreign(path) == {"f" * 16: 1}


def unjudged(table, *_):
    import ibis

    return table.select("id", "output", reason=ibis.null("string"))


def test_a_file_whose_range_was_not_checked_is_not_taken(tmp_path, monkeypatch):
    """The control: where the range is not checked, as DuckDB leaves it out, the check before the commit finds them."""
    path, state = lying(tmp_path / "a.parquet", id=pa.array(IDS)), tmp_path / "s.duckdb"
    with monkeypatch.context() as patch, Collection(state, IDENTIFIER, OUTPUTS) as collection:
        patch.setattr(report_table, "judge", unjudged)
        with pytest.raises(ValueError, match="3 rows that are neither reports nor rejected"):
            collection.add(path)
        assert collection.tally().received == 0
    with Collection(state, IDENTIFIER, OUTPUTS) as collection:
        assert collection.add(path)[0].rows == collection.tally().received == 6


@pytest.mark.parametrize("size", [OUTPUTS, 1 << 30])
@pytest.mark.parametrize("wrong", [-1, -5, 1 << 30])
def test_numbers_outside_are_not_added(wrong, size):
    with pytest.raises(ValueError, match=f"an output is {wrong}, but must be from 0 to {size - 1}"):
        counted(np.array([0, wrong]), size)


def test_values_of_data_are_read_whatever_the_file_states(tmp_path):
    path = lying(tmp_path / "a.parquet")
    assert distinct(path, "output") == dict.fromkeys(map(str, SENT), 1)


def test_a_matrix_is_read_whatever_the_file_states(tmp_path):
    """Its rows are in the order of their outputs, which DuckDB would pack into two bits."""
    path = lying(tmp_path / "a.parquet", u0=pa.array([float(value) for value in SENT]))
    np.testing.assert_array_equal(read_probabilities(path)[:, 0], sorted(SENT))


def test_known_reports_are_read_whatever_the_file_states(tmp_path):
    from mechanisms import mechanism

    found = mechanism("two-level")
    path = lying(tmp_path / "a.parquet", user_type=pa.array([0] * 6))
    assert read_known(path, found).outputs.tolist() == [0, 1, -1 if found.outputs <= 100 else 100, -1, -1, 3]
