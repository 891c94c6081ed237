"""Runs from an agreement: no weights here, only nodes that hold them."""
