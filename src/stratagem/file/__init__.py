"""Files: read without trust, written complete or not at all."""
