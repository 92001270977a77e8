"""Draw what protection costs: the least total variance by how often the best guess of a value is right.

Run: python docs/attacker.py docs/images/attacker.png
"""

import sys

import stratagem as st
from pictures import write

if __name__ == "__main__":
    write(st.study.guess_frontier(st.prefix(16), 1.0).plot(width=6), sys.argv[1], dpi=300)
