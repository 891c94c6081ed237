"""Deployments that are really run: hosts, databases, upgrades, containers. See CONTRIBUTING.md."""
