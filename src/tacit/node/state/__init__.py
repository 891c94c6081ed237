"""What a node keeps of each agreement, and what it allows."""
