"""Prints reports of a copy of the Python client: python driver.py CLIENT.py BUNDLE [MEMO]; an audit runs this.

Standard input holds a JSON list of values in its first line, and in every further line a list of places among
them: each such line is asked of a new client, value by value. The k-th of them, from 0, keeps its memo
in MEMO/k, a folder that lasts. Needs nothing but the client and Python itself.
"""

from __future__ import annotations

import importlib.util
import json
import sys


def main() -> None:
    """Answer standard input."""
    found = importlib.util.spec_from_file_location("client", sys.argv[1])
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["client"] = module
    found.loader.exec_module(module)
    values = json.loads(sys.stdin.readline())
    for number, line in enumerate(sys.stdin):
        memo = {"memo": f"{sys.argv[3]}/{number}"} if sys.argv[3:] else {}
        client = module.Client(module.checked(sys.argv[2], module.parse, "*.ldp.json"), **memo)
        for place in json.loads(line):
            sys.stdout.write(json.dumps(client.randomise(values[place])) + "\n")


if __name__ == "__main__":
    main()
