"""Write tests/random_optima.json: the least variance that a user adds in every random problem; half an hour."""

import json
import sys
from pathlib import Path

from judge import least_added
from random_problems import COUNT, problem

PATH = Path(__file__).parents[1] / "random_optima.json"


def main():
    values = [float(least_added(problem(number))) for number in range(COUNT)]
    PATH.write_text(json.dumps(values, indent=0) + "\n")


if __name__ == "__main__":
    sys.exit(main())
