"""Recorded runs: the platform's whole view of a run, in one file."""
