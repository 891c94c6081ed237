"""Random faults over real processes; `make faults` strikes sixty. See CONTRIBUTING.md."""
