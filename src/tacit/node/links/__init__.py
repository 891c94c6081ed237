"""A node's links to its peers."""
