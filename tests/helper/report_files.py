"""Files of reports in every format, and what a collection makes of them."""

import json

import duckdb

from stratagem.collection.collection import Collection

IDENTIFIER = "0123456789abcdef" * 4
MECHANISM = IDENTIFIER[:16]
OUTPUTS = 7


def write_jsonl(path, reports):
    path.write_text(
        "".join(json.dumps({"mechanism": MECHANISM, "id": i, "output": y}) + "\n" for i, y in reports)
    )


def write_csv(path, reports):
    path.write_text("mechanism,id,output\n" + "".join(f"{MECHANISM},{i},{y}\n" for i, y in reports))


def write_quoted_csv(path, reports):
    path.write_text('"output","when","id"\r\n' + "".join(f'"{y}","now","{i}"\r\n' for i, y in reports))


def write_parquet(path, reports, name="VARCHAR", output="INTEGER"):
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE reports (mechanism VARCHAR, id {name}, output {output})")
        for each in reports:
            connection.execute("INSERT INTO reports VALUES (?, ?, ?)", [MECHANISM, *each])
        connection.execute(f"COPY reports TO '{path}' (FORMAT parquet)")


def collected(*sources, **options):
    with Collection(None, IDENTIFIER, OUTPUTS, **options) as collection:
        collection.add(sources)
        return collection.tally()


def facts(tally):
    rejected = dict(sorted(tally.rejected.items()))
    return (
        tally.counts.tolist(),
        rejected,
        tally.duplicates,
        tally.conflicting,
        tally.anonymous,
        tally.received,
    )
