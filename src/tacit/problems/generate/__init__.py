"""Generated problems."""
