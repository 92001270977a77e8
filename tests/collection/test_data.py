"""Every row is counted, inside the domain or outside with a reason; what cannot be read is refused."""

import numpy as np
import pytest

from stratagem.collection.binning import Codes, Labels, Policy
from stratagem.collection.columns import Source, read
from stratagem.collection.edges import Edges
from stratagem.workloads import Domain

pytestmark = pytest.mark.smoke
DROP = Policy(invalid="drop")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(
        "age,sex,note\n0,F,x\n9.99,M,y\n10,M,#\n29.5,F,z\n30,F,a\n-1,F,a\nNA,F,a\n,M,b\n15,X,b\n15,,c\n"
    )
    return path


def ages(size=3, text="0:30:10"):
    return Source("age", Edges.parse(text, size))


def test_numbers_fall_into_half_open_bins_and_the_rest_is_named(people):
    data = read(people, Domain.of(3), {"value": ages()}, DROP)
    assert data.x.tolist() == [2, 3, 1]
    assert data.outside == {"age missing": 2, "age 30 or above": 1, "age below 0": 1}


def test_several_attributes_are_counted_in_row_major_order(people):
    sources = {"age": ages(), "sex": Source("sex", Labels(("F", "M"), 2))}
    data = read(people, Domain.of("age=3,sex=2"), sources, DROP)
    assert data.x.tolist() == [1, 1, 0, 1, 1, 0]
    assert data.outside["sex unknown label"] == data.outside["sex missing"] == 1
    assert data.users + sum(data.outside.values()) == 10


def test_parquet_and_csv_agree(people, tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.read_csv(people).to_parquet(tmp_path / "people.pq")
    for attribute in (ages(), Source("sex", Labels(("F", "M", "X"), 3))):
        both = [
            read(path, Domain.of(3), {"value": attribute}, DROP) for path in (people, tmp_path / "people.pq")
        ]
        assert both[0].x.tolist() == both[1].x.tolist()
        assert both[0].outside == both[1].outside


def test_codes_are_whole_numbers_of_the_domain(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("k\n0\n1\n1.0\n2\n2.5\n-3\n7\n1e30\ninf\nnan\n")
    data = read(path, Domain.of(3), {"value": Source("k", Codes(3))}, DROP)
    assert data.x.tolist() == [1, 2, 1]
    assert data.outside == {
        "k above 2": 3,
        "k missing": 1,
        "k below 0": 1,
        "k not a whole number": 1,
    }


def test_no_line_is_mistaken_for_a_comment_or_a_title(tmp_path):
    path = tmp_path / "lines.csv"
    path.write_text("a,b\n1,2\n#x,3\n,4\n'1',5\n")
    data = read(path, Domain.of(1), {"value": Source("a", Labels(("1",), 1))}, DROP)
    assert data.users + sum(data.outside.values()) == 4
    assert data.x.tolist() == [1]


@pytest.mark.parametrize("label", ["NA", "null", "None"])
def test_a_label_may_look_like_a_missing_number(tmp_path, label):
    path = tmp_path / "countries.csv"
    path.write_text(f"c\n{label}\n{label}\nDE\n")
    data = read(path, Domain.of(2), {"value": Source("c", Labels((label, "DE"), 2))})
    assert data.x.tolist() == [2, 1]


def test_spaced_edges_have_no_drift():
    assert Edges.parse("-30:290:5", 64).edges == tuple(range(-30, 291, 5))
    assert Edges.parse("15:95:10", 8).edges == tuple(range(15, 96, 10))  # no time of day
    assert np.allclose(Edges.parse("0:1:0.1", 10).edges, np.linspace(0, 1, 11), atol=1e-15)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0:63:1", "make 63 bins, but the attribute has 64"),
        ("3,2,1", "increase"),
        ("0,nan", "increase"),
        ("0:64:0", "whole steps"),
        ("0:64:-1", "whole steps"),
        ("0:64:nan", "whole steps"),
        ("0:1e300:1", "whole steps"),
        ("0:64:0.7", "whole steps"),
        ("0:64", "START:STOP:STEP"),
        ("a,b", "START:STOP:STEP"),
        ("", "START:STOP:STEP"),
    ],
)
def test_wrong_edges_are_refused(text, words):
    with pytest.raises(ValueError, match=words):
        Edges.parse(text, 64)


@pytest.mark.parametrize(
    ("text", "words"), [("a,b", "2 labels were given"), ("a,b,a", "'a' was given twice")]
)
def test_wrong_labels_are_refused(text, words):
    with pytest.raises(ValueError, match=words):
        Labels.parse(text, 3)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Source("agee", Codes(3)), "no column 'agee': did you mean age"),
        (Source('a"; DROP', Codes(3)), "no column"),
        (Source("sex", Edges.parse("0:3:1", 3)), "no row inside the domain .sex not a number: 9"),
        (Source("age", Edges.parse("1000:1003:1", 3)), "no row inside the domain"),
    ],
)
def test_columns_that_do_not_fit_are_refused(people, source, words):
    with pytest.raises(ValueError, match=words):
        read(people, Domain.of(3), {"value": source}, DROP)


def test_an_attribute_without_a_column_is_refused(people):
    with pytest.raises(ValueError, match="attribute 'sex' has no source"):
        read(people, Domain.of("age=3,sex=2"), {"age": ages()})


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("absent.csv", None, "cannot be read"),
        ("picture.png", b"\x89PNG", "neither Parquet nor text"),
        ("binary.csv", bytes(range(256)) * 20, "has a NUL byte"),
        ("broken.parquet", b"PAR1 and then nothing", "cannot be read as PARQUET"),
        ("empty.csv", b"", "no column"),
        ("header.csv", b"age\n", "it has no rows"),
        ("latin.csv", "age\n\xe9\n".encode("latin-1"), "cannot be read as CSV"),
        ("ragged.csv", b"age,sex\n" + b"1,F\n" * 50_000 + b"1,F,9\n", "cannot be read as CSV"),
        ("packed.csv.gz", b"not gzip at all", "cannot be read as CSV"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read(path, Domain.of(3), {"value": ages()})
