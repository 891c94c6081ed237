"""`tacit series` for operators, and `tacit participant follow`."""
