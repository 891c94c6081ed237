"""Ranking shuffled keys by opened comparisons: all pairs, or many pivots."""
