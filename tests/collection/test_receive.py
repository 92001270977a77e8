"""Reports that come in no file: each id is taken once, and they stand beside those of files."""

import numpy as np
import pytest

from report_files import IDENTIFIER, OUTPUTS, facts, write_csv
from stratagem.collection.collection import Collection
from stratagem.collection.tally import Receipt

TAKEN, REPEATED, CONTESTED = Receipt


def arrays(*reports):
    """Reports (number of the id, output) as a collection receives them."""
    ids = [bytes(15) + bytes([name]) for name, _ in reports]
    return np.frombuffer(b"".join(ids), np.uint8).reshape(-1, 16), np.array([output for _, output in reports])


def name(number):
    return f"{number:032x}"


CASES = {
    "new": ([(1, 0), (2, 3)], [TAKEN, TAKEN]),
    "sent again": ([(8, 4)], [REPEATED]),
    "another output": ([(8, 5)], [CONTESTED]),
    "again among those that come": ([(1, 0), (1, 0), (1, 2), (1, 0)], [TAKEN, REPEATED, CONTESTED, REPEATED]),
    "contested before": ([(9, 1), (9, 2), (9, 3)], [CONTESTED] * 3),
    "all at once": ([(8, 5), (3, 6), (8, 4), (3, 0)], [CONTESTED, TAKEN, REPEATED, CONTESTED]),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
def test_each_id_is_taken_once(case, tmp_path):
    sent, expected = CASES[case]
    write_csv(tmp_path / "a.csv", [(name(8), 4), (name(9), 1), (name(9), 2)])
    with Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS) as collection:
        collection.add(tmp_path / "a.csv")
        before = collection.tally()
        assert collection.receive(*arrays(*sent)).tolist() == expected
        after = collection.tally()
        assert collection.receive(*arrays(*sent)).tolist() == [max(one, REPEATED) for one in expected]
        assert facts(collection.tally()) == facts(after)
    added = np.zeros(OUTPUTS, int)
    np.add.at(added, [output for (_, output), one in zip(sent, expected, strict=True) if one == TAKEN], 1)
    assert (after.counts - before.counts).tolist() == added.tolist()
    assert after.conflicting == before.conflicting == 1
    with Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS) as collection:
        assert facts(collection.tally()) == facts(after)


def test_files_are_taken_before_and_after(tmp_path):
    write_csv(tmp_path / "a.csv", [(name(1), 1)])
    write_csv(tmp_path / "b.csv", [(name(2), 2), (name(1), 1), (name(3), 3)])
    with Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS) as collection:
        collection.receive(*arrays((3, 3)))
        collection.add(tmp_path / "a.csv")
        collection.receive(*arrays((4, 4), (1, 1)))
        collection.add(tmp_path / "b.csv")
        collection.receive(*arrays((5, 4)))
        tally = collection.tally()
        assert collection.add(tmp_path / "b.csv")[0].before
    assert tally.counts.tolist() == [0, 1, 1, 1, 2, 0, 0]
    assert tally.duplicates == 2


def test_a_tally_sees_one_moment_of_a_collection_that_grows(tmp_path, monkeypatch):
    """A second connection counts while reports come between its statements."""
    with Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS) as collection:
        collection.receive(*arrays((1, 1)))
        with collection.another() as reader:
            parts = Collection._parts

            def between(self, reports):
                yield from parts(self, reports)
                collection.receive(*arrays((2, 2)))

            monkeypatch.setattr(Collection, "_parts", between)
            assert reader.tally().counts.tolist() == [0, 1, 0, 0, 0, 0, 0]
            monkeypatch.undo()
            assert reader.tally().counts.tolist() == [0, 1, 1, 0, 0, 0, 0]


def test_nothing_is_stored_where_a_part_cannot_be(tmp_path, monkeypatch):
    with Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS) as collection:
        statement = Collection._sql

        def full(self, text, *values):
            if text.startswith("UPDATE"):
                raise OSError("No space left on device")
            return statement(self, text, *values)

        monkeypatch.setattr(Collection, "_sql", full)
        with pytest.raises(OSError, match="No space"):
            collection.receive(*arrays((1, 1)))
        monkeypatch.undo()
        assert collection.tally().received == 0
        assert collection.receive(*arrays((1, 1))).tolist() == [TAKEN]
