"""A search that the nodes make themselves: its driver, and the simulation in the clear."""
