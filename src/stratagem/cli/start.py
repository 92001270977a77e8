"""Imported before all else of the command line: Ctrl-C ends a command quietly while it is still being loaded."""

import os
import signal
import sys

if (
    sys.argv
    and os.path.basename(sys.argv[0]) in ("-m", "stratagem", "stratagem.exe")  # noqa: PTH119  pathlib loads late
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
