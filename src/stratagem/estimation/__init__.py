"""Estimates: from counted reports to answers with errors, consistent tables and tests."""
