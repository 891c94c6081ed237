"""The dashboard's pages and their parts."""
