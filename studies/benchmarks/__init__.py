"""Measurements of speed, quality and load, as README and docs cite them."""
