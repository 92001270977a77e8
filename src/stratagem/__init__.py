"""Stratagem: local-differential-privacy mechanisms for any workload, with a certificate of how good they are.

    import stratagem as st
    solution = st.optimise(st.prefix(64), epsilon=1.0)

The public names are listed in `__init__.pyi`, once for readers, type checkers and the interpreter, which imports
each where it is first used, so that `import stratagem` itself takes milliseconds.
"""

import lazy_loader

from stratagem.io.screen import shown_by

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
shown_by(plot="stratagem.report.plots", report="stratagem.report.page")
