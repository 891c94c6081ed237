"""Promela models of what nodes agree on, which docs/models.md describes."""
