"""The same expressions on a real Spark, in local mode: equal to DuckDB to the count."""

import os

import duckdb
import pytest

from report_files import facts
from stratagem.collection.report_table import aggregate
from stratagem.math.vector import SparseCounts
from tools import need, need_package

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # PySpark and Ibis on pandas 3
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),  # Java is started beside other tests' JAX
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets that py4j leaves to the collector
]

IDENTIFIER = "0123456789abcdef" * 4
OUTPUTS = 12
REPORTS = int(float(os.environ.get("STRATAGEM_REPORTS", "2e4")))


@pytest.fixture(scope="module")
def spark():
    need("java")
    need_package("pyspark")
    ibis, sql = pytest.importorskip("ibis"), pytest.importorskip("pyspark.sql")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield ibis.pyspark.connect(session)
    session.stop()


@pytest.fixture(scope="module")
def backends(spark):
    import ibis

    duck = ibis.duckdb.connect()
    yield {"duckdb": duck, "spark": spark}
    duck.disconnect()


@pytest.mark.parametrize("columns", ["mechanism, id, output", "output"])
@pytest.mark.parametrize("kind", ["INTEGER", "VARCHAR"])
def test_spark_counts_what_duckdb_counts(columns, kind, backends, tmp_path):
    """Duplicates, conflicts, foreign and malformed rows, in Parquet; the facts are those of the generator too."""
    path = tmp_path / "reports.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"""
            COPY (
                SELECT {columns} FROM (
                    SELECT
                        CASE i % 100 WHEN 7 THEN NULL WHEN 8 THEN 'other' ELSE '{IDENTIFIER[:16]}' END AS mechanism,
                        CASE i % 50 WHEN 3 THEN 'short' WHEN 4 THEN NULL ELSE md5((i // 2 * 2)::VARCHAR) END AS id,
                        CAST(CASE i % 10 WHEN 9 THEN 13 WHEN 6 THEN -1 ELSE i % 7 END AS {kind}) AS output
                    FROM range({REPORTS}) AS numbers(i)
                )
            ) TO '{path}' (FORMAT parquet)""")
    both = {
        name: aggregate(each.read_parquet(path), IDENTIFIER, OUTPUTS, anonymous="count")
        for name, each in backends.items()
    }
    assert facts(both["spark"]) == facts(both["duckdb"])
    tally = both["spark"]
    assert tally.received == REPORTS
    assert (tally.conflicting > 0) == ("id" in columns)
    assert (tally.anonymous == 0) == ("id" in columns)


def test_hostile_text_means_the_same_to_both(backends):
    names = ["a" * 32, "A" * 32, "a" * 31, "a" * 32 + "\n", "", None, "٣" * 32, "b" * 32, "a" * 31 + "\0"]
    outputs = [
        "3",
        "3\n",
        "\n3",
        " 3",
        "03",
        "-0",
        "0",
        "-3",
        "11",
        "12",
        "9" * 30,
        "1.0",
        "1e1",
        "٣",
        "",
        None,
        "NaN",
    ]
    rows = [(name, "1") for name in names] + [(f"{number:032x}", text) for number, text in enumerate(outputs)]
    backends["duckdb"].con.execute("CREATE TABLE hostile (id VARCHAR, output VARCHAR)")
    backends["duckdb"].con.executemany("INSERT INTO hostile VALUES (?, ?)", rows)
    backends["spark"]._session.createDataFrame(rows, "id string, output string").createOrReplaceTempView(
        "hostile"
    )
    spark = aggregate(backends["spark"].table("hostile"), IDENTIFIER, OUTPUTS)
    duck = aggregate(backends["duckdb"].table("hostile"), IDENTIFIER, OUTPUTS)
    assert facts(spark) == facts(duck)
    assert spark.counts.tolist() == [2, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert spark.rejected == {"malformed id": 7, "output not a whole number": 10, "output out of range": 3}


def test_spark_counts_outputs_that_nobody_can_list(backends):
    rows = [(f"{number:032x}", (number % 7) << 50) for number in range(100)]
    backends["spark"]._session.createDataFrame(rows, "id string, output bigint").createOrReplaceTempView(
        "large"
    )
    counts = aggregate(backends["spark"].table("large"), IDENTIFIER, 1 << 53).counts
    assert isinstance(counts, SparseCounts)
    assert counts.outputs.tolist() == [number << 50 for number in range(7)]
    assert counts.counts.tolist() == [15, 15, 14, 14, 14, 14, 14]


def test_a_table_that_cannot_hold_reports_is_refused(backends):
    session = backends["spark"]._session
    for schema, row, words in [
        ("id string", ("a",), "no column 'output'"),
        ("output double", (1.0,), "'output' has type float64"),
        ("output int, id bigint", (1, 2), "'id' has type int64"),
    ]:
        session.createDataFrame([row], schema).createOrReplaceTempView("wrong")
        with pytest.raises(ValueError, match=words):
            aggregate(backends["spark"].table("wrong"), IDENTIFIER, OUTPUTS)
