"""The study of leakage: what each disclosure gives away, and what it costs in quality."""
