"""The certified solver: column generation over two-level rows, translates as first rows, and a polish of few rows.

Beside the three stages `saddle` and `joint` solve worst cases: by designs for a sequence of mixtures, or by one
programme for weights and mixture.
"""
