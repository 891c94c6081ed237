"""The platform's side."""
