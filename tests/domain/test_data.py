"""Every row is counted, inside the domain or outside with a reason; what cannot be read is refused."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from found import found_values
from stratagem.domain.bins import Bins
from stratagem.domain.columns import STRICT, distinct, read
from stratagem.domain.file import column_names
from stratagem.domain.policy import Policy
from stratagem.domain.values import Codes, Labels
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


def read_column(path, column, values, policy=STRICT):
    """Count one column."""
    return read(path, Domain(value=values), {"value": column}, policy)


AGES = Bins.parse("0:30:10")


def test_numbers_fall_into_half_open_bins_and_the_rest_is_named(people):
    data = read_column(people, "age", AGES, DROP)
    assert data.x.tolist() == [2, 3, 1]
    assert data.outside == {"age missing": 2, "age 30 or above": 1, "age below 0": 1}


def test_several_attributes_are_counted_in_row_major_order(people):
    domain = Domain(age=AGES, sex=Labels(("F", "M")))
    data = read(people, domain, {"age": "age", "sex": "sex"}, DROP)
    assert data.x.tolist() == [1, 1, 0, 1, 1, 0]
    assert data.outside["sex unknown label"] == data.outside["sex missing"] == 1
    assert data.users + sum(data.outside.values()) == 10


def test_parquet_and_csv_agree(people, tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.read_csv(people).to_parquet(tmp_path / "people.pq")
    for column in (("age", AGES), ("sex", Labels(("F", "M", "X")))):
        both = [read_column(path, *column, DROP) for path in (people, tmp_path / "people.pq")]
        assert both[0].x.tolist() == both[1].x.tolist()
        assert both[0].outside == both[1].outside


def test_codes_are_whole_numbers_of_the_domain(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("k\n0\n1\n1.0\n2\n2.5\n-3\n7\n1e30\ninf\nnan\n")
    data = read_column(path, "k", Codes(3), DROP)
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
    data = read_column(path, "a", Labels(("1",)), DROP)
    assert data.users + sum(data.outside.values()) == 4
    assert data.x.tolist() == [1]


@pytest.mark.parametrize("label", ["NA", "null", "None"])
def test_a_label_may_look_like_a_missing_number(tmp_path, label):
    path = tmp_path / "countries.csv"
    path.write_text(f"c\n{label}\n{label}\nDE\n")
    data = read_column(path, "c", Labels((label, "DE")))
    assert data.x.tolist() == [2, 1]


def test_spaced_edges_have_no_drift():
    assert Bins.parse("-30:290:5").edges == tuple(map(str, range(-30, 291, 5)))
    assert Bins.parse("15:95:10").edges == tuple(map(str, range(15, 96, 10)))  # no time of day
    assert Bins.parse("18:30:5").edges == ("18", "23", "28", "30"), "the last bin is shorter"
    assert Bins.parse("2026-01-01:2026-03-31:1mo").edges[-2:] == ("2026-03-01", "2026-03-31")
    assert Bins.parse("22:00:24:00:90min").edges == ("22:00", "23:30", "24:00")
    assert Bins.parse("0:1:0.1").edges == ("0", *(f"0.{k}" for k in range(1, 10)), "1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0:63:1", "make 63 bins, but the attribute has 64"),
        ("3,2,1", "increase"),
        ("0,nan", "increase"),
        ("0:64:0", "steps above zero"),
        ("0:64:-1", "steps above zero"),
        ("0:64:nan", "steps above zero"),
        ("0:1e300:1", "steps above zero"),
        ("0:64:0.7", "make 92 bins, but the attribute has 64"),
        ("64:0:-1", "steps above zero"),
        ("0:64", "START:STOP:STEP"),
        ("a,b", "START:STOP:STEP"),
        ("", "START:STOP:STEP"),
    ],
)
def test_wrong_edges_are_refused(text, words):
    with pytest.raises(ValueError, match=words):
        Bins.parse(text).fit(64)


@pytest.mark.parametrize(
    ("text", "words"), [("a,b", "2 labels were given"), ("a,b,a", "'a' was given twice")]
)
def test_wrong_labels_are_refused(text, words):
    with pytest.raises(ValueError, match=words):
        Labels.parse(text).fit(3)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("agee", Codes(3), "no column 'agee': did you mean age[?]$"),
        ('a"; DROP', Codes(3), "no column"),
        ("sex", Bins.parse("0:3:1"), "no row inside the domain .sex not a number: 9"),
        ("age", Bins.parse("1000:1003:1"), "no row inside the domain"),
    ],
)
def test_columns_that_do_not_fit_are_refused(people, column, values, words):
    with pytest.raises(ValueError, match=words):
        read_column(people, column, values, DROP)


def test_an_attribute_without_a_column_is_refused(people):
    with pytest.raises(ValueError, match="attribute 'sex' has no source"):
        read(people, Domain.of("age=3,sex=2"), {"age": "age"})


TABLE = b"age,sex\n" + b"1,F\n" * 1000 + b"%b\n" + b"1,F\n" * 1000


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("absent.csv", None, "cannot be read"),
        ("picture.png", b"\x89PNG", "neither Parquet nor text"),
        ("binary.csv", bytes(range(256)) * 20, "has a NUL byte"),
        ("wide.csv", "age,sex\n1,F\n".encode("utf-16"), "is written in UTF-16: save it as CSV in UTF-8"),
        ("big.csv", "age\n1\n".encode("utf-16-be"), "is written in UTF-16: save it"),
        ("broken.parquet", b"PAR1 and then nothing", "cannot be read as PARQUET"),
        ("empty.csv", b"", "has no column 'age', nor a header: begin it"),
        ("blank.csv", b"\n \n\n", "nor a header"),
        ("header.csv", b"age\n", "it has no rows"),
        (
            "latin.csv",
            "age\n1\n\xe9\n".encode("latin-1"),
            r"UTF-8 .line 3 .* byte e9, '\xe9' in Latin-1.: save",
        ),
        ("latin.csv.gz", gzip.compress(b"age\n\xe9\n", mtime=0), "not written in UTF-8 .line 2"),
        (
            "ends.csv",
            b"age,n\r\n" + b"1,2\r\n" * 50_000 + b"1,2\n",
            "line ends of several kinds .*: write it with one",
        ),
        ("twice.csv", b"age,age\n1,2\n", "has 2 columns 'age': rename all but one"),
        ("twice.tsv", b"age\tn\t age \n1\t2\t3\n", "has 2 columns 'age'"),
        ("ragged.csv", b"age,sex\n" + b"1,F\n" * 50_000 + b"1,F,9\n", "cannot be read as CSV"),
        ("packed.csv.gz", b"not gzip at all", "cannot be read as CSV"),
        (
            "long.csv",
            TABLE % b"20,1,extra",
            r"as CSV .line 1,002 has 3 fields, but the header has 2.: give every",
        ),
        ("few.csv", b"age,sex\n1,F\n3,M,5\n6\n", "line 3 has 3 fields, but the header has 2.: give every"),
        ("short.csv", TABLE % b"20", "line 1,002 has 1 field, but the header has 2"),
        ("late.csv", b"age,sex\n" + b"1,F\n" * 50_000 + b"1\n", "line 50,002 has 1 field, but the header"),
        ("small.csv", b'sep=;\nage;sex\n\n1;"F\nM"\n2\n3;F\n', "line 6 has 1 field, .* a field holds ';'"),
        ("short.csv.gz", gzip.compress(TABLE % b"20", mtime=0), "line 1,002 has 1 field"),
        (
            "quote.csv",
            TABLE % b'20,"F',
            "line 1,002 has a double quote that does not enclose a field.: put the",
        ),
        ("inner.csv", TABLE % b'20,"F"F', "line 1,002 has a double quote that does not enclose a field"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read_column(path, "age", AGES)


@pytest.mark.parametrize(
    ("text", "words"), [("", "is empty: begin it"), (" \n\n", "is empty"), ("age,\n1,2\n", "without a name")]
)
def test_a_file_without_names_is_refused(text, words, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"a.csv .*{words}"):
        column_names(path)


@pytest.mark.parametrize("text", ["age, in years\n1\n2\n", "age, in years\n1\n2, or so\n3\n"])
def test_one_column_whose_name_has_a_comma_is_no_ragged_table(text, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert column_names(path) == ["age, in years"]
    assert sum(distinct(path, "age, in years").values()) == text.count("\n") - 1


HEADERS = {
    "an empty line": "\nage,n\n1,a\n2,a\n",
    "several, with blanks": "\n  \n\r\nage,n\n1,a\n2,a\n".replace("\r", ""),
    "a line of commas": ",\nage,n\n1,a\n2,a\n",
    "a mark of bytes before an empty line": "\ufeff\nage,n\n1,a\n2,a\n",
    "the delimiter as Excel writes it": "sep=;\nage;n\n1;a\n2;a\n",
    "one column": "\n\nage\n1\n2\n",
    "blanks and quotes around names": ' age , "n"\n1,a\n2,a\n',
    "others in other case": "Age,age,AGE\n5,1,5\n6,2,6\n",
    "another name twice": "age,n,n\n1,a,b\n2,a,b\n",
    "no name for one": ",age\na,1\nb,2\n",
    "line ends of CR": "age,n\r1,a\r2,a\r",
}


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("packed", [False, True])
def test_the_header_is_never_a_person(name, packed, tmp_path):
    path = tmp_path / f"a.csv{'.gz' if packed else ''}"
    content = HEADERS[name].encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    data = read_column(path, "age", Bins.parse("0:9:1"))
    assert data.x.nonzero()[0].tolist() == [1, 2]
    assert data.users == 2


def test_columns_of_parquet_are_found_by_their_own_names(tmp_path):
    """DuckDB calls the second of two columns that differ in case alone by another name."""
    path = tmp_path / "a.parquet"
    part = pa.array([{"age": 7}, {"age": 8}])
    arrays = [pa.array([1, 2]), pa.array([3, 4]), part, pa.array([5, 6]), pa.array([5, 6])]
    pq.write_table(pa.Table.from_arrays(arrays, ["age", "Age", "part", "n", "n"]), path)
    bins = Bins.parse("0:9:1")
    assert read_column(path, "age", bins).x.nonzero()[0].tolist() == [1, 2]
    assert read_column(path, "Age", bins).x.nonzero()[0].tolist() == [3, 4]
    with pytest.raises(ValueError, match="has 2 columns 'n': rename"):
        read_column(path, "n", bins)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            [[1, 2], [3]],
            r"holds lists .BIGINT\[\]., but an answer is one number, date or text: write each part",
        ),
        ([{"a": 1}, {"a": 2}], "holds structures .STRUCT"),
        (pa.array([60, 90], pa.duration("us")), "holds durations, but an answer .* numbers of minutes"),
        (pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())), "holds structures .MAP"),
    ],
)
def test_what_is_no_single_answer_is_refused_by_name(values, words, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"tags": values, "n": [1, 2]}), path)
    for call in (distinct, found_values):
        with pytest.raises(ValueError, match=f"column 'tags' of .* {words}"):
            call(path, "tags")
    assert read_column(path, "n", Codes(3)).x.tolist() == [0, 1, 1]
