"""Finished runs on disk, and the tables made of them."""
