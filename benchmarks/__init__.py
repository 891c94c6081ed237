"""Measurements, each with a `--json` output. Ratios within one run, since machines are noisy."""
