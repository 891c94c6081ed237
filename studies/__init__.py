"""The paper's evaluation, leakage, equity, tuning and benchmarks, beside the package `tacit`."""
