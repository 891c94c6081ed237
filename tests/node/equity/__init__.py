"""Books of series at a node."""
