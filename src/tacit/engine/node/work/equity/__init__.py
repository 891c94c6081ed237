"""Long-term equity at a node: weights get their factors before a run, and the run is counted."""
