"""Who becomes a parent and who survives, one mechanism per file."""
