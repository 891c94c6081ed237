"""The study of objectives that are evaluated together, beside those that are evaluated apart."""
