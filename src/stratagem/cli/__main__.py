"""`python -m stratagem.cli` is `stratagem`."""

from stratagem.cli import main

main()
