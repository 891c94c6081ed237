"""Evaluating objectives: in the clear, simulated, and decoding what nodes disclose."""
