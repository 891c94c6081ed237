"""The experiment suite."""
