"""A node: holds shares and computes what agreements allow."""
