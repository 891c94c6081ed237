"""What an agreement is expected to give away, from the table of measured leakage."""
