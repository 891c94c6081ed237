"""What a node keeps for long-term equity: the books of series, and weights with their factors."""
