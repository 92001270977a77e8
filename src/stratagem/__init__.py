"""Stratagem: local-differential-privacy mechanisms for any workload, with a certificate of how good they are."""
