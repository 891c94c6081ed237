"""A platform with its nodes on one machine: the demo and the tests."""
