"""Messages between coordinator, nodes and peers, and the hashes that name requests."""
