"""What a node computes with its peers."""
