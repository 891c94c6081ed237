"""Hostile input, made of valid input by Hypothesis: `make fuzz`, and a short run in the tests."""
