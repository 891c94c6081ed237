"""How the tables came to be as they are, step by step."""

HEAD = "0001"
"""The last step. A database that is there needs no Alembic, which takes a while to import."""
