"""Files: every file read is checked, and every file written is complete or absent."""
