"""A search that evaluates candidates: its driver, its evaluators and its checkpoints."""
